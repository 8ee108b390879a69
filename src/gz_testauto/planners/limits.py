"""Keeps commands within what the base can do.

Owns the limits on speed and on the change of speed from one control period to the next, which
the simulators do not apply, and the arithmetic of braking. Refuses to steer.
"""

import math
from typing import Optional

from gz_testauto.base.observation import Twist2D
from gz_testauto.planners.interface import RobotLimits


def clamp(value: float, lowest: float, highest: float) -> float:
    """``value``, or the nearer end of the interval when it lies outside."""
    return min(max(value, lowest), highest)


def braking_distance_m(speed_mps: float, deceleration_mps2: float) -> float:
    """How far the base still rolls when it brakes from now on: v² / 2a."""
    return speed_mps * speed_mps / (2.0 * deceleration_mps2)


def stoppable_speed_mps(distance_m: float, deceleration_mps2: float) -> float:
    """The speed from which the base stops within ``distance_m``: sqrt(2 a d), 0 when d <= 0."""
    return math.sqrt(2.0 * deceleration_mps2 * max(0.0, distance_m))


class SpeedLimiter:
    """Limits a sequence of commands, one per control period.

    The change is counted from the previous *command*, because measured speed lags behind and
    would let a chain of commands creep past the limit; only the first is counted from the
    measured twist, in case the robot is already rolling when a task begins.
    """

    def __init__(self, limits: RobotLimits, period_s: float) -> None:
        self._limits = limits
        self._period_s = period_s
        self._previous: Optional[Twist2D] = None

    def previous(self, measured: Twist2D) -> Twist2D:
        """The command that the next one is counted from."""
        return measured if self._previous is None else self._previous

    def apply(self, wanted: Twist2D, measured: Twist2D) -> Twist2D:
        """The permitted command that is nearest to ``wanted``, component by component."""
        limits, before = self._limits, self.previous(measured)
        linear_step = limits.max_linear_accel_mps2 * self._period_s
        angular_step = limits.max_angular_accel_radps2 * self._period_s
        slowest = -limits.max_linear_mps if limits.can_reverse else 0.0
        linear = clamp(wanted.linear_mps, slowest, limits.max_linear_mps)
        angular = clamp(wanted.angular_radps, -limits.max_angular_radps, limits.max_angular_radps)
        permitted = Twist2D(
            clamp(linear, before.linear_mps - linear_step, before.linear_mps + linear_step),
            clamp(
                angular, before.angular_radps - angular_step, before.angular_radps + angular_step
            ),
        )
        if limits.wheelbase_m > 0.0:
            # what the wheels can be turned to holds whatever the rate was
            tightest = abs(permitted.linear_mps) * math.tan(limits.max_steer_rad)
            rate = tightest / limits.wheelbase_m
            permitted = Twist2D(permitted.linear_mps, clamp(permitted.angular_radps, -rate, rate))
        self._previous = permitted
        return permitted
