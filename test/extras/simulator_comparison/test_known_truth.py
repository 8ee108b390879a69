"""Known errors that are added to recordings, and the values that measures have for them."""

import math
from dataclasses import replace

import numpy as np
import pytest
from synthetic import RATE_HZ, changed, clock, delayed, drive, maneuver

from gz_testauto.base.errors import ResultsError
from gz_testauto.extras.simulator_comparison.estimates import measure_entry
from gz_testauto.extras.simulator_comparison.measures.inertial import (
    axis_biases,
    axis_gains,
    comparable,
    mean_and_range,
    summary_error,
)
from gz_testauto.extras.simulator_comparison.measures.interface import MEASURES, find_measure
from gz_testauto.extras.simulator_comparison.recordings.plausible import check_plausible
from gz_testauto.extras.simulator_comparison.recordings.recording import (
    RunRecording,
    Series,
    check_gaps,
)
from gz_testauto.extras.simulator_comparison.signals import allan_deviation, noise_density


def value(name, first, second):
    return find_measure(name).between(first, second)


@pytest.mark.parametrize("bias", [0.05, 0.5])
def test_a_bias_is_measured_within_1_percent(bias):
    recording = drive(1)

    def shifted(values):
        values[:, 3] += bias
        return values

    assert value("linear_bias", changed(recording, shifted), recording) == pytest.approx(
        bias, rel=0.01
    )


@pytest.mark.parametrize("delay_s", [0.0, 0.05, 0.234, 0.8])
def test_a_delay_is_measured_within_a_sample(delay_s):
    found = comparable(delayed(drive(2), delay_s), drive(3)).delay_s
    assert found == pytest.approx(delay_s, abs=1.0 / RATE_HZ + 1e-9)


def test_bias_noise_delay_and_gain_are_measured_simultaneously():
    recording = drive(12, duration_s=120.0, noise=0.2)
    random = np.random.default_rng(13)

    def spoilt(values):
        values[:, 2] *= 1.3
        values[:, 3:] += 0.1 * random.standard_normal((len(values), 3))
        values[:, 4] += 0.5
        return values

    other = changed(delayed(recording, 0.2), spoilt)
    assert value("linear_bias", other, recording) == pytest.approx(0.5, rel=0.01)
    assert value("delay", other, recording) == pytest.approx(0.2, abs=0.01)
    louder = np.log(np.sqrt(0.2**2 + 0.1**2) / 0.2)  # of each of three axes
    assert value("gain", other, recording) == pytest.approx(
        (np.log(1.3) + 3.0 * louder) / 4.0, rel=0.05
    )
    assert axis_gains(other, recording)[2] == pytest.approx(np.log(1.3), rel=0.05)
    assert axis_biases(other, recording)[[3, 4, 5]] == pytest.approx([0.0, 0.5, 0.0], abs=0.025)


@pytest.mark.parametrize("noise", [0.05, 0.2])
@pytest.mark.parametrize("kind", ["straight", "circle", "s_curve"])
def test_delay_is_within_a_sample_or_undetermined(kind, noise):
    found = {
        delay_s: comparable(
            maneuver(kind, seed, delay_s, noise), maneuver(kind, 100 + seed, 0.0, noise)
        ).delay_s
        for seed, delay_s in enumerate([0.0, 0.02, 0.05, 0.12, 0.2, 0.3, 0.5])
    }
    determined = {delay_s: one for delay_s, one in found.items() if not math.isnan(one)}
    assert determined == pytest.approx({one: one for one in determined}, abs=0.01 + 1e-9)
    assert len(determined) == len(found) or noise > 0.05


@pytest.mark.parametrize("kind", ["circle", "s_curve"])
@pytest.mark.parametrize("bias", [0.0, 0.05])
def test_gain_is_not_also_a_bias(kind, bias):
    recording = maneuver(kind, 1)

    def scaled(values):
        values[:, 2] = 1.08 * values[:, 2] + bias
        return values

    other = changed(maneuver(kind, 2), scaled)
    assert axis_gains(other, recording)[2] == pytest.approx(np.log(1.08), abs=0.01)
    assert axis_biases(other, recording)[2] == pytest.approx(bias, abs=0.003)


def test_wobbling_without_a_common_signal_has_no_delay():
    """The yaw rates of both recordings are smooth, but independent."""

    def wobbling(seed):
        def yaw_rate(time_s):
            noise = np.random.default_rng(seed).standard_normal(len(time_s) + 39)
            return 0.01 * np.convolve(noise, np.ones(40), "valid")

        return drive(seed, yaw_rate=yaw_rate)

    pairs = [(wobbling(seed), wobbling(seed + 1)) for seed in range(0, 40, 2)]
    assert all(math.isnan(comparable(*pair).delay_s) for pair in pairs)


