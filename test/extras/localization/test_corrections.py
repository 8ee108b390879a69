"""Corrections of the odometry: their times, errors, outliers, and periods in which they stop."""

import math
from pathlib import Path

import numpy as np
import pytest

from gz_testauto.actors.localization import EstimatorInputs
from gz_testauto.base.errors import SpecError
from gz_testauto.base.observation import Twist2D
from gz_testauto.base.pose import Pose2D
from gz_testauto.extras.localization.estimator import LostPeriods
from gz_testauto.extras.localization.spec import CorrectedSpec, DriftSpec
from gz_testauto.spec.loader import parse
from gz_testauto.spec.localization import LocalizationSpec
from gz_testauto.spec.worlds import RandomNumbers

WRONG_WHEELS = "odometry: {alpha: [0, 0, 0, 0], left_wheel_radius: 0.1, right_wheel_radius: 0.12}\n"


def spec_of(text):
    return parse(text, LocalizationSpec, Path("localization.yaml"))


def estimator(corrections, world=0, odometry=WRONG_WHEELS):
    spec = spec_of(f"estimate: corrected\n{odometry}corrections: {{{corrections}}}")
    numbers = RandomNumbers(seed=5, world=world, repetition=0)
    return spec.estimator(EstimatorInputs(numbers, "robot", spec.scale, 0.5))


def truth(time_s):
    """The pose on a circle that is driven at 0.5 m/s."""
    return Pose2D(5.0 * math.sin(0.1 * time_s), 5.0 - 5.0 * math.cos(0.1 * time_s), 0.1 * time_s)


def errors_m(one, duration_s, period_s=0.1, start_s=3.0):
    """Return the distance between estimate and truth at each period, from the start."""
    found = []
    for tick in range(round(duration_s / period_s) + 1):
        time_s = tick * period_s
        one.advance(start_s + time_s, truth(time_s), Twist2D(0.5, 0.1))
        pose = one.pose
        found.append(pose.distance_to(*truth(time_s)[:2]))
    return np.array(found)


def test_exact_corrections_remove_the_drift_at_their_rate():
    found = errors_m(estimator("rate_hz: 0.5, position_m: 0, yaw_rad: 0"), 6.0)
    assert np.flatnonzero(found < 1e-9).tolist() == [0, 20, 40, 60]
    assert found[19] > 0.05


def test_delayed_correction_is_relative_to_the_time_of_its_measurement():
    one = estimator("rate_hz: 0.5, position_m: 0, yaw_rad: 0, delay_s: 0.3")
    found = errors_m(one, 2.3)
    assert found[22] > 0.1
    # Only the drift since the measurement remains: 11 % of 0.15 m along the path, and the heading.
    assert found[23] == pytest.approx(0.11 * 0.15, rel=0.1)


def test_corrections_have_the_specified_errors():
    one = estimator("rate_hz: 10, position_m: 0.2, yaw_rad: 0.05")
    position, heading = [], []
    for tick in range(1001):
        one.advance(0.1 * tick, truth(0.1 * tick), Twist2D())
        if tick:
            position += [a - b for a, b in zip(one.pose[:2], truth(0.1 * tick)[:2])]
            heading.append(math.remainder(one.pose.yaw_rad - 0.01 * tick, 2 * math.pi))
    assert np.std(position) == pytest.approx(0.2, rel=0.1)
    assert np.std(heading) == pytest.approx(0.05, rel=0.1)


def test_share_of_outliers_is_as_specified():
    outliers = "outliers: {share: 0.2, position_m: 5.0}"
    found = errors_m(estimator(f"rate_hz: 10, position_m: 0.01, yaw_rad: 0, {outliers}"), 100.0)
    assert np.mean(found > 0.1) == pytest.approx(0.2, abs=0.05)


