"""Planners that are written from textbook descriptions, for these tests only. They differ in style
from the planners of the package, and a conformance suite must not reject them."""

import math

import numpy as np

from gz_testauto.base.observation import Twist2D
from gz_testauto.base.pose import wrap_angle
from gz_testauto.planners.following import in_base_frame
from gz_testauto.planners.interface import LocalPlanner, PlannerAborted
from gz_testauto.planners.limits import SpeedLimiter
from gz_testauto.planners.scans import obstacle_points


class TextbookPlanner(LocalPlanner):
    """A planner that turns to a heading and drives, and slows down near the goal."""

    def begin(self, task):
        self.task = task
        self.limiter = SpeedLimiter(task.limits, task.control_period_s)

    def plan(self, observation):
        goal, pose = self.task.goal, observation.pose
        east_m, north_m = goal.x_m - pose.x_m, goal.y_m - pose.y_m
        distance_m = math.hypot(east_m, north_m)
        if distance_m < 0.9 * self.task.goal_tolerance_m:
            return self.limiter.apply(Twist2D(), observation.twist)
        bearing_rad = wrap_angle(math.atan2(north_m, east_m) - pose.yaw_rad)
        points_m = (
            np.empty((0, 2)) if observation.scan is None else obstacle_points(observation.scan)
        )
        heading_rad, share = self.steer(bearing_rad, distance_m, points_m)
        limits = self.task.limits
        speed = min(
            share * limits.max_linear_mps, math.sqrt(limits.max_linear_accel_mps2 * distance_m)
        )
        wanted = Twist2D(speed * max(0.0, math.cos(heading_rad)) ** 2, 1.5 * heading_rad)
        return self.limiter.apply(wanted, observation.twist)

    def steer(self, bearing_rad, distance_m, points_m):
        """Return the heading to turn to (rad), and the speed as a fraction of the maximum speed."""
        raise NotImplementedError


class VectorFieldHistogram(TextbookPlanner):
    """The vector field histogram of J. Borenstein and Y. Koren, 1991: of the sectors without an
    obstacle, it selects the one nearest to the direction of the goal. Obstacles are enlarged by the
    robot's radius, as in VFH+."""

    reach_m, sectors = 3.0, 72

    def steer(self, bearing_rad, distance_m, points_m):
        middles_rad = (np.arange(self.sectors) + 0.5) * (2 * math.pi / self.sectors) - math.pi
        away_m = np.hypot(*points_m.T)
        near_m = points_m[away_m < min(self.reach_m, distance_m)]
        radius_m = self.task.limits.circumscribed_radius_m + 0.15
        sine = radius_m / np.maximum(np.hypot(*near_m.T), 1e-6)
        half_rad = np.arcsin(np.minimum(1.0, sine))
        off_rad = np.abs(wrapped(middles_rad[:, None] - np.arctan2(near_m[:, 1], near_m[:, 0])))
        is_free = (off_rad > half_rad).all(axis=1)
        if not is_free.any():
            return 0.5, 0.0
        free_rad = middles_rad[is_free]
        heading_rad = free_rad[np.argmin(np.abs(wrapped(free_rad - bearing_rad)))]
        if is_free.all():
            heading_rad = bearing_rad
        least_m = np.hypot(*near_m.T).min() if len(near_m) else math.inf
        return float(heading_rad), 0.4 if least_m < 1.5 else 0.8


class FollowTheGap(TextbookPlanner):
    """The follow-the-gap method of V. Sezer and M. Gokasan, 2012: the mean of the directions of the
    goal and of the middle of the widest gap. The weight of the gap increases with the proximity of
    obstacles."""

    reach_m, gain, view_rad = 3.0, 1.2, 0.6 * math.pi

    def steer(self, bearing_rad, distance_m, points_m):
        away_m = np.hypot(*points_m.T)
        near_m = points_m[away_m < min(self.reach_m, distance_m)]
        if not len(near_m):
            return bearing_rad, 0.8
        away_m = np.maximum(np.hypot(*near_m.T), 1e-6)
        radius_m = self.task.limits.circumscribed_radius_m + 0.1
        half_rad = np.arcsin(np.minimum(1.0, radius_m / away_m))
        middle_rad = np.arctan2(near_m[:, 1], near_m[:, 0])
        gaps, end_rad = [], -self.view_rad
        for left_rad, right_rad in sorted(zip(middle_rad - half_rad, middle_rad + half_rad)):
            gaps.append((left_rad - end_rad, 0.5 * (left_rad + end_rad)))
            end_rad = max(end_rad, right_rad)
        gaps.append((self.view_rad - end_rad, 0.5 * (self.view_rad + end_rad)))
        width_rad, gap_rad = max(gaps)
        if width_rad <= 0.3:
            return 0.5, 0.0
        weight = self.gain / away_m.min()
        return (weight * gap_rad + bearing_rad) / (weight + 1.0), 0.4


