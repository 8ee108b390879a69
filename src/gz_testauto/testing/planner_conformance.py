"""Conformance suite for local planners.

Subclass the suite in a pytest file and create the planner in ``make_planner``::

    from gz_testauto.testing.planner_conformance import PlannerConformance

    class TestMyPlanner(PlannerConformance):
        def make_planner(self):
            return MyPlanner(alpha=2.0)

The suite needs no simulator: the robot is a point that moves exactly as commanded, in a synthetic
world (:mod:`~gz_testauto.testing.planner_drive`). The tests verify the rules on which a campaign
relies, not how well a planner drives. Set ``avoids_obstacles = False`` for a planner that ignores
the scan by design, ``passes_obstacles = False`` for a planner that stops for obstacles and never
passes them, and ``draws_random_numbers = True`` for a planner that draws random numbers.
"""

import math
import random
from dataclasses import replace
from typing import Callable, List, Optional, Sequence, Tuple

import numpy as np
import pytest
from shapely.geometry.base import BaseGeometry

from gz_testauto.base.observation import LaserScan, TrackedObject, Twist2D
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.planners.interface import Lane, LocalPlanner, RobotLimits, Task
from gz_testauto.testing.planner_drive import (
    RAYS,
    Lidar,
    Sense,
    Start,
    TaskSimulation,
    hurried_clock,
    post,
    straight_waypoints,
)

PERIOD_S = 0.1
START = Pose2D(0.0, 0.0, 0.0)
GOAL = Pose2D(10.0, 0.0, 0.0)
FAR_GOAL = Pose2D(13.0, 0.0, 0.0)
LEAST_DRIVEN_M = 0.3
"""Shortest distance (m) for a meaningful test of repeatability."""

STRANGE_SCANS = {
    "no hit": lambda generator: np.full(RAYS, np.inf),
    "all ranges below the least range": lambda generator: np.full(RAYS, -np.inf),
    "all ranges at the least range": lambda generator: np.full(RAYS, 0.1),
    "all ranges at the largest range": lambda generator: np.full(RAYS, 10.0),
    "no ray valid": lambda generator: np.full(RAYS, np.nan),
    "noise": lambda generator: generator.uniform(0.1, 12.0, RAYS),
    "noise with invalid rays": lambda generator: generator.choice(
        [np.inf, -np.inf, np.nan, 0.5, 3.0], RAYS
    ),
}

SIDES = {"left": 1.0, "right": -1.0}
MOUNTS = {
    "turned backwards": Pose.from_rpy(0.3, 0.0, 0.35, 0.0, 0.0, math.pi),
    "upside down": Pose.from_rpy(0.3, 0.0, 0.35, math.pi, 0.0, 0.0),
}
PLACES = ("in free space", "among obstacles", "in noise")


