"""A simulated robot that moves exactly as a planner commands, for the planners' suite.

The outlines of the world do not move. Masses and slip are not simulated.
"""

import contextlib
import itertools
import math
import time
from dataclasses import dataclass, field
from typing import Callable, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
import pytest
import shapely
from shapely.geometry.base import BaseGeometry

from gz_testauto.base.observation import LaserScan, TrackedObject, Twist2D
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.planners.interface import LocalPlanner, Observation, PlannerAborted, Task
from gz_testauto.simulators.kinematic.motion import drive_arc
from gz_testauto.simulators.kinematic.outlines import Outlines

VIEW_RAD = 0.75 * math.pi
RAYS = 181
RANGE_MIN_M, RANGE_MAX_M = 0.1, 10.0
SPACING_M = 0.5
"""Distance (m) between consecutive waypoints."""

Sense = Callable[[float, Pose2D], Optional[LaserScan]]
"""A function that returns the scan at a time (s) and a pose of the base, or None."""


@dataclass(frozen=True)
class Lidar:
    """A planar lidar that covers the angle ``view_rad`` on each side of its x axis.

    ``mount`` is the pose of the lidar on the robot. The lidar can be upside down.
    """

    mount: Pose
    view_rad: float = VIEW_RAD

    def scan(self, stamp_s: float, ranges_m: np.ndarray) -> LaserScan:
        """Return a scan with the distances ``ranges_m``."""
        view, least_m, most_m = self.view_rad, RANGE_MIN_M, RANGE_MAX_M
        return LaserScan(stamp_s, -view, view, least_m, most_m, ranges_m, self.mount)

    def see(self, stamp_s: float, base: Pose2D, outlines: Sequence[BaseGeometry]) -> LaserScan:
        """Return the scan of a robot at ``base``. The outlines are in the world frame."""
        sensor = base.to_pose() * self.mount
        forward, up = sensor.rotation[:, 0], sensor.rotation[:, 2]
        yaw_rad = math.atan2(forward[1], forward[0])
        angles_rad = np.linspace(-self.view_rad, self.view_rad, RAYS)
        x_m, y_m, _ = sensor.position
        limits_m = (0.0, RANGE_MAX_M)
        ranges_m = Outlines.of(outlines).cast(x_m, y_m, yaw_rad, angles_rad, *limits_m)
        ranges_m[ranges_m < RANGE_MIN_M] = -np.inf
        if up[2] < 0.0:  # the angles of an upside-down lidar are clockwise in the world
            ranges_m = np.ascontiguousarray(ranges_m[::-1])
        return self.scan(stamp_s, ranges_m)


class Start(NamedTuple):
    """The state of the robot at the start of a task: time (s), pose and twist."""

    time_s: float = 0.0
    pose: Pose2D = Pose2D(0.0, 0.0, 0.0)
    twist: Twist2D = Twist2D(0.0, 0.0)


