"""The planners ``sst`` and ``dki_sst``: requests of plans, and the control that follows them.

The paper plans for a car at 5 m/s. The plan of a robot at a tenth of that speed is computed for the
car on a map that is ten times as large.
"""

import math
from dataclasses import replace
from typing import Dict, Mapping, Optional, Sequence, Tuple

import numpy as np
import shapely

from gz_testauto.base.observation import LaserScan, TrackedObject, Twist2D
from gz_testauto.base.parameters import Count, Fraction, NotNegative, Positive, Seed
from gz_testauto.base.pose import Pose2D, wrap_angle
from gz_testauto.extras.roads.center_line import CenterLine
from gz_testauto.extras.roads.sst.model import (
    Growth,
    Trajectory,
    Vehicle,
    predict_objects,
    predicted_on_arc,
)
from gz_testauto.extras.roads.sst.search import Search
from gz_testauto.planners.escape import Escape
from gz_testauto.planners.global_plan import lateral_offset_m
from gz_testauto.planners.interface import Lane, Observation, RobotLimits, Task
from gz_testauto.planners.limits import stoppable_speed_mps
from gz_testauto.planners.reactive import ReactivePlanner, Situation
from gz_testauto.planners.sweep import ConvexFootprint

PAPER_SPEED_MPS = 5.0  # desired speed of the car in Smit et al. 2022

UP_TO_SPEED = 0.97  # share of the desired speed above which the robot drives at the desired speed

AHEAD_M = 1.0  # distance over which the curvature of the lane is computed

LATERAL_GAIN = 0.1
"""Steering angle (rad) per meter of lateral error. With :data:`HEADING_GAIN`, the control is nearly
critically damped at 5 m/s and a wheelbase of 2.7 m."""

HEADING_GAIN = 1.0

ALONG_GAIN_PER_S = 0.5  # change of the speed (m/s) per meter of longitudinal error

FOLLOW = ("trajectory", "lane")

WHEELBASE_SHARE = 0.6  # wheelbase of a mid-size car, as a share of its length

DIRECT_M = 3.0  # scaled distance to the goal below which the robot drives straight to the goal

LEAST_M = 3.0  # smallest scaled progress of a trajectory along the waypoints

BEHIND_M = 10.0  # scaled length of the passed waypoints to which the robot can drive back

LOOK_S = 1.5  # duration of the trajectory that is checked for new obstacles in every period

AHEAD_S = 2.0  # driving time at the desired speed that limits the search for the progress

GROWN_M = 0.3  # largest distance of the end of a ray from the tracked object to which it belongs


class PlanQuality:
    """The measures of all plans, also unused ones, after the robot first reached the desired speed
    (table of Smit et al. 2022)."""

    def __init__(self) -> None:
        self._requested = self._failed = 0
        self._sums, self._counts = np.zeros(3), np.zeros(3)
        self._cost = 0.0
        self._is_fast = False

    def add(
        self, plan: Optional[Trajectory], speed_mps: float, lanes: Sequence[Lane], unit_m: float
    ) -> None:
        """Add a plan, or None for a failed request; lengths are in units of ``unit_m``."""
        self._is_fast = self._is_fast or speed_mps >= UP_TO_SPEED * PAPER_SPEED_MPS
        if not self._is_fast:
            return
        self._requested += 1
        if plan is None:
            self._failed += 1
            return
        states = plan.states
        errors = (
            np.diff(states[:, 3]) / plan.step_s,
            states[:, 3] - PAPER_SPEED_MPS,
            lateral_offset_m(lanes, states[:, :2]),
        )
        self._sums += [unit_m * float(np.abs(error).sum()) for error in errors]
        self._counts += [len(error) for error in errors]
        self._cost += plan.cost

    @property
    def numbers(self) -> Dict[str, float]:
        """The numbers of requests and of failures, and means over all plans.

        The means are those of the absolute acceleration (m/s²), the deviations from the desired
        speed (m/s) and from the center of the nearest lane (m), and the cost. Without a request,
        the result is empty.
        """
        if not self._requested:
            return {}
        means = self._sums / np.maximum(self._counts, 1.0)
        numbers = {"plans": float(self._requested), "plans_failed": float(self._failed)}
        if self._requested > self._failed:
            names = ("plan_accel_mps2", "plan_speed_error_mps", "plan_lane_error_m")
            numbers.update(zip(names, means.tolist()))
            numbers["plan_cost"] = self._cost / (self._requested - self._failed)
        return numbers


