"""What the planners of this package have in common: everything but the steering.

Owns the way to the goal (look-ahead point, slowing down, standing still on arrival) and the
limits. A planner that subclasses :class:`ReactivePlanner` says only where it would drive given
a local goal and the obstacles it sees. Others need not: the contract is
:class:`~gz_testauto.planners.interface.LocalPlanner`.
"""

import abc
import math
from dataclasses import dataclass
from typing import Optional

import numpy as np

from gz_testauto.base.observation import Twist2D
from gz_testauto.planners.following import WaypointFollower, in_base_frame
from gz_testauto.planners.interface import LocalPlanner, Observation, RobotLimits, Task
from gz_testauto.planners.limits import SpeedLimiter, clamp, stoppable_speed_mps
from gz_testauto.planners.scans import ScanMemory, obstacle_points

APPROACH_DECELERATION = 0.5
"""Share of the deceleration that is planned for the approach to the goal; the rest is reserve."""

APPROACH_SPEED_MPS = 0.1
"""The approach never gets slower than this before the goal is reached."""


@dataclass(frozen=True, eq=False)
class Situation:
    """What a planner steers by, in the base frame.

    ``goal_bearing_rad`` and ``goal_distance_m`` point to the local goal: the look-ahead point on
    the way-points, or the goal itself near the end. ``points_m``, shape (n, 2), is what the last
    scan hit, and for planners with a memory also what the robot is just passing.
    ``speed_limit_mps`` is the speed from which the robot can still stop at the goal. ``command``
    is the previous command: the state of the base, as far as planning goes.
    """

    goal_bearing_rad: float
    goal_distance_m: float
    points_m: np.ndarray
    speed_limit_mps: float
    command: Twist2D


class ReactivePlanner(LocalPlanner):
    """A local planner that decides from the present situation, period by period.

    ``needs_scan`` says whether the robot stands still until a scan has arrived. ``memory_m`` is
    the distance within which it remembers what has left the sensor's view; 0 is no memory.
    """

    needs_scan = True
    memory_m = 0.0

    def __init__(self, lookahead_m: float) -> None:
        self.lookahead_m = lookahead_m
        self._task: Optional[Task] = None

    @property
    def limits(self) -> RobotLimits:
        """What the base can do; after ``begin``."""
        return self.task.limits

    @property
    def task(self) -> Task:
        """The present task; ``RuntimeError`` before ``begin``."""
        if self._task is None:
            raise RuntimeError("plan() was called before begin()")
        return self._task

    def begin(self, task: Task) -> None:
        """Forget everything and take on a new task."""
        self._task = task
        self._follower = WaypointFollower(task.waypoints_m, self.lookahead_m)
        self._limiter = SpeedLimiter(task.limits, task.control_period_s)
        self._scans = ScanMemory(self.memory_m)
        self._arrived = False
        self.forget()

    def plan(self, observation: Observation) -> Twist2D:
        """Steer by the present situation; stand still at the goal and before the first scan."""
        task, pose = self.task, observation.pose
        to_goal_m = pose.distance_to(task.goal.x_m, task.goal.y_m)
        self._arrived = self._arrived or to_goal_m <= 0.8 * task.goal_tolerance_m
        blind = self.needs_scan and observation.scan is None
        if self._arrived or blind:
            return self._limiter.apply(Twist2D(0.0, 0.0), observation.twist)
        x_m, y_m = in_base_frame(pose, *self._follower.target(pose.x_m, pose.y_m))
        rest_m = max(to_goal_m, self._follower.remaining_m) - 0.5 * task.goal_tolerance_m
        braking = APPROACH_DECELERATION * task.limits.max_linear_accel_mps2
        fastest = task.limits.max_linear_mps
        speed = clamp(
            stoppable_speed_mps(rest_m, braking), min(APPROACH_SPEED_MPS, fastest), fastest
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
        """Drop what was remembered of the previous task; for planners with a memory."""

    @abc.abstractmethod
    def steer(self, situation: Situation) -> Twist2D:
        """Where to drive now; the limits on speed and acceleration are applied afterwards."""


def turn_towards(
    heading_rad: float, speed_mps: float, turn_gain_per_s: float, limits: RobotLimits
) -> Twist2D:
    """Drive towards a heading: turn in proportion to it, and slow down for the turn.

    ω = k φ and v = v_max cos²(φ) within ±90°, 0 beyond: a heading to the side or behind is
    turned to on the spot, which a differential drive can do.
    """
    limit = limits.max_angular_radps
    share = math.cos(heading_rad) ** 2 if abs(heading_rad) < math.pi / 2 else 0.0
    return Twist2D(speed_mps * share, clamp(turn_gain_per_s * heading_rad, -limit, limit))
