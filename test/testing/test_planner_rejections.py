"""Rejection of planners that break one rule of docs/planners.md, and acceptance of planners from
textbooks, by the suite for planners."""

import math
import random
import time
from dataclasses import replace
from time import monotonic

import numpy as np
import pytest
from faults import Fault, rejections
from textbook_planners import (
    DynamicWindow,
    FollowTheGap,
    PotentialField,
    PurePursuitThatStops,
    VectorFieldHistogram,
)

from gz_testauto.base.observation import Twist2D
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.planners import make_planner
from gz_testauto.planners.following import in_base_frame
from gz_testauto.planners.interface import LocalPlanner, PlannerAborted
from gz_testauto.planners.scans import obstacle_points
from gz_testauto.testing.planner_conformance import PlannerConformance


class TestAcceptsFollowTheGap(PlannerConformance):
    def make_planner(self):
        return FollowTheGap()


@pytest.mark.slow
class TestAcceptsDynamicWindow(PlannerConformance):
    def make_planner(self):
        return DynamicWindow()


class TestAcceptsPotentialField(PlannerConformance):
    def make_planner(self):
        return PotentialField()


class TestAcceptsPurePursuitThatStops(PlannerConformance):
    passes_obstacles = False

    def make_planner(self):
        return PurePursuitThatStops()


class Wrapped(LocalPlanner):
    """A correct planner. Each subclass breaks one rule."""

    def __init__(self, planner=None):
        self.planner = VectorFieldHistogram() if planner is None else planner

    def begin(self, task):
        self.planner.begin(task)

    def plan(self, observation):
        return self.after(self.planner.plan(self.before(observation)), observation)

    def before(self, observation):
        return observation

    def after(self, command, observation):
        return command


class Rescanned(Wrapped):
    """A planner that uses a modified scan."""

    def before(self, observation):
        scan = observation.scan
        return observation if scan is None else replace(observation, scan=self.other(scan))

    def other(self, scan):
        raise NotImplementedError


# determinism


class SpeedOfTheClock(Wrapped):
    def after(self, command, observation):
        return command._replace(linear_mps=command.linear_mps * (0.9 + 0.1 * math.sin(time.time())))


class SpeedOfAnImportedClock(Wrapped):
    def after(self, command, observation):
        return command._replace(linear_mps=command.linear_mps * (0.9 + 0.1 * math.sin(monotonic())))


class ThinksUntilItsTimeIsUp(Wrapped):
    """An anytime planner that drives slower on a busy machine."""

    def plan(self, observation):
        began_s = time.perf_counter()
        command = super().plan(observation)
        is_late = time.perf_counter() - began_s > 0.5
        return command._replace(linear_mps=0.9 * command.linear_mps) if is_late else command


class JitterAmongObstacles(Wrapped):
    """A planner that draws random numbers only if the robot moves near an obstacle."""

    def after(self, command, observation):
        if not np.isfinite(observation.scan.ranges_m).any() or command.linear_mps < 0.1:
            return command
        rate = command.angular_radps + 1e-6 * np.random.default_rng().standard_normal()
        return command._replace(angular_radps=rate)


class JitterInFreeSpace(Wrapped):
    def after(self, command, observation):
        if np.isfinite(observation.scan.ranges_m).any():
            return command
        share = 1 - 1e-6 * np.random.default_rng().random()
        return command._replace(linear_mps=command.linear_mps * share)


class JitterInNoise(Wrapped):
    def after(self, command, observation):
        if np.isfinite(observation.scan.ranges_m).sum() < 100:
            return command
        noise = 1e-6 * np.random.default_rng().standard_normal()
        return command._replace(angular_radps=command.angular_radps + noise)


class SeedsGlobalNumbers(Wrapped):
    def begin(self, task):
        super().begin(task)
        np.random.seed(0)

    def after(self, command, observation):
        return command._replace(linear_mps=command.linear_mps * (1 - 1e-3 * np.random.random()))


class IgnoresTheSeedOfTheTask(Wrapped):
    """A planner that draws the same random numbers in each trial."""

    def begin(self, task):
        super().begin(task)
        self.random = np.random.default_rng(0)

    def after(self, command, observation):
        return command._replace(linear_mps=command.linear_mps * (1 - 0.1 * self.random.random()))


class DrawsGlobalNumbers(Wrapped):
    def after(self, command, observation):
        random.random()
        return command


