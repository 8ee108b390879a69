"""The terms of a policy's observation vector, computed by the same code in episodes and trials."""

import abc
import math
from typing import Any, Dict, List, Sequence, Tuple

import numpy as np
import shapely

from gz_testauto.base.elementary import arctan2
from gz_testauto.base.observation import LaserScan
from gz_testauto.base.parameters import Count, Positive, construct
from gz_testauto.base.registry import Registry
from gz_testauto.extras.learning.policies.motion import ScanMotion
from gz_testauto.planners.following import WaypointFollower, in_base_frame
from gz_testauto.planners.interface import Observation, Task
from gz_testauto.planners.scans import obstacle_points

_HERE = "gz_testauto.extras.learning.policies.observations"
OBSERVATIONS = Registry(
    "observation",
    {
        "lidar": f"{_HERE}:LidarSectors",
        "plan": f"{_HERE}:PlanAhead",
        "goal": f"{_HERE}:Goal",
        "twist": f"{_HERE}:MeasuredTwist",
        "objects": f"{_HERE}:NearestObjects",
    },
)

Named = Tuple[str, Dict[str, Any]]  # name and parameters of a term


class ObservationTerm(abc.ABC):
    """A term of a policy's observation: ``size`` numbers from -1 to 1.

    Its parameters are the keyword arguments of the constructor, each with a default value.
    ``wants_objects`` is True for a term that needs the tracked objects.
    """

    size: int
    wants_objects = False

    def begin(self, task: Task) -> None:  # noqa: B027 - most terms have no memory
        """Start a task: one global plan to one goal."""

    @abc.abstractmethod
    def encode(self, observation: Observation) -> np.ndarray:
        """Return the numbers of the term, shape (size,)."""


class LidarSectors(ObservationTerm):
    """Proximity of the nearest scan point in each of ``beams`` equal sectors around the robot.

    The proximity is 1 at the robot's footprint, and 0 at a distance of ``range_m`` from it and
    beyond. The sectors cover the angle ``field_rad`` around the robot's origin, with straight ahead
    in the middle, and are counted counter-clockwise. Each point of a moving object also counts at
    its predicted positions after the times ``ahead_s``, relative to the current pose of the robot.
    """

    def __init__(
        self,
        beams: Count = 24,
        range_m: Positive = 5.0,
        field_rad: Positive = 2.0 * math.pi,
        ahead_s: Sequence[Positive] = (),
    ) -> None:
        if field_rad > 2.0 * math.pi + 1e-9:
            raise ValueError(f"field_rad is {field_rad:g}; it must be at most 2 pi")
        self.size, self._range_m, self._field_rad = beams, range_m, field_rad
        self._prediction_times_s = tuple(ahead_s)
        self._motion = ScanMotion()

    def begin(self, task: Task) -> None:
        self._motion = ScanMotion()
        self._footprint = shapely.Polygon(task.limits.footprint_m)
        shapely.prepare(self._footprint)

    def encode(self, observation: Observation) -> np.ndarray:
        nearest = np.full(self.size, self._range_m)
        if observation.scan is not None:
            points_m = self._present_and_predicted_points(observation, observation.scan)
            x, y = points_m.T
            gap_m = shapely.distance(self._footprint, shapely.points(points_m))
            bearing = arctan2(y, x) + 0.5 * self._field_rad
            sector = np.floor(bearing * (self.size / self._field_rad)).astype(np.int64)
            if self._field_rad > 2.0 * math.pi - 1e-9:
                sector %= self.size
            is_in_field = (sector >= 0) & (sector < self.size)
            np.minimum.at(nearest, sector[is_in_field], gap_m[is_in_field])
        return 1.0 - nearest / self._range_m

    def _present_and_predicted_points(
        self, observation: Observation, scan: LaserScan
    ) -> np.ndarray:
        if not self._prediction_times_s:
            return obstacle_points(scan)
        return np.vstack(self._motion.predict(observation, self._prediction_times_s))


