"""``sst`` and ``dki_sst``: trajectories that a sampling-based search plans at 2 Hz, and tracking.

This module determines when a plan is requested and from which state, handles a failed plan, and
converts to the units of the paper. The paper plans for a car at 5 m/s. The plan of a robot at a
tenth of that speed is computed for that car on a map ten times as large.
"""

import math
from dataclasses import replace
from typing import Mapping, Optional, Tuple

import numpy as np

from gz_testauto.base.observation import TrackedObject, Twist2D
from gz_testauto.base.parameters import Count, Fraction, NotNegative, Positive, Seed
from gz_testauto.base.pose import Pose2D
from gz_testauto.extras.sst.judged import PAPER_SPEED_MPS, Judged
from gz_testauto.extras.sst.model import Growth, Trajectory, Vehicle
from gz_testauto.extras.sst.road import CenterLine
from gz_testauto.extras.sst.road_users import predicted, without
from gz_testauto.extras.sst.search import Search
from gz_testauto.extras.sst.tracking import along, track
from gz_testauto.planners.escape import Escape
from gz_testauto.planners.interface import Lane, Observation, RobotLimits, Task
from gz_testauto.planners.limits import stoppable_speed_mps
from gz_testauto.planners.reactive import ReactivePlanner, Situation
from gz_testauto.planners.sweep import ConvexFootprint

FOLLOW = ("trajectory", "lane")

WHEELBASE_SHARE = 0.6
"""Wheelbase as a share of a vehicle's length, as of a mid-size car."""

RIDE_M = 3.0
"""Distance to the goal (m, in the paper's units) below which the robot drives at it without a
plan."""

LEAST_M = 3.0
"""Least progress of a valid trajectory along the waypoints (m, in the paper's units)."""

BEHIND_M = 10.0
"""Length of the passed waypoints that still counts as road (m, in the paper's units): the robot can
have to drive back to pass an obstacle."""

LOOK_S = 1.5
"""Duration of the trajectory ahead that is checked in every period for new obstacles (s)."""

AHEAD_S = 2.0
"""Range of the search for the robot's progress: the distance at the desired speed in this time
(s)."""


