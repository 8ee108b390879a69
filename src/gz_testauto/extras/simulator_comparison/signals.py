"""Resampling, filtering, delay and spectra of recorded samples.

Samples that are compared are processed equally: a zero-phase low-pass filter, resampling at one
rate, and a shift by the delay between the two. Sources are in the docstrings.
"""

from typing import Optional, Tuple

import numpy as np
from scipy.interpolate import make_interp_spline
from scipy.signal import butter, correlate, resample_poly, sosfiltfilt, welch

from gz_testauto.extras.simulator_comparison.recordings.recording import Series

RATE_HZ = 100.0
"""Rate (Hz) at which inertial samples are compared, that of the sensor in Farley et al. 2022."""

MIN_CORRELATION = 0.5
"""Smallest correlation of two signals from which their delay is determined."""

DISTINCT = 1.645
"""Number of standard errors by which the correlation at a delay exceeds that at other delays: a
one-sided test at 5 %."""

SEGMENT = 256
"""Number of samples per segment in Welch's method."""

_DEGREE = 5


def resample(series: Series, rate_hz: float) -> Series:
    """Return a series that is linearly interpolated at multiples of the period 1 / ``rate_hz``
    since the first stamp. It is suitable for slowly varying values."""
    time_s = series.time_s[0] + np.arange(_count(series, rate_hz)) / rate_hz
    columns = [np.interp(time_s, series.time_s, column) for column in series.values.T]
    return Series(time_s, np.stack(columns, axis=1))


def in_band(series: Series, band_hz: float) -> np.ndarray:
    """Return samples (n, k) at :data:`RATE_HZ` since the first stamp, low-pass filtered at
    ``band_hz``.

    The filter is a Butterworth low-pass of order 4, applied forward and backward, so that it adds
    no delay. It has one rate for all series, because its slope depends on the rate. A faster series
    is first decimated by polyphase filtering, which avoids aliasing. Interpolation is by a spline
    of degree 5: at 0.4 of the sampling rate the loss is 0.7 dB, with linear interpolation 4.8 dB
    (M. Unser, IEEE Signal Process. Mag. 16(6), 1999).
    """
    times = max(1, int(np.ceil(series.rate_hz / RATE_HZ - 0.01)))
    count = (_count(series, RATE_HZ) - 1) * times + 1
    time_s = series.time_s[0] + np.arange(count) / (times * RATE_HZ)
    values = _between_samples(series, time_s)
    if times > 1:
        values = resample_poly(values, 1, times, axis=0, padtype="line")
    ends = min(len(values) - 1, round(3.0 * RATE_HZ / band_hz))
    sections = butter(4, band_hz, fs=RATE_HZ, output="sos")
    return np.asarray(sosfiltfilt(sections, values, axis=0, padlen=ends))


def _count(series: Series, rate_hz: float) -> int:
    return int(np.floor((series.time_s[-1] - series.time_s[0]) * rate_hz + 1e-9)) + 1


def _between_samples(series: Series, time_s: np.ndarray) -> np.ndarray:
    """Interpolate a series with a spline over the indices of the samples instead of the stamps, so
    that jitter causes no oscillations."""
    numbers = np.arange(len(series.time_s), dtype=float)
    degree = _DEGREE if len(numbers) > _DEGREE else 1
    spline = make_interp_spline(numbers, series.values, k=degree)
    return np.asarray(spline(np.interp(time_s, series.time_s, numbers)))


