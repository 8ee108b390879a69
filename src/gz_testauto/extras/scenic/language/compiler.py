"""Change Scenic's compiler while this package compiles one scenario.

The changes are reverted afterwards, so that other users of Scenic in this process have the
original. Importing this module imports Scenic.
"""

import ast
import contextlib
from typing import Any, Callable, Iterator

from scenic.core.object_types import Point
from scenic.syntax import compiler, translator

from gz_testauto.extras.scenic.language.assignments import raise_if_without_effect
from gz_testauto.extras.scenic.language.refusals import line_of

Load = Callable[[Any, Any], None]
_OBJECT = "\nfrom gz_testauto.extras.scenic.scene_objects import SceneObject as Object\n"
"""Python code that Scenic runs before each module, including those that the scenario imports."""


@contextlib.contextmanager
def adapted_compiler(pruning: bool, load: Callable[[Load], Load]) -> Iterator[None]:
    """Change Scenic's compiler until the context ends. ``load`` returns a replacement for Scenic's
    function that loads an imported module."""
    loader, transformer = translator.ScenicLoader, compiler.ScenicToPythonTransformer
    before = translator.usePruning, translator.preamble, loader.exec_module
    visit, assign = transformer.visit, Point.__setattr__
    translator.usePruning = pruning
    loader.exec_module = load(before[2])
    translator.preamble += _OBJECT
    transformer.visit = _with_lines(visit)
    Point.__setattr__ = _guarded(assign)
    try:
        yield
    finally:
        translator.usePruning, translator.preamble, loader.exec_module = before
        transformer.visit, Point.__setattr__ = visit, assign


def _with_lines(visit: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return Scenic's translation of a node, changed to keep the node's line. Scenic loses the
    lines of some statements, such as ``model``, ``override`` and ``ego = ...``."""

    def visit_with_line(self: Any, node: Any) -> Any:
        made = visit(self, node)
        if isinstance(made, ast.stmt) and not hasattr(made, "lineno"):
            made.lineno = made.end_lineno = line_of(node)
            made.col_offset = made.end_col_offset = 0
        return made

    return visit_with_line


def _guarded(assign: Callable[[Any, str, Any], None]) -> Callable[[Any, str, Any], None]:
    def assign_guarded(self: Any, name: str, value: Any) -> None:
        raise_if_without_effect(self, name)
        assign(self, name, value)

    return assign_guarded
