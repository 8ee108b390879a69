"""Limits on speed and acceleration."""

import numpy as np
import pytest

from gz_testauto.base.observation import Twist2D
from gz_testauto.planners.interface import RobotLimits
from gz_testauto.planners.limits import (
    DefaultDecay,
    DefaultDuration,
    DefaultLength,
    SpeedLimiter,
    stoppable_speed_mps,
    value_for_robot,
)

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


@pytest.mark.parametrize(
    "speed_mps, deceleration_mps2, length_m, duration_s",
    [
        (1.0, 1.0, 4.0, 1.7),
        (2.0, 1.0, 4.0, 1.7),
        (2.0, 0.5, 8.0, 3.4),  # brakes within 4 m and 4 s
        (4.0, 8.0, 8.0, 1.7),  # brakes within 1 m, but drives twice as fast
        (25 / 3, 4.0, 4.0 * (25 / 3) ** 2 / 16, 1.7 * 25 / 24),
    ],
)
def test_defaults_grow_with_speed_and_braking_distance(
    speed_mps, deceleration_mps2, length_m, duration_s
):
    robot = speed_mps, deceleration_mps2
    assert value_for_robot(DefaultLength(4.0), *robot) == pytest.approx(length_m, rel=1e-12)
    assert value_for_robot(DefaultDuration(1.7), *robot) == pytest.approx(duration_s, rel=1e-12)
    assert value_for_robot(DefaultDecay(3.0), *robot) == pytest.approx(12.0 / length_m)
    assert value_for_robot(4.0, *robot) == 4.0  # specified by the user