def test_delay_at_rest_is_undetermined_with_a_reason():
    own, reference = (
        {"flat/rest": [maneuver("rest", one) for one in some]} for some in ((1, 2), (3, 4))
    )
    found = measure_entry(find_measure("delay"), "one", own, reference)
    assert found.missing.startswith("in no case does half of the pairs of recordings determine")
    assert found.missing.endswith("flat/rest: 6 of 6 pairs of recordings do not determine it")
    assert not measure_entry(find_measure("linear_bias"), "one", own, reference).missing


def test_delay_is_the_mean_over_the_pairs_that_determine_it_if_at_least_half_do():
    entry = {
        f"flat/{kind}": [maneuver(kind, seed, 0.14) for seed in (1, 2)]
        for kind in ("rest", "circle", "s_curve", "straight")
    }
    reference = {case: [maneuver(case[5:], seed) for seed in (3, 4)] for case in entry}
    entry["flat/circle"][1] = maneuver("rest", 5)
    entry["flat/straight"] = [maneuver("rest", seed) for seed in (6, 7)]  # only the reference moves
    delay = measure_entry(find_measure("delay"), "late", entry, reference)
    assert delay.by_case == pytest.approx({"flat/circle": 0.14, "flat/s_curve": 0.14}, abs=0.01)
    assert delay.incomplete == {"flat/circle": "the mean over 2 of 4 pairs with the reference"}
    assert delay.undetermined == {
        "flat/rest": "6 of 6 pairs of recordings do not determine it",
        "flat/straight": "5 of 6 pairs of recordings do not determine it",
    }
    assert delay.floor == pytest.approx(0.0, abs=0.01)


def test_one_undetermined_pair_of_the_reference_hides_no_delay():
    entry = {"flat/s_curve": [maneuver("s_curve", seed, 0.14) for seed in range(4)]}
    reference = {"flat/s_curve": [maneuver("s_curve", seed) for seed in range(4, 8)]}
    measure = find_measure("delay")
    runs = reference["flat/s_curve"]

    def between(first, second):
        hidden = {id(runs[0]), id(runs[1])} == {id(first), id(second)}
        return math.nan if hidden else measure.between(first, second)

    delay = measure_entry(replace(measure, between=between), "late", entry, reference)
    complete = measure_entry(measure, "late", entry, reference)
    assert delay.estimate[:3] == complete.estimate[:3] == pytest.approx([0.14] * 3, abs=0.01)
    assert not delay.ties and not complete.ties


def test_bias_on_a_straight_drive_includes_the_acceleration_of_the_start():
    recording = maneuver("straight", 1)

    def shifted(values):
        values[:, 3] += 0.1
        return values

    other = changed(maneuver("straight", 2), shifted)
    assert axis_biases(other, recording)[3] == pytest.approx(0.1, rel=0.05)
    assert value("linear_bias", other, recording) == pytest.approx(0.1, rel=0.05)


def test_gain_ignores_axes_without_a_signal():
    """The reference is noisier by a factor of 4 at rest, and the noise is below the floor."""
    quiet, noisy = maneuver("rest", 1, noise=0.005), maneuver("rest", 2, noise=0.02)
    assert value("gain", quiet, noisy) == 0.0
    assert np.isnan(axis_gains(quiet, noisy)).all()
    moving = maneuver("s_curve", 3)
    gains = axis_gains(changed(moving, lambda values: values * [1, 1, 1.2, 1, 1, 1]), moving)
    assert gains[2] == pytest.approx(np.log(1.2), rel=0.01)
    assert np.isnan(gains[[0, 1]]).all()


def test_gain_is_the_logarithm_of_the_amplitude_ratio():
    recording = drive(6)

    def louder(values):
        values[:, 5] = 1.2 * values[:, 5]
        return values

    loud = value("gain", changed(recording, louder), recording)
    assert loud == pytest.approx(np.log(1.2) / 4, rel=1e-6)  # one of four axes with a signal


@pytest.mark.parametrize("density", [0.001, 0.02])
def test_the_density_of_white_noise_is_measured_within_10_percent(density):
    noise = density * np.sqrt(RATE_HZ) * np.random.default_rng(7).standard_normal(60_000)
    assert noise_density(noise, RATE_HZ) == pytest.approx(density, rel=0.1)


@pytest.mark.parametrize("rate_hz", [50.0, 100.0, 1000.0])
def test_noise_density_does_not_depend_on_the_sampling_rate(rate_hz):
    def noisy(seed, rate_hz):
        random = np.random.default_rng(seed)
        time_s = clock(300.0, rate_hz)
        values = 0.01 * np.sqrt(rate_hz) * random.standard_normal((len(time_s), 6))
        return RunRecording("noisy", imu=Series(time_s, values))

    found = value("noise_density", noisy(1, rate_hz), noisy(2, RATE_HZ))
    assert found < np.log10(1.1)