class StableSparseRrt(ReactivePlanner):
    """A planner that follows the cheapest trajectory of SST.

    Random controls drive a bicycle model; of nearly equal states the cheapest is kept. The costs of
    a trajectory (:class:`~gz_testauto.extras.sst.model.Costs`) are its length, the deviation from
    the desired speed, the lateral distance to the waypoints, and the proximity of scan points.
    If no trajectory is found, the last one is followed to its end; then the robot turns in place
    until one is found.

    If the campaign has a road, the robot drives on its lanes, also on those next to the route. If
    it has tracking, tracked objects are avoided at their predicted poses. Scan points that belong
    to no tracked object count as static.

    Parameters
    ----------
    speed_share
        Desired speed, as a share of the robot's largest.
    iterations
        Random extensions in each search, instead of a duration.
    replan_s, latency_s
        Time between two plans, and from the request of a plan to its use; seconds.
    beside_m
        Allowed lateral distance to the waypoints: half the width of their lane; meters.
    margin_m
        Distance kept from scan points, in addition to the half cell of rounding; meters.
    follow
        ``trajectory``, or ``lane``: drive along the lane's center at the desired speed while
        trajectories are planned, to evaluate them independently.
    lane_branch, previous_branch
        Whether the lane, and the rest of the last trajectory, are added to the tree before its
        random growth; null: both in ``dki_sst``, neither in ``sst``.
    seed
        Added to the seed of the task, which differs from trial to trial; another value gives other
        random numbers in all trials.

    """

    memory_m = 1.5
    informed = False
    wants_objects = True
    needs_warm_up = True

    def __init__(
        self,
        speed_share: Fraction = 0.8,
        iterations: Count = 3000,
        replan_s: Positive = 0.5,
        latency_s: NotNegative = 0.0,
        beside_m: Positive = 4.0,
        margin_m: NotNegative = 0.05,
        follow: str = "trajectory",
        lane_branch: Optional[bool] = None,
        previous_branch: Optional[bool] = None,
        seed: Seed = 0,
    ) -> None:
        super().__init__(lookahead_m=1.0)
        if speed_share == 0.0:
            raise ValueError("speed_share must be above 0")
        if follow not in FOLLOW:
            raise ValueError(f"follow is {follow!r}; it must be one of {', '.join(FOLLOW)}")
        self.speed_share, self.iterations = speed_share, iterations
        self.replan_s, self.latency_s = replan_s, latency_s
        self.beside_m, self.margin_m, self.seed = beside_m, margin_m, seed
        self.follow = follow
        self.lane_branch = self.informed if lane_branch is None else lane_branch
        self.previous_branch = self.informed if previous_branch is None else previous_branch
        self._judged = Judged()

    def begin(self, task: Task) -> None:
        """Reset the planner and start a task."""
        super().begin(task)
        limits = task.limits
        self._unit_m = self.speed_share * limits.max_linear_mps / PAPER_SPEED_MPS
        vehicle, margin = vehicle_of(limits, self._unit_m), 2 * self.margin_m / self._unit_m
        self._search = Search(
            vehicle=vehicle._replace(
                length_m=vehicle.length_m + margin, width_m=vehicle.width_m + margin
            ),
            growth=Growth()._replace(behind_m=BEHIND_M),
            iterations=self.iterations,
            lane_branch=self.lane_branch,
            previous_branch=self.previous_branch,
            cell_m=max(0.1, 0.03 / self._unit_m),
        )
        self._footprint = ConvexFootprint(limits.footprint_m)
        self._escape = Escape(limits, self._footprint, self.margin_m)
        self._random = np.random.default_rng([task.seed, self.seed])
        unit, points = self._unit_m, task.waypoints_m
        ways = task.lanes or (Lane(points, np.full(len(points), 2 * self.beside_m)),)
        self._lanes = [Lane(lane.center_m / unit, lane.width_m / unit) for lane in ways]
        self._line: Optional[CenterLine] = None
        if len(points) > 1 and np.ptp(points, axis=0).max() > 1e-6:
            self._line = CenterLine(self._lanes[0].center_m)
            first, last = (points[place] / unit for place in (0, -1))
            self._arc_m, self._end_m = 0.0, self._line.length_m
            if task.lanes:
                self._arc_m = self._line.arc_of(first[0], first[1])
                self._end_m = self._line.arc_of(last[0], last[1], self._arc_m)
        self._objects: Tuple[TrackedObject, ...] = ()
        self._way: Optional[Trajectory] = None
        self._began_s = self._due_s = -math.inf
        self._coming: Optional[Tuple[float, Trajectory]] = None

    def plan(self, observation: Observation) -> Twist2D:
        """Return the command for the present situation; stop at the goal and before the first
        scan."""
        self._now_s, self._pose = observation.time_s, observation.pose
        self._objects = observation.objects
        if self._objects and observation.scan is not None:
            seen = without(observation.scan, observation.pose, self._objects)
            observation = replace(observation, scan=seen)
        return super().plan(observation)

    def steer(self, situation: Situation) -> Twist2D:
        """Follow the present trajectory, after planning a new one if it is due."""
        unit, now_s, pose = self._unit_m, self._now_s, self._in_units(self._pose)
        if self._line is None:
            return self._ride(situation)
        reach_m = AHEAD_S * PAPER_SPEED_MPS
        self._arc_m = self._line.arc_of(pose.x_m, pose.y_m, self._arc_m, reach_m)
        left_m = self._end_m - self._arc_m
        if left_m < RIDE_M:
            return self._ride(situation)
        if now_s >= self._due_s - 1e-9 or self._is_blocked(situation):
            self._due_s = now_s + self.replan_s
            self._replan(situation, left_m)
        if self._coming is not None and now_s >= self._coming[0] - 1e-9:
            (self._began_s, self._way), self._coming = self._coming, None
        period_s = self.task.control_period_s
        vehicle, braking = self._search.vehicle, self.limits.max_linear_accel_mps2 / unit
        if self.follow == "lane":
            speed, rate = along(self._line, self._arc_m, PAPER_SPEED_MPS, pose, vehicle)
            slower = min(1.0, situation.speed_limit_mps / unit / speed)
            return Twist2D(speed * slower * unit, rate * slower)
        way = self._way
        if way is None or now_s - self._began_s > way.duration_s:
            self._way = None
            if situation.command.linear_mps > 1e-3:
                return Twist2D(0.0, 0.0)  # brake
            return self._escape.command(situation.points_m, situation.goal_bearing_rad)
        speed, rate = track(way, now_s - self._began_s, period_s, pose, vehicle)
        rest_m = way.left_m(now_s - self._began_s)  # the road after it is unknown
        limit = min(situation.speed_limit_mps / unit, stoppable_speed_mps(rest_m, braking))
        slower = min(1.0, limit / speed) if speed > 0.0 else 1.0
        return Twist2D(speed * slower * unit, rate * slower)

    def _replan(self, situation: Situation, left_m: float) -> None:
        """Request a plan that starts at the robot's state when the plan becomes active."""
        pose, way = self._in_units(self._pose), self._way
        begins_s = self._now_s
        moving = max(0.0, situation.command.linear_mps / self._unit_m)
        root = np.array([pose.x_m, pose.y_m, pose.yaw_rad, moving])
        if way is not None and self.latency_s > 0.0:
            begins_s += self.latency_s
            root = way.state_at(begins_s - self._began_s).copy()
        root[3] = min(root[3], self._search.vehicle.max_speed_mps)
        points_m = self._in_world(situation.points_m)
        growth, distance_m = self._search.growth, self._search.growth.goal_distance_m
        if not self.task.lanes:
            distance_m = min(distance_m, left_m)  # the road after the goal is unknown
        found = self._search.plan(
            root,
            self._lanes,
            0,
            self._arc_m,
            self._random,
            objects=predicted(self._objects, self._unit_m, begins_s - self._now_s, growth.step_s),
            previous=way,
            points_m=points_m,
            distance_m=distance_m,
            least_m=LEAST_M,
        )
        self._judged.take(found, moving, self._lanes, self._unit_m)
        if found is not None:
            self._coming = (begins_s, found)
        elif way is not None and not self._still_free(way, points_m):
            self._way = None

    @property
    def numbers(self) -> Mapping[str, float]:
        """Return the measures of the plans; see :class:`~gz_testauto.extras.sst.judged.Judged`."""
        return self._judged.numbers

    def _is_blocked(self, situation: Situation) -> bool:
        """Return whether the next part of the trajectory collides with the present scan."""
        way = self._way
        if way is None or self._coming is not None:
            return False
        times = self._now_s - self._began_s + np.arange(0.1, LOOK_S, 0.1)
        soon = np.array([way.state_at(time_s)[:3] for time_s in times])
        soon[:, :2] *= self._unit_m
        points_m = self._in_world(situation.points_m) * self._unit_m
        return bool(self._footprint.clearance_m(soon, points_m).min(initial=np.inf) <= 0.0)

    def _still_free(self, way: Trajectory, points_m: np.ndarray) -> bool:
        """Return whether the rest of the last trajectory is free of present obstacles."""
        gone = round((self._now_s - self._began_s) / way.step_s)
        left = way.later(gone)
        if not len(left.steps):
            return False
        objects = predicted(self._objects, self._unit_m, 0.0, way.step_s)
        cost = self._search.price(left, self._lanes, 0, self._arc_m, objects, points_m)
        return cost is not None

    def _ride(self, situation: Situation) -> Twist2D:
        """Drive straight at the goal, slower the larger its bearing, and turn in place if it is to
        the side."""
        bearing = situation.goal_bearing_rad
        share = max(0.0, math.cos(bearing)) ** 2
        speed = self.speed_share * self.limits.max_linear_mps
        return Twist2D(min(speed, situation.speed_limit_mps) * share, 2.0 * bearing)

    def _in_units(self, pose: Pose2D) -> Pose2D:
        return Pose2D(pose.x_m / self._unit_m, pose.y_m / self._unit_m, pose.yaw_rad)

    def _in_world(self, points_m: np.ndarray) -> np.ndarray:
        """Return points of the base frame in the world frame, in the units of the plan."""
        cos, sin = math.cos(self._pose.yaw_rad), math.sin(self._pose.yaw_rad)
        turned = points_m @ np.array([[cos, sin], [-sin, cos]])
        here = np.array([self._pose.x_m, self._pose.y_m])
        return np.asarray((turned + here) / self._unit_m)


