"""Metrics that differentiate, on drives known on paper, at any speed and sampling rate."""

import math
from dataclasses import replace

import numpy as np
import pytest

from gz_testauto.metrics.interface import METRICS, MetricContext
from gz_testauto.testing.analytic_drives import (
    constant,
    drive,
    rest_to_rest,
    there_and_back,
    with_noise,
)

SHAPES = ("curvature_mean_1pm", "curvature_max_1pm", "heading_change_radpm")
DYNAMICS = ("comfort_mps2", "jerk_rms_mps3")
SPEEDS_AND_RATES = [
    (0.1, 2), (0.1, 50), (0.8, 10), (0.9, 10), (1.1, 10), (1.3, 10), (1.9, 10), (5.0, 2), (5.0, 50),
]  # fmt: skip
SWING_S = 20.0


def measured(recording, name):
    return METRICS.get(name).compute(recording, MetricContext())


def around(radius_m, speed_mps, rate_hz, turns=2):
    length_m = turns * 2 * math.pi * abs(radius_m)
    return drive(constant(speed_mps), length_m / speed_mps, rate_hz, 1 / radius_m)


@pytest.mark.parametrize("radius_m", [0.5, 2.0, -2.0])
@pytest.mark.parametrize(("speed_mps", "rate_hz"), SPEEDS_AND_RATES)
def test_a_circle_has_its_curvature_and_its_acceleration(speed_mps, rate_hz, radius_m):
    turns = 6 if (speed_mps, radius_m) == (5.0, 0.5) else 2  # of 0.6 s each
    recording, exact = around(radius_m, speed_mps, rate_hz, turns)
    for name in SHAPES:
        assert exact[name] == pytest.approx(1 / abs(radius_m))
    assert exact["comfort_mps2"] == pytest.approx(speed_mps**2 / abs(radius_m))
    assert exact["jerk_rms_mps3"] == pytest.approx(speed_mps**3 / radius_m**2)
    for name in (*SHAPES, *DYNAMICS):
        assert measured(recording, name) == pytest.approx(exact[name], rel=1e-6), name


@pytest.mark.parametrize("speed_mps", [0.5, 1.3])
def test_a_circle_driven_backward_has_the_same_curvature(speed_mps):
    recording, exact = drive(constant(-speed_mps), 20.0, 10, 0.5)
    for name in (*SHAPES, *DYNAMICS):
        assert measured(recording, name) == pytest.approx(exact[name], rel=1e-6), name


@pytest.mark.parametrize(("speed_mps", "rate_hz"), [(0.1, 2), (1.0, 10), (2.0, 20), (5.0, 50)])
def test_a_clothoid_has_its_mean_curvature_and_is_sharpest_at_its_end(speed_mps, rate_hz):
    length_m, sharpest_1pm = 20.0, 0.5
    recording, exact = drive(
        constant(speed_mps), length_m / speed_mps, rate_hz, 0.0, sharpest_1pm / length_m
    )
    assert exact["comfort_mps2"] == pytest.approx(speed_mps**2 * sharpest_1pm / math.sqrt(3))
    for name in (*SHAPES, *DYNAMICS):
        assert measured(recording, name) == pytest.approx(exact[name], rel=0.0075), name


@pytest.mark.parametrize("curvature_1pm", [0.0, 0.5])
@pytest.mark.parametrize(("peak_mps", "rate_hz"), [(0.1, 2), (1.3, 10), (5.0, 2), (5.0, 50)])
def test_an_oscillating_speed_changes_acceleration_and_not_curvature(
    peak_mps, rate_hz, curvature_1pm
):
    recording, exact = drive(rest_to_rest(peak_mps, SWING_S), 2 * SWING_S, rate_hz, curvature_1pm)
    for name in (*SHAPES, *DYNAMICS):
        assert measured(recording, name) == pytest.approx(exact[name], rel=0.005, abs=1e-9), name
    smoothness = measured(recording, "log_dimensionless_jerk")
    assert smoothness == pytest.approx(exact["log_dimensionless_jerk"], abs=0.02)
    assert measured(recording, "reversals") == 0
    # Each of the three stops is known to within a sample period at either side.
    stood_s = measured(recording, "standing_s")
    assert stood_s == pytest.approx(exact["standing_s"], abs=4 / rate_hz)


