"""Compute the height of an object's center above the surface on which it rests.

The height follows from the lowest point of a shape with a given size and inclination. Importing
this module imports Scenic, so import it only when it is needed.
"""

import math
from typing import Any

import numpy as np
from scenic.core.distributions import distributionFunction
from scenic.core.vectors import Orientation

TOUCH_M = 1e-4
"""Scenic's contact tolerance: half of it remains between an object and the one below it."""
SAME_HEIGHT_M = 1e-9


@distributionFunction(valueType=float)
def rest_facing(
    shape: Any, width: float, length: float, height: float, position: Any, target: Any, away: bool
) -> float:
    """Return the rest height (m) of an object that leans to face a higher or lower point. The
    inclination depends on the height, so both are computed together."""
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
    """Return how far a shape of height 1 extends below its center: 0.5, unless it was rotated."""
    return float(-shape.mesh.bounds[0][2])


@distributionFunction(valueType=float)
def upright_height(shape: Any, height: float) -> float:
    """Return the height (m) of an upright shape's center above its lowest point."""
    return lowest(shape) * height


@distributionFunction(valueType=float)
def rest_height(
    shape: Any, width: float, length: float, height: float, pitch: float, roll: float
) -> float:
    """Return the height (m) of a shape's center above its lowest point at these angles (rad)."""
    if pitch == 0 and roll == 0:
        return lowest(shape) * height
    corners = np.asarray(shape.mesh.vertices) * (width, length, height)
    return float(-turned(corners, 0.0, pitch, roll)[:, 2].min())


def turned(points: np.ndarray, yaw: float, pitch: float, roll: float) -> np.ndarray:
    """Return points (n, 3) rotated by Scenic's intrinsic angles (rad)."""
    turn: np.ndarray = Orientation.fromEuler(yaw, pitch, roll).getRotation().apply(points)
    return turn