class NumberOfTheInstance(Wrapped):
    made = 0

    def __init__(self):
        super().__init__()
        type(self).made += 1
        self.share = 1 - 1e-3 * (type(self).made % 2)

    def after(self, command, observation):
        return command._replace(linear_mps=command.linear_mps * self.share)


# tasks


class CountsOnAfterBegin(Wrapped):
    """A planner that drives slower from its 61st cycle on, in any task."""

    cycles = 0

    def after(self, command, observation):
        self.cycles += 1
        share = 0.9 if self.cycles > 60 else 1.0
        return command._replace(linear_mps=share * command.linear_mps)


class KeepsTheFirstTask(Wrapped):
    def __init__(self):
        super().__init__()
        self.has_begun = False

    def begin(self, task):
        if not self.has_begun:
            self.has_begun = True
            super().begin(task)


class SharesItsState(Wrapped):
    """A planner whose state belongs to the class and not to the instance."""

    task = None

    def begin(self, task):
        super().begin(task)
        type(self).task = task

    def plan(self, observation):
        self.planner.task = self.task
        return super().plan(observation)


class CountsTimeFromZero(Wrapped):
    """A planner that assumes that each task starts at time 0."""

    def after(self, command, observation):
        return Twist2D() if observation.time_s > 200.0 else command


class GoalInTheFrameOfItsStart(Wrapped):
    """A planner that mixes frames: the pose is relative to the start of the task, and the goal is
    in the world frame."""

    def begin(self, task):
        super().begin(task)
        self.origin = None

    def before(self, observation):
        pose = observation.pose
        self.origin = pose if self.origin is None else self.origin
        x_m, y_m = pose.x_m - self.origin.x_m, pose.y_m - self.origin.y_m
        return replace(observation, pose=Pose2D(x_m, y_m, pose.yaw_rad))


class ToleranceOfItsOwn(Wrapped):
    def begin(self, task):
        super().begin(replace(task, goal_tolerance_m=0.5))


class NeverRests(Wrapped):
    def begin(self, task):
        super().begin(replace(task, goal_tolerance_m=0.0))


class TurnsTheWrongWay(Wrapped):
    """A planner that returns clockwise yaw rates."""

    def after(self, command, observation):
        return command._replace(angular_radps=-command.angular_radps)


class NeedsTwoWayPoints(Wrapped):
    def begin(self, task):
        self.longest_m = np.hypot(*np.diff(task.waypoints_m, axis=0).T).max()
        super().begin(task)


# limits


class NotFinite(Wrapped):
    def after(self, command, observation):
        return command._replace(linear_mps=0.0 * observation.scan.ranges_m.min())


class LimitsOfItsOwn(Wrapped):
    def begin(self, task):
        super().begin(replace(task, limits=PlannerConformance.limits))


class PeriodOfItsOwn(Wrapped):
    def begin(self, task):
        super().begin(replace(task, control_period_s=0.1))


class NoAccelerationLimit(Wrapped):
    def after(self, command, observation):
        return command._replace(linear_mps=0.8 if command.linear_mps > 0.0 else 0.0)


class Reverses(Wrapped):
    def after(self, command, observation):
        return command if command.linear_mps > 0.0 else command._replace(linear_mps=-0.05)


class FirstCommandFromRest(Wrapped):
    def before(self, observation):
        return replace(observation, twist=Twist2D())


class AcceleratesFromTheMeasuredTwist(Wrapped):
    """A planner that does not store its previous command, so that a late measurement increases its
    commands."""

    def before(self, observation):
        self.planner.limiter._previous_twist = None
        return observation


# scans


class IgnoresTheScan(Wrapped):
    def __init__(self):
        super().__init__(make_planner("straight"))


class CreepsWithoutTheScan(IgnoresTheScan):
    """A planner that does not reach the obstacle within the duration of the test."""

    def after(self, command, observation):
        return command._replace(linear_mps=min(command.linear_mps, 0.15))


class Mirrored(Rescanned):
    def other(self, scan):
        return replace(scan, ranges_m=np.ascontiguousarray(scan.ranges_m[::-1]))


class FirstScanForEver(Rescanned):
    def begin(self, task):
        super().begin(task)
        self.first = None

    def other(self, scan):
        self.first = scan if self.first is None else self.first
        return self.first


