"""``fgm``: the Follow the Gap Method.

V. Sezer, M. Gokasan, "A novel obstacle avoidance algorithm: Follow the Gap Method", Robotics and
Autonomous Systems 60(9), 2012, 1123-1134. The method computes a heading from the gap array of
:mod:`gz_testauto.planners.gaps`.
"""

import math

import numpy as np

from gz_testauto.base.observation import Twist2D
from gz_testauto.base.parameters import Fraction, NotNegative, Positive
from gz_testauto.planners.gaps import find_gaps
from gz_testauto.planners.limits import clamp
from gz_testauto.planners.reactive import ReactivePlanner, Situation, turn_towards

NEAREST_M = 0.01
"""Least distance to an obstacle in the weight, so that the weight is finite."""


class FollowTheGap(ReactivePlanner):
    """A planner that drives towards a weighted mean of the largest gap's center and the goal.


    1. Obstacles are enlarged by the robot's circumscribed radius; the robot is a point.
    2. The gap array is built and its widest gap is selected.
    3. The gap center angle is that of the median of the triangle between robot and borders.
    4. φ_final = (α/d_min φ_gap_c + β φ_goal) / (α/d_min + β), with β = 1 and d_min the
       distance from the point robot to the nearest enlarged obstacle: far from obstacles the
       heading is the goal's, near an obstacle it is the center of the gap.

    As published, it always selects the widest gap, independent of the goal, can change the gap in
    each cycle, and averages two headings without a check that the mean is free. The paper's vehicle
    drives at constant speed. Here the speed falls with the turn (cos²) and with d_min, down to
    ``slowest``, but it never stops for an obstacle. Without any gap, the robot turns in place
    towards the goal until there is one.


    Parameters
    ----------
    alpha_m
        α, the weight of the gap center at 1 m from the nearest obstacle; meters.
    horizon_m
        Farther obstacles are ignored; meters.
    field_of_view_rad
        The sector for gaps, centered ahead; radians.
    margin_m
        Added to the robot's circumscribed radius; meters.
    slowdown_m
        The robot drives slower if d_min is below this; meters.
    slowest
        Least share of the speed near an obstacle; 0 to 1.
    lookahead_m
        Distance of the local goal along the waypoints; meters.
    turn_gain_per_s
        Yaw rate per radian of heading; 1/s.


    """

    def __init__(
        self,
        alpha_m: NotNegative = 0.6,
        horizon_m: Positive = 4.0,
        field_of_view_rad: Positive = math.pi,
        margin_m: NotNegative = 0.0,
        slowdown_m: Positive = 1.0,
        slowest: Fraction = 0.3,
        lookahead_m: Positive = 4.0,
        turn_gain_per_s: Positive = 1.5,
    ) -> None:
        super().__init__(lookahead_m)
        self.alpha_m = alpha_m
        self.horizon_m = horizon_m
        self.field_of_view_rad = field_of_view_rad
        self.margin_m = margin_m
        self.slowdown_m = slowdown_m
        self.slowest = slowest
        self.turn_gain_per_s = turn_gain_per_s

    def forget(self) -> None:
        """Forget the direction of the turn while there is no gap; 0 is none."""
        self._side = 0.0

    def steer(self, situation: Situation) -> Twist2D:
        """Apply steps 1 to 4 above, and compute the speed."""
        radius_m = self.limits.circumscribed_radius_m + self.margin_m
        points = situation.points_m
        gaps = find_gaps(points, radius_m, self.horizon_m, self.field_of_view_rad)
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
            widest.center_rad, situation.goal_bearing_rad, nearest_m, self.alpha_m
        )
        share = clamp(nearest_m / self.slowdown_m, self.slowest, 1.0)
        speed = min(situation.speed_limit_mps, share * self.limits.max_linear_mps)
        return turn_towards(heading, speed, self.turn_gain_per_s, self.limits)


def nearest_distance(points_m: np.ndarray, radius_m: float) -> float:
    """Return d_min from the point robot to the nearest circle; ``inf`` without obstacles."""
    if len(points_m) == 0:
        return math.inf
    return max(NEAREST_M, float(np.hypot(points_m[:, 0], points_m[:, 1]).min()) - radius_m)


def weighted_heading(
    gap_center_rad: float, goal_rad: float, nearest_m: float, alpha_m: float
) -> float:
    """Return φ_final = (α/d_min φ_gap_c + φ_goal) / (α/d_min + 1), Sezer & Gokasan (2012), β =
    1."""
    weight = alpha_m / nearest_m
    return (weight * gap_center_rad + goal_rad) / (weight + 1.0)
