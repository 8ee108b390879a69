"""Checks of the statements of a Scenic program: unsupported constructs, records and global
parameters.

Constructs whose effect would differ from their meaning in Scenic are rejected. Constructs without
effect are reported. Importing this module imports Scenic.
"""

import ast
import re
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Set, Tuple

from scenic.syntax import ast as s

from gz_testauto.base.errors import UnknownNameError
from gz_testauto.base.registry import unknown_name

OVERRIDE_BEFORE = (
    "`override` changes an object only during a trial; set the property where the object is "
    "created, as in `new Cube with color (1, 0, 0)`"
)

_OR_ACT = "or set worlds.scenic.dynamic: true in a campaign"
_ONLY_IN_TIME = f"worlds are scenes at one moment; remove it, {_OR_ACT}"

_NO_SEQUENCES = "is for sequences of scenarios, which are not supported"
_IN_TIME: Dict[str, str] = {
    "Always": "`always`",
    "Next": "`next`",
    "UntilOp": "`until`",
    "RequireMonitor": "`require monitor`",
    "MonitorDef": "a `monitor`",
    "BehaviorDef": "a `behavior`",
    "TryInterrupt": "`try ... interrupt`",
}

_REFUSED: Dict[str, str] = {
    **{kind: f"{words} refers to time: {_ONLY_IN_TIME}" for kind, words in _IN_TIME.items()},
    "Eventually": "`eventually` refers to time: worlds are scenes at one moment, and a campaign "
    "with worlds.scenic.dynamic does not support it either; remove it",
    "InitialScenario": f"`initial scenario` {_NO_SEQUENCES}; remove it",
}

_REFUSED_IN_TRIALS: Dict[str, str] = {
    "Eventually": "`eventually` is known only at the end of a trial, so trials would be excluded "
    "by their outcome; use `record CONDITION as NAME`, whose maximum in the results is 1 if the "
    "condition was ever true",
    "InitialScenario": _REFUSED["InitialScenario"],
}

_NEVER_EFFECTIVE: Dict[str, str] = {"Simulator": "simulator"}

_IF_DYNAMIC = "; it has one in a campaign with worlds.scenic.dynamic: true"
_WITHOUT_EFFECT: Dict[str, str] = {
    **_NEVER_EFFECTIVE,
    "Record": "record",
    "RecordInitial": "record initial",
    "RecordFinal": "record final",
    "TerminateWhen": "terminate when",
    "TerminateSimulationWhen": "terminate simulation when",
    "TerminateAfter": "terminate after",
}

_RECORD_IMPORTED = "`record` in a module that is imported has no effect; move it into the scenario"

VERIFAI = (
    "draws of VerifAI depend on earlier draws and are not supported; use Range, DiscreteRange, "
    "Uniform or Discrete, and remove the import of verifai"
)
_VERIFAI_MODULES = ("verifai", "scenic.core.external_params")

_FOREIGN = ("scenic.simulators.", "scenic.domains.")


class Place(NamedTuple):
    """A line of a program with a message about it."""

    line: int
    text: str


def examine(tree: Any, dynamic: bool = False) -> Tuple[List[Place], List[Place]]:
    """Return the rejected constructs of a syntax tree, and those without effect, sorted by line.
    ``dynamic`` allows those that need a trial, such as behaviors."""
    rejected, ineffective = (
        (_REFUSED_IN_TRIALS, _NEVER_EFFECTIVE) if dynamic else (_REFUSED, _WITHOUT_EFFECT)
    )
    moment = "during a trial" if dynamic else "on a scene at one moment"
    unsupported = _always_unsupported(tree)
    without_effect: List[Place] = []
    for node in ast.walk(tree):
        kind = type(node).__name__
        line = line_of(node)
        if kind in rejected:
            unsupported.append(Place(line, rejected[kind]))
        elif kind in ineffective:
            remark = "" if dynamic or kind in _NEVER_EFFECTIVE else _IF_DYNAMIC
            without_effect.append(
                Place(line, f"`{ineffective[kind]}` has no effect {moment}{remark}")
            )
        elif kind == "ScenarioDef" and getattr(node, "compose", None):
            text = f"`compose` {_NO_SEQUENCES}; use `setup` alone"
            unsupported.append(Place(line, text))
        elif not dynamic and isinstance(node, s.WithSpecifier) and _sets_behavior(node):
            unsupported.append(Place(line, "`with behavior`: " + _REFUSED["BehaviorDef"]))
        elif not dynamic and isinstance(node, s.PropertyDef) and node.property == "behavior":
            unsupported.append(Place(line, "property `behavior`: " + _REFUSED["BehaviorDef"]))
        elif isinstance(node, s.parameter) and node.identifier.startswith("verifai"):
            without_effect.append(
                Place(line, f"`param {node.identifier}` has no effect: VerifAI is not used")
            )
    return sorted(set(unsupported)), sorted(set(without_effect))


def examine_imported(tree: Any) -> List[Place]:
    # behaviors and monitors are rejected only where a static scenario uses them
    recorded = [node for node in ast.walk(tree) if type(node).__name__.startswith("Record")]
    places = [Place(line_of(node), _RECORD_IMPORTED) for node in recorded]
    return sorted({*places, *_always_unsupported(tree)})


def line_of(node: Any) -> int:
    """Return the line of a syntax node, or that of its first part with a line."""
    return next((part.lineno for part in ast.walk(node) if hasattr(part, "lineno")), 1)