class InformedSst(StableSparseRrt):
    """``sst`` with knowledge of driving in the tree before its random growth: the lane at the
    desired speed, and the last trajectory. Parameters are those of ``sst``."""

    informed = True


def vehicle_of(limits: RobotLimits, unit_m: float) -> Vehicle:
    """Return a robot as a bicycle model with its axle at the base frame's origin, lengths in
    ``unit_m``."""
    outline = np.asarray(limits.footprint_m)
    low, high = outline.min(axis=0), outline.max(axis=0)
    length = float(high[0] - low[0])
    wheelbase_m = (limits.wheelbase_m or WHEELBASE_SHARE * length) / unit_m
    fastest = limits.max_linear_mps / unit_m
    tightest = math.atan(limits.max_angular_radps * wheelbase_m / fastest)
    most = limits.max_steer_rad if limits.wheelbase_m else Vehicle().max_steer_rad
    return Vehicle(
        wheelbase_m=wheelbase_m,
        length_m=length / unit_m,
        width_m=2 * float(np.abs(outline[:, 1]).max()) / unit_m,
        center_m=0.5 * float(low[0] + high[0]) / unit_m,
        max_speed_mps=fastest,
        max_braking_mps2=limits.max_linear_accel_mps2 / unit_m,
        max_accel_mps2=limits.max_linear_accel_mps2 / unit_m,
        max_steer_rad=min(most, tightest),
    )
