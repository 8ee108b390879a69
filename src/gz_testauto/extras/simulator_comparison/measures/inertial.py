"""Measures of IMU samples, which are compared at the same rate, band, clock and duration."""

import functools
import math
from typing import Callable, NamedTuple, Tuple

import numpy as np
from scipy.stats import energy_distance, wasserstein_distance

from gz_testauto.extras.simulator_comparison.measures.interface import (
    Measure,
    register_measures,
)
from gz_testauto.extras.simulator_comparison.recordings.recording import RunRecording
from gz_testauto.extras.simulator_comparison.signals import (
    RATE_HZ,
    find_delay,
    in_band,
    noise_density,
    overlap,
    spectrum,
)

LONGEST_DELAY_S = 1.0
ANGULAR, LINEAR = slice(0, 3), slice(3, 6)
YAW_RATE, FORWARD, VERTICAL = 2, 3, 5

ALIGNED_AXES = ((YAW_RATE, 1, 0.02), (FORWARD, 0, 0.1))
"""Axes whose signals determine the delay, in order of preference: column in IMU samples, column in
velocity commands, and smallest standard deviation (rad/s or m/s²) of a signal."""

AXES = ("ω_x", "ω_y", "ω_z", "a_x", "a_y", "a_z")

NOISE_FLOOR = np.array([0.01, 0.01, 0.01, 0.05, 0.05, 0.05])
"""Standard deviation (rad/s and m/s²) below which an axis contains no signal."""

COMMON_SIGNAL = 0.9
"""Correlation from which two recordings of an axis have a common signal."""

MIN_SPECTRAL_DENSITY, MIN_NOISE_DENSITY = 1e-12, 1e-9
"""Lower limits, (m/s²)²/Hz and m/s²/√Hz, which keep logarithms finite."""


@functools.lru_cache(maxsize=4096)
def inertial(recording: RunRecording) -> np.ndarray:
    """Return the IMU samples (n, 6) at :data:`RATE_HZ`, low-pass filtered at ``band_hz``."""
    assert recording.imu is not None, "a recording with an IMU"
    return in_band(recording.imu, recording.band_hz)


class Pair(NamedTuple):
    """Common IMU samples (n, 6) of two recordings, and the delay (s) of the first relative to the
    second, or NaN if it is unknown."""

    first: np.ndarray
    second: np.ndarray
    delay_s: float


@functools.lru_cache(maxsize=16384)  # the cached arrays are views, which need little memory
def comparable(first: RunRecording, second: RunRecording) -> Pair:
    """Return the common IMU samples of two recordings after the delay between them is removed.

    The delay is that of the yaw rate, or of the forward acceleration if the yaw rate does not
    determine it. An axis is used only if its signal was commanded and is large enough. If no axis
    determines the delay, it is NaN and is not removed.
    """
    first_samples, second_samples = inertial(first), inertial(second)
    max_delay = round(LONGEST_DELAY_S * RATE_HZ)
    for axis, command, min_deviation in ALIGNED_AXES:
        is_used = all(
            samples[:, axis].std() >= min_deviation and _is_commanded(recording, command)
            for samples, recording in ((first_samples, first), (second_samples, second))
        )
        delay = (
            find_delay(second_samples[:, axis], first_samples[:, axis], max_delay)
            if is_used
            else None
        )
        if delay is not None:
            late, early = overlap(second_samples, first_samples, delay)
            return Pair(early, late, delay / RATE_HZ)
    return Pair(*overlap(first_samples, second_samples, 0), math.nan)


def _is_commanded(recording: RunRecording, column: int) -> bool:
    return recording.command is None or bool(recording.command.values[:, column].any())


def axis_biases(first: RunRecording, second: RunRecording) -> np.ndarray:
    """Return the differences of the means, first minus second (6,), in rad/s and m/s².

    On axes with a common signal, the second recording is first scaled by the ratio of the standard
    deviations. A gain is thus not also a bias.
    """
    pair = comparable(first, second)
    means = pair.first.mean(axis=0), pair.second.mean(axis=0)
    offsets = pair.first - means[0], pair.second - means[1]
    deviations = pair.first.std(axis=0), pair.second.std(axis=0)
    product = deviations[0] * deviations[1]
    common = (offsets[0] * offsets[1]).mean(axis=0) > COMMON_SIGNAL * product
    is_signal = common & (np.minimum(*deviations) > NOISE_FLOOR)
    ratio = np.divide(*deviations, out=np.ones_like(product), where=is_signal)
    return np.asarray(means[0] - ratio * means[1])


