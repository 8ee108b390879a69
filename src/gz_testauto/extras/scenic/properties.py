"""Validation of the values of objects that Scenic or a plan view uses without a check.

Importing this module imports Scenic, and replaces its function that normalizes angles.
"""

import math
from numbers import Real
from typing import Any, Iterable

import numpy as np
from scenic.core import geometry, object_types, pruning, vectors
from scenic.core.distributions import distributionFunction, needsSampling
from scenic.core.errors import InvalidScenarioError
from scenic.core.lazy_eval import isLazy

_SIZES = ("width", "length", "height")
_ANGLES = ("yaw", "pitch", "roll")
CHECKED = (*_SIZES, *_ANGLES, "position", "parentOrientation", "regionContainedIn", "color")
MOST_BY_TURNS_RAD = 1e5
"""Largest angle from which Scenic's loop subtracts single turns, which rounds differently."""


def check_property(kind: str, name: str, value: Any) -> None:
    """Raise ``InvalidScenarioError`` for an invalid value. Accept random values, which are checked
    when they are drawn, and values of types that Scenic converts or rejects."""
    if name not in CHECKED or needsSampling(value) or isLazy(value):
        return
    if name in _SIZES:
        if isinstance(value, Real) and not (is_finite([value]) and _float(value) > 0):
            remedy = "it must be a finite number of meters greater than 0"
            raise InvalidScenarioError(f"{name} of a {kind} is {_text(value)}; {remedy}")
    elif name in _ANGLES:
        if not is_finite([value]):
            raise InvalidScenarioError(
                f"{name} of a {kind} is {_text(value)}; it must be a finite number"
            )
    elif name == "position":
        if isinstance(value, (tuple, list, vectors.Vector)) and not is_finite(value):
            shown = ", ".join(map(_text, value))
            raise InvalidScenarioError(
                f"position of a {kind} is ({shown}); it must consist of finite numbers of meters"
            )
    elif name == "parentOrientation":
        if isinstance(value, vectors.Orientation) and not is_finite(value.q):
            raise InvalidScenarioError(f"{name} of a {kind} is not finite; use finite angles")
    elif name == "color":
        if value is not None and not _is_color(value):
            raise InvalidScenarioError(
                f"{name} of a {kind} is {value!r}; it must be 3 or 4 numbers from 0 to 1"
            )
    elif value is not None and not hasattr(value, "containsObject"):
        raise InvalidScenarioError(f"{name} of a {kind} is {value!r}; it must be a region or None")


def _is_color(value: Any) -> bool:
    return (
        isinstance(value, (tuple, list, np.ndarray))
        and 3 <= len(value) <= 4
        and all(isinstance(part, Real) and 0 <= _float(part) <= 1 for part in value)
    )


def is_finite(values: Iterable[Any]) -> bool:
    """Return whether no number is infinite, NaN or too large for a float."""
    return all(math.isfinite(_float(value)) for value in values if isinstance(value, Real))


def _float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _text(value: Any) -> str:
    return f"{_float(value):g}" if isinstance(value, Real) else repr(value)


@distributionFunction
def normalize_angle(angle: float) -> float:
    """Return an angle (rad) in [-π, π]. Raises ``InvalidScenarioError`` for infinity or NaN."""
    if not is_finite([angle]):
        raise InvalidScenarioError(
            f"yaw, pitch or roll is {_text(angle)}; it must be a finite number"
        )
    if abs(angle) > MOST_BY_TURNS_RAD:
        return math.remainder(angle, math.tau)
    while angle > math.pi:
        angle -= math.tau
    while angle < -math.pi:
        angle += math.tau
    return angle


for _module in (geometry, object_types, pruning, vectors):
    _module.normalizeAngle = normalize_angle  # Scenic's loop does not end for large angles
