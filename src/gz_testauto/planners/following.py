"""The local goal of a planner."""

import math
from typing import Tuple

import numpy as np

from gz_testauto.base.compiled import compiled_for
from gz_testauto.base.pose import Pose2D


class WaypointFollower:
    """A follower of waypoints, which computes a look-ahead point in front of the robot.

    The progress along the path never decreases.
    """

    def __init__(self, waypoints_m: np.ndarray, lookahead_m: float) -> None:
        points = np.array(waypoints_m, dtype=float)
        self._points = points
        self._steps = np.diff(points, axis=0)
        lengths = np.hypot(self._steps[:, 0], self._steps[:, 1])
        self._lengths = lengths
        self._starts = np.concatenate([[0.0], np.cumsum(lengths)])
        self._lookahead_m = lookahead_m
        self._progress_m = 0.0

    @property
    def remaining_m(self) -> float:
        return float(self._starts[-1] - self._progress_m)

    def target(self, x_m: float, y_m: float) -> Tuple[float, float]:
        """Return the point (world frame) that is ``lookahead_m`` beyond the path's point nearest to
        (x, y), or the last waypoint."""
        if len(self._steps) == 0:
            return float(self._points[-1, 0]), float(self._points[-1, 1])
        lowest_m = self._progress_m
        # The limit prevents a jump to a neighboring section of the path.
        highest_m = lowest_m + 2.0 * self._lookahead_m
        path = (self._points, self._steps, self._lengths, self._starts)
        nearest_m = _nearest_arc(*path, lowest_m, highest_m, x_m, y_m)
        self._progress_m = max(lowest_m, nearest_m)
        return _point_at_arc(*path, self._progress_m + self._lookahead_m)


def in_base_frame(pose: Pose2D, x_m: float, y_m: float) -> Tuple[float, float]:
    dx, dy = x_m - pose.x_m, y_m - pose.y_m
    cos, sin = math.cos(pose.yaw_rad), math.sin(pose.yaw_rad)
    return cos * dx + sin * dy, cos * dy - sin * dx


@compiled_for("f8(f8[:, ::1], f8[:, ::1], f8[::1], f8[::1], f8, f8, f8, f8)")
def _nearest_arc(  # type: ignore[no-untyped-def]
    points_m, steps_m, lengths_m, starts_m, lowest_m, highest_m, x_m, y_m
):
    """Return the arc length (m), between two limits, of the path's point nearest to (x, y).

    ``steps_m`` (n - 1, 2) and ``lengths_m`` (n - 1,) are the segments between ``points_m`` (n, 2),
    ``starts_m`` (n,) the arc lengths at these.
    """
    best_m, best_arc_m = np.inf, 0.0
    for number in range(len(lengths_m)):
        start_m, end_m, length_m = starts_m[number], starts_m[number + 1], lengths_m[number]
        begin, step = points_m[number], steps_m[number]
        along = (x_m - begin[0]) * step[0] + (y_m - begin[1]) * step[1]
        along /= max(length_m * length_m, 1e-12)
        arc_m = start_m + min(max(along, 0.0), 1.0) * length_m
        # Clip each segment's nearest point to the window: the distance on a segment is convex.
        arc_m = min(max(arc_m, max(lowest_m, start_m)), min(highest_m, end_m))
        fraction = (arc_m - start_m) / max(length_m, 1e-12)
        away_m = math.hypot(
            begin[0] + fraction * step[0] - x_m, begin[1] + fraction * step[1] - y_m
        )
        if not (end_m >= lowest_m and start_m <= highest_m):
            away_m = np.inf
        if number == 0 or away_m < best_m:
            best_m, best_arc_m = away_m, arc_m
    return best_arc_m


@compiled_for("UniTuple(f8, 2)(f8[:, ::1], f8[:, ::1], f8[::1], f8[::1], f8)")
def _point_at_arc(points_m, steps_m, lengths_m, starts_m, arc_m):  # type: ignore[no-untyped-def]
    """Return the path's point (x, y) at an arc length (m), or its end. The arrays are those of
    :func:`_nearest_arc`."""
    if arc_m >= starts_m[-1]:
        return points_m[-1, 0], points_m[-1, 1]
    number = np.searchsorted(starts_m, arc_m, side="right") - 1
    fraction = (arc_m - starts_m[number]) / lengths_m[number]
    return (
        points_m[number, 0] + fraction * steps_m[number, 0],
        points_m[number, 1] + fraction * steps_m[number, 1],
    )