class MapsOnce(Wrapped):
    """A planner that creates a map from the first scan and never changes it."""

    def begin(self, task):
        super().begin(task)
        self.map_m = None

    def before(self, observation):
        scan, pose = observation.scan, observation.pose
        if self.map_m is None:
            self.map_m = pose.apply(obstacle_points(scan))
        x_m, y_m = in_base_frame(pose, *self.map_m.T)
        x_m, y_m = x_m - scan.mount.position[0], y_m - scan.mount.position[1]
        rays = np.arctan2(y_m, x_m)[:, None] - scan.angles_rad
        ranges_m = np.full(len(scan.ranges_m), np.inf)
        if len(rays):
            np.minimum.at(ranges_m, np.abs(rays).argmin(axis=1), np.hypot(x_m, y_m))
        return replace(observation, scan=replace(scan, ranges_m=ranges_m))


class NearIsFree(Rescanned):
    """A planner that ignores ranges of ``-inf``."""

    def other(self, scan):
        return replace(scan, ranges_m=np.where(scan.ranges_m < 0.0, np.inf, scan.ranges_m))


class IgnoresTheMount(Rescanned):
    def other(self, scan):
        return replace(scan, mount=Pose((0.5, 0.0, 0.35)))


class IgnoresTheRollOfTheMount(Rescanned):
    def other(self, scan):
        return replace(
            scan, mount=Pose.from_rpy(*scan.mount.position, 0.0, 0.0, scan.mount.yaw_rad)
        )


class RangesAreFiltered(Rescanned):
    """A planner with a filter over time that never removes an obstacle."""

    def begin(self, task):
        super().begin(task)
        self.least_m = np.inf

    def other(self, scan):
        self.least_m = np.minimum(self.least_m, np.nan_to_num(scan.ranges_m, nan=np.inf))
        return replace(scan, ranges_m=self.least_m)


class NeedsAScan(Wrapped):
    def before(self, observation):
        assert observation.scan is not None
        return observation


class AbortsWithoutAScan(Wrapped):
    def before(self, observation):
        if observation.scan is None:
            raise PlannerAborted("no scan")
        return observation


class AbortsOnAnOldScan(Wrapped):
    def before(self, observation):
        if observation.scan is not None and observation.scan.stamp_s != observation.time_s:
            raise PlannerAborted("the scan is old")
        return observation


# inputs and outputs


class ReplacesInvalidRays(Wrapped):
    def before(self, observation):
        ranges_m = observation.scan.ranges_m
        ranges_m[~np.isfinite(ranges_m)] = observation.scan.range_max_m
        return observation


class MovesTheWayPoints(Wrapped):
    def begin(self, task):
        super().begin(task)
        task.waypoints_m[:, 1] += 0.1


class MovesTheLanes(Wrapped):
    def begin(self, task):
        super().begin(task)
        for lane in task.lanes:
            lane.width_m[:] -= 0.5


class MovesTheObjects(Wrapped):
    wants_objects = True

    def before(self, observation):
        for one in observation.objects:
            one.path[:, 0] += 1.0
        return observation


class ReturnsATuple(Wrapped):
    def after(self, command, observation):
        return tuple(command)


class GivesNoReason(Wrapped):
    def after(self, command, observation):
        if np.isnan(observation.scan.ranges_m).all():
            raise PlannerAborted
        return command


class AbortsAtFirstSight(Wrapped):
    def after(self, command, observation):
        if np.nanmin(observation.scan.ranges_m) < 3.0:
            raise PlannerAborted("there is something in the way")
        return command


class NumbersWithoutAValue(Wrapped):
    @property
    def numbers(self):
        return {"mode": "cruise"}


class NumbersThatCount(Wrapped):
    """A planner whose state is reset when its numbers are read."""

    def begin(self, task):
        super().begin(task)
        self.cycles = 0

    @property
    def numbers(self):
        self.cycles = 0
        return {"cycles": 0.0}

    def after(self, command, observation):
        self.cycles += 1
        return command._replace(linear_mps=command.linear_mps * (1 - 1e-3 * (self.cycles > 20)))


def fault(name, planner, test, message, cases=None, raises=(), **declared):
    of = {"make_planner": lambda suite: planner(), **declared}
    return Fault(name, test, message, of, cases or {}, raises)


