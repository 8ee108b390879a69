"""What of Scenic cannot be had here, found in a program by name and line.

Owns two lists for scenes that stand still and two for those that act in a trial: constructs that
are refused, because what happens would not be what the program says, and constructs that have no
effect, which are told. Imports Scenic when it is imported.
"""

import ast
from typing import Any, Dict, List, NamedTuple, Tuple

from scenic.syntax import ast as s

_OR_ACT = "or let it act in a campaign, by worlds.dynamic: true"
_ONLY_IN_TIME = f"worlds are scenes at one moment; state it without time, {_OR_ACT}"

_REFUSED: Dict[str, str] = {
    "Always": f"`always` is about time: {_ONLY_IN_TIME}",
    "Eventually": f"`eventually` is about time: {_ONLY_IN_TIME}",
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
    "would be dropped for how the planner fared; remove it",
    "InitialScenario": _REFUSED["InitialScenario"],
}

_NEVER_HEARD: Dict[str, str] = {
    "Record": "record",
    "RecordInitial": "record initial",
    "RecordFinal": "record final",
    "Simulator": "simulator",
}

_WITHOUT_EFFECT: Dict[str, str] = {
    **_NEVER_HEARD,
    "TerminateWhen": "terminate when",
    "TerminateSimulationWhen": "terminate simulation when",
    "TerminateAfter": "terminate after",
}

_FOREIGN = ("scenic.simulators.", "scenic.domains.")


class Place(NamedTuple):
    """A line of a program and what is to be said of it."""

    line: int
    text: str


def examine(tree: Any, dynamic: bool = False) -> Tuple[List[Place], List[Place]]:
    """What is refused of a parsed program, and what has no effect, both by line. ``dynamic``: it
    is to act in trials."""
    wrong, unheard = (_REFUSED_IN_TRIALS, _NEVER_HEARD) if dynamic else (_REFUSED, _WITHOUT_EFFECT)
    moment = "during a trial" if dynamic else "on a scene at one moment"
    refused: List[Place] = []
    idle: List[Place] = []
    for node in ast.walk(tree):
        kind = type(node).__name__
        line = getattr(node, "lineno", 1)
        if kind in wrong:
            refused.append(Place(line, wrong[kind]))
        elif kind in unheard:
            idle.append(Place(line, f"`{unheard[kind]}` has no effect {moment}"))
        elif kind == "ScenarioDef" and getattr(node, "compose", None):
            text = "`compose` is about scenarios that follow each other: use `setup` alone"
            refused.append(Place(line, text))
        elif not dynamic and isinstance(node, s.WithSpecifier) and _gives_behavior(node):
            refused.append(Place(line, "`with behavior`: " + _REFUSED["BehaviorDef"]))
        elif not dynamic and isinstance(node, s.PropertyDef) and node.property == "behavior":
            refused.append(Place(line, "property `behavior`: " + _REFUSED["BehaviorDef"]))
        else:
            refused += [Place(line, text) for text in _foreign_models(node)]
    return sorted(set(refused)), sorted(set(idle))


def examine_imported(tree: Any) -> List[Place]:
    """What is refused of a program that is imported. What it defines about time need not be used,
    and is refused where it is."""
    places = [
        Place(getattr(node, "lineno", 1), text)
        for node in ast.walk(tree)
        for text in _foreign_models(node)
    ]
    return sorted(set(places))


def _gives_behavior(node: Any) -> bool:
    nothing = isinstance(node.value, ast.Constant) and node.value.value is None
    return node.prop == "behavior" and not nothing


def _foreign_models(node: Any) -> List[str]:
    if isinstance(node, s.Model):
        names = [node.name]
    elif isinstance(node, ast.ImportFrom):
        names = [node.module or ""]
    elif isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    else:
        return []
    return [
        f"{name} is the library of another simulator; remove the line, and list the models that "
        "the scenario uses in the descriptor"
        for name in names
        if name.startswith(_FOREIGN)
    ]
