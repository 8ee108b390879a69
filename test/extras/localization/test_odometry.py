"""The errors of odometry, compared with closed forms that are derived on paper."""

import math
from pathlib import Path

import numpy as np
import pytest

from gz_testauto.actors.localization import EstimatorInputs
from gz_testauto.base.errors import SpecError
from gz_testauto.base.observation import Twist2D
from gz_testauto.base.pose import Pose2D, wrap_angle
from gz_testauto.extras.localization.odometry import (
    INTERVAL_M,
    INTERVAL_RAD,
    OdometryModel,
    SlipErrors,
)
from gz_testauto.extras.localization.spec import OdometryErrorSpec
from gz_testauto.spec.loader import parse
from gz_testauto.spec.worlds import RandomNumbers

TRACK_M = 0.5


def odometry(text, world=0, scale=1.0, track_m=TRACK_M, has_imu=True):
    spec = parse(text, OdometryErrorSpec, Path("odometry.yaml"))
    numbers = RandomNumbers(seed=5, world=world, repetition=0)
    return OdometryModel(spec.draw(EstimatorInputs(numbers, "robot", scale, track_m, has_imu)))


def drive(model, length_m=0.0, turn_rad=0.0, steps=100, period_s=0.1, start=None):
    """Drive an arc of this length and turn, and return the error of the odometry in the true final
    frame: along x and y (m), and in heading (rad)."""
    x_m, y_m, yaw_rad = start or (0.0, 0.0, 0.0)
    step_m, step_rad = length_m / steps, turn_rad / steps
    twist = Twist2D(step_m / period_s, step_rad / period_s)
    model.advance(0.0, Pose2D(x_m, y_m, yaw_rad), twist)
    for tick in range(1, steps + 1):
        chord_m = step_m * np.sinc(step_rad / (2 * math.pi))
        x_m += chord_m * math.cos(yaw_rad + step_rad / 2)
        y_m += chord_m * math.sin(yaw_rad + step_rad / 2)
        yaw_rad = wrap_angle(yaw_rad + step_rad)
        model.advance(tick * period_s, Pose2D(x_m, y_m, yaw_rad), twist)
    dx_m, dy_m = model.pose.x_m - x_m, model.pose.y_m - y_m
    cos, sin = math.cos(yaw_rad), math.sin(yaw_rad)
    return (
        cos * dx_m + sin * dy_m,
        cos * dy_m - sin * dx_m,
        wrap_angle(model.pose.yaw_rad - yaw_rad),
    )


def test_odometry_without_errors_is_exact_on_arcs():
    model = odometry("alpha: [0, 0, 0, 0]")
    assert drive(model, 7.0, 5.0, start=(1.0, -2.0, 0.5)) == pytest.approx((0, 0, 0), abs=1e-12)
    assert model.twist == pytest.approx(Twist2D(0.7, 0.5))
    assert not model.covariance.any()


def test_odometry_does_not_measure_that_the_robot_is_carried():
    model = odometry("alpha: [0, 0, 0, 0]")
    model.place(Pose2D(9.0, 9.0, 1.0))
    drive(model, 2.0, steps=10)
    model.place(Pose2D(-4.0, 3.0, math.pi / 2))
    model.advance(1.1, Pose2D(-4.0, 3.5, math.pi / 2), Twist2D(5.0, 0.0))
    assert model.pose == pytest.approx(Pose2D(2.5, 0.0, 0.0))
    # the next motion is measured again
    model.advance(1.2, Pose2D(-4.0, 3.6, math.pi / 2), Twist2D(1.0, 0.0))
    assert model.pose == pytest.approx(Pose2D(2.6, 0.0, 0.0))


