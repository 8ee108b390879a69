"""The ``record`` statements of a dynamic scenario: their names, and the numbers of each.

This module defines which statements are valid. :mod:`gz_testauto.extras.scenic.dynamic.scenario`
provides the values. Importing this module imports Scenic.
"""

import ast
import re
from typing import Any, Dict, List, NamedTuple, Tuple

from scenic.syntax import ast as s

from gz_testauto.extras.scenic.language.refusals import Place, line_of

PREFIX = "recorded_"
"""Prefix of the names of numbers and series that a scenario records."""
OF_SERIES = ("min", "mean", "max")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,60}")
_KINDS: Dict[Any, str] = {s.Record: "record", s.RecordInitial: "record initial"}
_KINDS[s.RecordFinal] = "record final"
_REPEATED = (ast.For, ast.While, ast.FunctionDef, s.BehaviorDef, s.MonitorDef)


class RecordStatement(NamedTuple):
    """One ``record`` statement; ``of_series`` is true if it records one value in each period."""

    line: int
    name: str
    of_series: bool

    @property
    def numbers(self) -> Tuple[str, ...]:
        """Return the names of its numbers in the results."""
        if not self.of_series:
            return (f"{PREFIX}{self.name}",)
        return tuple(f"{PREFIX}{self.name}_{one}" for one in OF_SERIES)


def record_statements(tree: Any) -> List[RecordStatement]:
    """Return the ``record`` statements of a parsed program without faulty ones."""
    found: List[Any] = [node for node in ast.walk(tree) if type(node) in _KINDS]
    statements = [
        RecordStatement(line_of(node), str(node.name), isinstance(node, s.Record)) for node in found
    ]
    return sorted(statements)


def faulty_records(tree: Any) -> List[Place]:
    """Return the ``record`` statements that results cannot store, each with the remedy."""
    repeated = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, _REPEATED)
        for node in ast.walk(block)
    }
    faults: List[Place] = []
    nodes: List[Any] = list(ast.walk(tree))
    for node in nodes:
        kind = _KINDS.get(type(node))
        if kind is None:
            continue
        fault = ""
        if id(node) in repeated:
            fault = "must not be in a loop, function, behavior or monitor; write one statement each"
        elif not _NAME.fullmatch(str(node.name or "")):
            fault = "needs a name of letters, digits and _, as `record (distance to goal) as gap`"
        elif any(getattr(node, key, None) is not None for key in ("recorder", "period", "delay")):
            fault = "is part of the results; remove `to`, `every` and `after`"
        if fault:
            faults.append(Place(line_of(node), f"`{kind}` {fault}"))
    return faults or _repeated_names(tree)


def _repeated_names(tree: Any) -> List[Place]:
    taken: Dict[str, int] = {}
    faults: List[Place] = []
    for one in record_statements(tree):
        for number in one.numbers:
            if number in taken:
                text = f"`{number}` is recorded on line {taken[number]} already; rename one"
                faults.append(Place(one.line, text))
            taken.setdefault(number, one.line)
    return faults
