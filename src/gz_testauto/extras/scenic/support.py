"""The height at which an object rests on a surface, and the test whether it is stable there, from
shapes without masses.

Importing this module imports Scenic.
"""

import math
from typing import Any, Sequence

import numpy as np
import shapely
from scenic.core.distributions import distributionFunction
from scenic.core.vectors import Orientation

TOUCH_M = 1e-4  # contact tolerance of Scenic: half of it remains above the surface
SAME_HEIGHT_M = 1e-9


@distributionFunction(valueType=float)
def rest_facing(
    shape: Any, width: float, length: float, height: float, position: Any, target: Any, away: bool
) -> float:
    """Return the height (m) above the ground of the center of an object that leans to face the
    higher or lower point ``target``. With ``away``, the object faces away from it."""
    distance = math.hypot(target[0] - position[0], target[1] - position[1])
    corners = np.asarray(shape.mesh.vertices) * (width, length, height)
    rest_m = lowest(shape) * height
    for _ in range(50):  # inclination and height depend on each other
        up = target[2] - rest_m - TOUCH_M / 2
        pitch = math.atan2(-up, distance) if away else math.atan2(up, distance)
        before, rest_m = rest_m, float(-turned(corners, 0.0, pitch, 0.0)[:, 2].min())
        if abs(rest_m - before) < SAME_HEIGHT_M:
            break
    return rest_m


def lowest(shape: Any) -> float:
    """Return the distance from the center of a shape of height 1 to its lowest point, 0.5 unless
    the shape was rotated."""
    return float(-shape.mesh.bounds[0][2])


@distributionFunction(valueType=float)
def upright_height(shape: Any, height: float) -> float:
    return lowest(shape) * height


@distributionFunction(valueType=float)
def rest_height(
    shape: Any, width: float, length: float, height: float, pitch: float, roll: float
) -> float:
    """Return the height (m) of a shape's center above its lowest point."""
    if pitch == 0 and roll == 0:
        return lowest(shape) * height
    corners = np.asarray(shape.mesh.vertices) * (width, length, height)
    return float(-turned(corners, 0.0, pitch, roll)[:, 2].min())


def turned(points: np.ndarray, yaw: float, pitch: float, roll: float) -> np.ndarray:
    """Rotate points (n, 3) by Scenic's intrinsic angles (rad)."""
    turn: np.ndarray = Orientation.fromEuler(yaw, pitch, roll).getRotation().apply(points)
    return turn


SUPPORT_M = 2e-3  # largest distance from the base of an object to its support
GRID = 9  # test points along and across a base
MARGIN = 0.1
"""Smallest distance of the center from the edge of the support, relative to the shorter side of the
base."""


def needs_support(obj: Any) -> bool:
    """Return whether an object rests on another object and must be stable there."""
    base = float(obj.position.z) - float(obj.restHeight)
    if base <= SUPPORT_M:
        return False
    if getattr(obj, "stacked", False):
        return not obj.static or not obj.allowCollisions
    level = getattr(obj, "supportLevel", None)
    return level is not None and abs(base - float(level)) <= SUPPORT_M


def has_stable_support(obj: Any, neighbors: Sequence[Any]) -> bool:
    """Return whether the center is inside the convex hull of the supported points of the base, with
    a margin. For a static object, any supported point is sufficient."""
    corners = np.asarray(obj.occupiedSpace.mesh.vertices)
    low = corners[:, 2].min()
    base = shapely.MultiPoint(corners[corners[:, 2] < low + SUPPORT_M / 2][:, :2]).convex_hull
    x, y = float(obj.position.x), float(obj.position.y)
    if base.area == 0:  # the object rests on an edge or a point, on purpose
        points = np.array([[x, y]])
        shorter = 0.0
    else:
        points = _base_points(base)
        x_low, y_low, x_high, y_high = base.bounds
        shorter = min(x_high - x_low, y_high - y_low)
    carried = points[_are_supported(points, low, neighbors)]
    if not len(carried):
        return False
    if shorter == 0 or obj.static:
        return True
    hull = shapely.MultiPoint(carried).convex_hull
    middle = shapely.Point(x, y)
    return bool(hull.contains(middle)) and hull.exterior.distance(middle) >= MARGIN * shorter


def _base_points(base: Any) -> np.ndarray:
    """Return the grid points in a polygon, and its vertices, (n, 2)."""
    x_low, y_low, x_high, y_high = base.bounds
    across, along = np.meshgrid(np.linspace(x_low, x_high, GRID), np.linspace(y_low, y_high, GRID))
    points = np.column_stack([across.ravel(), along.ravel()])
    outline = np.asarray(base.exterior.coords)[:-1]
    return np.vstack([points[shapely.contains_xy(base, points)], outline])


def _are_supported(points: np.ndarray, low: float, neighbors: Sequence[Any]) -> np.ndarray:
    """Return for each point (n, 2) whether an object directly below supports it. ``low`` is the
    height of the base."""
    carried = np.zeros(len(points), dtype=bool)
    starts = np.column_stack([points, np.full(len(points), low + SUPPORT_M / 2)])
    down = np.tile([0.0, 0.0, -1.0], (len(points), 1))
    least, most = points.min(axis=0), points.max(axis=0)
    for neighbor in neighbors:
        center = np.array([float(neighbor.position.x), float(neighbor.position.y)])
        radius = float(neighbor.radius)
        if (center + radius < least).any() or (center - radius > most).any():
            continue
        if abs(float(neighbor.position.z) - low) > radius + SUPPORT_M:
            continue
        hits, rays, _ = neighbor.occupiedSpace.mesh.ray.intersects_location(starts, down)
        if len(hits):
            close = starts[0, 2] - hits[:, 2] <= 1.5 * SUPPORT_M
            carried[rays[close]] = True
    return carried
