"""Temporary changes of Scenic's compiler, and errors for assignments without effect.

Scenic computes pose and size of an object only when it creates the object, and during a trial the
simulator determines the poses, so some assignments and overrides have no effect. Importing this
module imports Scenic.
"""

import ast
import contextlib
import functools
import sys
from typing import Any, Callable, Dict, Iterable, Iterator

from scenic.core.errors import InvalidScenarioError
from scenic.core.object_types import Point
from scenic.syntax import compiler, translator, veneer
from scenic.syntax.parser import parse_string

from gz_testauto.extras.scenic.language.statements import OVERRIDE_BEFORE, line_of

_WORDS: Dict[str, str] = {
    "position": "at X @ Y",
    "x": "at X @ Y",
    "y": "at X @ Y",
    "z": "with z HEIGHT",
    "heading": "facing HEADING",
    "yaw": "facing HEADING",
    "orientation": "facing ORIENTATION",
}


def raise_if_without_effect(obj: Any, name: str) -> None:
    """Raise ``InvalidScenarioError`` if an assignment to the property ``name`` has no effect.

    Call it only from ``__setattr__``, directly. Assignments to properties of the program's own
    classes are valid, and so are assignments by Scenic itself and by a mutator while a scene is
    drawn.
    """
    if name.startswith("_") or not (name in _built_in_defaults(obj) or name in ("x", "y", "z")):
        return
    is_in_trial = veneer.currentSimulation is not None
    of_scenic = str(sys._getframe(2).f_globals.get("__name__", "")).startswith("scenic.")
    if of_scenic or not (is_in_trial or veneer.isActive()):
        return
    kind = type(obj).__name__
    if is_in_trial:
        raise InvalidScenarioError(
            f"the assignment to `{name}` of a {kind} during a trial has no effect on the "
            "simulator; use an action in its behavior, such as SetVelocityAction"
        )
    words = _WORDS.get(name, f"with {name} VALUE")
    raise InvalidScenarioError(
        f"the assignment to `{name}` of a {kind} that already exists has no effect on the scene; "
        f"specify the property where the object is created, as in `new {kind} {words}`"
    )


def raise_if_not_overridable(obj: Any, names: Iterable[str]) -> None:
    """Raise ``InvalidScenarioError`` if overriding these properties has no effect."""
    if veneer.currentSimulation is None:
        raise InvalidScenarioError(OVERRIDE_BEFORE)
    kind = type(obj).__name__
    for name in names:
        if name == "behavior" and obj.behavior is None:
            raise InvalidScenarioError(
                f"`override` cannot add a behavior to a {kind} without a behavior, which is a "
                f"fixed part of the world; create it as `new {kind} with behavior Stand()`"
            )
        if name != "behavior" and name in _built_in_defaults(obj):
            raise InvalidScenarioError(
                f"`override` of `{name}` has no effect on the simulator; override `behavior`, or a "
                "property of a class that the scenario defines"
            )


def _built_in_defaults(obj: Any) -> Any:
    for kind in type(obj).__mro__:
        if kind.__module__.startswith(("scenic.", "gz_testauto.extras.scenic.")):
            return getattr(kind, "_defaults", ())
    return ()


Load = Callable[[Any, Any], None]
_OBJECT = "\nfrom gz_testauto.extras.scenic.scene_objects import SceneObject as Object\n"
"""Code that Scenic runs before each module."""


@functools.lru_cache(maxsize=8)  # Scenic's parser takes longer than the rest of a compilation
def _library_tree(library: str) -> Any:
    return parse_string(library, "exec")


def parse_library(library: str) -> Any:
    """Return the syntax tree of a generated library, which has no syntax errors."""
    return _copy_tree(_library_tree(library))


def _copy_tree(value: Any) -> Any:
    # ``copy.deepcopy`` calls the class without arguments, which Scenic's nodes do not support.
    if isinstance(value, list):
        return [_copy_tree(item) for item in value]
    if not isinstance(value, ast.AST):
        return value
    node = type(value).__new__(type(value))
    for name, item in vars(value).items():
        setattr(node, name, _copy_tree(item))
    return node


@contextlib.contextmanager
def adapted_compiler(pruning: bool, load: Callable[[Load], Load], library: str) -> Iterator[None]:
    """Change Scenic's compiler in this context. ``load`` replaces Scenic's function that loads an
    imported module. ``library`` is the text of the module that each program imports."""
    loader, transformer = translator.ScenicLoader, compiler.ScenicToPythonTransformer
    before = translator.usePruning, translator.preamble, loader.exec_module
    visit, assign = transformer.visit, Point.__setattr__
    translator.usePruning = pruning
    loader.exec_module = load(before[2])
    translator.preamble += _OBJECT
    translator.parse_string = _parsing_once(library)
    transformer.visit = _with_lines(visit)
    Point.__setattr__ = _guard_assignments(assign)
    try:
        yield
    finally:
        translator.usePruning, translator.preamble, loader.exec_module = before
        translator.parse_string = parse_string
        transformer.visit, Point.__setattr__ = visit, assign


def _parsing_once(library: str) -> Callable[..., Any]:
    def parse(source: str, mode: str, filename: str) -> Any:
        if source == library:
            return parse_library(library)
        return parse_string(source, mode, filename=filename)

    return parse


def _with_lines(visit: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return a replacement for Scenic's function that translates a node, which keeps its line."""

    def visit_with_line(self: Any, node: Any) -> Any:
        statement = visit(self, node)
        # Scenic loses the lines of statements such as ``model``, ``override`` and ``ego = ...``
        if isinstance(statement, ast.stmt) and not hasattr(statement, "lineno"):
            statement.lineno = statement.end_lineno = line_of(node)
            statement.col_offset = statement.end_col_offset = 0
        return statement

    return visit_with_line


def _guard_assignments(assign: Callable[[Any, str, Any], None]) -> Callable[[Any, str, Any], None]:
    def assign_guarded(self: Any, name: str, value: Any) -> None:
        raise_if_without_effect(self, name)
        assign(self, name, value)

    return assign_guarded
