"""The path around obstacles along the global plan.

``move_base`` plans on a global costmap; this module uses a wide costmap that moves with the robot.
"""

import math

import numpy as np

from gz_testauto.base.pose import Pose2D
from gz_testauto.planners.costmap import INSCRIBED, LocalCostmap

ON_PLAN_M = 1.0  # distance from the global plan within which a robot follows a free plan


class DetourPlanner:
    """A planner of the path to the point at which the global plan leaves a wide costmap.

    The path is the global plan if it is free, otherwise the cheapest path. It is planned again
    every ``cycles`` calls, and when an obstacle of the local costmap blocks it.
    """

    def __init__(self, waypoints_m: np.ndarray, costmap: LocalCostmap, cycles: int) -> None:
        self._plan = _PlanSection(waypoints_m, costmap.resolution)
        self._map = costmap
        self._cycles = cycles
        self._age = 0
        self._path_m = np.empty((0, 2))
        self.replanned = False

    def path(self, pose: Pose2D, costmap: LocalCostmap, length_m: float) -> np.ndarray:
        """Return the next ``length_m`` of the path (m, world frame), shape (n, 2).

        ``replanned`` is then True if this call planned the path. ``costmap`` is the local costmap.
        """
        self._age += 1
        self.replanned = (
            len(self._path_m) == 0 or self._age >= self._cycles or self._is_blocked(costmap)
        )
        if self.replanned:
            self._map.inflate()
            self._path_m = self._plan_path(pose)
            self._age = 0
        remaining_m = self._path_m[int(np.argmin(_distances_m(self._path_m, pose))) :]
        steps_m = np.hypot(*np.diff(remaining_m, axis=0).T)
        return np.asarray(remaining_m[np.concatenate([[0.0], np.cumsum(steps_m)]) <= length_m])

    def _plan_path(self, pose: Pose2D) -> np.ndarray:
        """Return a new path (m, world frame), shape (n, 2): the global plan if it is near and free,
        otherwise the cheapest path."""
        position_m, spacing_m = np.array([pose.x_m, pose.y_m]), self._map.resolution
        plan_m = self._plan.near(pose, self._map.reach_m)
        to_plan_m = math.hypot(*(plan_m[0] - position_m))
        shares = np.linspace(0.0, 1.0, math.ceil(to_plan_m / spacing_m), endpoint=False)[:, None]
        direct_m = np.concatenate([position_m + shares * (plan_m[0] - position_m), plan_m])
        cells = self._map.cells_of(direct_m)
        is_free = self._map.costs[cells[:, 0], cells[:, 1]] < INSCRIBED
        # The costmap lacks walls of the static map that the lidar has not detected, so a free plan
        # is preferred to a cheaper path.
        if to_plan_m <= ON_PLAN_M and is_free.all():
            return direct_m
        targets = cells[is_free] if is_free[len(shares) :].any() else cells
        start = self._map.cells_of(position_m[None])[0]
        return self._map.centers_m(self._map.path(start, targets[-1]))

    def _is_blocked(self, costmap: LocalCostmap) -> bool:
        cells = costmap.cells_of(self._path_m)
        cells = cells[costmap.contains(cells)]
        return bool((costmap.costs[cells[:, 0], cells[:, 1]] >= INSCRIBED).any())


class _PlanSection:
    """The section of the global plan near the robot. It never moves back along the plan."""

    def __init__(self, waypoints_m: np.ndarray, spacing_m: float) -> None:
        pieces = [np.asarray(waypoints_m[:1], dtype=float)]
        for begin, end in zip(waypoints_m[:-1], waypoints_m[1:]):
            segment_count = max(1, math.ceil(math.hypot(*(end - begin)) / spacing_m))
            pieces.append(
                begin + np.arange(1, segment_count + 1)[:, None] / segment_count * (end - begin)
            )
        self._points_m = np.concatenate(pieces)
        self._spacing_m = spacing_m
        self._nearest_index = 0

    def near(self, pose: Pose2D, reach_m: float) -> np.ndarray:
        """Return the points of the plan, shape (n, 2), from the nearest up to ``reach_m`` from the
        robot. If the plan is farther away, return a line of this length towards it."""
        points_ahead_m = self._points_m[self._nearest_index :]
        # a point much farther ahead can be behind a wall
        points_ahead_m = points_ahead_m[: max(1, math.ceil(0.5 * reach_m / self._spacing_m))]
        self._nearest_index += int(np.argmin(_distances_m(points_ahead_m, pose)))
        points = self._points_m[self._nearest_index :]
        far_indexes = np.flatnonzero(_distances_m(points, pose) > reach_m)
        point_count = len(points) if len(far_indexes) == 0 else int(far_indexes[0])
        if point_count > 0:
            return points[:point_count]
        position_m = np.array([pose.x_m, pose.y_m])
        along_m = np.arange(0.0, reach_m, self._spacing_m)[:, None]
        return np.asarray(
            position_m + along_m * (points[0] - position_m) / np.hypot(*(points[0] - position_m))
        )


def _distances_m(points_m: np.ndarray, pose: Pose2D) -> np.ndarray:
    return np.asarray(np.hypot(points_m[:, 0] - pose.x_m, points_m[:, 1] - pose.y_m))