def find_delay(first: np.ndarray, second: np.ndarray, most: int) -> Optional[int]:
    """Return the delay of ``second`` (m,) relative to ``first`` (n,), in samples, or None if the
    signals do not determine it.

    The delay is at the maximum of Pearson's correlation of the overlapping samples, and at most
    ``most`` in either direction. It is determined if the maximum is at least
    :data:`MIN_CORRELATION`, and if it exceeds the correlation at each delay that differs by more
    than one sample by :data:`DISTINCT` standard errors. The number of independent samples is
    estimated from the autocorrelation of the difference of the normalized signals.
    """
    one, other = first - first.mean(), second - second.mean()
    lags = np.arange(-len(one) + 1, len(other))
    near = np.abs(lags) <= min(most, (min(len(one), len(other)) - 1) // 2)
    lags = lags[near]
    begin, end = np.maximum(-lags, 0), np.minimum(len(one), len(other) - lags)
    count = end - begin
    sums, squares = _window_sums(one, begin, end)
    other_sums, other_squares = _window_sums(other, begin + lags, end + lags)
    product = correlate(other, one, mode="full")[near] - sums * other_sums / count
    energy = np.maximum(0.0, squares - sums**2 / count)
    size = np.sqrt(energy * np.maximum(0.0, other_squares - other_sums**2 / count))
    along = np.divide(product, size, out=np.zeros_like(product), where=size > 1e-12)
    best = int(np.argmax(along))
    if along[best] < MIN_CORRELATION:
        return None
    kept, moved = (part - part.mean() for part in overlap(one, other, int(lags[best])))
    remainder = kept / np.linalg.norm(kept) - moved / np.linalg.norm(moved)
    own = correlate(one, one, mode="full")[len(one) - 1 :] / (one @ one)
    apart = np.abs(lags - lags[best])
    rest = apart > 1
    deviations = _deviations(
        along[best], along[rest], own[apart[rest]], _independent_samples(remainder)
    )
    return int(lags[best]) if (deviations > DISTINCT).all() else None


def _window_sums(
    values: np.ndarray, begin: np.ndarray, end: np.ndarray
) -> Tuple[np.ndarray, np.ndarray]:
    """Return the sums (k,) of the values (n,) and of their squares between pairs of indices."""
    totals, squares = (np.concatenate([[0.0], np.cumsum(one)]) for one in (values, values**2))
    return totals[end] - totals[begin], squares[end] - squares[begin]


def _deviations(best: float, others: np.ndarray, between: np.ndarray, count: float) -> np.ndarray:
    """Return the differences between a correlation and ``others`` (n,) of the same signal in
    standard errors (n,), by the test of Williams for dependent correlations (J. H. Steiger,
    Psychological Bulletin 87, 1980). ``between`` (n,) are the correlations between the compared
    signals, and ``count`` is the number of independent samples."""
    determinant = np.maximum(
        0.0, 1.0 - best**2 - others**2 - between**2 + 2.0 * best * others * between
    )
    mean = (best + others) / 2.0
    count = max(count, 4.0)
    spread = 2.0 * (count - 1.0) / (count - 3.0) * determinant + mean**2 * (1.0 - between) ** 3
    return np.asarray(
        (best - others) * np.sqrt((count - 1.0) * (1.0 + between) / np.maximum(spread, 1e-12))
    )


def _independent_samples(values: np.ndarray) -> float:
    """Return the number of independent samples with the same standard error of the mean as
    ``values`` (n,): n divided by the sum of the autocorrelation up to its first zero."""
    spread = values - values.mean()
    along = correlate(spread, spread, mode="full")[len(spread) - 1 :]
    if not along[0] > 0.0:
        return float(len(values))
    along = along / along[0]
    zero = int(np.argmax(np.append(along, 0.0) <= 0.0))
    return len(values) / float(2.0 * along[:zero].sum() - 1.0)


def overlap(first: np.ndarray, second: np.ndarray, delay: int) -> Tuple[np.ndarray, np.ndarray]:
    """Return the common rows of two signals after ``second`` is shifted by ``delay`` samples to
    earlier times."""
    if delay >= 0:
        second = second[delay:]
    else:
        first = first[-delay:]
    length = min(len(first), len(second))
    return first[:length], second[:length]


def spectrum(values: np.ndarray, rate_hz: float) -> Tuple[np.ndarray, np.ndarray]:
    """Return frequencies (f,) in Hz and the one-sided power spectral density (f,) of ``values``
    (n,), in unit²/Hz. The method is P. Welch, IEEE Trans. Audio Electroacoust. 15, 1967, with Hann
    windows and half overlap."""
    frequency, density = welch(values, rate_hz, "hann", min(SEGMENT, len(values)))
    return np.asarray(frequency), np.asarray(density)


def allan_deviation(values: np.ndarray, rate_hz: float) -> Tuple[np.ndarray, np.ndarray]:
    """Return averaging times τ (t,) in s and the overlapping Allan deviation (t,) of ``values``
    (n,), in the unit of the values. Averaging times are from one sample to a ninth of the record
    (IEEE Std 952-1997, annex C). Raises ``ValueError`` for fewer than 9 samples."""
    count = len(values)
    if count < 9:
        raise ValueError(f"an Allan deviation needs at least 9 samples, not {count}")
    sizes = np.unique(np.logspace(0, np.log10(count // 9 or 1), 40).astype(int))
    integral = np.concatenate([[0.0], np.cumsum(values)]) / rate_hz
    found = []
    for size in sizes:
        second = integral[2 * size :] - 2.0 * integral[size:-size] + integral[: -2 * size]
        found.append(np.sqrt((second**2).mean() / 2.0) / (size / rate_hz))
    return sizes / rate_hz, np.array(found)


def noise_density(values: np.ndarray, rate_hz: float) -> float:
    """Return the density of white noise of ``values`` (n,) at rest, in the unit of the values /
    √Hz. It is the median of the Allan deviation times √τ for τ below 1 s, where white noise
    dominates."""
    tau, deviation = allan_deviation(values, rate_hz)
    near = tau <= 1.0
    return float(np.median(deviation[near] * np.sqrt(tau[near])))