class DynamicWindow(LocalPlanner):
    """The dynamic window approach of D. Fox, W. Burgard and S. Thrun, 1997: of the arcs that the
    base can reach within one period and on which it can still brake, it selects the one with the
    best sum of heading, clearance and speed."""

    heading_s, top_mps = 1.0, 0.8
    heading_weight, clearance_weight, speed_weight = 0.8, 0.8, 0.2

    def begin(self, task):
        self.task = task
        self.command = None

    def plan(self, observation):
        task, limits, pose = self.task, self.task.limits, observation.pose
        now = observation.twist if self.command is None else self.command
        goal_m = np.array(in_base_frame(pose, task.goal.x_m, task.goal.y_m))
        away_m = math.hypot(*goal_m)
        change = np.array([limits.max_linear_accel_mps2, limits.max_angular_accel_radps2])
        change *= task.control_period_s
        slower_mps = max(0.0, now.linear_mps - change[0])
        top_mps = min(limits.max_linear_mps, self.top_mps, 0.5 * away_m)
        if away_m < 0.8 * task.goal_tolerance_m:
            top_mps = 0.0
        faster_mps = max(slower_mps, min(top_mps, now.linear_mps + change[0]))
        rates_radps = np.clip(
            np.linspace(now.angular_radps - change[1], now.angular_radps + change[1], 13),
            -limits.max_angular_radps,
            limits.max_angular_radps,
        )
        speeds_mps = np.linspace(slower_mps, faster_mps, 5)
        pairs = np.array([(v, w) for v in speeds_mps for w in rates_radps])
        points_m = (
            np.empty((0, 2)) if observation.scan is None else obstacle_points(observation.scan)
        )
        scores = self.scores(pairs, goal_m, points_m[np.hypot(*points_m.T) < 3.5])
        if top_mps == 0.0 or not np.isfinite(scores).any():
            rate = min(max(0.0, now.angular_radps - change[1]), now.angular_radps + change[1])
            if top_mps > 0.0:
                rate = min(now.angular_radps + change[1], 0.5)
            self.command = Twist2D(slower_mps, rate)
        else:
            self.command = Twist2D(*map(float, pairs[np.argmax(scores)]))
        return self.command

    def scores(self, pairs, goal_m, points_m):
        """Return the sum for each pair of speed and yaw rate; minus infinity for pairs with which
        the robot cannot brake in time."""
        reach_m = np.arange(1, 13) * 0.25
        speeds_mps, rates_radps = pairs.T
        yaw_rad = (rates_radps / np.maximum(speeds_mps, 0.1))[:, None] * reach_m
        chord_m = reach_m * np.sinc(yaw_rad / (2 * math.pi))
        x_m, y_m = chord_m * np.cos(yaw_rad / 2), chord_m * np.sin(yaw_rad / 2)
        free_m = np.full(len(pairs), reach_m[-1])
        if len(points_m):
            gaps_m = np.hypot(x_m[..., None] - points_m[:, 0], y_m[..., None] - points_m[:, 1])
            is_hit = gaps_m.min(axis=2) < self.task.limits.circumscribed_radius_m + 0.1
            free_m[is_hit.any(axis=1)] = (is_hit.argmax(axis=1) * 0.25)[is_hit.any(axis=1)]
        ahead_rad = rates_radps * self.heading_s
        heading = 1.0 - np.abs(wrapped(math.atan2(*goal_m[::-1]) - ahead_rad)) / math.pi
        score = (
            self.heading_weight * heading
            + self.clearance_weight * free_m / reach_m[-1]
            + self.speed_weight * speeds_mps / self.top_mps
        )
        can_brake = speeds_mps**2 <= self.task.limits.max_linear_accel_mps2 * free_m
        return np.where(can_brake, score, -math.inf)