def test_correction_has_the_same_error_with_each_control_period():
    poses = []
    for period_s in (0.1, 0.5, 2.0):
        one = estimator("rate_hz: 2, position_m: 0.2, yaw_rad: 0.05")
        errors_m(one, 4.0, period_s)
        poses.append(one.pose)
    assert poses[0] == pytest.approx(poses[1]) and poses[0] == pytest.approx(poses[2])


def test_localizer_is_lost_and_recovers():
    lost = "lost: {every_s: 10, duration_s: 4}"
    found = errors_m(estimator(f"rate_hz: 10, position_m: 0, yaw_rad: 0, {lost}"), 60.0)
    is_lost = found[1:] > 1e-9
    starts = np.flatnonzero(np.diff(is_lost.astype(int)) == 1)
    assert len(starts) >= 2
    assert 0.1 * is_lost.sum() == pytest.approx(4.0 * len(starts), abs=0.2 * len(starts))


def test_share_of_lost_time_is_that_of_the_periods():
    periods = LostPeriods(
        6.0, lambda probability: 1.0 + 2.0 * probability, np.random.default_rng(2)
    )
    times = np.arange(0.0, 4000.0, 0.1)
    assert np.mean([periods.include(time_s) for time_s in times]) == pytest.approx(0.25, rel=0.15)


def test_errors_differ_between_worlds_and_robots_only():
    first, again, other = (estimator("rate_hz: 1", world) for world in (0, 0, 1))
    for one in (first, again, other):
        errors_m(one, 2.0)
    assert first.pose == again.pose != other.pose
    spec, numbers = spec_of("estimate: corrected"), RandomNumbers(seed=5, world=0, repetition=0)
    poses = []
    for robot in ("robot", "second"):
        one = spec.estimator(EstimatorInputs(numbers, robot, 1.0, 0.5))
        errors_m(one, 2.0)
        poses.append(one.pose)
    assert poses[0] != poses[1]


def test_drift_and_corrected_have_the_same_odometry():
    numbers = RandomNumbers(seed=5, world=0, repetition=0)
    inputs = EstimatorInputs(numbers, "robot", 1.0, 0.5)
    drift, corrected = (
        kind.model_validate({"estimate": name}).estimator(inputs)
        for name, kind in (("drift", DriftSpec), ("corrected", CorrectedSpec))
    )
    errors_m(drift, 5.0)
    errors_m(corrected, 5.0)
    assert drift.odometry == drift.pose == corrected.odometry != corrected.pose


@pytest.mark.parametrize(
    ("text", "is_true"),
    [
        ("estimate: drift", False),
        ("{estimate: drift, scale: 0}", True),
        ("{estimate: drift, odometry: {alpha: [0, 0, 0, 0]}}", True),
        ("{estimate: drift, odometry: {alpha: [0, 0, 0, 1.0e-9]}}", False),
        ("{estimate: drift, odometry: {alpha: [0, 0, 0, 0], track_width: [0, 0.1]}}", False),
        ("{estimate: drift, odometry: {alpha: [0, 0, 0, 0], gyro: {noise_radps: 0.1}}}", False),
        ("{estimate: corrected, odometry: {alpha: [0, 0, 0, 0]}}", False),
        ("{estimate: corrected, scale: 0}", True),
        (
            "{estimate: corrected, odometry: {alpha: [0, 0, 0, 0]}, corrections: "
            "{position_m: 0, yaw_rad: 0, outliers: {share: 0.1, position_m: 0}}}",
            True,
        ),
        (
            "{estimate: corrected, odometry: {alpha: [0, 0, 0, 0]}, corrections: "
            "{position_m: 0, yaw_rad: 0, outliers: {share: 0.1, position_m: 1}}}",
            False,
        ),
    ],
)
def test_localization_is_exact_only_if_all_errors_are_zero(text, is_true):
    assert spec_of(text).is_true is is_true


def test_keys_of_corrections_need_the_estimate_corrected():
    with pytest.raises(SpecError, match="unknown key 'corrections'"):
        spec_of("{estimate: drift, corrections: {rate_hz: 1}}")
