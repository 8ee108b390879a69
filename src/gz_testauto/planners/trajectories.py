"""Trajectories with constant velocities, and their costs on a local costmap, as in
https://wiki.ros.org/base_local_planner.
"""

import math
from typing import NamedTuple, Tuple

import numpy as np

from gz_testauto.base.compiled import compiled, compiled_for
from gz_testauto.base.pose import Pose2D
from gz_testauto.planners.costmap import LocalCostmap, next_cell


class Weights(NamedTuple):
    """The weights of a trajectory's cost, per cell of distance or unit of cost.

    ``path`` and ``goal`` weight the distances of the last pose, ``nose_path`` and ``nose_goal``
    those of a point in front of the base, and ``obstacle`` the largest cost of the costmap.
    """

    path: float
    goal: float
    nose_path: float
    nose_goal: float
    obstacle: float


class Distances(NamedTuple):
    """The distances (cells) of each cell of a costmap, shape (n, n), from the path and from the
    local goals of the base and of the point in front of it."""

    path: np.ndarray
    goal: np.ndarray
    nose_goal: np.ndarray


def velocity_samples(lowest: float, highest: float, count: int) -> np.ndarray:
    """Return ``count`` evenly spaced velocities, at least 2, from ``lowest`` to ``highest``, and 0
    if it is between these. Return only ``lowest`` if ``highest`` is not larger."""
    if highest <= lowest:
        return np.array([lowest])
    samples = np.linspace(lowest, highest, max(2, count))
    if lowest < 0.0 < highest and not (samples == 0.0).any():
        samples = np.insert(samples, int(np.searchsorted(samples, 0.0)), 0.0)
    return samples