def axis_gains(first: RunRecording, second: RunRecording) -> np.ndarray:
    """Return the logarithm of the ratio of the standard deviations by axis (6,). Deviations below
    the noise floor count as the floor. The result is NaN if both are at or below it."""
    pair = comparable(first, second)
    deviations, reference = pair.first.std(axis=0), pair.second.std(axis=0)
    ratio = np.maximum(deviations, NOISE_FLOOR) / np.maximum(reference, NOISE_FLOOR)
    return np.where(np.maximum(deviations, reference) > NOISE_FLOOR, np.log(ratio), np.nan)


def mean_and_range(values: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
    """Return mean and range of each column of ``values`` (n, k), by equations (5) and (6) of Farley
    et al. 2022. The range is between the means of the highest and of the lowest hundredth."""
    count = max(1, round(0.01 * len(values)))
    ordered = np.sort(values, axis=0)
    return values.mean(axis=0), ordered[-count:].mean(axis=0) - ordered[:count].mean(axis=0)


def summary_error(
    mean: np.ndarray, extent: np.ndarray, mean_ref: np.ndarray, extent_ref: np.ndarray
) -> np.ndarray:
    """Return the error by axis (k,) for one case, by equation (7) of Farley et al. 2022. It is the
    absolute difference of the ranges ``extent`` plus that of the means."""
    return np.asarray(np.abs(extent - extent_ref) + np.abs(mean - mean_ref))


def _of_comparable(
    compute: Callable[[Pair], float],
) -> Callable[[RunRecording, RunRecording], float]:
    return lambda first, second: compute(comparable(first, second))


def _bias_norm(columns: slice) -> Callable[[RunRecording, RunRecording], float]:
    return lambda first, second: float(np.linalg.norm(axis_biases(first, second)[columns]))


def _mean_log_gain(first: RunRecording, second: RunRecording) -> float:
    gains = axis_gains(first, second)
    known = ~np.isnan(gains)
    return float(np.abs(gains[known]).mean()) if known.any() else 0.0


def _linear_rmse(pair: Pair) -> float:
    difference = (pair.first - pair.second)[:, LINEAR]
    return float(np.sqrt((difference**2).sum(axis=1).mean()))


def _yaw_rate_rmse(pair: Pair) -> float:
    return float(np.sqrt(((pair.first - pair.second)[:, YAW_RATE] ** 2).mean()))


def _summary_error_of(columns: slice) -> Callable[[Pair], float]:
    """Return a function of a pair: :func:`summary_error`, summed over the axes ``columns``."""

    def error(pair: Pair) -> float:
        summary, reference = mean_and_range(pair.first), mean_and_range(pair.second)
        return float(summary_error(*summary, *reference)[columns].sum())

    return error


def _spectral_distance_db(first: RunRecording, second: RunRecording) -> float:
    pair = comparable(first, second)
    densities = []
    for values in (pair.first, pair.second):
        frequency, density = spectrum(values[:, VERTICAL], RATE_HZ)
        in_band = (frequency > 0) & (frequency <= min(first.band_hz, second.band_hz))
        densities.append(np.maximum(density[in_band], MIN_SPECTRAL_DENSITY))
    return float(np.sqrt(np.mean((10.0 * np.log10(densities[0] / densities[1])) ** 2)))


def _vertical_distance(
    distance: Callable[[np.ndarray, np.ndarray], float],
) -> Callable[[Pair], float]:
    return lambda pair: float(distance(pair.first[:, VERTICAL], pair.second[:, VERTICAL]))


def _vertical_deviation(recording: RunRecording) -> Tuple[float, float]:
    return float(np.std(inertial(recording)[:, VERTICAL])), 1.0


def _noise_density_decades(first: RunRecording, second: RunRecording) -> float:
    densities = []
    for recording in (first, second):
        assert recording.imu is not None, "a recording with an IMU"
        imu = recording.imu  # at its native rate: resampling would change its noise
        densities.append(
            max(MIN_NOISE_DENSITY, noise_density(imu.values[:, VERTICAL], imu.rate_hz))
        )
    return abs(math.log10(densities[0] / densities[1]))


_SOURCE = "Farley et al. 2022, equations (5) to (7)"
_FORMULA = "sum over cases and axes of |range - range_ref| + |mean - mean_ref|"

_imu_measure = functools.partial(Measure, needs=("imu",))

register_measures(
    _imu_measure(
        name="imu_angular_error",
        unit="rad/s",
        description="differences of mean and range of the angular velocities",
        formula=_FORMULA,
        source=_SOURCE,
        between=_of_comparable(_summary_error_of(ANGULAR)),
        summed=True,
    ),
    _imu_measure(
        name="imu_linear_error",
        unit="m/s²",
        description="differences of mean and range of the accelerations",
        formula=_FORMULA,
        source=_SOURCE,
        between=_of_comparable(_summary_error_of(LINEAR)),
        summed=True,
    ),
    _imu_measure(
        name="vertical_spectrum",
        unit="dB",
        description="log-spectral distance of the vertical accelerations within the frequency band",
        formula="sqrt(mean over f of (10 log10(P / P_ref))²), P by Welch's method",
        source="A. H. Gray, J. D. Markel, IEEE Trans. ASSP 24, 1976",
        between=_spectral_distance_db,
    ),
    _imu_measure(
        name="vertical_wasserstein",
        unit="m/s²",
        description="Wasserstein distance of vertical accelerations",
        formula="integral of |F - F_ref| over a_z",
        source="scipy.stats.wasserstein_distance",
        between=_of_comparable(_vertical_distance(wasserstein_distance)),
    ),
    _imu_measure(
        name="vertical_energy",
        unit="(m/s²)^½",
        description="energy distance of vertical accelerations",
        formula="sqrt(2 E|X - Y| - E|X - X'| - E|Y - Y'|)",
        source="G. J. Székely, M. L. Rizzo, J. Stat. Plan. Inference 143, 2013",
        between=_of_comparable(_vertical_distance(energy_distance)),
    ),
    _imu_measure(
        name="vertical_sigma",
        unit="m/s²",
        description="standard deviation of the vertical acceleration on a plane, which is noise of "
        "the solver",
        formula="sigma(a_z)",
        source="on a plane only the solver causes vibration",
        own=_vertical_deviation,
        terrain="flat",
    ),
    _imu_measure(
        name="linear_bias",
        unit="m/s²",
        description="difference of the mean accelerations",
        formula="|mean(a) - g mean(a_ref)|, g = sigma / sigma_ref, or 1 without a common signal",
        source="IEEE Std 952",
        between=_bias_norm(LINEAR),
    ),
    _imu_measure(
        name="angular_bias",
        unit="rad/s",
        description="difference of the mean angular velocities",
        formula="|mean(ω) - g mean(ω_ref)|, g = sigma / sigma_ref, or 1 without a common signal",
        source="IEEE Std 952",
        between=_bias_norm(ANGULAR),
    ),
    _imu_measure(
        name="gain",
        description="absolute logarithm of the ratio of the standard deviations, averaged over the "
        "axes with a signal",
        formula="mean over axes of |ln(sigma / sigma_ref)|, sigma at least the noise floor",
        source="ratio of standard deviations",
        between=_mean_log_gain,
    ),
    _imu_measure(
        name="delay",
        unit="s",
        description="delay relative to the reference of the yaw rate, or of the forward "
        "acceleration while the robot does not turn",
        formula="|argmax of the cross-correlation|",
        source="scipy.signal.correlate",
        between=_of_comparable(lambda pair: abs(pair.delay_s)),
        undefined="in no case does half of the pairs of recordings determine the delay",
    ),
    _imu_measure(
        name="yaw_rate_rmse",
        unit="rad/s",
        description="root mean square difference of the yaw rates, after the delay is removed",
        formula="sqrt(mean (ω_z - ω_z,ref)²)",
        source="at one rate, in one band, after the delay",
        between=_of_comparable(_yaw_rate_rmse),
    ),
    _imu_measure(
        name="linear_rmse",
        unit="m/s²",
        description="root mean square difference of the accelerations, after the delay is removed",
        formula="sqrt(mean |a - a_ref|²)",
        source="at one rate, in one band, after the delay",
        between=_of_comparable(_linear_rmse),
    ),
    _imu_measure(
        name="noise_density",
        unit="decades",
        description="difference of the accelerometer's white noise at rest, by the Allan deviation",
        formula="|log10(N / N_ref)|, N = sigma_A(τ) √τ below 1 s",
        source="IEEE Std 952-1997, annex C",
        between=_noise_density_decades,
        maneuver="rest",
    ),
)
