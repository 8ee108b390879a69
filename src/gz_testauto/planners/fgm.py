"""The planner ``fgm``, the Follow the Gap Method.

V. Sezer, M. Gokasan, "A novel obstacle avoidance algorithm: Follow the Gap Method", Robotics and
Autonomous Systems 60(9), 2012, 1123-1134.
"""

import math
from dataclasses import dataclass
from typing import List

import numpy as np

from gz_testauto.base.compiled import compiled, compiled_for
from gz_testauto.base.observation import Twist2D
from gz_testauto.base.parameters import Fraction, NotNegative, Positive
from gz_testauto.planners.limits import DefaultLength, clamp
from gz_testauto.planners.reactive import ReactivePlanner, Situation, turn_towards

NEAREST_M = 0.01  # least distance in the weight of a gap, so that the weight is finite

ROUNDING_RAD = 1e-9


@dataclass(frozen=True)
class Gap:
    """A sector of free directions in the base frame. ``right_m`` and ``left_m`` are the distances
    from the robot to the two borders."""

    right_rad: float
    left_rad: float
    right_m: float
    left_m: float

    @property
    def width_rad(self) -> float:
        return self.left_rad - self.right_rad

    @property
    def center_rad(self) -> float:
        """The direction to the midpoint between the two borders."""
        return self.right_rad + median_angle(self.right_m, self.left_m, self.width_rad)

    def nearest(self, heading_rad: float, inset_rad: float = 0.0) -> float:
        """Return the direction nearest to ``heading_rad`` that is at least ``inset_rad`` from both
        borders, or the bisector of a narrow gap."""
        inset = min(inset_rad, self.width_rad / 2)
        return min(max(heading_rad, self.right_rad + inset), self.left_rad - inset)

    def contains(self, heading_rad: float) -> bool:
        return self.right_rad <= heading_rad <= self.left_rad


def median_angle(first_m: float, second_m: float, between_rad: float) -> float:
    """Return the angle from the first of two sides of a triangle to the median between them.

    This is the gap center of Sezer & Gokasan (2012): arccos((d₁ + d₂ cos θ) / sqrt(d₁² + d₂² + 2 d₁
    d₂ cos θ)), with the angle θ between the sides, or the bisector for 180° or more.
    """
    if between_rad >= math.pi - 1e-9:
        return between_rad / 2
    cosine = math.cos(between_rad)
    length = math.sqrt(first_m**2 + second_m**2 + 2 * first_m * second_m * cosine)
    if length < 1e-12:
        return between_rad / 2
    return math.acos(min(1.0, max(-1.0, (first_m + second_m * cosine) / length)))


def find_gaps(
    points_m: np.ndarray, radius_m: float, horizon_m: float, field_of_view_rad: float
) -> List[Gap]:
    """Return the gaps between obstacles, from right to left.

    ``points_m`` has shape (n, 2), in the base frame. Every point nearer than ``horizon_m`` is a
    circle of ``radius_m``. At distance d it hides the directions within arcsin(radius / d) of its
    center. The border of a gap is the tangent point of the circle, at the distance
    sqrt(d² − radius²). A border at the edge of the field of view, which is centered on the x axis,
    has the distance of the other border.
    """
    gaps = _gap_array(points_m, radius_m, horizon_m, field_of_view_rad / 2)
    return [Gap(*borders) for borders in gaps.tolist()]


@compiled
def _near_circles(points_m, radius_m, horizon_m):  # type: ignore[no-untyped-def]
    """Return distance (m), bearing (rad) and half the hidden angle (rad) of the circle around each
    point that is nearer than ``horizon_m``, shape (k, 3)."""
    circles = np.empty((len(points_m), 3))
    circle_count = 0
    for x_m, y_m in points_m:
        distance = math.hypot(x_m, y_m)
        if distance < horizon_m:
            half = math.asin(min(1.0, radius_m / max(distance, 1e-9)))
            circles[circle_count] = (distance, math.atan2(y_m, x_m), half)
            circle_count += 1
    return circles[:circle_count]


@compiled
def _hidden_sectors(circles, radius_m, half_view):  # type: ignore[no-untyped-def]
    """Return right border (rad), left border (rad) and distance to the borders (m) of the sector
    that each of ``circles`` (:func:`_near_circles`) hides, shape (k, 3)."""
    sectors = np.empty((2 * len(circles), 3))
    sector_count = 0
    for image in range(2):
        for distance, center, half in circles:
            if image == 1:
                # A circle behind the robot can extend beyond ±180°, so its image is also used.
                if not half + abs(center) > math.pi:
                    continue
                center -= math.copysign(2 * math.pi, center)
            right, left = center - half, center + half
            if left > -half_view and right < half_view:
                square = distance * distance - radius_m * radius_m
                sectors[sector_count] = (right, left, math.sqrt(max(square, 0.0)))
                sector_count += 1
    return sectors[:sector_count]


