"""Resampling, filtering, delay and spectra of recorded samples."""

from typing import Optional, Tuple

import numpy as np
from scipy.interpolate import make_interp_spline
from scipy.signal import butter, correlate, resample_poly, sosfiltfilt, welch

from gz_testauto.extras.simulator_comparison.recordings.recording import Series

RATE_HZ = 100.0  # rate of compared inertial samples, that of the sensor in Farley et al. 2022

MIN_CORRELATION = 0.5  # smallest correlation of signals that determine their delay

DISTINCT = 1.645  # standard errors of a one-sided test at 5 %

SEGMENT = 256  # number of samples per segment in Welch's method

_DEGREE = 5


def resample(series: Series, rate_hz: float) -> Series:
    """Return a series at ``rate_hz`` from the first stamp, by linear interpolation."""
    time_s = series.time_s[0] + np.arange(_sample_count(series, rate_hz)) / rate_hz
    columns = [np.interp(time_s, series.time_s, column) for column in series.values.T]
    return Series(time_s, np.stack(columns, axis=1))


def in_band(series: Series, band_hz: float) -> np.ndarray:
    """Return samples (n, k) at :data:`RATE_HZ` since the first stamp, low-pass filtered at
    ``band_hz`` by a Butterworth filter of order 4, forward and backward."""
    # a faster series is decimated first, since the slope of the filter depends on its rate
    times = max(1, int(np.ceil(series.rate_hz / RATE_HZ - 0.01)))
    count = (_sample_count(series, RATE_HZ) - 1) * times + 1
    time_s = series.time_s[0] + np.arange(count) / (times * RATE_HZ)
    values = _interpolate(series, time_s)
    if times > 1:
        values = resample_poly(values, 1, times, axis=0, padtype="line")
    ends = min(len(values) - 1, round(3.0 * RATE_HZ / band_hz))
    sections = butter(4, band_hz, fs=RATE_HZ, output="sos")
    return np.asarray(sosfiltfilt(sections, values, axis=0, padlen=ends))


def _sample_count(series: Series, rate_hz: float) -> int:
    return int(np.floor((series.time_s[-1] - series.time_s[0]) * rate_hz + 1e-9)) + 1


def _interpolate(series: Series, time_s: np.ndarray) -> np.ndarray:
    # degree 5: at 0.4 of the rate the loss is 0.7 dB, with linear interpolation 4.8 dB
    # (M. Unser, IEEE Signal Process. Mag. 16(6), 1999); over indices, since jitter of the stamps
    # would cause oscillations
    indices = np.arange(len(series.time_s), dtype=float)
    degree = _DEGREE if len(indices) > _DEGREE else 1
    spline = make_interp_spline(indices, series.values, k=degree)
    return np.asarray(spline(np.interp(time_s, series.time_s, indices)))


