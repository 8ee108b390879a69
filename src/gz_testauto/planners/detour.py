"""The path around the obstacles of a local costmap, from the robot along the global plan.

The global plan contains only the obstacles of the static map. In the ROS navigation stack,
``move_base`` plans again on a costmap that also contains the obstacles of the lidar. This module
does the same within the local costmap.
"""

import math

import numpy as np

from gz_testauto.base.pose import Pose2D
from gz_testauto.planners.costmap import INSCRIBED, LocalCostmap


class DetourPlanner:
    """A planner of the cheapest path to the point at which the global plan leaves the costmap.

    The path is planned again after every ``cycles`` calls, and if an obstacle blocks it.
    ``replanned`` is true if the last call of :meth:`path` planned it.
    """

    def __init__(self, waypoints_m: np.ndarray, spacing_m: float, cycles: int) -> None:
        self._plan = _PlanSection(waypoints_m, spacing_m)
        self._cycles = cycles
        self._age = 0
        self._path_m = np.empty((0, 2))
        self.replanned = False

    def path(self, pose: Pose2D, costmap: LocalCostmap, length_m: float) -> np.ndarray:
        """Return the first ``length_m`` of the path from the robot (m, world frame), shape (n,
        2)."""
        target = self._target(pose, costmap)
        cells = costmap.cells_of(self._path_m)
        on_map = costmap.contains(cells)
        self._age += 1
        self.replanned = (
            len(cells) == 0
            or self._age >= self._cycles
            or not on_map.all()
            or bool((costmap.costs[cells[:, 0], cells[:, 1]] >= INSCRIBED).any())
        )
        if self.replanned:
            start = costmap.cells_of(np.array([[pose.x_m, pose.y_m]]))[0]
            self._path_m = costmap.centers_m(costmap.path(start, target))
            self._age = 0
        rest_m = self._path_m[int(np.argmin(_away_m(self._path_m, pose))) :]
        steps_m = np.hypot(*np.diff(rest_m, axis=0).T)
        return np.asarray(rest_m[np.concatenate([[0.0], np.cumsum(steps_m)]) <= length_m])

    def _target(self, pose: Pose2D, costmap: LocalCostmap) -> np.ndarray:
        """Return the last cell of the global plan that is on the costmap and free."""
        cells = costmap.cells_of(self._plan.near(pose, costmap.reach_m))
        cells = cells[costmap.contains(cells)]
        free = cells[costmap.costs[cells[:, 0], cells[:, 1]] < INSCRIBED]
        return np.asarray((free if len(free) else cells)[-1])


class _PlanSection:
    """The section of the global plan near the robot. Progress along the plan never decreases."""

    def __init__(self, waypoints_m: np.ndarray, spacing_m: float) -> None:
        pieces = [np.asarray(waypoints_m[:1], dtype=float)]
        for begin, end in zip(waypoints_m[:-1], waypoints_m[1:]):
            count = max(1, math.ceil(math.hypot(*(end - begin)) / spacing_m))
            pieces.append(begin + np.arange(1, count + 1)[:, None] / count * (end - begin))
        self._points_m = np.concatenate(pieces)
        self._spacing_m = spacing_m
        self._nearest = 0

    def near(self, pose: Pose2D, reach_m: float) -> np.ndarray:
        """Return the points from the nearest one to the first one beyond ``reach_m``, shape (n, 2).
        If the plan is farther away, return the line to it, of this length."""
        ahead = self._points_m[self._nearest :]
        ahead = ahead[: max(1, math.ceil(2.0 * reach_m / self._spacing_m))]
        self._nearest += int(np.argmin(_away_m(ahead, pose)))
        points = self._points_m[self._nearest :]
        beyond = np.flatnonzero(_away_m(points, pose) > reach_m)
        count = len(points) if len(beyond) == 0 else int(beyond[0])
        if count > 0:
            return points[:count]
        here = np.array([pose.x_m, pose.y_m])
        along_m = np.arange(0.0, reach_m, self._spacing_m)[:, None]
        return np.asarray(here + along_m * (points[0] - here) / np.hypot(*(points[0] - here)))


def _away_m(points_m: np.ndarray, pose: Pose2D) -> np.ndarray:
    return np.asarray(np.hypot(points_m[:, 0] - pose.x_m, points_m[:, 1] - pose.y_m))
