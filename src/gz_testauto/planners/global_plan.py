"""The global plan: waypoints for a local planner on the static map.

Owns the step from an occupancy grid to evenly spaced waypoints for a robot of a size; the search is
in :mod:`gz_testauto.grid.search`. The map does not contain the random obstacles.
"""

import math
from typing import Optional

import numpy as np

from gz_testauto.base.pose import Pose2D
from gz_testauto.grid.occupancy import OccupancyGrid
from gz_testauto.grid.search import shortest_path, simplify
from gz_testauto.planners.interface import RobotLimits

SPACING_M = 0.5
"""Largest distance between two waypoints."""


def plan_waypoints(
    grid: OccupancyGrid,
    start: Pose2D,
    goal: Pose2D,
    limits: RobotLimits,
    margin_m: float,
) -> Optional[np.ndarray]:
    """Return the shortest path that keeps the robot's circumscribed circle and a margin off the
    map.

    The result is waypoints in the world frame, shape (n, 2), from start to goal, at most
    ``SPACING_M`` from each other; None if no path exists. The grid is inflated by the circumscribed
    radius and ``margin_m``. If start or goal is nearer to a wall than that, the search is repeated
    without the margin, and then with the footprint's half width.
    """
    start_xy, goal_xy = (start.x_m, start.y_m), (goal.x_m, goal.y_m)
    radius_m = limits.circumscribed_radius_m
    for inflation_m in (radius_m + margin_m, radius_m, min(radius_m, limits.half_width_m)):
        inflated = grid.inflate(inflation_m)
        if not (inflated.is_free(*start_xy) and inflated.is_free(*goal_xy)):
            continue
        path = shortest_path(inflated, start_xy, goal_xy)
        if path is not None:
            return resample(simplify(inflated, path), SPACING_M)
    return None


def resample(path: np.ndarray, spacing_m: float) -> np.ndarray:
    """Return points along a polyline, shape (n, 2), at most ``spacing_m`` from each other.

    Corners are kept; each straight piece is divided evenly.
    """
    path = np.asarray(path, dtype=float)
    pieces = [path[:1]]
    for begin, end in zip(path[:-1], path[1:]):
        count = max(1, math.ceil(math.hypot(*(end - begin)) / spacing_m - 1e-9))
        fractions = np.arange(1, count + 1)[:, None] / count
        pieces.append(begin + fractions * (end - begin))
    return np.concatenate(pieces)