def test_variances_after_a_straight_drive_are_those_on_paper():
    # Each interval of L adds a2 L^2 to both rotations and a3 L^2 to the translation. After D / L
    # intervals, the heading is a random walk with the variance q D, q = 2 a2 L. The lateral
    # error is the integral of the heading, with the variance q D^3 / 3.
    length_m, alpha2, alpha3 = 6.0, 1e-4, 4e-3
    model = odometry(f"alpha: [0.7, {alpha2}, {alpha3}, 0.9]")
    drive(model, length_m, steps=2000, start=(0.0, 0.0, 0.0))
    rate = 2 * alpha2 * INTERVAL_M
    heading, lateral = rate * length_m, rate * length_m**3 / 3
    along = alpha3 * INTERVAL_M * length_m
    # The covariance is linearized at the odometry, whose direction differs by a small angle.
    eigenvalues = np.linalg.eigvalsh(model.covariance[:2, :2])
    assert model.covariance[2, 2] == pytest.approx(heading, rel=0.01)
    assert sorted([along, lateral]) == pytest.approx(eigenvalues, rel=0.05)


@pytest.mark.slow
def test_errors_of_many_drives_have_the_variances_on_paper():
    length_m, alpha2, alpha3 = 6.0, 1e-4, 4e-3
    text = f"alpha: [0, {alpha2}, {alpha3}, 0]"
    errors = np.array([drive(odometry(text, world), length_m, steps=12) for world in range(400)])
    rate = 2 * alpha2 * INTERVAL_M
    expected = [alpha3 * INTERVAL_M * length_m, rate * length_m**3 / 3, rate * length_m]
    spread = 4 * math.sqrt(2 / 400)  # four standard deviations of a sample variance
    assert errors.var(axis=0) == pytest.approx(expected, rel=spread)
    assert abs(errors.mean(axis=0)) == pytest.approx(0, abs=4 * math.sqrt(max(expected) / 400))


@pytest.mark.parametrize("turn_rad", [INTERVAL_RAD, -4 * math.pi])
def test_variances_after_turning_in_place_are_those_on_paper(turn_rad):
    # Each interval A adds a1 A^2 to the heading and a4 A^2 to the translation.
    alpha1, alpha4 = 3e-4, 2e-3
    model = odometry(f"alpha: [{alpha1}, 0.8, 0.9, {alpha4}]")
    drive(model, 0.0, turn_rad)
    assert model.covariance[2, 2] == pytest.approx(alpha1 * INTERVAL_RAD * abs(turn_rad))
    position = np.trace(model.covariance[:2, :2])
    assert position == pytest.approx(alpha4 * INTERVAL_RAD * abs(turn_rad), rel=0.01)


def test_variances_do_not_depend_on_the_control_period():
    coarse, fine = (odometry("alpha: [1e-4, 1e-4, 1e-3, 1e-3]") for _ in range(2))
    drive(coarse, 5.0, 1.0, steps=50)
    drive(fine, 5.0, 1.0, steps=1000)
    assert np.sqrt(np.diag(coarse.covariance)) == pytest.approx(
        np.sqrt(np.diag(fine.covariance)), rel=0.1
    )


def test_equal_wheel_radius_errors_scale_the_distance():
    text = "{alpha: [0, 0, 0, 0], left_wheel_radius: 0.02, right_wheel_radius: 0.02}"
    model = odometry(text)
    assert drive(model, 10.0) == pytest.approx((0.2, 0.0, 0.0), abs=1e-12)
    assert model.twist.linear_mps == pytest.approx(1.02)


def test_different_wheel_radius_errors_turn_the_odometry():
    model = odometry("{alpha: [0, 0, 0, 0], left_wheel_radius: -0.01, right_wheel_radius: 0.01}")
    turn_rad = 3.0 * 0.02 / TRACK_M
    along, lateral, heading = drive(model, 3.0, steps=1000)
    assert heading == pytest.approx(turn_rad)
    radius_m = 3.0 / turn_rad
    assert lateral == pytest.approx(radius_m * (1 - math.cos(turn_rad)), rel=1e-5)
    assert along == pytest.approx(radius_m * math.sin(turn_rad) - 3.0, rel=1e-4)


def test_track_width_error_scales_turns():
    model = odometry("{alpha: [0, 0, 0, 0], track_width: 0.1}")
    assert drive(model, 0.0, 2.0) == pytest.approx((0.0, 0.0, 2.0 / 1.1 - 2.0), abs=1e-12)


