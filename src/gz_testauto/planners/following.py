"""Follows the way-points of the global planner.

Owns the progress along the polyline and the point a little farther on that a local planner
takes as its goal for the moment. Refuses to look at obstacles: that is what the local planner
is there for.
"""

import math
from typing import Tuple

import numpy as np

from gz_testauto.pose import Pose2D


class WaypointFollower:
    """A point that runs ahead of the robot along the way-points.

    Progress is the arc length of the polyline's nearest point. It never goes back, and it is
    searched only within ``2 * lookahead_m`` beyond what has been reached, so that two arms of
    a path which come close to each other are not confused.
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
        """Length of the way from the point reached to the last way-point."""
        return float(self._starts[-1] - self._progress_m)

    def target(self, x_m: float, y_m: float) -> Tuple[float, float]:
        """The way's point ``lookahead_m`` beyond the one nearest to (x, y), world frame.

        Beyond the last way-point there is nothing: then it is the last way-point itself.
        """
        if len(self._steps) == 0:
            return float(self._points[-1, 0]), float(self._points[-1, 1])
        self._progress_m = max(self._progress_m, self._nearest(x_m, y_m))
        return self._at(self._progress_m + self._lookahead_m)

    def _nearest(self, x_m: float, y_m: float) -> float:
        """Arc length of the nearest point within the window beyond the progress so far."""
        lowest, highest = self._progress_m, self._progress_m + 2.0 * self._lookahead_m
        squared = np.maximum(self._lengths**2, 1e-12)
        along = ((np.array([x_m, y_m]) - self._points[:-1]) * self._steps).sum(axis=1) / squared
        arc = self._starts[:-1] + np.clip(along, 0.0, 1.0) * self._lengths
        # Clip each segment's nearest point to the window: the distance on a segment is convex.
        arc = np.clip(arc, np.maximum(lowest, self._starts[:-1]), None)
        arc = np.minimum(arc, np.minimum(highest, self._starts[1:]))
        inside = (self._starts[1:] >= lowest) & (self._starts[:-1] <= highest)
        fraction = (arc - self._starts[:-1]) / np.maximum(self._lengths, 1e-12)
        nearest = self._points[:-1] + fraction[:, None] * self._steps
        distance = np.hypot(nearest[:, 0] - x_m, nearest[:, 1] - y_m)
        return float(arc[np.argmin(np.where(inside, distance, math.inf))])

    def _at(self, arc_m: float) -> Tuple[float, float]:
        if arc_m >= self._starts[-1]:
            return float(self._points[-1, 0]), float(self._points[-1, 1])
        index = int(np.searchsorted(self._starts, arc_m, side="right")) - 1
        fraction = (arc_m - self._starts[index]) / self._lengths[index]
        x_m, y_m = self._points[index] + fraction * self._steps[index]
        return float(x_m), float(y_m)


def in_base_frame(pose: Pose2D, x_m: float, y_m: float) -> Tuple[float, float]:
    """A point of the world frame, seen from a robot at ``pose``."""
    dx, dy = x_m - pose.x_m, y_m - pose.y_m
    cos, sin = math.cos(pose.yaw_rad), math.sin(pose.yaw_rad)
    return cos * dx + sin * dy, cos * dy - sin * dx