SAME = "test_equal_observations_give_equal_commands"
FORGETS = "test_starting_a_task_resets_the_state_of_the_previous_task"
LIMITS = "test_commands_are_finite_and_within_the_limits"
PASSES = "test_the_planner_passes_obstacles_on_both_sides"
MOUNT = "test_the_scan_is_in_the_frame_of_the_sensor"
INPUTS = "test_the_planner_does_not_change_its_inputs"
OTHER = "the same observations gave other commands"
FREE, CROWD, NOISE = ({"place": p} for p in ("in free space", "among obstacles", "in noise"))
LEFT, RIGHT = {"side": "left"}, {"side": "right"}
BLOCKED = "collided|not at the goal"
GLOBAL = "test_the_planner_does_not_use_global_random_generators"
FAR = "test_the_planner_reaches_a_distant_goal_within_a_small_tolerance"
SLOW = "test_commands_are_within_the_limits_of_the_task"
APPEARS = "test_an_obstacle_that_appears_changes_the_command"
MOVES = "test_an_obstacle_that_moves_changes_the_command"
TAKEN = "test_an_obstacle_that_disappears_changes_the_command"
LATE = "test_the_planner_reaches_the_goal_with_late_and_repeated_scans"
NUMBERS = "test_numbers_of_a_planner_have_valid_names_and_reading_them_changes_nothing"
MIRRORED = [
    ("mirrored histogram left", Mirrored, LEFT),
    ("mirrored histogram right", Mirrored, RIGHT),
    ("mirrored potential field", lambda: Mirrored(PotentialField()), LEFT),
    ("mirrored fgm", lambda: Mirrored(make_planner("fgm")), RIGHT),
    ("mirrored improved fgm", lambda: Mirrored(make_planner("fgm_improved")), LEFT),
    ("mirrored dwa", lambda: Mirrored(make_planner("dwa")), RIGHT),
]

