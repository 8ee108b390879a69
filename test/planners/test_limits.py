"""Limits on speed and acceleration."""

import numpy as np
import pytest

from gz_testauto.base.observation import Twist2D
from gz_testauto.planners.interface import RobotLimits
from gz_testauto.planners.limits import SpeedLimiter, stoppable_speed_mps

FOOTPRINT = ((-1.0, -0.5), (1.0, -0.5), (1.0, 0.5), (-1.0, 0.5))
LIMITS = RobotLimits(FOOTPRINT, 1.0, 1.5, 1.0, 3.0)


def test_acceleration_is_limited_from_command_to_command():
    limiter = SpeedLimiter(LIMITS, 0.1)
    commands = [limiter.apply(Twist2D(9.0, -9.0), Twist2D()) for _ in range(12)]
    np.testing.assert_allclose([c.linear_mps for c in commands[:3]], [0.1, 0.2, 0.3])
    np.testing.assert_allclose([c.angular_radps for c in commands[:3]], [-0.3, -0.6, -0.9])
    assert commands[-1] == pytest.approx((1.0, -1.5))


def test_only_the_first_command_is_relative_to_the_measured_twist():
    limiter = SpeedLimiter(LIMITS, 0.1)
    assert limiter.apply(Twist2D(0.0, 0.0), Twist2D(0.8, 0.0)).linear_mps == pytest.approx(0.7)
    assert limiter.apply(Twist2D(0.0, 0.0), Twist2D(0.8, 0.0)).linear_mps == pytest.approx(0.6)


def test_negative_speed_requires_can_reverse():
    backwards = Twist2D(-1.0, 0.0)
    assert SpeedLimiter(LIMITS, 0.1).apply(backwards, Twist2D()).linear_mps == 0.0
    reversing = RobotLimits(FOOTPRINT, can_reverse=True)
    assert SpeedLimiter(reversing, 0.1).apply(backwards, Twist2D()).linear_mps == (
        pytest.approx(-0.1)
    )


def test_stoppable_speed_is_the_inverse_of_braking_distance():
    assert stoppable_speed_mps(2.0, 1.0) == pytest.approx(2.0)
    assert stoppable_speed_mps(0.7**2 / (2 * 0.9), 0.9) == pytest.approx(0.7)
    assert stoppable_speed_mps(-1.0, 1.0) == 0.0