class StableSparseRrt(ReactivePlanner):
    """A planner that follows the cheapest trajectory of SST.

    The search applies random controls to a bicycle model, and keeps the cheapest of nearly equal
    states. The costs of a trajectory (:class:`~gz_testauto.extras.roads.sst.model.Costs`) are its
    length, the deviation from the desired speed, the lateral distance to the waypoints, and the
    proximity of scan points. If none is found, the robot follows the last trajectory to its end,
    and then turns in place until one is found.

    If the campaign has a road, the robot drives on the lanes of the route and on those next to
    them. If the campaign has tracking, the robot avoids tracked objects at their predicted poses.
    An object without a plan that turns steadily is predicted on an arc.
    Scan points that belong to no tracked object are static obstacles.

    Parameters
    ----------
    speed_share
        Desired speed, as a share of the robot's largest speed.
    iterations
        Number of random extensions in each search, which has no time limit.
    replan_s, latency_s
        Time between two plans, and time from the request of a plan to its use (s).
    max_offset_m
        Allowed lateral distance to the waypoints (m): half the width of their lane.
    margin_m
        Distance from scan points (m), in addition to half a cell for rounding.
    follow
        ``trajectory``, or ``lane``: the robot drives along the center of the lane at the desired
        speed while trajectories are planned, so that plans can be evaluated independently.
    lane_branch, previous_branch
        Whether the lane and the rest of the last trajectory are added to the tree before its
        random growth; null: both in ``dki_sst``, neither in ``sst``.
    seed
        Number that is combined with the seed of the trial; another value gives other random
        numbers in all trials.
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
        max_offset_m: Positive = 4.0,
        margin_m: NotNegative = 0.05,
        follow: str = "trajectory",
        lane_branch: Optional[bool] = None,
        previous_branch: Optional[bool] = None,
        seed: Seed = 0,
    ) -> None:
        super().__init__(lookahead_m=1.0)
        if speed_share == 0.0:
            raise ValueError("'speed_share' is 0; it must be above 0")
        if follow not in FOLLOW:
            raise ValueError(f"follow is {follow!r}; it must be one of {', '.join(FOLLOW)}")
        self.speed_share, self.iterations = speed_share, iterations
        self.replan_s, self.latency_s = replan_s, latency_s
        self.max_offset_m, self.margin_m, self.seed = max_offset_m, margin_m, seed
        self.follow = follow
        self.lane_branch = self.informed if lane_branch is None else lane_branch
        self.previous_branch = self.informed if previous_branch is None else previous_branch
        self._quality = PlanQuality()

    def begin(self, task: Task) -> None:
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
        lanes = task.lanes or (Lane(points, np.full(len(points), 2 * self.max_offset_m)),)
        self._lanes = [Lane(lane.center_m / unit, lane.width_m / unit) for lane in lanes]
        self._line: Optional[CenterLine] = None
        if len(points) > 1 and np.ptp(points, axis=0).max() > 1e-6:
            self._line = CenterLine(self._lanes[0].center_m)
            first, last = (points[place] / unit for place in (0, -1))
            self._arc_m, self._end_m = 0.0, self._line.length_m
            if task.lanes:
                self._arc_m = self._line.arc_of(first[0], first[1])
                self._end_m = self._line.arc_of(last[0], last[1], self._arc_m)
        self._objects: Tuple[TrackedObject, ...] = ()
        self._turns_radps: Dict[str, float] = {}
        self._trajectory: Optional[Trajectory] = None
        self._start_s = self._due_s = -math.inf
        self._pending: Optional[Tuple[float, Trajectory]] = None

    def plan(self, observation: Observation) -> Twist2D:
        self._now_s, self._pose = observation.time_s, observation.pose
        self._objects = tuple(
            predicted_on_arc(tracked, self._turns_radps.get(tracked.name, 0.0))
            for tracked in observation.objects
        )
        self._turns_radps = {tracked.name: tracked.velocity[2] for tracked in observation.objects}
        if observation.scan is not None:
            seen = remove_tracked_objects(observation.scan, observation.pose, self._objects)
            observation = replace(observation, scan=seen)
        return super().plan(observation)

    def steer(self, situation: Situation) -> Twist2D:
        unit, now_s, pose = self._unit_m, self._now_s, self._scaled_pose(self._pose)
        if self._line is None:
            return self._drive_to_goal(situation)
        reach_m = AHEAD_S * PAPER_SPEED_MPS
        self._arc_m = self._line.arc_of(pose.x_m, pose.y_m, self._arc_m, reach_m)
        left_m = self._end_m - self._arc_m
        if left_m < DIRECT_M:
            return self._drive_to_goal(situation)
        if now_s >= self._due_s - 1e-9 or self._is_blocked(situation):
            self._due_s = now_s + self.replan_s
            self._replan(situation, left_m)
        if self._pending is not None and now_s >= self._pending[0] - 1e-9:
            (self._start_s, self._trajectory), self._pending = self._pending, None
        period_s = self.task.control_period_s
        vehicle, braking = self._search.vehicle, self.limits.max_linear_accel_mps2 / unit
        if self.follow == "lane":
            speed, rate = along(self._line, self._arc_m, PAPER_SPEED_MPS, pose, vehicle)
            factor = min(1.0, situation.speed_limit_mps / unit / speed)
            return Twist2D(speed * factor * unit, rate * factor)
        trajectory = self._trajectory
        if trajectory is None or now_s - self._start_s > trajectory.duration_s:
            self._trajectory = None
            if situation.command.linear_mps > 1e-3:
                return Twist2D(0.0, 0.0)  # brake
            return self._escape.command(situation.points_m, situation.goal_bearing_rad)
        speed, rate = track(trajectory, now_s - self._start_s, period_s, pose, vehicle)
        remaining_m = trajectory.left_m(now_s - self._start_s)  # the road after it is unknown
        limit = min(situation.speed_limit_mps / unit, stoppable_speed_mps(remaining_m, braking))
        factor = min(1.0, limit / speed) if speed > 0.0 else 1.0
        return Twist2D(speed * factor * unit, rate * factor)

    def _replan(self, situation: Situation, left_m: float) -> None:
        # A plan starts in the state that the robot will have when the plan becomes active.
        pose, trajectory = self._scaled_pose(self._pose), self._trajectory
        start_s = self._now_s
        speed = max(0.0, situation.command.linear_mps / self._unit_m)
        root = np.array([pose.x_m, pose.y_m, pose.yaw_rad, speed])
        if trajectory is not None and self.latency_s > 0.0:
            start_s += self.latency_s
            root = trajectory.state_at(start_s - self._start_s).copy()
        root[3] = min(root[3], self._search.vehicle.max_speed_mps)
        points_m = self._scaled_world_points(situation.points_m)
        growth, distance_m = self._search.growth, self._search.growth.goal_distance_m
        if not self.task.lanes:
            distance_m = min(distance_m, left_m)  # the road after the goal is unknown
        plan = self._search.plan(
            root,
            self._lanes,
            self._arc_m,
            self._random,
            objects=predict_objects(
                self._objects, self._unit_m, start_s - self._now_s, growth.step_s
            ),
            previous=trajectory,
            points_m=points_m,
            distance_m=distance_m,
            least_m=LEAST_M,
        )
        self._quality.add(plan, speed, self._lanes, self._unit_m)
        if plan is not None:
            self._pending = (start_s, plan)
        elif trajectory is not None and not self._is_still_free(trajectory, points_m):
            self._trajectory = None

    @property
    def numbers(self) -> Mapping[str, float]:
        return self._quality.numbers

    def _is_blocked(self, situation: Situation) -> bool:
        """Return whether the robot soon touches scan points on its trajectory."""
        trajectory = self._trajectory
        if trajectory is None or self._pending is not None:
            return False
        times = self._now_s - self._start_s + np.arange(0.1, LOOK_S, 0.1)
        poses = np.array([trajectory.state_at(time_s)[:3] for time_s in times])
        poses[:, :2] *= self._unit_m
        points_m = self._scaled_world_points(situation.points_m) * self._unit_m
        return bool(self._footprint.clearance_m(poses, points_m).min(initial=np.inf) <= 0.0)

    def _is_still_free(self, trajectory: Trajectory, points_m: np.ndarray) -> bool:
        elapsed_steps = round((self._now_s - self._start_s) / trajectory.step_s)
        remaining = trajectory.later(elapsed_steps)
        if not len(remaining.steps):
            return False
        objects = predict_objects(self._objects, self._unit_m, 0.0, trajectory.step_s)
        cost = self._search.price(remaining, self._lanes, self._arc_m, objects, points_m)
        return cost is not None

    def _drive_to_goal(self, situation: Situation) -> Twist2D:
        """Return the command to drive to the goal, or to turn in place if it is to the side."""
        bearing = situation.goal_bearing_rad
        share = max(0.0, math.cos(bearing)) ** 2
        speed = self.speed_share * self.limits.max_linear_mps
        return Twist2D(min(speed, situation.speed_limit_mps) * share, 2.0 * bearing)

    def _scaled_pose(self, pose: Pose2D) -> Pose2D:
        """Return a pose in the search's unit of length."""
        return Pose2D(pose.x_m / self._unit_m, pose.y_m / self._unit_m, pose.yaw_rad)

    def _scaled_world_points(self, points_m: np.ndarray) -> np.ndarray:
        """Return points (n, 2) of the base frame in the world frame, in the search's unit."""
        return np.asarray(self._pose.apply(points_m) / self._unit_m)