class PlannerConformance:
    """The conformance suite for planners. Override :meth:`make_planner`.

    For another robot, also override ``limits`` and ``mount``.
    """

    limits = RobotLimits(footprint_m=((-0.5, -0.325), (0.6, -0.325), (0.6, 0.325), (-0.5, 0.325)))
    mount = Pose((0.5, 0.0, 0.35))
    timeout_s = 60.0
    """Simulated time (s) within which a goal 10 m away must be reached."""
    avoids_obstacles = True
    """False for a planner that ignores the scan by design. Such a planner must not use the scan at
    all."""
    passes_obstacles = True
    """False for a planner that stops for an obstacle and does not drive around it."""
    draws_random_numbers = False
    """True for a planner that draws random numbers, so that its commands depend on the seed of the
    task."""

    def make_planner(self) -> LocalPlanner:
        """Return a new planner with the parameters under test."""
        raise NotImplementedError("override make_planner() to return your planner")

    # the goal

    def test_the_planner_reaches_the_goal_in_free_space(self) -> None:
        """The robot starts at rest, with the goal 90° to its right and without obstacles."""
        self.drive(start=Start(pose=Pose2D(0.0, 0.0, math.pi / 2))).run_to_goal(self.timeout_s)

    def test_the_planner_reaches_a_distant_goal_within_a_small_tolerance(self) -> None:
        """Poses and waypoints are in the world frame, whose origin can be far away. The tolerance
        of the goal is part of the task."""
        start, goal = Pose2D(-120.0, 80.0, -2.0), Pose2D(-123.0, 84.0, 0.0)
        task = self.task(goal, start, tolerance_m=0.15)
        self.drive(task, start=Start(300.0, start)).run_to_goal(self.timeout_s)

    def test_the_robot_comes_to_rest_at_the_goal(self) -> None:
        """The robot moves and is at the goal when the task starts. The planner must brake and keep
        the robot within the tolerance."""
        drive = self.drive(start=Start(pose=GOAL, twist=Twist2D(0.2, 0.0))).run(5.0)
        assert drive.at_goal, f"left the goal {GOAL}: the robot is at {drive.pose}"
        assert abs(drive.commands[-1].linear_mps) < 1e-3, "does not stop at the goal"

    def test_a_task_can_have_a_single_waypoint(self) -> None:
        task = self.task(START, waypoints_m=np.zeros((1, 2)))
        drive = self.drive(task).run(2.0)
        assert drive.at_goal, f"left the goal {START}: the robot is at {drive.pose}"
        self.check_limits(drive)

    # the limits

    @pytest.mark.parametrize("scans", list(STRANGE_SCANS))
    def test_commands_are_finite_and_within_the_limits(self, scans: str) -> None:
        self.check_limits(self.drive(sense=self.made_up(STRANGE_SCANS[scans])).run(6.0))

    def test_commands_are_within_the_limits_of_the_task(self) -> None:
        slow = RobotLimits(self.limits.footprint_m, 0.4, 0.5, 0.3, 0.6)
        task = Task(GOAL, 0.5, straight_waypoints(START, GOAL), slow, 0.05)
        start = Start(pose=Pose2D(0.0, 0.0, math.pi / 2))
        self.check_limits(self.drive(task, start=start).run(10.0))

    def test_the_first_command_continues_from_the_measured_twist(self) -> None:
        """The robot can already be moving when a task starts."""
        limits = self.limits
        twist = Twist2D(0.6 * limits.max_linear_mps, 0.0)
        for goal in (GOAL, START):
            start = Start(pose=START, twist=twist)
            self.check_limits(self.drive(self.task(goal), start=start).run(2.0))

    def test_a_command_continues_from_the_previous_one_and_not_from_the_measured_twist(
        self,
    ) -> None:
        """The acceleration between consecutive commands is limited, even if the base executes the
        commands inaccurately."""
        start = Start(pose=Pose2D(0.0, 0.0, math.pi / 4))
        self.check_limits(self.drive(start=start, twist_error=0.3).run(4.0))

    # the scan

    def test_the_planner_does_not_fail_without_a_scan(self) -> None:
        self.check_limits(self.drive(sense=lambda time_s, pose: None).run(6.0))

    def test_the_planner_reaches_the_goal_with_late_and_repeated_scans(self) -> None:
        """The first observations can have no scan, and a scan can be one sensor period old."""
        shown_scans: List[LaserScan] = []

        def sense(time_s: float, pose: Pose2D) -> Optional[LaserScan]:
            cycle = round(time_s / PERIOD_S)
            if cycle < 3:
                return None
            if cycle % 2:
                shown_scans.append(self.see()(time_s, pose))  # type: ignore[arg-type]
            return shown_scans[-1]

        self.drive(sense=sense).run_to_goal(self.timeout_s)

    def test_the_planner_stops_if_all_ranges_are_below_the_minimum(self) -> None:
        """A range of ``-inf`` means an object nearer than the lidar's minimum range (REP-117)."""
        self.need_avoidance()
        nearest_scan = STRANGE_SCANS["all ranges below the least range"]
        drive = self.drive(sense=self.made_up(nearest_scan)).run(6.0)
        assert drive.driven_m < 0.1, f"drove {drive.driven_m:.2f} m although all ranges are -inf"

    @pytest.mark.parametrize("side", list(SIDES))
    def test_the_planner_passes_obstacles_on_both_sides(self, side: str) -> None:
        """The robot passes two round obstacles in succession. They are on opposite sides of the
        straight line to the goal."""
        sign = SIDES[side]
        self.check_avoidance([post(4.0, 0.4 * sign, 0.5), post(9.0, -0.4 * sign, 0.6)])

    @pytest.mark.parametrize("mount", list(MOUNTS))
    def test_the_scan_is_in_the_frame_of_the_sensor(self, mount: str) -> None:
        """The angles of a scan are in the frame of the sensor, whose pose on the robot is
        ``scan.mount``."""
        lidar = Lidar(MOUNTS[mount], math.pi)
        self.check_avoidance([post(4.0, 0.4, 0.5), post(9.0, -0.4, 0.6)], lidar)

    def test_an_obstacle_that_appears_changes_the_command(self) -> None:
        """A new obstacle is visible only in the scan, since the static map does not contain it."""
        self.need_avoidance()
        task, obstacle = self.task(FAR_GOAL), [post(6.0, 0.1, 0.5)]
        drive = self.drive(task, self.see(from_s=2.0, outlines=obstacle))
        drive.run_without_collision(self.timeout_s / 3.0, obstacle)
        assert self.drive(task).differs_from(drive), "an obstacle that appeared changed no command"

    def test_an_obstacle_that_moves_changes_the_command(self) -> None:
        """The obstacle moves from one side of the straight line to the goal to the other side."""
        self.need_avoidance()
        task, first_obstacles, second_obstacles = (
            self.task(FAR_GOAL),
            [post(4.5, 0.3, 0.5)],
            [post(8.0, -0.3, 0.5)],
        )
        near_view, far_view = self.see(first_obstacles), self.see(second_obstacles)
        drive = self.drive(
            task, lambda time_s, pose: (near_view if time_s < 2.0 else far_view)(time_s, pose)
        )
        drive.run_without_collision(self.timeout_s / 3.0, second_obstacles)
        same_place = self.drive(task, near_view)
        assert same_place.differs_from(drive), "an obstacle that moved changed no command"

    def test_an_obstacle_that_disappears_changes_the_command(self) -> None:
        self.need_avoidance()
        wall = [post(2.6, 1.2 * place, 0.7) for place in range(-3, 4)]
        drive = self.drive(sense=self.see(wall, until_s=4.0))
        drive.run_without_collision(4.0, wall)
        if drive.abort_reason:
            pytest.skip(
                f"PlannerAborted was raised before the obstacle disappeared: {drive.abort_reason}"
            )
        drive.run_to_goal(self.timeout_s)

    def test_a_planner_that_does_not_avoid_obstacles_ignores_the_scan(self) -> None:
        if self.avoids_obstacles:
            pytest.skip("this planner avoids obstacles")
        free_drive, crowd_drive = (
            self.drive().run(6.0),
            self.drive(sense=self.see(self.crowd())).run(6.0),
        )
        assert free_drive.commands == crowd_drive.commands, (
            "declares that it ignores the scan, but does not ignore it"
        )

    # repetition

    @pytest.mark.parametrize("place", PLACES)
    def test_equal_observations_give_equal_commands(
        self, place: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first = self.drive_in(place)
        with hurried_clock(monkeypatch):
            second_drive = self.drive_in(place)
        self.check_moved(place, first)
        assert_same(first, second_drive, "the same observations gave other commands")

    @pytest.mark.parametrize("place", PLACES)
    def test_starting_a_task_resets_the_state_of_the_previous_task(self, place: str) -> None:
        """A planner that has reached one goal of a trial gives the same commands to the next goal
        as a new planner."""
        used_drive = self.drive_in("among obstacles", self.task(Pose2D(3.0, 6.0, 0.0)))
        start = Start(used_drive.time_s, used_drive.pose, used_drive.commands[-1])
        goal = Pose2D(start.pose.x_m + 10.0, start.pose.y_m, 0.0)
        task = self.task(goal, start.pose)
        new_drive = self.drive_in(place, task, start)
        second_drive = self.drive_in(place, task, start, planner=used_drive.planner)
        self.check_moved(place, new_drive)
        assert_same(new_drive, second_drive, "a planner that was used before gives other commands")

    def test_two_planners_do_not_affect_each_other(self) -> None:
        single_drive = self.drive(sense=self.see(self.crowd())).run(6.0)
        first, second = self.drive(sense=self.see(self.crowd())), self.drive(self.task(START))
        for _ in range(round(6.0 / PERIOD_S)):
            first.cycle()
            second.cycle()
        assert_same(single_drive, first, "another planner in the same process changed the commands")

    def test_the_commands_depend_on_the_seed_of_the_task(self) -> None:
        """A planner must draw different random numbers in each trial. Otherwise the trials would
        not be independent samples."""
        if not self.draws_random_numbers:
            pytest.skip("this planner draws no random numbers")
        tasks = [replace(self.task(), seed=seed) for seed in range(4)]
        drives = [self.drive_in("among obstacles", task) for task in tasks]
        assert all(drive.commands != drives[0].commands for drive in drives[1:]), (
            "the planner draws the same random numbers for each seed of the task"
        )

    def test_the_planner_does_not_use_global_random_generators(self) -> None:
        previous_state = (random.getstate(), repr(np.random.get_state()))
        for place in PLACES:
            self.drive_in(place)
        next_state = (random.getstate(), repr(np.random.get_state()))
        assert next_state == previous_state, (
            "the planner draws from, or seeds, random or numpy.random"
        )

    # inputs and outputs

    def test_the_planner_does_not_change_its_inputs(self) -> None:
        """A planner must not modify waypoints, lanes, scans and tracked objects, since other
        modules use the same objects."""
        task, ranges_m, objects = self.on_a_road(), np.linspace(1.0, 12.0, RAYS), (walker(),)
        ranges_m[::7], ranges_m[::11], ranges_m[::13] = np.inf, -np.inf, np.nan
        inputs = {"waypoints": task.waypoints_m, "scan": ranges_m}
        for number, lane in enumerate(task.lanes):
            inputs[f"center of lane {number}"] = lane.center_m
            inputs[f"width of lane {number}"] = lane.width_m
        inputs.update({"outline": objects[0].outline_m, "path": objects[0].path})
        copies = {name: array.copy() for name, array in inputs.items()}
        scan = Lidar(self.mount).scan
        drive = self.drive(task, lambda time_s, pose: scan(time_s, ranges_m), objects=objects)
        self.check_limits(drive.run(2.0))
        for name, array in inputs.items():
            np.testing.assert_array_equal(array, copies[name], f"the planner changed the {name}")

    def test_numbers_of_a_planner_have_valid_names_and_reading_them_changes_nothing(self) -> None:
        drive = self.drive(sense=self.see(self.crowd()))
        for _ in range(60):
            drive.cycle()
            numbers = dict(drive.planner.numbers)
        for name, number in numbers.items():
            assert isinstance(name, str) and name.isidentifier(), f"{name!r} is not a name"
            assert isinstance(number, (int, float)), f"{name} is {number!r}; it must be a number"
        silent = self.drive(sense=self.see(self.crowd())).run(6.0)
        assert_same(silent, drive, "reading `numbers` changed the commands")

    # helpers of the tests

    def task(
        self,
        goal: Pose2D = GOAL,
        start: Pose2D = START,
        tolerance_m: float = 0.5,
        waypoints_m: Optional[np.ndarray] = None,
    ) -> Task:
        """Return a task to drive straight from start to goal."""
        points_m = straight_waypoints(start, goal) if waypoints_m is None else waypoints_m
        return Task(goal, tolerance_m, points_m, self.limits, PERIOD_S)

    def on_a_road(self) -> Task:
        """Return a task on a road with two lanes."""
        along_m = np.linspace(-5.0, 20.0, 26)
        width_m = np.full(len(along_m), 4.0)
        lanes = tuple(
            Lane(np.column_stack([along_m, np.full(len(along_m), y_m)]), width_m.copy())
            for y_m in (0.0, 4.0)
        )
        return Task(GOAL, 0.5, straight_waypoints(START, GOAL), self.limits, PERIOD_S, lanes)

    def drive(
        self,
        task: Optional[Task] = None,
        sense: Optional[Sense] = None,
        start: Start = Start(),  # noqa: B008 - frozen
        twist_error: float = 0.0,
        objects: Tuple[TrackedObject, ...] = (),
        planner: Optional[LocalPlanner] = None,
    ) -> TaskSimulation:
        """Return the simulation of a task, which has not been run yet.

        ``sense`` returns the scan at a pose; by default it shows no obstacle.
        """
        planner = self.make_planner() if planner is None else planner
        task = self.task() if task is None else task
        sense = self.see() if sense is None else sense
        return TaskSimulation(planner, task, sense, start, twist_error, objects)

    def drive_in(
        self,
        place: str,
        task: Optional[Task] = None,
        start: Start = Start(),  # noqa: B008 - frozen
        planner: Optional[LocalPlanner] = None,
    ) -> TaskSimulation:
        """Drive for 6 s in the environment ``place``, which is one of :data:`PLACES`."""
        sense = {
            "in free space": self.see(),
            "among obstacles": self.see(self.crowd(start.pose)),
            "in noise": self.made_up(STRANGE_SCANS["noise"]),
        }[place]
        return self.drive(task, sense, start, planner=planner).run(6.0)

    def crowd(self, start: Pose2D = START) -> List[BaseGeometry]:
        """Return obstacles in front of a robot at ``start``, with gaps that the robot can pass."""
        places = ((4.0, 0.3), (5.0, 3.2), (5.0, -2.8), (8.0, -0.8), (8.5, 2.0))
        return [post(start.x_m + x_m, start.y_m + y_m, 0.4) for x_m, y_m in places]

    def see(
        self,
        outlines: Sequence[BaseGeometry] = (),
        from_s: float = -math.inf,
        until_s: float = math.inf,
        lidar: Optional[Lidar] = None,
    ) -> Sense:
        """Return a function that computes scans.

        They show the outlines from ``from_s`` to ``until_s`` of simulated time.
        """
        lidar = Lidar(self.mount) if lidar is None else lidar

        def sense(time_s: float, pose: Pose2D) -> LaserScan:
            is_there = from_s <= time_s < until_s
            return lidar.see(time_s, pose, outlines if is_there else ())

        return sense

    def made_up(self, ranges: Callable[[np.random.Generator], np.ndarray]) -> Sense:
        """Return a function that computes scans whose ranges (m) are ``ranges(generator)``, with a
        random generator of fixed seed."""
        generator, lidar = np.random.default_rng(1), Lidar(self.mount)
        return lambda time_s, pose: lidar.scan(time_s, ranges(generator))

    def need_avoidance(self) -> None:
        """Skip the test if the planner declares that it ignores obstacles."""
        if not self.avoids_obstacles:
            pytest.skip("avoids_obstacles = False: this planner ignores the scan by design")

    def check_avoidance(
        self, outlines: Sequence[BaseGeometry], lidar: Optional[Lidar] = None
    ) -> None:
        """Assert that the robot passes the obstacles and reaches the goal. If ``passes_obstacles``
        is false, assert only that it does not collide."""
        self.need_avoidance()
        drive = self.drive(self.task(FAR_GOAL), self.see(outlines, lidar=lidar))
        if self.passes_obstacles:
            drive.run_to_goal(2.0 * self.timeout_s, outlines)
        else:
            drive.run_without_collision(self.timeout_s, outlines)

    def check_moved(self, place: str, drive: TaskSimulation) -> None:
        """Assert that the robot has driven far enough, except in noise, for a comparison."""
        assert drive.driven_m >= LEAST_DRIVEN_M or place == "in noise", (
            f"drove {drive.driven_m:.2f} m in 6 s {place}; at least {LEAST_DRIVEN_M} m are needed"
        )

    def check_limits(self, drive: TaskSimulation) -> None:
        """Assert that all commands are finite and within the limits of the task."""
        values, limits, slack = np.array(drive.commands), drive.task.limits, 1e-9
        assert np.isfinite(values).all(), "a command is not finite"
        linear, angular = values[1:].T
        lowest = -limits.max_linear_mps if limits.can_reverse else 0.0
        assert (linear >= lowest - slack).all(), f"forward speed {linear.min()} m/s"
        assert (linear <= limits.max_linear_mps + slack).all(), f"forward speed {linear.max()} m/s"
        rate = np.abs(angular)
        assert (rate <= limits.max_angular_radps + slack).all(), f"yaw rate {rate.max()} rad/s"
        change = np.abs(np.diff(values, axis=0)) / drive.task.control_period_s
        assert (change[:, 0] <= limits.max_linear_accel_mps2 + slack).all(), (
            f"acceleration {change[:, 0].max()} m/s²; the limit is {limits.max_linear_accel_mps2}"
        )
        if limits.wheelbase_m > 0.0:  # the steering always limits the rate
            tightest = np.abs(linear) * math.tan(limits.max_steer_rad) / limits.wheelbase_m
            assert (rate <= tightest + slack).all(), "turns more tightly than its steering allows"
            return
        assert (change[:, 1] <= limits.max_angular_accel_radps2 + slack).all(), (
            f"angular acceleration {change[:, 1].max()} rad/s²; "
            f"the limit is {limits.max_angular_accel_radps2}"
        )


def assert_same(first: TaskSimulation, second: TaskSimulation, message: str) -> None:
    """Assert that two planners returned equal commands, and stopped for the same reason, if any."""
    for number, pair in enumerate(zip(first.commands, second.commands)):
        assert pair[0] == pair[1], f"{message}: cycle {number}: {pair[0]}, then {pair[1]}"
    assert len(first.commands) == len(second.commands), f"{message}: only one raised PlannerAborted"
    assert first.abort_reason == second.abort_reason, (
        f"{message}: PlannerAborted has a different reason"
    )


def walker() -> TrackedObject:
    """Return a tracked object that walks across the robot's path."""
    outline_m = np.array([(-0.3, -0.3), (0.3, -0.3), (0.3, 0.3), (-0.3, 0.3)])
    path = np.column_stack([np.full(10, 4.0), np.linspace(-2.0, 2.0, 10), np.zeros(10)])
    return TrackedObject("walker", Pose2D(4.0, -2.0, 1.57), (0.0, 1.0, 0.0), outline_m, path, 0.4)