@pytest.mark.parametrize(("peak_mps", "rate_hz"), [(0.1, 2), (1.3, 10), (5.0, 50)])
def test_a_line_driven_there_and_back_has_reversals_and_no_curvature(peak_mps, rate_hz):
    recording, exact = drive(there_and_back(peak_mps, SWING_S), 2 * SWING_S, rate_hz)
    assert measured(recording, "reversals") == exact["reversals"] == 4
    for name in SHAPES:
        assert measured(recording, name) == pytest.approx(0.0, abs=1e-9), name
    assert measured(recording, "comfort_mps2") == pytest.approx(exact["comfort_mps2"], rel=0.005)


@pytest.mark.parametrize(("speed_mps", "rate_hz"), [(0.1, 10), (0.1, 50), (1.0, 10), (5.0, 50)])
def test_noise_of_a_millimeter_and_a_milliradian_changes_means_by_less_than_a_percent(
    speed_mps, rate_hz
):
    recording, exact = around(2.0, speed_mps, rate_hz)
    noisy = with_noise(recording, np.random.default_rng(1))
    for name in ("curvature_mean_1pm", "heading_change_radpm", *DYNAMICS):
        assert measured(noisy, name) == pytest.approx(exact[name], rel=0.01), name
    # The maximum keeps the largest noise: of two means of the yaw over 0.1 m, over 0.1 m.
    assert measured(noisy, "curvature_max_1pm") == pytest.approx(0.5, abs=0.05)


def test_noise_of_a_stationary_robot_adds_no_length_curvature_or_heading_change():
    recording, _ = drive(constant(0.0), 60.0, 50)
    still = with_noise(recording, np.random.default_rng(2))
    for name in SHAPES:
        assert math.isnan(measured(still, name))
    assert measured(still, "comfort_mps2") == 0.0
    assert measured(still, "reversals") == 0


def turned_base(recording, angle_rad):
    """Turn the base by an angle, so that it drives the same path partly sideways."""
    cos, sin = np.cos(angle_rad), np.sin(angle_rad)
    forward, left, turn = recording.twist.T
    pose = recording.pose - np.column_stack([0 * forward, 0 * forward, 0 * forward + angle_rad])
    twist = np.column_stack([cos * forward - sin * left, sin * forward + cos * left, turn])
    return replace(recording, pose=pose, twist=twist)


@pytest.mark.parametrize("angle_rad", [0.6, math.pi / 2])
def test_a_base_that_drives_sideways_has_the_curvature_and_acceleration_of_its_path(angle_rad):
    for recording, exact in (
        drive(rest_to_rest(1.3, SWING_S), 2 * SWING_S, 10, 0.5),
        drive(constant(1.0), 20.0, 10, 0.0, 0.025),
    ):
        crab = turned_base(recording, angle_rad)
        for name in (*SHAPES, *DYNAMICS):
            assert measured(crab, name) == pytest.approx(exact[name], rel=0.0075), name


@pytest.mark.parametrize("share", [0.0, 0.5, -1.0])
def test_curvature_is_exact_if_the_yaw_changes_in_proportion_to_the_path(share):
    recording, exact = drive(constant(1.0), 8 * math.pi, 20, 0.5)
    crab = turned_base(recording, (1.0 - share) * np.unwrap(recording.pose[:, 2]))
    crab.twist[:, 2] *= share
    for name in ("curvature_mean_1pm", "curvature_max_1pm", *DYNAMICS):
        assert measured(crab, name) == pytest.approx(exact[name], rel=0.0075), name
    turned = abs(share) * exact["heading_change_radpm"]
    assert measured(crab, "heading_change_radpm") == pytest.approx(turned, rel=1e-6, abs=1e-9)


def test_a_circle_has_its_values_at_uneven_stamps():
    recording, exact = around(2.0, 1.3, 50)
    some = np.sort(np.random.default_rng(3).choice(len(recording.time_s), 100, replace=False))
    some[[0, -1]] = 0, len(recording.time_s) - 1
    uneven = replace(
        recording,
        time_s=recording.time_s[some],
        pose=recording.pose[some],
        twist=recording.twist[some],
        command=recording.command[some],
        clearance_m=recording.clearance_m[some],
    )
    for name in (*SHAPES, *DYNAMICS):
        assert measured(uneven, name) == pytest.approx(exact[name], rel=1e-6), name