FAULTS = [
    fault("speed of the clock in free space", SpeedOfTheClock, SAME, OTHER, FREE),
    fault("speed of the clock among obstacles", SpeedOfTheClock, SAME, OTHER, CROWD),
    fault("speed of a clock imported by name", SpeedOfAnImportedClock, SAME, OTHER, FREE),
    fault("thinks until its time is up", ThinksUntilItsTimeIsUp, SAME, OTHER, FREE),
    fault("jitter among obstacles", JitterAmongObstacles, SAME, OTHER, CROWD),
    fault("jitter in free space", JitterInFreeSpace, SAME, OTHER, FREE),
    fault("jitter in noise", JitterInNoise, SAME, OTHER, NOISE),
    fault("number of the instance", NumberOfTheInstance, SAME, OTHER, FREE),
    fault(
        "ignores the seed of the task",
        IgnoresTheSeedOfTheTask,
        "test_the_commands_depend_on_the_seed_of_the_task",
        "the same random numbers",
        draws_random_numbers=True,
    ),
    fault("seeds numpy.random", SeedsGlobalNumbers, GLOBAL, "draws from, or seeds"),
    fault("draws from random", DrawsGlobalNumbers, GLOBAL, "draws from, or seeds"),
    fault("counts on after begin", CountsOnAfterBegin, FORGETS, "was used before", FREE),
    fault("keeps the first task", KeepsTheFirstTask, FORGETS, "was used before", CROWD),
    fault(
        "shares its state",
        SharesItsState,
        "test_two_planners_do_not_affect_each_other",
        "another planner in the same process",
    ),
    fault("counts time from zero", CountsTimeFromZero, FAR, "not at the goal"),
    fault("goal in the frame of its start", GoalInTheFrameOfItsStart, FAR, "not at the goal"),
    fault("tolerance of its own", ToleranceOfItsOwn, FAR, "not at the goal"),
    fault(
        "turns the wrong way",
        TurnsTheWrongWay,
        "test_the_planner_reaches_the_goal_in_free_space",
        "not at the goal",
    ),
    fault(
        "never rests",
        NeverRests,
        "test_the_robot_comes_to_rest_at_the_goal",
        "left the goal|does not stop",
    ),
    fault(
        "needs two waypoints",
        NeedsTwoWayPoints,
        "test_a_task_can_have_a_single_waypoint",
        "zero-size array",
        raises=(ValueError,),
    ),
    fault("not finite", NotFinite, LIMITS, "not finite", {"scans": "no ray valid"}),
    fault(
        "no acceleration limit",
        NoAccelerationLimit,
        LIMITS,
        "acceleration 8",
        {"scans": "no hit"},
    ),
    fault(
        "reverses",
        Reverses,
        LIMITS,
        "forward speed -0.05",
        {"scans": "all ranges below the least range"},
    ),
    fault("limits of its own", LimitsOfItsOwn, SLOW, "forward speed|acceleration|yaw rate"),
    fault("period of its own", PeriodOfItsOwn, SLOW, "acceleration (0.6|1.2)"),
    fault(
        "first command from rest",
        FirstCommandFromRest,
        "test_the_first_command_continues_from_the_measured_twist",
        "acceleration [56]",
    ),
    fault(
        "accelerates from the measured twist",
        AcceleratesFromTheMeasuredTwist,
        "test_a_command_continues_from_the_previous_one_and_not_from_the_measured_twist",
        "forward speed 1.1",
    ),
    fault("ignores the scan on the left", IgnoresTheScan, PASSES, "collided", LEFT),
    fault("ignores the scan on the right", IgnoresTheScan, PASSES, "collided", RIGHT),
    fault("ignores an obstacle that appears", IgnoresTheScan, APPEARS, "collided"),
    fault(
        "ignores the scan and may stop",
        IgnoresTheScan,
        PASSES,
        "collided",
        RIGHT,
        passes_obstacles=False,
    ),
    *(fault(name, make, PASSES, BLOCKED, side, timeout_s=25.0) for name, make, side in MIRRORED),
    fault("ignores an obstacle that moves", IgnoresTheScan, MOVES, "collided"),
    fault("maps once", MapsOnce, MOVES, "collided|changed no command"),
    fault(
        "maps once and stops",
        lambda: MapsOnce(PurePursuitThatStops()),
        MOVES,
        "moved changed no command",
        passes_obstacles=False,
    ),
    fault("creeps without the scan", CreepsWithoutTheScan, APPEARS, "appeared changed no command"),
    fault("maps before the obstacle appears", MapsOnce, APPEARS, "collided|changed no command"),
    fault("first scan for ever", FirstScanForEver, APPEARS, "collided|changed no command"),
    fault("never lets an obstacle go", RangesAreFiltered, TAKEN, "not at the goal", timeout_s=30.0),
    fault(
        "near is free",
        NearIsFree,
        "test_the_planner_stops_if_all_ranges_are_below_the_minimum",
        "although all ranges are -inf",
    ),
    fault(
        "ignores the yaw of the mount",
        IgnoresTheMount,
        MOUNT,
        BLOCKED,
        {"mount": "turned backwards"},
        timeout_s=25.0,
    ),
    fault(
        "ignores the roll of the mount",
        IgnoresTheRollOfTheMount,
        MOUNT,
        BLOCKED,
        {"mount": "upside down"},
        timeout_s=25.0,
    ),
    fault("needs a scan", NeedsAScan, "test_the_planner_does_not_fail_without_a_scan", "assert"),
    fault(
        "aborts before the first scan",
        AbortsWithoutAScan,
        LATE,
        "PlannerAborted .* no scan",
    ),
    fault(
        "aborts on an old scan",
        AbortsOnAnOldScan,
        LATE,
        "PlannerAborted .* the scan is old",
    ),
    fault(
        "declares falsely that it ignores the scan",
        VectorFieldHistogram,
        "test_a_planner_that_does_not_avoid_obstacles_ignores_the_scan",
        "but does not",
        avoids_obstacles=False,
    ),
    fault("replaces invalid rays", ReplacesInvalidRays, INPUTS, "changed the scan"),
    fault("moves the waypoints", MovesTheWayPoints, INPUTS, "changed the waypoints"),
    fault("moves the lanes", MovesTheLanes, INPUTS, "changed the width of lane 0"),
    fault("moves the objects", MovesTheObjects, INPUTS, "changed the path"),
    fault(
        "returns a tuple",
        ReturnsATuple,
        LIMITS,
        "plan.. returned tuple",
        {"scans": "no hit"},
    ),
    fault("gives no reason", GivesNoReason, LIMITS, "has no message", {"scans": "no ray valid"}),
    fault(
        "aborts at first sight",
        AbortsAtFirstSight,
        PASSES,
        "PlannerAborted at .* in the way",
        LEFT,
    ),
    fault("numbers without a value", NumbersWithoutAValue, NUMBERS, "mode is 'cruise'"),
    fault("reading its numbers changes it", NumbersThatCount, NUMBERS, "changed the commands"),
]


globals().update(
    rejections(PlannerConformance, {"make_planner": lambda suite: VectorFieldHistogram()}, FAULTS)
)
