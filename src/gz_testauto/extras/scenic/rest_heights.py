"""How high the middle of a thing is over what it stands on, as it leans.

Owns that geometry alone: the lowest point of a shape in a size and at angles. Imports Scenic when
it is imported, so it is imported late.
"""

import math
from typing import Any

import numpy as np
from scenic.core.distributions import distributionFunction
from scenic.core.vectors import Orientation

TOUCH_M = 1e-4
"""Scenic's contact tolerance: half of it is left between two things that stand on each other."""
SAME_HEIGHT_M = 1e-9


@distributionFunction(valueType=float)
def rest_facing(
    shape: Any, width: float, length: float, height: float, position: Any, target: Any, away: bool
) -> float:
    """The rest height (m) of what leans so as to face a point that is higher or lower: how much it
    leans depends on how high it is, so both are found together."""
    distance = math.hypot(target[0] - position[0], target[1] - position[1])
    corners = np.asarray(shape.mesh.vertices) * (width, length, height)
    rest = lowest(shape) * height
    for _ in range(50):
        up = target[2] - rest - TOUCH_M / 2
        pitch = math.atan2(-up, distance) if away else math.atan2(up, distance)
        before, rest = rest, float(-turned(corners, 0.0, pitch, 0.0)[:, 2].min())
        if abs(rest - before) < SAME_HEIGHT_M:
            break
    return rest


def lowest(shape: Any) -> float:
    """How far a shape of height 1 reaches down from its middle: half, unless it was turned."""
    return float(-shape.mesh.bounds[0][2])


@distributionFunction(valueType=float)
def upright_height(shape: Any, height: float) -> float:
    """How high (m) the middle of a shape is over its lowest point, upright."""
    return lowest(shape) * height


@distributionFunction(valueType=float)
def rest_height(
    shape: Any, width: float, length: float, height: float, pitch: float, roll: float
) -> float:
    """How high (m) the middle of a shape is over its lowest point, leaning so."""
    if pitch == 0 and roll == 0:
        return lowest(shape) * height
    corners = np.asarray(shape.mesh.vertices) * (width, length, height)
    return float(-turned(corners, 0.0, pitch, roll)[:, 2].min())


def turned(points: np.ndarray, yaw: float, pitch: float, roll: float) -> np.ndarray:
    """Points (n, 3) turned by Scenic's intrinsic angles."""
    turn: np.ndarray = Orientation.fromEuler(yaw, pitch, roll).getRotation().apply(points)
    return turn