class PlanAhead(ObservationTerm):
    """A point on the global plan ``lookahead_m`` ahead, and the remaining length of the global
    plan.

    The numbers are the distance of the point divided by ``lookahead_m``, at most 1, the cosine and
    the sine of its bearing, and the remaining length divided by ``range_m``, at most 1.
    """

    size = 4

    def __init__(self, lookahead_m: Positive = 2.0, range_m: Positive = 10.0) -> None:
        self._lookahead_m, self._range_m = lookahead_m, range_m

    def begin(self, task: Task) -> None:
        self._follower = WaypointFollower(task.waypoints_m, self._lookahead_m)

    def encode(self, observation: Observation) -> np.ndarray:
        pose = observation.pose
        x, y = in_base_frame(pose, *self._follower.target(pose.x_m, pose.y_m))
        remaining = min(1.0, self._follower.remaining_m / self._range_m)
        return np.array([*_distance_and_direction(x, y, self._lookahead_m), remaining])


class Goal(ObservationTerm):
    """The distance of the goal divided by ``range_m``, at most 1, and the cosine and the sine of
    its bearing."""

    size = 3

    def __init__(self, range_m: Positive = 10.0) -> None:
        self._range_m = range_m

    def begin(self, task: Task) -> None:
        self._goal = task.goal

    def encode(self, observation: Observation) -> np.ndarray:
        x, y = in_base_frame(observation.pose, self._goal.x_m, self._goal.y_m)
        return np.array(_distance_and_direction(x, y, self._range_m))


class MeasuredTwist(ObservationTerm):
    """Measured forward speed and yaw rate, divided by the limits of the robot."""

    size = 2

    def begin(self, task: Task) -> None:
        self._limits = task.limits

    def encode(self, observation: Observation) -> np.ndarray:
        twist, limits = observation.twist, self._limits
        forward = twist.linear_mps / limits.max_linear_mps
        turn = twist.angular_radps / limits.max_angular_radps
        return np.clip((forward, turn), -1.0, 1.0)


class NearestObjects(ObservationTerm):
    """The nearest tracked objects, at most ``count``, with five numbers each.

    The numbers are 1 if the object exists, the position of the object in the robot's frame divided
    by ``range_m``, and its velocity in that frame divided by ``speed_mps``.
    """

    wants_objects = True

    def __init__(
        self, count: Count = 3, range_m: Positive = 5.0, speed_mps: Positive = 2.0
    ) -> None:
        self.size, self._range_m, self._speed_mps = 5 * count, range_m, speed_mps

    def encode(self, observation: Observation) -> np.ndarray:
        pose, rows = observation.pose, np.zeros((self.size // 5, 5))
        positions_m = [
            in_base_frame(pose, *tracked.path[0, :2].tolist()) for tracked in observation.objects
        ]
        with_distance = [
            (math.hypot(*position_m), position_m, tracked)
            for position_m, tracked in zip(positions_m, observation.objects)
        ]
        near = [entry for entry in with_distance if entry[0] <= self._range_m]
        near.sort(key=lambda entry: (entry[0], entry[2].name))
        cos, sin = math.cos(pose.yaw_rad), math.sin(pose.yaw_rad)
        for row, (_, (x, y), tracked) in zip(rows, near):
            vx, vy, _ = tracked.velocity
            forward_mps, left_mps = cos * vx + sin * vy, cos * vy - sin * vx
            row[:] = 1.0, x / self._range_m, y / self._range_m, forward_mps, left_mps
            row[3:] = np.clip(row[3:] / self._speed_mps, -1.0, 1.0)
        return rows.ravel()


class ObservationEncoder:
    """A converter from a planner's observation to a policy's observation vector."""

    def __init__(self, terms: Sequence[Named]) -> None:
        """Raise ``SpecError`` for invalid terms."""
        self._terms: List[ObservationTerm] = [
            construct(OBSERVATIONS, name, parameters) for name, parameters in terms
        ]

    @property
    def wants_objects(self) -> bool:
        return any(term.wants_objects for term in self._terms)

    @property
    def size(self) -> int:
        return sum(term.size for term in self._terms)

    def begin(self, task: Task) -> None:
        for term in self._terms:
            term.begin(task)

    def encode(self, observation: Observation) -> np.ndarray:
        """Return 32-bit floating point numbers from -1 to 1, shape (size,)."""
        numbers = np.concatenate([term.encode(observation) for term in self._terms])
        return np.clip(numbers, -1.0, 1.0).astype(np.float32)


def _distance_and_direction(x_m: float, y_m: float, range_m: float) -> Tuple[float, float, float]:
    """Return the share of ``range_m``, at most 1, and the cosine and sine of the bearing."""
    distance_m = math.hypot(x_m, y_m)
    if distance_m == 0.0:
        return 0.0, 1.0, 0.0
    return min(1.0, distance_m / range_m), x_m / distance_m, y_m / distance_m
