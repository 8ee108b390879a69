"""Velocities of moving objects, estimated from successive scans and the poses of the robot."""

import math
from typing import List, Optional, Sequence, Tuple

import numpy as np

from gz_testauto.base.arithmetic import matrix_product
from gz_testauto.base.pose import Pose2D, wrap_angle
from gz_testauto.planners.interface import Observation
from gz_testauto.planners.scans import obstacle_points

SPLIT_M = 0.3  # smallest distance between successive points that separates two segments

LARGEST_M = 1.0  # largest diagonal of the bounding box of a segment that can be a moving object

GATE_M = 0.5  # largest distance between the predicted and the measured center of a segment

WINDOW = 4  # largest number of successive scans from which a velocity is estimated

FEWEST = 3

# The center of the visible part of a static object also moves, slowly, while the robot passes it.
SLOWEST_MPS = 0.3

FASTEST_MPS = 3.0


class ScanMotion:
    """An estimator of the velocities of scan points, which tracks small segments."""

    def __init__(self) -> None:
        self._tracks: List[_Track] = []
        self._previous: Optional[Tuple[float, Pose2D]] = None
        self._stamp_s = -math.inf
        self._velocities_mps = np.zeros((0, 2))

    def estimate(self, observation: Observation) -> Tuple[np.ndarray, np.ndarray]:
        """Return the scan points (m) and their velocities over ground (m/s), each (n, 2).

        Both are in the base frame. The velocity is zero for points of segments that are static,
        large, or were detected in fewer than :data:`FEWEST` scans. Without a scan, n is 0. A
        scan with the stamp of the previous one keeps its velocities, or has zero velocities if it
        has another number of points.
        """
        scan = observation.scan
        if scan is None:
            return np.zeros((0, 2)), np.zeros((0, 2))
        points_m = obstacle_points(scan)
        if scan.stamp_s > self._stamp_s:
            self._stamp_s = scan.stamp_s
            pose = self._pose_at(scan.stamp_s, observation)
            rotation = _rotation_matrix(pose.yaw_rad)
            world_m = matrix_product(points_m, rotation.T) + np.array([pose.x_m, pose.y_m])
            self._velocities_mps = matrix_product(self._track(scan.stamp_s, world_m), rotation)
        elif len(points_m) != len(self._velocities_mps):
            self._velocities_mps = np.zeros_like(points_m)
        self._previous = observation.time_s, observation.pose
        return points_m, self._velocities_mps

    def predict(
        self, observation: Observation, ahead_s: Sequence[float]
    ) -> Tuple[np.ndarray, np.ndarray]:
        """Return the scan points (n, 2), and the predicted moving points (m, 2) after each time.

        Positions (m) are in the base frame.
        """
        points_m, velocities_mps = self.estimate(observation)
        moving = velocities_mps.any(axis=1)
        start_m, velocity_mps = points_m[moving], velocities_mps[moving]
        predicted_m = [start_m + time_s * velocity_mps for time_s in ahead_s]
        return points_m, np.vstack([np.zeros((0, 2)), *predicted_m])

    def _pose_at(self, time_s: float, observation: Observation) -> Pose2D:
        pose = observation.pose
        if self._previous is None or time_s >= observation.time_s:
            return pose
        # The scan can be older than the observation: interpolate between the last two poses.
        previous_s, previous = self._previous
        share = max(0.0, (time_s - previous_s) / (observation.time_s - previous_s))
        return Pose2D(
            previous.x_m + share * (pose.x_m - previous.x_m),
            previous.y_m + share * (pose.y_m - previous.y_m),
            previous.yaw_rad + share * wrap_angle(pose.yaw_rad - previous.yaw_rad),
        )

    def _track(self, time_s: float, points_m: np.ndarray) -> np.ndarray:
        """Update the tracks, and return the velocities (n, 2) of points (n, 2), in the world frame.
        Points that do not belong to a moving segment have the velocity 0."""
        velocities_mps = np.zeros_like(points_m)
        free, tracks = self._tracks, []
        for segment in _small_segments(points_m):
            center_m = points_m[segment].mean(axis=0)
            track = _nearest(free, time_s, center_m)
            free = [other for other in free if other is not track]
            track = _Track() if track is None else track
            track.add(time_s, center_m)
            tracks.append(track)
            if track.is_moving:
                velocities_mps[segment] = track.velocity_mps
        self._tracks = tracks
        return velocities_mps


class _Track:
    """The centers of one segment in successive scans, in the world frame."""

    def __init__(self) -> None:
        self._times_s: List[float] = []
        self._centers_m: List[np.ndarray] = []
        self.velocity_mps = np.zeros(2)

    @property
    def is_moving(self) -> bool:
        speed_mps = math.hypot(*self.velocity_mps)
        return len(self._times_s) >= FEWEST and SLOWEST_MPS <= speed_mps <= FASTEST_MPS

    def predict(self, time_s: float) -> np.ndarray:
        return self._centers_m[-1] + self.velocity_mps * (time_s - self._times_s[-1])

    def add(self, time_s: float, center_m: np.ndarray) -> None:
        """Add the center (2,) of a segment, and fit the velocity to the last centers."""
        self._times_s = [*self._times_s, time_s][-WINDOW:]
        self._centers_m = [*self._centers_m, center_m][-WINDOW:]
        if len(self._times_s) > 1:
            times_s = np.array(self._times_s) - np.mean(self._times_s)
            self.velocity_mps = (
                matrix_product(times_s, np.array(self._centers_m)) / np.square(times_s).sum()
            )


def _nearest(tracks: Sequence[_Track], time_s: float, center_m: np.ndarray) -> Optional[_Track]:
    """Return the track with the nearest predicted center within :data:`GATE_M`, or None."""
    if not tracks:
        return None
    distances_m = [math.dist(track.predict(time_s), center_m) for track in tracks]
    nearest = int(np.argmin(distances_m))
    return tracks[nearest] if distances_m[nearest] <= GATE_M else None


def _small_segments(points_m: np.ndarray) -> List[slice]:
    """Return the slices of ``points_m``, of at least two points, that can be a moving object."""
    gaps_m = np.hypot(*np.diff(points_m, axis=0).T)
    ends = [0, *(np.flatnonzero(gaps_m > SPLIT_M) + 1).tolist(), len(points_m)]
    segments = [slice(first, last) for first, last in zip(ends, ends[1:]) if last - first >= 2]
    return [
        segment
        for segment in segments
        if math.hypot(*np.ptp(points_m[segment], axis=0)) <= LARGEST_M
    ]


def _rotation_matrix(yaw_rad: float) -> np.ndarray:
    cos, sin = math.cos(yaw_rad), math.sin(yaw_rad)
    return np.array([[cos, -sin], [sin, cos]])
