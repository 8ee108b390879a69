"""Lays the way-points that a local planner is given: the global plan on the known map.

Owns the step from an occupancy grid to evenly spaced way-points for a robot of some size; the
search itself is :mod:`gz_testauto.grid.search`'s. Unknown obstacles are not in that map and
play no part here.
"""

import math
from typing import Optional

import numpy as np

from gz_testauto.base.pose import Pose2D
from gz_testauto.grid.occupancy import OccupancyGrid
from gz_testauto.grid.search import shortest_path, simplify
from gz_testauto.planners.interface import RobotLimits

SPACING_M = 0.5
"""Largest distance between two way-points."""


def lay_waypoints(
    grid: OccupancyGrid,
    start: Pose2D,
    goal: Pose2D,
    limits: RobotLimits,
    margin_m: float,
) -> Optional[np.ndarray]:
    """The shortest way that keeps the robot's circumscribed circle and a margin off the map.

    Returns way-points in the world frame, shape (n, 2), from start to goal, no two farther
    apart than ``SPACING_M``; None when no way exists. The grid is inflated by the circumscribed
    radius and ``margin_m``. A robot that stands, or shall stop, nearer to a wall than that is
    still served: where start or goal needs it, the margin is given up, and then the inflation
    shrinks to the footprint's half width.
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
    """Points along a polyline, shape (n, 2), no farther apart than ``spacing_m``.

    Every corner stays; each straight piece is divided evenly.
    """
    path = np.asarray(path, dtype=float)
    pieces = [path[:1]]
    for begin, end in zip(path[:-1], path[1:]):
        count = max(1, math.ceil(math.hypot(*(end - begin)) / spacing_m - 1e-9))
        fractions = np.arange(1, count + 1)[:, None] / count
        pieces.append(begin + fractions * (end - begin))
    return np.concatenate(pieces)
