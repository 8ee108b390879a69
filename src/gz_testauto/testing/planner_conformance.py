"""What every local planner must do, as tests that its author runs.

Subclass the suite in a pytest file and say how the planner is made::

    from gz_testauto.testing.planner_conformance import PlannerConformance

    class TestMyPlanner(PlannerConformance):
        def make_planner(self):
            return MyPlanner(alpha=2.0)

The suite needs no simulator: the robot is a point that moves exactly as commanded, its scans
are made up. How good a planner is it does not ask, only whether a campaign can rely on it.
"""

import math
from typing import Callable, List, Optional

import numpy as np
import pytest

from gz_testauto.observation import LaserScan, Twist2D
from gz_testauto.planners.interface import (
    LocalPlanner,
    Observation,
    PlannerGaveUp,
    RobotLimits,
    Task,
)
from gz_testauto.pose import Pose, Pose2D
from gz_testauto.testing.planar import drive_arc

PERIOD_S = 0.1

RAYS = 181

Ranges = Callable[[np.random.Generator], np.ndarray]

STRANGE_SCANS = {
    "nothing in sight": lambda generator: np.full(RAYS, np.inf),
    "everything too near to measure": lambda generator: np.full(RAYS, -np.inf),
    "everything at the least range": lambda generator: np.full(RAYS, 0.1),
    "everything at the largest range": lambda generator: np.full(RAYS, 10.0),
    "no ray valid": lambda generator: np.full(RAYS, np.nan),
    "noise": lambda generator: generator.uniform(0.1, 12.0, RAYS),
    "noise with invalid rays": lambda generator: generator.choice(
        [np.inf, -np.inf, np.nan, 0.5, 3.0], RAYS
    ),
}