class InformedSst(StableSparseRrt):
    """The planner ``sst`` with knowledge of driving: the lane at the desired speed and the last
    trajectory are added to the tree before its random growth. The parameters are those of
    ``sst``."""

    informed = True


def vehicle_of(limits: RobotLimits, unit_m: float) -> Vehicle:
    """Return the bicycle model, in units of ``unit_m``, with the rear axle at the base's origin."""
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


def remove_tracked_objects(
    scan: LaserScan, base: Pose2D, objects: Sequence[TrackedObject]
) -> LaserScan:
    """Return the scan with infinite ranges of the rays that end at tracked objects. ``base`` is the
    pose of the base."""
    if not objects:
        return scan
    hits = np.flatnonzero(np.isfinite(scan.ranges_m))
    angles, ranges = scan.angles_rad[hits], scan.ranges_m[hits]
    local = np.column_stack([ranges * np.cos(angles), ranges * np.sin(angles), np.zeros(len(hits))])
    points_m = base.apply(scan.mount.apply(local)[:, :2])
    on_object = np.zeros(len(hits), dtype=bool)
    for tracked in objects:
        now = Pose2D(*tracked.path[0].tolist()) if len(tracked.path) else tracked.pose
        around = shapely.Polygon(now.apply(tracked.outline_m)).buffer(GROWN_M)
        on_object |= shapely.contains_xy(around, *points_m.T)
    ranges_m = scan.ranges_m.copy()
    ranges_m[hits[on_object]] = np.inf
    return replace(scan, ranges_m=ranges_m)