class PotentialField(TextbookPlanner):
    """The potential field of O. Khatib, 1986: the goal attracts the robot, and obstacles nearer
    than ``reach_m`` repel it. The robot stops for obstacles directly ahead."""

    reach_m, gain = 2.0, 0.06

    def steer(self, bearing_rad, distance_m, points_m):
        pull = np.array([math.cos(bearing_rad), math.sin(bearing_rad)])
        away_m = np.maximum(np.hypot(*points_m.T) - self.task.limits.half_width_m, 0.05)
        near = away_m < self.reach_m
        strength = self.gain * (1 / away_m[near] - 1 / self.reach_m) / away_m[near] ** 2
        directions = points_m[near] / np.maximum(np.hypot(*points_m[near].T), 1e-6)[:, None]
        push = -(strength[:, None] * directions).sum(axis=0) if near.any() else np.zeros(2)
        push *= min(1.0, 1.5 / max(np.hypot(*push), 1e-9))
        x, y = pull + push
        half_m = self.task.limits.half_width_m + 0.1
        is_ahead = (np.abs(points_m[:, 1]) < half_m) & (points_m[:, 0] > 0.0)
        ahead_m = points_m[is_ahead, 0].min() if is_ahead.any() else math.inf
        share = 0.0 if ahead_m < 1.0 else 0.4 if ahead_m < 3.0 else 0.7
        return math.atan2(y, x), share


class PurePursuitThatStops(LocalPlanner):
    """The pure pursuit of R. C. Coulter, 1992: an arc at constant speed to the point
    ``lookahead_m`` ahead on the waypoints. The robot stops for an obstacle, and the planner raises
    ``PlannerAborted`` if the obstacle remains."""

    def __init__(self, lookahead_m=1.0, speed_mps=0.6, patience_s=5.0):
        self.lookahead_m, self.speed_mps, self.patience_s = lookahead_m, speed_mps, patience_s

    def begin(self, task):
        self.task, self.place, self.waits_s = task, 0, 0.0
        self.limiter = SpeedLimiter(task.limits, task.control_period_s)

    def plan(self, observation):
        task, pose = self.task, observation.pose
        goal_m = math.hypot(task.goal.x_m - pose.x_m, task.goal.y_m - pose.y_m)
        return self.limiter.apply(self.pursue(pose, goal_m, observation.scan), observation.twist)

    def pursue(self, pose, goal_m, scan):
        task = self.task
        if goal_m < 0.8 * task.goal_tolerance_m or scan is None:
            return Twist2D()
        if self.is_blocked(scan):
            self.waits_s += task.control_period_s
            if self.waits_s > self.patience_s:
                raise PlannerAborted(f"the way has been blocked for {self.patience_s:g} s")
            return Twist2D()
        self.waits_s = 0.0
        while self.place < len(task.waypoints_m) - 1 and self.away_m(pose) < self.lookahead_m:
            self.place += 1
        x_m, y_m = task.waypoints_m[self.place] - (pose.x_m, pose.y_m)
        bearing_rad = wrap_angle(math.atan2(y_m, x_m) - pose.yaw_rad)
        if abs(bearing_rad) > 1.0:
            return Twist2D(0.0, math.copysign(0.8, bearing_rad))
        speed_mps = min(self.speed_mps, task.limits.max_linear_mps, 0.5 * goal_m + 0.05)
        curvature = 2.0 * math.sin(bearing_rad) / max(math.hypot(x_m, y_m), 0.2)
        return Twist2D(speed_mps, speed_mps * curvature)

    def away_m(self, pose):
        return math.hypot(*(self.task.waypoints_m[self.place] - (pose.x_m, pose.y_m)))

    def is_blocked(self, scan):
        points_m, limits = obstacle_points(scan), self.task.limits
        beside = np.abs(points_m[:, 1]) < limits.half_width_m + 0.1
        front_m = max(x for x, _ in limits.footprint_m)
        return bool((beside & (points_m[:, 0] > 0.0) & (points_m[:, 0] < front_m + 0.6)).any())


def wrapped(angles_rad):
    return (angles_rad + math.pi) % (2 * math.pi) - math.pi
