"""Reject assignments and overrides of properties that Scenic accepts and that have no effect here.

Scenic computes the pose and the size of an object when it creates the object. During a trial the
simulator determines the pose, and no model changes its shape. Importing this module imports Scenic.
"""

import sys
from typing import Any, Dict, Iterable

from scenic.core.errors import InvalidScenarioError
from scenic.syntax import veneer

_WORDS: Dict[str, str] = {
    "position": "at X @ Y",
    "x": "at X @ Y",
    "y": "at X @ Y",
    "z": "with z HEIGHT",
    "heading": "facing HEADING",
    "yaw": "facing HEADING",
    "orientation": "facing ORIENTATION",
}
OVERRIDE_BEFORE = (
    "`override` changes an object while the scenario acts, and nothing acts yet: state the "
    "property where the object is created, as `new Cube with color (1, 0, 0)`"
)


def raise_if_without_effect(obj: Any, name: str) -> None:
    """Raise ``InvalidScenarioError`` if the caller's caller is a program that assigns to a property
    that Scenic or this package evaluates. Assignments to properties of the program's own classes
    are valid, and so are assignments by Scenic itself, or by a mutator while a scene is drawn."""
    if name.startswith("_") or not (name in _built_in(obj) or name in ("x", "y", "z")):
        return
    acts = veneer.currentSimulation is not None
    of_scenic = str(sys._getframe(2).f_globals.get("__name__", "")).startswith("scenic.")
    if of_scenic or not (acts or veneer.isActive()):
        return
    kind = type(obj).__name__
    if acts:
        raise InvalidScenarioError(
            f"`{name}` is assigned to a {kind} during a trial, which has no effect on the "
            "simulator; let its behavior take an action, as SetVelocityAction"
        )
    words = _WORDS.get(name, f"with {name} VALUE")
    raise InvalidScenarioError(
        f"`{name}` is assigned to a {kind} that was created before, which has no effect on the "
        f"scene; state it where the object is created: `new {kind} {words}`"
    )


def raise_if_not_overridable(obj: Any, names: Iterable[str]) -> None:
    """Raise ``InvalidScenarioError`` unless an ``override`` of these properties has an effect."""
    if veneer.currentSimulation is None:
        raise InvalidScenarioError(OVERRIDE_BEFORE)
    kind = type(obj).__name__
    for name in names:
        if name == "behavior" and obj.behavior is None:
            raise InvalidScenarioError(
                f"`override` gives a behavior to a {kind} that had none, and so is a fixed part of "
                f"the world; create it as `new {kind} with behavior Stand()`"
            )
        if name != "behavior" and name in _built_in(obj):
            raise InvalidScenarioError(
                f"`override` of `{name}` has no effect on the simulator; override `behavior`, or a "
                "property of a class of the scenario's own"
            )


def _built_in(obj: Any) -> Any:
    """Return the properties that an object has from Scenic or from this package."""
    for kind in type(obj).__mro__:
        if kind.__module__.startswith(("scenic.", "gz_testauto.extras.scenic.")):
            return getattr(kind, "_defaults", ())
    return ()