def rollout(
    pose: Pose2D, twists: np.ndarray, steps: np.ndarray, duration_s: float
) -> Tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return x, y (m), and the cosine and sine of the yaw, each with shape (n, s), on the
    trajectories from ``pose`` with the constant velocities ``twists`` (n, 2). Trajectory i consists
    of the first ``steps[i]`` poses of row i, which are evenly spaced over ``duration_s``."""
    step_s = (duration_s / steps)[:, None]
    number = np.arange(int(steps.max(initial=1)))
    yaw = pose.yaw_rad + twists[:, 1:] * step_s * number
    cos, sin = np.cos(yaw), np.sin(yaw)
    # The robot moves straight between two poses, as in dwa_local_planner.
    moved_m = twists[:, :1] * step_s
    x = pose.x_m + moved_m * (np.cumsum(cos, axis=1) - cos)
    y = pose.y_m + moved_m * (np.cumsum(sin, axis=1) - sin)
    return x, y, cos, sin


def trajectory_costs(
    pose: Pose2D,
    twists: np.ndarray,
    steps: np.ndarray,
    duration_s: float,
    outlines_m: Tuple[np.ndarray, np.ndarray],
    costmap: LocalCostmap,
    distances: Distances,
    nose_m: float,
    weights: Weights,
) -> np.ndarray:
    """Return the cost of each trajectory, shape (n,), which is infinite for an invalid one.

    ``twists`` (n, 2) are m/s and rad/s, ``steps`` (n,) the numbers of poses. ``outlines_m`` are the
    outline of the robot in the base frame, shape (k, 2), and its scale on each trajectory, shape
    (n,). A trajectory is invalid if the outline touches an obstacle or leaves the costmap, or if
    the base reaches a cell from which the path or the local goal cannot be reached. ``nose_m`` is
    the distance of the point in front of the base.
    """
    outline_m, scales = outlines_m
    frame = np.array([*costmap.origin_m, costmap.resolution, nose_m])
    poses = rollout(pose, twists, steps, duration_s)
    return np.asarray(
        _costs(
            *poses, steps, scales, outline_m, costmap.costs, *distances, frame, np.array(weights)
        )
    )


@compiled
def _outline_cost(x_m, y_m, cos, sin, scale, outline_m, costs, origin_x, origin_y, resolution):  # type: ignore[no-untyped-def]
    """Return the largest cost of the costmap on the outline, enlarged by ``scale``, at one pose, or
    -1 if it touches an obstacle or leaves the costmap."""
    height, width = costs.shape
    largest = 0
    corners = len(outline_m)
    for corner in range(corners):
        ahead_m, aside_m = scale * outline_m[corner, 0], scale * outline_m[corner, 1]
        begin_x = math.floor((x_m + cos * ahead_m - sin * aside_m - origin_x) / resolution)
        begin_y = math.floor((y_m + sin * ahead_m + cos * aside_m - origin_y) / resolution)
        next_corner = corner + 1 if corner + 1 < corners else 0
        ahead_m, aside_m = scale * outline_m[next_corner, 0], scale * outline_m[next_corner, 1]
        end_x = math.floor((x_m + cos * ahead_m - sin * aside_m - origin_x) / resolution)
        end_y = math.floor((y_m + sin * ahead_m + cos * aside_m - origin_y) / resolution)
        if not (0 <= begin_x < width and 0 <= begin_y < height):
            return -1
        if not (0 <= end_x < width and 0 <= end_y < height):
            return -1
        over_x, over_y = abs(end_x - begin_x), abs(end_y - begin_y)
        step_x = 1 if end_x >= begin_x else -1
        step_y = 1 if end_y >= begin_y else -1
        cells = max(over_x, over_y)
        error = cells // 2
        x, y = begin_x, begin_y
        for _ in range(cells + 1):
            cost = costs[y, x]
            if cost >= 254:
                return -1
            largest = max(largest, cost)
            x, y, error = next_cell(x, y, error, over_x, over_y, step_x, step_y)
    return largest


@compiled_for(
    "f8[::1](f8[:, ::1], f8[:, ::1], f8[:, ::1], f8[:, ::1], i8[::1], f8[::1], f8[:, ::1],"
    "u1[:, ::1], i8[:, ::1], i8[:, ::1], i8[:, ::1], f8[::1], f8[::1])"
)
def _costs(  # type: ignore[no-untyped-def]
    xs_m, ys_m, cosines, sines, steps, scales, outline_m, costs, path, goal, front, frame, weights
):
    """Return the cost of each trajectory, shape (n,), for the poses of :func:`rollout`.

    ``path``, ``goal`` and ``front`` are the fields of :class:`Distances`. ``frame`` is the
    costmap's origin (x, y) and resolution, and the distance of the point in front of the base (m).
    """
    height, width = costs.shape
    blocked_distance = height * width
    origin_x, origin_y, resolution, forward_m = frame[0], frame[1], frame[2], frame[3]
    totals = np.empty(len(steps))
    for number in range(len(steps)):
        largest = 0
        total = np.inf
        for step in range(steps[number]):
            x_m, y_m = xs_m[number, step], ys_m[number, step]
            cos, sin = cosines[number, step], sines[number, step]
            column = math.floor((x_m - origin_x) / resolution)
            row = math.floor((y_m - origin_y) / resolution)
            nose_column = math.floor((x_m + forward_m * cos - origin_x) / resolution)
            nose_row = math.floor((y_m + forward_m * sin - origin_y) / resolution)
            total = np.inf
            if not (0 <= column < width and 0 <= row < height):
                break
            if not (0 <= nose_column < width and 0 <= nose_row < height):
                break
            if path[row, column] >= blocked_distance or goal[row, column] >= blocked_distance:
                break
            outline_cost = _outline_cost(
                x_m, y_m, cos, sin, scales[number], outline_m, costs, origin_x, origin_y, resolution
            )
            if outline_cost < 0:
                break
            largest = max(largest, outline_cost, costs[row, column])
            total = (
                weights[0] * path[row, column]
                + weights[1] * goal[row, column]
                + weights[2] * path[nose_row, nose_column]
                + weights[3] * front[nose_row, nose_column]
                + weights[4] * largest
            )
        totals[number] = total
    return totals