def track(
    trajectory: Trajectory, time_s: float, ahead_s: float, pose: Pose2D, vehicle: Vehicle
) -> Tuple[float, float]:
    """Return the speed and the yaw rate to follow a trajectory from ``pose``.

    ``time_s`` is the time since its start. The speed is that of ``ahead_s`` later.
    """
    state, later_state = trajectory.state_at(time_s), trajectory.state_at(time_s + ahead_s)
    cos, sin = math.cos(state[2]), math.sin(state[2])
    dx, dy = pose.x_m - float(state[0]), pose.y_m - float(state[1])
    longitudinal, lateral = cos * dx + sin * dy, cos * dy - sin * dx
    heading_error = wrap_angle(pose.yaw_rad - float(state[2]))
    steer = trajectory.control_at(time_s)[1] - LATERAL_GAIN * lateral - HEADING_GAIN * heading_error
    steer = min(max(steer, -vehicle.max_steer_rad), vehicle.max_steer_rad)
    speed = min(
        max(float(later_state[3]) - ALONG_GAIN_PER_S * longitudinal, 0.0), vehicle.max_speed_mps
    )
    return speed, speed * math.tan(steer) / vehicle.wheelbase_m


def along(
    line: CenterLine, arc_m: float, speed_mps: float, pose: Pose2D, vehicle: Vehicle
) -> Tuple[float, float]:
    """Return the speed and the yaw rate to follow a line from ``pose``, near its arc length
    ``arc_m``."""
    points, headings = line.at(np.array([arc_m, arc_m + AHEAD_M]))
    heading, next_heading = headings.tolist()
    x_m, y_m = points[0].tolist()
    lateral = math.cos(heading) * (pose.y_m - y_m) - math.sin(heading) * (pose.x_m - x_m)
    steer = math.atan(vehicle.wheelbase_m * wrap_angle(next_heading - heading) / AHEAD_M)
    steer -= LATERAL_GAIN * lateral + HEADING_GAIN * wrap_angle(pose.yaw_rad - heading)
    steer = min(max(steer, -vehicle.max_steer_rad), vehicle.max_steer_rad)
    return speed_mps, speed_mps * math.tan(steer) / vehicle.wheelbase_m