class PlannerConformance:
    """The suite. Override :meth:`make_planner`, and ``limits`` for another kind of robot."""

    limits = RobotLimits(footprint_m=((-0.5, -0.325), (0.6, -0.325), (0.6, 0.325), (-0.5, 0.325)))
    mount = Pose((0.5, 0.0, 0.35))
    timeout_s = 60.0
    """Time within which the goal 10 m away must be reached where nothing is in the way."""

    def make_planner(self) -> LocalPlanner:
        """A new planner with the parameters under test."""
        raise NotImplementedError("say in make_planner() how your planner is made")

    def test_reaches_the_goal_in_free_space(self) -> None:
        """From standing still, facing away by 90°, with nothing in sight."""
        planner, task = self.make_planner(), self.task()
        planner.begin(task)
        pose, command = Pose2D(0.0, 0.0, math.pi / 2), Twist2D()
        for tick in range(int(self.timeout_s / PERIOD_S)):
            command = planner.plan(self.observation(tick, pose, command, np.full(RAYS, np.inf)))
            pose = drive_arc(pose, command, PERIOD_S)
            if pose.distance_to(task.goal.x_m, task.goal.y_m) <= task.goal_tolerance_m:
                return
        pytest.fail(f"stands at {pose} after {self.timeout_s} s; the goal is {task.goal}")

    def test_comes_to_rest_at_the_goal(self) -> None:
        """Started at the goal and rolling, it brakes and stays within the tolerance."""
        planner, task = self.make_planner(), self.task()
        planner.begin(task)
        pose, command = task.goal, Twist2D(0.2, 0.0)
        for tick in range(50):
            command = planner.plan(self.observation(tick, pose, command, np.full(RAYS, np.inf)))
            pose = drive_arc(pose, command, PERIOD_S)
        assert pose.distance_to(task.goal.x_m, task.goal.y_m) <= task.goal_tolerance_m
        assert abs(command.linear_mps) < 1e-3

    @pytest.mark.parametrize("scans", list(STRANGE_SCANS))
    def test_commands_are_finite_and_within_the_limits(self, scans: str) -> None:
        """Speed, acceleration and reversing, whatever the scans are."""
        commands = self.drive_blindly(self.make_planner(), STRANGE_SCANS[scans])
        self.check_limits(commands)

    def test_survives_without_any_scan(self) -> None:
        """A scan may come late, or never: that is no reason to fail."""
        self.check_limits(self.drive_blindly(self.make_planner(), None))

    def test_same_observations_give_the_same_commands(self) -> None:
        """Two planners made alike are bit for bit alike."""
        noise = STRANGE_SCANS["noise"]
        first = self.drive_blindly(self.make_planner(), noise)
        assert self.drive_blindly(self.make_planner(), noise) == first

    def test_begin_forgets_the_previous_task(self) -> None:
        """A planner that has driven before drives like a new one."""
        noise = STRANGE_SCANS["noise"]
        used = self.make_planner()
        self.drive_blindly(used, noise, seed=5, goal=Pose2D(-4.0, 6.0))
        assert self.drive_blindly(used, noise) == self.drive_blindly(self.make_planner(), noise)

    def test_leaves_its_inputs_alone(self) -> None:
        """Way-points and scans belong to others, who may use them again."""
        planner, task = self.make_planner(), self.task()
        ranges = np.linspace(1.0, 12.0, RAYS)
        before_ranges, before_waypoints = ranges.copy(), task.waypoints_m.copy()
        planner.begin(task)
        try:
            for tick in range(5):
                planner.plan(self.observation(tick, Pose2D(0.0, 0.0), Twist2D(), ranges))
        except PlannerGaveUp:
            pass
        np.testing.assert_array_equal(ranges, before_ranges)
        np.testing.assert_array_equal(task.waypoints_m, before_waypoints)

    def task(self, goal: Optional[Pose2D] = None) -> Task:
        """From the origin straight to the goal."""
        goal = Pose2D(10.0, 0.0) if goal is None else goal
        waypoints = np.linspace((0.0, 0.0), (goal.x_m, goal.y_m), 21)
        return Task(goal, 0.5, waypoints, self.limits, PERIOD_S)

    def observation(
        self, tick: int, pose: Pose2D, twist: Twist2D, ranges_m: Optional[np.ndarray]
    ) -> Observation:
        """What the robot knows at a tick, with a 270° scan of ``ranges_m`` or none."""
        scan = None
        if ranges_m is not None:
            view = 0.75 * math.pi
            scan = LaserScan(tick * PERIOD_S, -view, view, 0.1, 10.0, ranges_m, self.mount)
        return Observation(tick * PERIOD_S, pose, twist, scan)

    def drive_blindly(
        self,
        planner: LocalPlanner,
        ranges: Optional[Ranges],
        seed: int = 1,
        goal: Optional[Pose2D] = None,
    ) -> List[Twist2D]:
        """Drive for 6 s with made-up scans; ends early when the planner gives up."""
        generator = np.random.default_rng(seed)
        planner.begin(self.task(goal))
        pose, commands = Pose2D(0.0, 0.0), [Twist2D()]
        for tick in range(60):
            seen = None if ranges is None else ranges(generator)
            try:
                command = planner.plan(self.observation(tick, pose, commands[-1], seen))
            except PlannerGaveUp:
                break
            commands.append(command)
            pose = drive_arc(pose, command, PERIOD_S)
        return commands

    def check_limits(self, commands: List[Twist2D]) -> None:
        """Assert that a sequence of commands is finite and within the limits."""
        values, limits, slack = np.array(commands), self.limits, 1e-9
        assert np.isfinite(values).all()
        lowest = -limits.max_linear_mps if limits.can_reverse else 0.0
        assert values[:, 0].min() >= lowest - slack
        assert values[:, 0].max() <= limits.max_linear_mps + slack
        assert np.abs(values[:, 1]).max() <= limits.max_angular_radps + slack
        if len(values) > 1:
            change = np.abs(np.diff(values, axis=0)).max(axis=0) / PERIOD_S
            assert change[0] <= limits.max_linear_accel_mps2 + slack
            assert change[1] <= limits.max_angular_accel_radps2 + slack
