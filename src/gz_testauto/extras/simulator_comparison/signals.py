"""Samples made comparable: one rate, one band, one clock, and what is read from them.

Everything is compared after the same steps: passed through the same zero-phase low-pass, brought to
one rate, shifted by the delay between the two. Sources beside the functions.
"""

from typing import Tuple

import numpy as np
from scipy.interpolate import make_interp_spline
from scipy.signal import butter, correlate, resample_poly, sosfiltfilt, welch

from gz_testauto.extras.simulator_comparison.recordings.recording import Series

RATE_HZ = 100.0
"""That of the paper's sensor."""

MIN_CORRELATION = 0.5
"""Below this two signals tell no delay."""

SEGMENT = 256
"""Samples of a piece of Welch's method."""

_DEGREE = 5


def resampled(series: Series, rate_hz: float) -> Series:
    """Interpolated to whole multiples of the period, from its first stamp on: for what changes
    slowly."""
    time_s = series.time_s[0] + np.arange(_count(series, rate_hz)) / rate_hz
    columns = [np.interp(time_s, series.time_s, column) for column in series.values.T]
    return Series(time_s, np.stack(columns, axis=1))


def in_band(series: Series, band_hz: float, rate_hz: float = RATE_HZ) -> np.ndarray:
    """Samples (n, k) at ``rate_hz`` from its first stamp on, of what lies below ``band_hz``.

    Through a Butterworth low-pass of order 4, forth and back, so that nothing is delayed, and for
    all at ``rate_hz``, because its slope depends on that. A faster series is first decimated by
    polyphase filtering, so that nothing is folded into the band. Between samples goes a spline of
    degree 5: at 0.4 of the sampling rate it loses 0.7 dB, where straight lines lose 4.8 (M. Unser,
    IEEE Signal Process. Mag. 16(6), 1999).
    """
    times = max(1, int(np.ceil(series.rate_hz / rate_hz - 0.01)))
    count = (_count(series, rate_hz) - 1) * times + 1
    time_s = series.time_s[0] + np.arange(count) / (times * rate_hz)
    values = _between_samples(series, time_s)
    if times > 1:
        values = resample_poly(values, 1, times, axis=0, padtype="line")
    ends = min(len(values) - 1, round(3.0 * rate_hz / band_hz))
    sections = butter(4, band_hz, fs=rate_hz, output="sos")
    return np.asarray(sosfiltfilt(sections, values, axis=0, padlen=ends))


def _count(series: Series, rate_hz: float) -> int:
    return int(np.floor((series.time_s[-1] - series.time_s[0]) * rate_hz + 1e-9)) + 1


def _between_samples(series: Series, time_s: np.ndarray) -> np.ndarray:
    """A spline over the samples' numbers, not over their stamps: those that jitter make no
    swings."""
    numbers = np.arange(len(series.time_s), dtype=float)
    degree = _DEGREE if len(numbers) > _DEGREE else 1
    spline = make_interp_spline(numbers, series.values, k=degree)
    return np.asarray(spline(np.interp(time_s, series.time_s, numbers)))


def delay_samples(first: np.ndarray, second: np.ndarray, most: int) -> int:
    """By how many samples ``second`` (m,) comes after ``first`` (n,): where their cross-correlation
    over what overlaps is greatest, ``most`` at most either way. 0 where that is below
    :data:`MIN_CORRELATION`, as of noise alone."""
    one, other = first - first.mean(), second - second.mean()
    lags = np.arange(-len(one) + 1, len(other))
    near = np.abs(lags) <= min(most, (min(len(one), len(other)) - 1) // 2)
    lags = lags[near]
    product = correlate(other, one, mode="full")[near]
    begin, end = np.maximum(-lags, 0), np.minimum(len(one), len(other) - lags)
    squares, others = (np.concatenate([[0.0], np.cumsum(v**2)]) for v in (one, other))
    size = np.sqrt((squares[end] - squares[begin]) * (others[end + lags] - others[begin + lags]))
    along = np.divide(product, size, out=np.zeros_like(product), where=size > 1e-12)
    best = int(np.argmax(along))
    return int(lags[best]) if along[best] >= MIN_CORRELATION else 0


def overlapping(first: np.ndarray, second: np.ndarray, delay: int) -> Tuple[np.ndarray, np.ndarray]:
    """The rows that both have once ``second`` is taken ``delay`` samples earlier."""
    if delay >= 0:
        second = second[delay:]
    else:
        first = first[-delay:]
    length = min(len(first), len(second))
    return first[:length], second[:length]


def spectrum(values: np.ndarray, rate_hz: float) -> Tuple[np.ndarray, np.ndarray]:
    """Frequencies (f,) in Hz and the one-sided power spectral density (f,) of ``values`` (n,),
    unit² / Hz: P. Welch, IEEE Trans. Audio Electroacoust. 15, 1967; Hann, half overlap."""
    frequency, density = welch(values, rate_hz, "hann", min(SEGMENT, len(values)))
    return np.asarray(frequency), np.asarray(density)


def allan_deviation(values: np.ndarray, rate_hz: float) -> Tuple[np.ndarray, np.ndarray]:
    """Averaging times τ (t,) in s, from one sample to a ninth of the record, and the overlapping
    Allan deviation (t,) of ``values`` (n,), in their unit: IEEE Std 952-1997, annex C. Raises
    ``ValueError`` for fewer than 9 samples."""
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
    """White noise of ``values`` (n,) at rest, in their unit / √Hz: the Allan deviation times √τ,
    its median below 1 s, where white noise rules."""
    tau, deviation = allan_deviation(values, rate_hz)
    near = tau <= 1.0
    return float(np.median(deviation[near] * np.sqrt(tau[near])))
