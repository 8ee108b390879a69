"""Read the global parameters of a scenario, to reject a misspelled name.

This module finds their names in parsed programs: each that a ``param`` statement declares or that
the program reads from ``globalParameters``. Importing this module imports Scenic.
"""

import ast
from typing import Any, Iterable, Optional, Set, Tuple

from scenic.syntax import ast as s

from gz_testauto.base.errors import UnknownNameError
from gz_testauto.base.registry import unknown_name

_TABLE = "globalParameters"
_METHODS = ("get", "items", "keys", "values")


class ScenarioParameters:
    """The parameters of a scenario and of the modules that it imports. ``any_name`` is true if a
    program uses the whole table, so that any name can have an effect."""

    def __init__(self) -> None:
        self.names: Set[str] = set()
        self.any_name = False

    def add(self, tree: Any) -> None:
        """Add the parameters of a parsed program."""
        single: Set[int] = set()
        for node in ast.walk(tree):
            if isinstance(node, s.Param):
                self.names.update(element.identifier for element in node.elts)
                continue
            table, name = _read_by(node)
            if name is not None:
                self.names.add(name)
                single.add(id(table))
        self.any_name = self.any_name or any(
            _is_table(node) and id(node) not in single for node in ast.walk(tree)
        )

    def check(self, given: Iterable[str], place: str) -> None:
        """Raise ``UnknownNameError`` for the first given name that the scenario does not have."""
        if self.any_name:
            return
        for name in given:
            if name not in self.names:
                raise UnknownNameError(
                    f"{place}: {unknown_name('parameter', name, self.names)}; a scenario declares "
                    "a parameter by `param NAME = VALUE`"
                )


def _is_table(node: Any) -> bool:
    return isinstance(node, ast.Name) and node.id == _TABLE


def _read_by(node: Any) -> Tuple[Any, Optional[str]]:
    """Return the table and the parameter that an expression reads by ``globalParameters.NAME``,
    ``globalParameters['NAME']`` or ``globalParameters.get('NAME')``; None for other expressions."""
    if isinstance(node, ast.Attribute) and _is_table(node.value) and node.attr not in _METHODS:
        return node.value, node.attr
    if isinstance(node, ast.Subscript) and _is_table(node.value):
        index: Any = node.slice
        return node.value, _text_of(index.value if type(index).__name__ == "Index" else index)
    method = node.func if isinstance(node, ast.Call) and node.args else None
    if isinstance(method, ast.Attribute) and _is_table(method.value) and method.attr == "get":
        return method.value, _text_of(node.args[0])
    return None, None


def _text_of(node: Any) -> Optional[str]:
    held = node.value if isinstance(node, ast.Constant) else None
    return held if isinstance(held, str) else None