@compiled_for("f8[:, ::1](Array(f8, 2, 'A', True), f8, f8, f8)")
def _gap_array(points_m, radius_m, horizon_m, half_view):  # type: ignore[no-untyped-def]
    """Return the fields of each :class:`Gap`, shape (g, 4).

    The inputs are those of :func:`find_gaps`, with half the field of view (rad).
    """
    circles = _near_circles(points_m, radius_m, horizon_m)
    sectors = _hidden_sectors(circles, radius_m, half_view)
    gaps = np.empty((len(sectors) + 1, 4))
    if len(sectors) == 0:
        gaps[0] = (-half_view, half_view, horizon_m, horizon_m)
        return gaps
    gap_count = 0
    # The hidden part ends at the border of the sector that extends farthest to the left.
    hidden_end_rad, end_border_m = -half_view, np.nan
    for number in np.argsort(sectors[:, 0], kind="mergesort"):
        right, left, border_m = sectors[number]
        if right > hidden_end_rad:
            if right - hidden_end_rad > ROUNDING_RAD:
                first_m = border_m if np.isnan(end_border_m) else end_border_m
                gaps[gap_count] = (hidden_end_rad, right, first_m, border_m)
                gap_count += 1
            hidden_end_rad, end_border_m = left, border_m
        elif np.isnan(end_border_m) or left >= hidden_end_rad:
            hidden_end_rad, end_border_m = left, border_m
    if half_view - hidden_end_rad > ROUNDING_RAD:
        gaps[gap_count] = (hidden_end_rad, half_view, end_border_m, end_border_m)
        gap_count += 1
    return gaps[:gap_count]


class FollowTheGap(ReactivePlanner):
    """A planner that drives towards a weighted mean of the largest gap's center and the goal.

    1. Obstacles are enlarged by the robot's circumscribed radius, so that the robot is a point.
    2. The widest gap is selected, independent of the goal.
    3. The gap center angle is that of the median of the triangle between robot and borders.
    4. φ_final = (α/d_min φ_gap_c + β φ_goal) / (α/d_min + β), with β = 1 and d_min the
       distance from the point robot to the nearest enlarged obstacle.

    The mean of the two headings is not always free. Unlike in the paper, the speed decreases with
    the heading (cos²) and with d_min, and a robot without a gap turns in place. ``slows_in_turns``
    False with ``slowest`` 1 is the constant speed of the paper.
    """

    def __init__(
        self,
        alpha_m: NotNegative = DefaultLength(0.6),
        horizon_m: Positive = DefaultLength(4.0),
        field_of_view_rad: Positive = math.pi,
        margin_m: NotNegative = 0.0,
        slowdown_m: Positive = DefaultLength(1.0),
        slowest: Fraction = 0.3,
        lookahead_m: Positive = DefaultLength(4.0),
        turn_gain_per_s: Positive = 1.5,
        slows_in_turns: bool = True,
    ) -> None:
        super().__init__(lookahead_m)
        self.alpha_m = alpha_m
        self.horizon_m = horizon_m
        self.field_of_view_rad = field_of_view_rad
        self.margin_m = margin_m
        self.slowdown_m = slowdown_m
        self.slowest = slowest
        self.turn_gain_per_s = turn_gain_per_s
        self.slows_in_turns = slows_in_turns

    def forget(self) -> None:
        self._side = 0.0

    def steer(self, situation: Situation) -> Twist2D:
        radius_m = self.limits.circumscribed_radius_m + self.margin_m
        points = situation.points_m
        horizon_m = self.for_robot(self.horizon_m)
        gaps = find_gaps(points, radius_m, horizon_m, self.field_of_view_rad)
        if not gaps:
            # The direction is kept. Otherwise it would alternate when the goal is straight ahead,
            # and the robot would not turn at all.
            self._side = self._side or math.copysign(1.0, situation.goal_bearing_rad)
            limit = 0.5 * self.limits.max_angular_radps
            return Twist2D(0.0, clamp(self.turn_gain_per_s * self._side, -limit, limit))
        self._side = 0.0
        widest = max(gaps, key=lambda gap: gap.width_rad)
        nearest_m = nearest_distance(points, radius_m)
        heading = weighted_heading(
            widest.center_rad, situation.goal_bearing_rad, nearest_m, self.for_robot(self.alpha_m)
        )
        share = clamp(nearest_m / self.for_robot(self.slowdown_m), self.slowest, 1.0)
        speed = min(situation.speed_limit_mps, share * self.limits.max_linear_mps)
        return turn_towards(heading, speed, self.turn_gain_per_s, self.limits, self.slows_in_turns)


def nearest_distance(points_m: np.ndarray, radius_m: float) -> float:
    """Return the distance (m) from the base to the nearest circle of ``radius_m`` around a point,
    at least ``NEAREST_M``, or ``inf`` without points."""
    return max(NEAREST_M, _smallest_distance(points_m) - radius_m)


@compiled_for("f8(Array(f8, 2, 'A', True))")
def _smallest_distance(points_m):  # type: ignore[no-untyped-def]
    smallest_m = np.inf
    for x_m, y_m in points_m:
        smallest_m = min(smallest_m, math.hypot(x_m, y_m))
    return smallest_m


def weighted_heading(
    gap_center_rad: float, goal_rad: float, nearest_m: float, alpha_m: float
) -> float:
    """Return the heading between gap and goal, φ_final of step 4 of :class:`FollowTheGap`."""
    weight = alpha_m / nearest_m
    return (weight * gap_center_rad + goal_rad) / (weight + 1.0)