def find_delay(first: np.ndarray, second: np.ndarray, max_delay: int) -> Optional[int]:
    """Return the delay (samples) of ``second`` (m,) relative to ``first`` (n,), at most
    ``max_delay`` in either direction, or None if it is not determined.

    The delay is at the maximum of Pearson's correlation of the overlapping samples. The maximum
    must be at least :data:`MIN_CORRELATION` and not at a limit of the range. It must exceed the
    correlations at all delays that are more than one sample away by :data:`DISTINCT` standard
    errors.
    """
    centered, centered_other = first - first.mean(), second - second.mean()
    lags = np.arange(-len(centered) + 1, len(centered_other))
    is_near = np.abs(lags) <= min(max_delay, (min(len(centered), len(centered_other)) - 1) // 2)
    lags = lags[is_near]
    begin, end = np.maximum(-lags, 0), np.minimum(len(centered), len(centered_other) - lags)
    count = end - begin
    sums, squares = _window_sums(centered, begin, end)
    other_sums, other_squares = _window_sums(centered_other, begin + lags, end + lags)
    product = correlate(centered_other, centered, mode="full")[is_near] - sums * other_sums / count
    energy = np.maximum(0.0, squares - sums**2 / count)
    size = np.sqrt(energy * np.maximum(0.0, other_squares - other_sums**2 / count))
    correlations = np.divide(product, size, out=np.zeros_like(product), where=size > 1e-12)
    best = int(np.argmax(correlations))
    is_at_limit = best in (0, len(lags) - 1)  # the true delay can be longer
    if is_at_limit or correlations[best] < MIN_CORRELATION:
        return None
    aligned, shifted = (
        part - part.mean() for part in overlap(centered, centered_other, int(lags[best]))
    )
    remainder = aligned / np.linalg.norm(aligned) - shifted / np.linalg.norm(shifted)
    autocorrelation = correlate(centered, centered, mode="full")[len(centered) - 1 :] / (
        centered @ centered
    )
    distances = np.abs(lags - lags[best])
    distinct = distances > 1
    deviations = _deviations(
        correlations[best],
        correlations[distinct],
        autocorrelation[distances[distinct]],
        _independent_samples(remainder),
    )
    return int(lags[best]) if (deviations > DISTINCT).all() else None


def _window_sums(
    values: np.ndarray, begin: np.ndarray, end: np.ndarray
) -> Tuple[np.ndarray, np.ndarray]:
    """Return the sums (k,) of the values, and of their squares, from ``begin`` (k,) to ``end``
    (k,), which is excluded."""
    totals, squares = (np.concatenate([[0.0], np.cumsum(v)]) for v in (values, values**2))
    return totals[end] - totals[begin], squares[end] - squares[begin]


def _deviations(
    best: float, alternatives: np.ndarray, between: np.ndarray, count: float
) -> np.ndarray:
    """Return the differences (n,) between a correlation and ``alternatives`` (n,) of the same
    signal in standard errors, by the test of Williams (J. H. Steiger, Psychological Bulletin 87,
    1980). ``between`` (n,) are the correlations between the compared signals, and ``count`` is the
    number of independent samples."""
    determinant = np.maximum(
        0.0, 1.0 - best**2 - alternatives**2 - between**2 + 2.0 * best * alternatives * between
    )
    mean = (best + alternatives) / 2.0
    count = max(count, 4.0)
    spread = 2.0 * (count - 1.0) / (count - 3.0) * determinant + mean**2 * (1.0 - between) ** 3
    return np.asarray(
        (best - alternatives) * np.sqrt((count - 1.0) * (1.0 + between) / np.maximum(spread, 1e-12))
    )


def _independent_samples(values: np.ndarray) -> float:
    """Return the number of independent samples: n divided by the sum of the autocorrelation at
    positive and negative lags up to its first zero."""
    centered = values - values.mean()
    autocorrelation = correlate(centered, centered, mode="full")[len(centered) - 1 :]
    if not autocorrelation[0] > 0.0:
        return float(len(values))
    autocorrelation = autocorrelation / autocorrelation[0]
    zero = int(np.argmax(np.append(autocorrelation, 0.0) <= 0.0))
    return len(values) / float(2.0 * autocorrelation[:zero].sum() - 1.0)


def overlap(first: np.ndarray, second: np.ndarray, delay: int) -> Tuple[np.ndarray, np.ndarray]:
    """Return the common rows after ``second`` is shifted by ``delay`` samples to earlier times."""
    if delay >= 0:
        second = second[delay:]
    else:
        first = first[-delay:]
    length = min(len(first), len(second))
    return first[:length], second[:length]


def spectrum(values: np.ndarray, rate_hz: float) -> Tuple[np.ndarray, np.ndarray]:
    """Return frequencies (f,) in Hz and the one-sided power spectral density (f,) in unit²/Hz, by
    P. Welch, IEEE Trans. Audio Electroacoust. 15, 1967."""
    frequency, density = welch(values, rate_hz, "hann", min(SEGMENT, len(values)))
    return np.asarray(frequency), np.asarray(density)


def allan_deviation(values: np.ndarray, rate_hz: float) -> Tuple[np.ndarray, np.ndarray]:
    """Return averaging times τ (t,) in s and the overlapping Allan deviation (t,) of ``values``
    (IEEE Std 952-1997, annex C)."""
    count = len(values)
    if count < 9:
        raise ValueError(f"an Allan deviation needs at least 9 samples, not {count}")
    sizes = np.unique(np.logspace(0, np.log10(count // 9 or 1), 40).astype(int))
    integral = np.concatenate([[0.0], np.cumsum(values)]) / rate_hz
    deviations = []
    for size in sizes:
        second = integral[2 * size :] - 2.0 * integral[size:-size] + integral[: -2 * size]
        deviations.append(np.sqrt((second**2).mean() / 2.0) / (size / rate_hz))
    return sizes / rate_hz, np.array(deviations)


def noise_density(values: np.ndarray, rate_hz: float) -> float:
    """Return the density of white noise of ``values`` (n,) at rest, in unit/√Hz. It is the median
    of the Allan deviation times √τ for τ below 1 s."""
    tau, deviation = allan_deviation(values, rate_hz)
    near = tau <= 1.0
    return float(np.median(deviation[near] * np.sqrt(tau[near])))
