"""Limits on the velocity and acceleration of commands, and default values of parameters that depend
on these limits."""

import math
from typing import Any, Optional

from gz_testauto.base.observation import Twist2D
from gz_testauto.planners.interface import RobotLimits


def clamp(value: float, lowest: float, highest: float) -> float:
    """Return ``value``, limited to the interval from ``lowest`` to ``highest``."""
    return min(max(value, lowest), highest)


def stoppable_speed_mps(distance_m: float, deceleration_mps2: float) -> float:
    """Return the highest speed from which the base can stop within a distance d with the
    deceleration a: sqrt(2 a d), or 0 if d is not positive."""
    return math.sqrt(2.0 * deceleration_mps2 * max(0.0, distance_m))


USUAL_SPEED_MPS, USUAL_BRAKING_M, USUAL_BRAKING_S = 2.0, 2.0, 2.0
"""Speed (m/s), and distance (m) and time (s) of braking from full speed, up to which the default
values of parameters are unchanged."""


def length_scale(speed_mps: float, deceleration_mps2: float) -> float:
    """Return the factor of default lengths for a robot with the largest speed v and deceleration a:
    the largest of 1, v / (2 m/s), and the braking distance v² / 2a over 2 m."""
    braking_m = speed_mps**2 / (2.0 * deceleration_mps2)
    return max(1.0, speed_mps / USUAL_SPEED_MPS, braking_m / USUAL_BRAKING_M)


class DefaultLength(float):
    """A default length (m) of a parameter, which is multiplied by :func:`length_scale`."""


class DefaultDecay(float):
    """A default decay (1/m) of a parameter, which is divided by :func:`length_scale`."""


class DefaultDuration(float):
    """A default duration (s), which is multiplied by the time of braking from full speed over 2 s,
    if this is more than 1."""


def value_for_robot(value: Any, speed_mps: float, deceleration_mps2: float) -> Any:
    """Return the value of a parameter for a robot with this largest speed and deceleration.

    Default values that have the types of this module are scaled; other values are returned
    unchanged.
    """
    if isinstance(value, DefaultLength):
        return float(value) * length_scale(speed_mps, deceleration_mps2)
    if isinstance(value, DefaultDecay):
        return float(value) / length_scale(speed_mps, deceleration_mps2)
    if isinstance(value, DefaultDuration):
        return float(value) * max(1.0, speed_mps / deceleration_mps2 / USUAL_BRAKING_S)
    return value


class SpeedLimiter:
    """A limiter of speed and acceleration for a sequence of commands, one per control period.

    The acceleration is relative to the previous *command*, since the measured speed lags behind.
    The first command is relative to the measured twist.
    """

    def __init__(self, limits: RobotLimits, period_s: float) -> None:
        self._limits = limits
        self._period_s = period_s
        self._previous_twist: Optional[Twist2D] = None

    def previous(self, measured: Twist2D) -> Twist2D:
        """Return the previous command, or the measured twist before the first command."""
        return measured if self._previous_twist is None else self._previous_twist

    def apply(self, desired: Twist2D, measured: Twist2D) -> Twist2D:
        """Return the permitted command, and store it as the previous command."""
        self._previous_twist = self.permitted(desired, measured)
        return self._previous_twist

    def permitted(self, desired: Twist2D, measured: Twist2D) -> Twist2D:
        """Return the permitted command that is nearest to ``desired``, separately for the linear
        and the angular velocity."""
        limits, previous_twist = self._limits, self.previous(measured)
        linear_step = limits.max_linear_accel_mps2 * self._period_s
        angular_step = limits.max_angular_accel_radps2 * self._period_s
        slowest = -limits.max_linear_mps if limits.can_reverse else 0.0
        linear = clamp(desired.linear_mps, slowest, limits.max_linear_mps)
        angular = clamp(desired.angular_radps, -limits.max_angular_radps, limits.max_angular_radps)
        permitted_twist = Twist2D(
            clamp(
                linear,
                previous_twist.linear_mps - linear_step,
                previous_twist.linear_mps + linear_step,
            ),
            clamp(
                angular,
                previous_twist.angular_radps - angular_step,
                previous_twist.angular_radps + angular_step,
            ),
        )
        if limits.wheelbase_m > 0.0:
            # the steering angle limits the yaw rate, independent of the previous command
            tightest = abs(permitted_twist.linear_mps) * math.tan(limits.max_steer_rad)
            rate = tightest / limits.wheelbase_m
            permitted_twist = Twist2D(
                permitted_twist.linear_mps, clamp(permitted_twist.angular_radps, -rate, rate)
            )
        return permitted_twist