def test_allan_deviation_of_a_ramp_is_exact():
    """For a ramp with slope R, A(τ) is R τ / √2 (IEEE Std 952-1997, equation C.10)."""
    tau, deviation = allan_deviation(0.3 * clock(100.0), RATE_HZ)
    assert deviation == pytest.approx(0.3 * tau / np.sqrt(2.0), rel=1e-6)


@pytest.mark.parametrize("shift", [0.1, 1.0])
def test_wasserstein_distance_of_shifted_values_is_the_shift(shift):
    recording = drive(8)

    def shifted(values):
        values[:, 5] += shift
        return values

    other = changed(recording, shifted)
    assert value("vertical_wasserstein", other, recording) == pytest.approx(shift, rel=1e-6)
    assert value("vertical_spectrum", other, recording) == pytest.approx(0.0, abs=1e-6)


def test_tenfold_power_is_a_spectral_distance_of_10_db():
    recording = drive(9)

    def louder(values):
        mean = values[:, 5].mean()
        values[:, 5] = mean + np.sqrt(10.0) * (values[:, 5] - mean)
        return values

    found = value("vertical_spectrum", changed(recording, louder), recording)
    assert found == pytest.approx(10.0, rel=1e-3)


def test_drift_is_the_distance_between_two_trajectories():
    def speed(time_s):
        return np.full_like(time_s, 0.5)

    ahead = drive(10, yaw_rate=np.zeros_like, speed_mps=speed)
    turning = drive(11, yaw_rate=lambda time_s: np.full_like(time_s, 0.1), speed_mps=speed)
    assert value("pose_drift", ahead, ahead) == 0.0
    # after 1 s of turning at 0.1 rad/s at 0.5 m/s: lateral offset of about v ω t² / 2
    assert value("relative_pose", turning, ahead) == pytest.approx(0.025, rel=0.05)
    assert value("pose_drift", turning, ahead) > 0.5


def test_worked_example_of_the_paper_is_reproduced():
    """Tables 6 and 7 of Farley et al. 2022 give 1.237 rad/s and 23.43 m/s²; the paper states 23.19
    m/s²."""
    angular = summary_error(
        np.array([-0.120, -0.020, 0.003]),
        np.array([1.00, 0.74, 0.19]),
        np.array([0.110, -0.010, 0.060]),
        np.array([0.78, 1.20, 0.45]),
    )
    assert angular == pytest.approx([0.450, 0.470, 0.317])
    assert angular.sum() == pytest.approx(1.237)
    linear = summary_error(
        np.array([0.02, -0.73, -10.70]),
        np.array([3.9, 6.5, 3.3]),
        np.array([-0.18, 0.10, -11.50]),
        np.array([12.2, 11.3, 11.8]),
    )
    assert linear == pytest.approx([8.50, 5.63, 9.30])
    assert linear.sum() == pytest.approx(23.43)


def test_range_is_the_difference_of_the_means_of_extreme_hundredths():
    values = np.arange(1000.0)[:, None]
    mean, extent = mean_and_range(values)
    assert (mean[0], extent[0]) == (499.5, pytest.approx(994.5 - 4.5))


def test_every_measure_has_a_description():
    for name in MEASURES.names():
        measure = find_measure(name)
        assert measure.name == name
        assert measure.description and measure.formula and measure.source and measure.needs


def rolled(degrees):
    """Return the rotation about x of IMU values (6,)."""
    cos, sin = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return np.kron(np.eye(2), [[1, 0, 0], [0, cos, sin], [0, -sin, cos]])


def test_a_robot_on_a_slope_is_plausible():
    check_plausible(changed(drive(12, noise=0.1), lambda v: v @ rolled(23.0)))


@pytest.mark.parametrize(
    ("duration_s", "rate_hz", "says"),
    [
        (0.5, 100.0, r"lasts 0.49 s, .* 1 s is needed; .* units.time"),
        (60.0, 5.0, r"imu: 5 samples per second, .* 10 are needed"),
    ],
)
def test_imu_with_too_few_samples_is_rejected(duration_s, rate_hz, says):
    time_s = clock(duration_s, rate_hz)
    recording = RunRecording.of("file", {"imu": Series(time_s, np.zeros((len(time_s), 6)))})
    with pytest.raises(ResultsError, match=says):
        check_plausible(recording)