def test_scale_multiplies_systematic_errors_and_standard_deviations():
    text = "{alpha: [1e-4, 1e-4, 1e-4, 1e-4], left_wheel_radius: 0.01, right_wheel_radius: 0.01}"
    once, thrice = odometry(text), odometry(text, scale=3.0)
    drive(once, 0.2, steps=1)
    drive(thrice, 0.2, steps=1)
    assert thrice.covariance[2, 2] == pytest.approx(9 * once.covariance[2, 2] * 1.03 / 1.01)
    assert thrice.twist.linear_mps == pytest.approx(2.0 * 1.03)


def test_gyro_bias_and_noise_replace_the_errors_of_the_wheels_in_heading():
    text = "{{alpha: [9, 9, 0, 0], track_width: 0.3, gyro: {{bias_radps: 0.01, noise_radps: {}}}}}"
    model = odometry(text.format(0.0))
    assert drive(model, 0.0, 1.0, steps=200) == pytest.approx((0.0, 0.0, 0.2), abs=1e-9)
    assert model.twist.angular_radps == pytest.approx(1.0 / 20 + 0.01)
    noisy = odometry(text.format(0.003))
    drive(noisy, 0.0, 1.0, steps=200)
    assert noisy.covariance[2, 2] == pytest.approx(0.003**2 * 20.0)


def slips(every_m=2.0, length_m=0.5, share=0.5):
    return SlipErrors(every_m, lambda *_: (length_m, share), np.random.default_rng(8))


def test_slip_does_not_depend_on_the_length_of_the_steps():
    totals = []
    for steps in (10, 1000):
        slip = slips()
        step_m = 20.0 / steps
        turned = sum(step_m * (np.array(slip.factors(step_m)) - 1.0) for _ in range(steps))
        totals.append(turned)
    assert totals[0] == pytest.approx(totals[1])
    assert (totals[0] > 0).all()


def test_mean_slip_is_that_of_the_patches():
    # One of two wheels turns twice as much on a fifth of the path.
    left, right = slips().factors(20_000.0)
    assert left + right - 2.0 == pytest.approx(0.2, rel=0.05)
    assert left - right == pytest.approx(0.0, abs=0.01)


def test_slip_on_the_left_turns_the_odometry_to_the_right():
    slip = slips(every_m=1e-9, length_m=1e6)
    left, right = slip.factors(1.0)
    assert sorted([left, right]) == pytest.approx([1.0, 2.0])
    model = odometry("{alpha: [0, 0, 0, 0], slip: {every_m: 1e-9, length_m: 1e5, share: 0.5}}")
    _, _, heading = drive(model, 0.1, steps=1)
    assert abs(heading) == pytest.approx(0.1 / TRACK_M)


def test_lateral_displacement_is_not_measured():
    model = odometry("alpha: [0, 0, 0, 0]")
    model.advance(0.0, Pose2D(0.0, 0.0, 0.0), Twist2D())
    model.advance(0.1, Pose2D(0.0, 0.3, 0.0), Twist2D())
    assert model.pose == Pose2D(0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("alpha: [1, 2, 3]", "alpha"),
        ("alpha: [0.1, 0.1, -0.1, 0.1]", r"alpha\[2\] is -0.1"),
        ("track_width: 0.6", "track_width is 0.6; it must be from -0.5 to 0.5"),
        ("track_width: [-0.7, 0.1]", "track_width can be -0.7"),
        ("slip: {share: 0.1}", "slip.every_m is missing"),
    ],
)
def test_invalid_odometry_is_rejected(text, found):
    with pytest.raises(SpecError, match=found):
        odometry(text)


def test_robot_without_the_needed_parts_is_rejected():
    with pytest.raises(SpecError, match=r"gyro.*'robot' has no IMU"):
        odometry("gyro: {bias_radps: 0.1}", has_imu=False)
    with pytest.raises(SpecError, match="'robot' has no drive controller"):
        odometry("track_width: 0.1", track_m=None)
