"""A base class for local planners that compute a command from a local goal and obstacles."""

import abc
import math
from dataclasses import dataclass
from typing import Any, Optional

import numpy as np

from gz_testauto.base.observation import Twist2D
from gz_testauto.planners.following import WaypointFollower, in_base_frame
from gz_testauto.planners.interface import LocalPlanner, Observation, RobotLimits, Task
from gz_testauto.planners.limits import (
    SpeedLimiter,
    clamp,
    stoppable_speed_mps,
    value_for_robot,
)
from gz_testauto.planners.scans import ScanMemory, obstacle_points

APPROACH_DECELERATION = 0.5  # fraction of the largest deceleration in the approach to the goal
APPROACH_SPEED_MPS = 0.1


@dataclass(frozen=True, eq=False)
class Situation:
    """The input of :meth:`ReactivePlanner.steer`, in the base frame.

    ``goal_bearing_rad`` and ``goal_distance_m`` are those of the local goal: the look-ahead point
    on the waypoints, or the goal itself near the end. ``points_m``, shape (n, 2), are points of the
    last scan and remembered points. ``speed_limit_mps`` is the speed from which the robot can still
    stop at the goal. ``command`` is the previous command, a substitute for the current velocity.
    """

    goal_bearing_rad: float
    goal_distance_m: float
    points_m: np.ndarray
    speed_limit_mps: float
    command: Twist2D


class ReactivePlanner(LocalPlanner):
    """A local planner that follows the global plan, decelerates before the goal, and stops there.

    If ``needs_scan`` is True, the robot does not drive before the first scan. Points that left the
    lidar's field of view are remembered within ``memory_m``.
    """

    needs_scan = True
    memory_m = 0.0

    def __init__(self, lookahead_m: float) -> None:
        self.lookahead_m = lookahead_m
        self._task: Optional[Task] = None

    @property
    def limits(self) -> RobotLimits:
        return self.task.limits

    @property
    def task(self) -> Task:
        if self._task is None:
            raise RuntimeError("call begin() before plan()")
        return self._task

    def for_robot(self, value: Any) -> Any:
        """Return the value of a parameter, scaled for this robot if it is a default."""
        limits = self.limits
        return value_for_robot(value, limits.max_linear_mps, limits.max_linear_accel_mps2)

    def begin(self, task: Task) -> None:
        self._task = task
        self._follower = WaypointFollower(task.waypoints_m, self.for_robot(self.lookahead_m))
        self._limiter = SpeedLimiter(task.limits, task.control_period_s)
        self._scans = ScanMemory(self.for_robot(self.memory_m))
        self._has_arrived = False
        self.forget()

    def plan(self, observation: Observation) -> Twist2D:
        task, pose = self.task, observation.pose
        to_goal_m = pose.distance_to(task.goal.x_m, task.goal.y_m)
        self._has_arrived = self._has_arrived or to_goal_m <= 0.8 * task.goal_tolerance_m
        lacks_scan = self.needs_scan and observation.scan is None
        if self._has_arrived or lacks_scan:
            return self._limiter.apply(Twist2D(0.0, 0.0), observation.twist)
        x_m, y_m = in_base_frame(pose, *self._follower.target(pose.x_m, pose.y_m))
        remaining_m = max(to_goal_m, self._follower.remaining_m) - 0.5 * task.goal_tolerance_m
        braking = APPROACH_DECELERATION * task.limits.max_linear_accel_mps2
        fastest = task.limits.max_linear_mps
        speed = clamp(
            stoppable_speed_mps(remaining_m, braking), min(APPROACH_SPEED_MPS, fastest), fastest
        )
        situation = Situation(
            goal_bearing_rad=math.atan2(y_m, x_m),
            goal_distance_m=math.hypot(x_m, y_m),
            points_m=self._points(observation),
            speed_limit_mps=speed,
            command=self._limiter.previous(observation.twist),
        )
        return self._limiter.apply(self.steer(situation), observation.twist)

    def _points(self, observation: Observation) -> np.ndarray:
        if observation.scan is None:
            return np.empty((0, 2))
        if self.memory_m == 0.0:
            return obstacle_points(observation.scan)
        return self._scans.points(observation.scan, observation.pose)

    def forget(self) -> None:
        """Discard additional data of the previous task. A subclass with such data overrides it."""

    @abc.abstractmethod
    def steer(self, situation: Situation) -> Twist2D:
        """Return the desired command, to which the caller applies the limits."""


def turn_towards(
    heading_rad: float,
    speed_mps: float,
    turn_gain_per_s: float,
    limits: RobotLimits,
    slows_in_turns: bool = True,
) -> Twist2D:
    """Return the command towards a heading φ (rad, in the base frame): the yaw rate k φ with the
    gain k, and the speed ``speed_mps`` cos²(φ) within ±90°, 0 for other headings. Without
    ``slows_in_turns``, the speed is always ``speed_mps``."""
    limit = limits.max_angular_radps
    if slows_in_turns:
        speed_mps *= math.cos(heading_rad) ** 2 if abs(heading_rad) < math.pi / 2 else 0.0
    return Twist2D(speed_mps, clamp(turn_gain_per_s * heading_rad, -limit, limit))