def speeding(time_s):
    return 0.5 + 0.4 * np.sin(0.9 * time_s)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda v: np.column_stack([v[:, :3], v[:, 3:] / 9.80665]), "set units.linear: g"),
        (lambda v: np.column_stack([v[:, :3], -v[:, 3:]]), "upside down"),
        (lambda v: v - [0, 0, 0, 0, 0, 9.80665], "set 'gravity: subtracted'"),
        (
            lambda v: v[:, [0, 2, 1, 3, 5, 4]],
            r"y axis of the sensor .* 'axes: \[FORWARD, LEFT, y\]",
        ),
        (lambda v: v * [1, 1, 1, 1.1, 1.1, 1.1], r"norm 10\.\d+ is not within 2 %"),
        (lambda v: v - [0, 0, 0, 0, 0, -9.80665], "twice g: set gravity: measured"),
        (lambda v: v * [1, 1, 1, 102, 102, 102], "1000 mg: set units.linear: mg"),
        (lambda v: v * [1, 1, 57.3, 1, 1, 1], r"57.*units\.angular: deg/s"),
        (lambda v: v @ rolled(40.0), "tilted by 40 degrees; at most 30"),
        (lambda v: v * [1, 1, -1, 1, 1, 1], "turns, axis -z"),
        (lambda v: v[:, [2, 1, 0, 3, 4, 5]], "turns, axis x"),
        (lambda v: v[:, [0, 1, 2, 4, 3, 5]], "speeds up, axis y"),
        (lambda v: v * [1, 1, 1, -1, 1, 1], "speeds up, axis -x"),
    ],
)
def test_implausible_imu_is_rejected(change, says):
    recording = drive(12, speed_mps=speeding, noise=0.1)
    check_plausible(recording)
    with pytest.raises(ResultsError, match=says):
        check_plausible(changed(recording, change))


def test_velocity_command_is_valid_until_the_next_command():
    """The robot turns for half a second; three command messages describe this."""
    command = Series(np.array([0.0, 5.0, 5.5]), np.array([[0.0, 0.0], [0.0, 0.5], [0.0, 0.0]]))
    turning = drive(1, noise=0.1, yaw_rate=lambda t: np.where((t >= 5.0) & (t < 5.5), 0.5, 0.0))
    values = turning.imu.values[:, [0, 2, 1, 3, 4, 5]]
    swapped = {"imu": Series(turning.imu.time_s, values), "command": command}
    check_plausible(RunRecording.of("file", {**swapped, "imu": turning.imu}))
    with pytest.raises(ResultsError, match="turns, axis y"):
        check_plausible(RunRecording.of("file", swapped))


@pytest.mark.parametrize(
    ("stamps", "says"),
    [
        ([0.0, 0.01, 0.01], r"sample 3 is not later than the previous one"),
        ([0.0, 0.01, np.nan], r"sample 3 has a number that is not finite"),
        ([0.0], r"1 samples, but at least 2 are needed"),
    ],
)
def test_impossible_stamps_are_rejected(stamps, says):
    with pytest.raises(ResultsError, match=says):
        RunRecording.of("file", {"imu": Series(np.array(stamps), np.zeros((len(stamps), 6)))})


def test_a_recording_with_lost_data_is_rejected():
    stamps = np.concatenate([clock(1.0), 2.0 + clock(1.0)])
    with pytest.raises(ResultsError, match=r"gap of 1\.01 s after t = 0\.990 s .*100 Hz"):
        check_gaps(RunRecording.of("file", {"imu": Series(stamps, np.zeros((len(stamps), 6)))}))


def test_channels_with_different_clocks_are_rejected():
    recording = drive(1, speed_mps=speeding)
    way = recording.odometry
    late = Series(way.time_s + 1.7e9, way.values)
    both = RunRecording.of("file", {"imu": recording.imu, "odometry": late})
    with pytest.raises(ResultsError, match=r"file: odometry starts 1.7e\+09 s after imu stops"):
        both.common_interval()


def test_channels_are_cut_to_the_common_interval_of_imu_and_odometry():
    recording = drive(1, speed_mps=speeding)
    way = recording.odometry
    command = Series(np.array([0.0, 0.1]), np.zeros((2, 2)))
    channels = {"imu": recording.imu, "odometry": way.between(2.0, 8.0), "command": command}
    found = RunRecording.of("file", channels).common_interval()
    assert found.imu.time_s[[0, -1]] == pytest.approx([0.0, 6.0])
    assert found.imu.values[0].tolist() == recording.imu.values[200].tolist()
    assert found.command is None


def test_missing_values_of_measures_have_a_reason():
    cases = {"flat/straight": [drive(1)]}
    absent = measure_entry(find_measure("pose_drift"), "one", cases, cases)
    assert absent.missing == "the reference has no recording of the required terrain and maneuver"
    assert measure_entry(find_measure("imu_linear_error"), "one", cases, None).missing == (
        "the comparison has no reference"
    )
    other = {"flat/circle": [drive(1)]}
    lacking = measure_entry(find_measure("imu_linear_error"), "one", other, cases)
    assert lacking.missing == "flat/straight is missing"