@dataclass
class TaskSimulation:
    """A simulation of a task, with the commands of the planner and the poses of the robot.

    The first element of ``commands`` is the twist of the robot at the start of the task.
    ``twist_error`` is the largest error of the measured twist (m/s and rad/s) after the first
    command.
    """

    planner: LocalPlanner
    task: Task
    sense: Sense
    start: Start = Start()  # noqa: RUF009 - a tuple
    twist_error: float = 0.0
    objects: Tuple[TrackedObject, ...] = ()
    commands: List[Twist2D] = field(default_factory=list)
    poses: List[Pose2D] = field(default_factory=list)
    abort_reason: str = ""

    def __post_init__(self) -> None:
        self.commands, self.poses = [self.start.twist], [self.start.pose]
        self._generator = np.random.default_rng(2)
        self.planner.begin(self.task)

    @property
    def pose(self) -> Pose2D:
        """Return the robot's current pose."""
        return self.poses[-1]

    @property
    def time_s(self) -> float:
        """Return the current simulated time (s)."""
        return self.start.time_s + (len(self.poses) - 1) * self.task.control_period_s

    @property
    def driven_m(self) -> float:
        """Return the length of the path that the robot has driven so far (m)."""
        path = np.array(self.poses)[:, :2]
        return float(np.hypot(*np.diff(path, axis=0).T).sum())

    @property
    def at_goal(self) -> bool:
        """Return whether the robot is within the tolerance of the goal."""
        goal = self.task.goal
        return self.pose.distance_to(goal.x_m, goal.y_m) <= self.task.goal_tolerance_m

    def cycle(self) -> None:
        """Simulate one control period. Do nothing after ``PlannerAborted`` was raised."""
        if self.abort_reason:
            return
        measured_twist = self.commands[-1]
        if len(self.commands) > 1 and self.twist_error > 0.0:
            error = self._generator.uniform(-self.twist_error, self.twist_error, 2)
            measured_twist = Twist2D(
                measured_twist.linear_mps + error[0], measured_twist.angular_radps + error[1]
            )
        scan = self.sense(self.time_s, self.pose)
        visible_objects = self.objects if self.planner.wants_objects else ()
        observation = Observation(self.time_s, self.pose, measured_twist, scan, visible_objects)
        try:
            command = self.planner.plan(observation)
        except PlannerAborted as aborted:
            self.abort_reason = str(aborted)
            assert self.abort_reason.strip(), (
                "PlannerAborted has no message; it must state the reason"
            )
            return
        if not isinstance(command, Twist2D):
            pytest.fail(f"plan() returned {type(command).__name__}; it must return a Twist2D")
        self.commands.append(command)
        self.poses.append(drive_arc(self.pose, command, self.task.control_period_s))

    def run(self, duration_s: float) -> "TaskSimulation":
        """Simulate for a duration (s), or until the planner raises ``PlannerAborted``."""
        for _ in range(round(duration_s / self.task.control_period_s)):
            self.cycle()
        return self

    def run_to_goal(self, timeout_s: float, obstacles: Sequence[BaseGeometry] = ()) -> None:
        """Simulate until the goal is reached. Fail on a collision, or if the time is over."""
        for _ in range(int(timeout_s / self.task.control_period_s)):
            self.cycle()
            if self.abort_reason:
                pytest.fail(
                    f"PlannerAborted at {self.time_s:.1f} s, {self.pose}: {self.abort_reason}"
                )
            self.fail_if_collided(obstacles)
            if self.at_goal:
                return
        pytest.fail(
            f"not at the goal {self.task.goal} after {timeout_s:g} s: the robot is at {self.pose}"
        )

    def run_without_collision(self, duration_s: float, obstacles: Sequence[BaseGeometry]) -> None:
        """Simulate for a duration (s). Fail the test if the robot collides."""
        for _ in range(round(duration_s / self.task.control_period_s)):
            self.cycle()
            self.fail_if_collided(obstacles)

    def differs_from(self, other_drive: "TaskSimulation") -> bool:
        """Simulate the cycles of ``other_drive``, at most until a command differs. Return whether a
        command differs."""
        for number in range(len(self.commands), len(other_drive.commands)):
            self.cycle()
            if self.commands[number : number + 1] != other_drive.commands[number : number + 1]:
                return True
        return False

    def fail_if_collided(self, obstacles: Sequence[BaseGeometry]) -> None:
        """Fail the test if the outline of the robot intersects an obstacle."""
        if obstacles:
            outline = np.asarray(self.task.limits.footprint_m, dtype=float)
            robot_outline = shapely.polygons(self.pose.apply(outline))
            if any(robot_outline.intersects(obstacle) for obstacle in obstacles):
                pytest.fail(f"collided at {self.time_s:.1f} s with an obstacle, at {self.pose}")


def straight_waypoints(start: Pose2D, goal: Pose2D) -> np.ndarray:
    """Return waypoints (n, 2) on the straight line from start to goal."""
    point_count = max(2, math.ceil(start.distance_to(goal.x_m, goal.y_m) / SPACING_M) + 1)
    return np.linspace((start.x_m, start.y_m), (goal.x_m, goal.y_m), point_count)


def post(x_m: float, y_m: float, radius_m: float) -> BaseGeometry:
    """Return the outline of a round obstacle."""
    return shapely.Point(x_m, y_m).buffer(radius_m)


@contextlib.contextmanager
def hurried_clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Return a context in which the clocks of the module ``time`` are an hour ahead.

    They advance by one second each time that a clock is read.
    """
    readings = itertools.count(3600)
    with monkeypatch.context() as patch:
        for name in ("time", "monotonic", "perf_counter", "process_time", "thread_time"):
            patch.setattr(time, name, _make_hurried_clock(getattr(time, name), readings, 1))
            name_ns = f"{name}_ns"
            patch.setattr(
                time, name_ns, _make_hurried_clock(getattr(time, name_ns), readings, 10**9)
            )
        yield


def _make_hurried_clock(clock: Callable, readings: Iterator[int], units_per_s: int) -> Callable:
    return lambda: clock() + next(readings) * units_per_s
