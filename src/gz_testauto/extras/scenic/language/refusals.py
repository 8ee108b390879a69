"""Find unsupported constructs of Scenic in a program, by name and line.

This module defines two lists for static scenes and two for scenarios that act in a trial:
constructs that are rejected, because their effect would differ from their meaning in Scenic, and
constructs that have no effect, which are reported. Importing this module imports Scenic.
"""

import ast
from typing import Any, Dict, List, NamedTuple, Set, Tuple

from scenic.syntax import ast as s

from gz_testauto.extras.scenic.language.assignments import OVERRIDE_BEFORE

_OR_ACT = "or let it act in a campaign, by worlds.scenic.dynamic: true"
_ONLY_IN_TIME = f"worlds are scenes at one moment; state it without time, {_OR_ACT}"

_REFUSED: Dict[str, str] = {
    "Always": f"`always` is about time: {_ONLY_IN_TIME}",
    "Eventually": "`eventually` is about time: worlds are scenes at one moment, and a campaign "
    "with worlds.scenic.dynamic does not support it either; remove it",
    "Next": f"`next` is about time: {_ONLY_IN_TIME}",
    "UntilOp": f"`until` is about time: {_ONLY_IN_TIME}",
    "RequireMonitor": f"`require monitor` is about time: {_ONLY_IN_TIME}",
    "MonitorDef": f"a `monitor` is about time: {_ONLY_IN_TIME}",
    "BehaviorDef": "a `behavior` is what an agent does in time, and here nothing acts: remove it, "
    + _OR_ACT,
    "TryInterrupt": f"`try ... interrupt` is about time: remove it, {_OR_ACT}",
    "InitialScenario": "`initial scenario` is about scenarios that follow each other: remove it",
}

_REFUSED_IN_TRIALS: Dict[str, str] = {
    "Eventually": "`eventually` is known when a trial is over, which the planner decides: a trial "
    "would be dropped for how the planner fared; write `record CONDITION as NAME` instead, whose "
    "maximum in the results is 1 if it was ever true",
    "InitialScenario": _REFUSED["InitialScenario"],
}

_NEVER_HEARD: Dict[str, str] = {"Simulator": "simulator"}

_IF_DYNAMIC = "; a campaign with worlds.scenic.dynamic: true has it"
_WITHOUT_EFFECT: Dict[str, str] = {
    **_NEVER_HEARD,
    "Record": "record",
    "RecordInitial": "record initial",
    "RecordFinal": "record final",
    "TerminateWhen": "terminate when",
    "TerminateSimulationWhen": "terminate simulation when",
    "TerminateAfter": "terminate after",
}

_RECORD_IMPORTED = "`record` in a module that is imported has no effect; move it into the scenario"

VERIFAI = (
    "draws from VerifAI, whose draws depend on the draws before; use Range, DiscreteRange, Uniform "
    "or Discrete, without the import of verifai"
)
_VERIFAI_MODULES = ("verifai", "scenic.core.external_params")

_FOREIGN = ("scenic.simulators.", "scenic.domains.")


class Place(NamedTuple):
    """A line of a program, and the message about it."""

    line: int
    text: str


def examine(tree: Any, dynamic: bool = False) -> Tuple[List[Place], List[Place]]:
    """Return the rejected constructs of a parsed program, and those without effect, both by line.
    ``dynamic`` is true for a program that acts in trials."""
    wrong, unheard = (_REFUSED_IN_TRIALS, _NEVER_HEARD) if dynamic else (_REFUSED, _WITHOUT_EFFECT)
    moment = "during a trial" if dynamic else "on a scene at one moment"
    refused = _refused_everywhere(tree)
    idle: List[Place] = []
    for node in ast.walk(tree):
        kind = type(node).__name__
        line = line_of(node)
        if kind in wrong:
            refused.append(Place(line, wrong[kind]))
        elif kind in unheard:
            acting = "" if dynamic or kind in _NEVER_HEARD else _IF_DYNAMIC
            idle.append(Place(line, f"`{unheard[kind]}` has no effect {moment}{acting}"))
        elif kind == "ScenarioDef" and getattr(node, "compose", None):
            text = "`compose` is about scenarios that follow each other: use `setup` alone"
            refused.append(Place(line, text))
        elif not dynamic and isinstance(node, s.WithSpecifier) and _gives_behavior(node):
            refused.append(Place(line, "`with behavior`: " + _REFUSED["BehaviorDef"]))
        elif not dynamic and isinstance(node, s.PropertyDef) and node.property == "behavior":
            refused.append(Place(line, "property `behavior`: " + _REFUSED["BehaviorDef"]))
        elif isinstance(node, s.parameter) and node.identifier.startswith("verifai"):
            idle.append(
                Place(line, f"`param {node.identifier}` has no effect: VerifAI draws nothing")
            )
    return sorted(set(refused)), sorted(set(idle))


def examine_imported(tree: Any) -> List[Place]:
    """Return the rejected constructs of an imported program. A definition about time can be unused,
    so it is rejected only where it is used."""
    recorded = [node for node in ast.walk(tree) if type(node).__name__.startswith("Record")]
    places = [Place(line_of(node), _RECORD_IMPORTED) for node in recorded]
    return sorted({*places, *_refused_everywhere(tree)})


def line_of(node: Any) -> int:
    """Return the line of a node; for a node without a line, such as ``override``, that of its first
    part."""
    return next((one.lineno for one in ast.walk(node) if hasattr(one, "lineno")), 1)


def _refused_everywhere(tree: Any) -> List[Place]:
    """Return the constructs that are rejected in every program, including imported ones."""
    deferred = _deferred(tree)
    refused: List[Place] = []
    for node in ast.walk(tree):
        line = line_of(node)
        refused += [Place(line, text) for text in _foreign_models(node)]
        if _uses_verifai(node):
            refused.append(Place(line, VERIFAI))
        if isinstance(node, s.Override) and id(node) not in deferred:
            refused.append(Place(line, OVERRIDE_BEFORE))
    return refused


def _deferred(tree: Any) -> Set[int]:
    """Return the ids of nodes that do not run when the program is compiled: those of behaviors,
    monitors, and functions, which behaviors can call."""
    kinds = (s.BehaviorDef, s.MonitorDef, ast.FunctionDef)
    bodies = [node for node in ast.walk(tree) if isinstance(node, kinds)]
    return {id(node) for body in bodies for node in ast.walk(body)}


def _uses_verifai(node: Any) -> bool:
    """Return whether a node draws from VerifAI, or imports it."""
    if isinstance(node, ast.Name):
        return node.id.startswith("Verifai")
    return any(
        name == module or name.startswith(f"{module}.")
        for name in _modules_of(node)
        for module in _VERIFAI_MODULES
    )


def _gives_behavior(node: Any) -> bool:
    nothing = isinstance(node.value, ast.Constant) and node.value.value is None
    return node.prop == "behavior" and not nothing


def _modules_of(node: Any) -> List[str]:
    """Return the modules that a statement imports."""
    if isinstance(node, s.Model):
        return [node.name]
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""]
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return []


def _foreign_models(node: Any) -> List[str]:
    return [
        f"{name} is the library of another simulator; remove the line, and list the models that "
        "the scenario uses in the descriptor"
        for name in _modules_of(node)
        if name.startswith(_FOREIGN)
    ]