def _always_unsupported(tree: Any) -> List[Place]:
    deferred = _deferred(tree)
    unsupported: List[Place] = []
    for node in ast.walk(tree):
        line = line_of(node)
        unsupported += [Place(line, text) for text in _foreign_library_faults(node)]
        if _uses_verifai(node):
            unsupported.append(Place(line, VERIFAI))
        if isinstance(node, s.Override) and id(node) not in deferred:
            unsupported.append(Place(line, OVERRIDE_BEFORE))
    return unsupported


def _deferred(tree: Any) -> Set[int]:
    """Return the ids of all nodes that do not run during compilation."""
    kinds = (s.BehaviorDef, s.MonitorDef, ast.FunctionDef)
    bodies = [node for node in ast.walk(tree) if isinstance(node, kinds)]
    return {id(node) for body in bodies for node in ast.walk(body)}


def _uses_verifai(node: Any) -> bool:
    if isinstance(node, ast.Name):
        return node.id.startswith("Verifai")
    return any(
        name == module or name.startswith(f"{module}.")
        for name in _modules_of(node)
        for module in _VERIFAI_MODULES
    )


def _sets_behavior(node: Any) -> bool:
    is_none = isinstance(node.value, ast.Constant) and node.value.value is None
    return node.prop == "behavior" and not is_none


def _modules_of(node: Any) -> List[str]:
    if isinstance(node, s.Model):
        return [node.name]
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""]
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return []


def _foreign_library_faults(node: Any) -> List[str]:
    return [
        f"{name} is the library of another simulator; remove the line, and list the models that "
        "the scenario uses in the descriptor"
        for name in _modules_of(node)
        if name.startswith(_FOREIGN)
    ]


PREFIX = "recorded_"  # prefix of recorded numbers and series in the results
OF_SERIES = ("min", "mean", "max")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,60}")
_KINDS: Dict[Any, str] = {s.Record: "record", s.RecordInitial: "record initial"}
_KINDS[s.RecordFinal] = "record final"
_REPEATED = (ast.For, ast.While, ast.FunctionDef, s.BehaviorDef, s.MonitorDef)


class RecordStatement(NamedTuple):
    """A ``record`` statement. ``of_series`` is True for one value in each control period."""

    line: int
    name: str
    of_series: bool

    @property
    def numbers(self) -> Tuple[str, ...]:
        if not self.of_series:
            return (f"{PREFIX}{self.name}",)
        return tuple(f"{PREFIX}{self.name}_{statistic}" for statistic in OF_SERIES)


def record_statements(tree: Any) -> List[RecordStatement]:
    """Return all ``record`` statements of a valid program."""
    nodes: List[Any] = [node for node in ast.walk(tree) if type(node) in _KINDS]
    statements = [
        RecordStatement(line_of(node), str(node.name), isinstance(node, s.Record)) for node in nodes
    ]
    return sorted(statements)


def faulty_records(tree: Any) -> List[Place]:
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
    return faults or _duplicate_names(tree)


def _duplicate_names(tree: Any) -> List[Place]:
    lines: Dict[str, int] = {}
    faults: List[Place] = []
    for statement in record_statements(tree):
        for number in statement.numbers:
            if number in lines:
                text = f"`{number}` is recorded on line {lines[number]} already; rename one"
                faults.append(Place(statement.line, text))
            lines.setdefault(number, statement.line)
    return faults


_TABLE = "globalParameters"
_METHODS = ("get", "items", "keys", "values")


class ScenarioParameters:
    """The names of global parameters that a scenario and its modules define or read. ``any_name``
    is True if a program uses the whole table, so that any name is valid."""

    def __init__(self) -> None:
        self.names: Set[str] = set()
        self.any_name = False

    def add(self, tree: Any) -> None:
        read_by_name: Set[int] = set()
        for node in ast.walk(tree):
            if isinstance(node, s.Param):
                self.names.update(element.identifier for element in node.elts)
                continue
            table, name = _read_by(node)
            if name is not None:
                self.names.add(name)
                read_by_name.add(id(table))
        self.any_name = self.any_name or any(
            _is_parameter_table(node) and id(node) not in read_by_name for node in ast.walk(tree)
        )

    def check(self, names: Iterable[str], place: str) -> None:
        if self.any_name:
            return
        for name in names:
            if name not in self.names:
                raise UnknownNameError(
                    f"{place}: {unknown_name('parameter', name, self.names)}; a scenario declares "
                    "a parameter by `param NAME = VALUE`"
                )


def _is_parameter_table(node: Any) -> bool:
    return isinstance(node, ast.Name) and node.id == _TABLE


def _read_by(node: Any) -> Tuple[Any, Optional[str]]:
    """Return the table and the name if an expression reads ``globalParameters.NAME``,
    ``globalParameters['NAME']`` or ``globalParameters.get('NAME')``, else None for both."""
    if (
        isinstance(node, ast.Attribute)
        and _is_parameter_table(node.value)
        and node.attr not in _METHODS
    ):
        return node.value, node.attr
    if isinstance(node, ast.Subscript) and _is_parameter_table(node.value):
        index: Any = node.slice
        return node.value, _string_value(index.value if type(index).__name__ == "Index" else index)
    method = node.func if isinstance(node, ast.Call) and node.args else None
    if (
        isinstance(method, ast.Attribute)
        and _is_parameter_table(method.value)
        and method.attr == "get"
    ):
        return method.value, _string_value(node.args[0])
    return None, None


def _string_value(node: Any) -> Optional[str]:
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, str) else None
