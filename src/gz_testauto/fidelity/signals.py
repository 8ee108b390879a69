"""Samples made comparable: one rate, one band, one clock, and what is read from them.

Everything is compared after the same steps: interpolated to one rate, passed through the same
zero-phase low-pass, shifted by the delay between the two. Sources beside the functions.
"""

from typing import Tuple

import numpy as np
from scipy.signal import butter, correlate, sosfiltfilt, welch

from gz_testauto.fidelity.recordings.recording import Series

RATE_HZ = 100.0
BAND_HZ = 20.0
"""The paper's sensor measures at 100 Hz; above 20 Hz its mounting speaks."""

CORRELATES = 0.5
"""Below this two signals tell no delay."""

SEGMENT = 256
"""Samples of a piece of Welch's method."""


def resampled(series: Series, rate_hz: float = RATE_HZ) -> Series:
    """Interpolated to whole multiples of the period, from its first stamp on."""
    count = int(np.floor((series.time_s[-1] - series.time_s[0]) * rate_hz + 1e-9)) + 1
    time_s = series.time_s[0] + np.arange(count) / rate_hz
    columns = [np.interp(time_s, series.time_s, column) for column in series.values.T]
    return Series(time_s, np.stack(columns, axis=1))


def band_limited(values: np.ndarray, rate_hz: float, band_hz: float = BAND_HZ) -> np.ndarray:
    """Through a Butterworth low-pass of order 4, forth and back, so that nothing is delayed.
    Columns (n, k). As it is where the band is not below half the rate."""
    if band_hz >= 0.5 * rate_hz or len(values) < 40:
        return values
    return np.asarray(sosfiltfilt(butter(4, band_hz, fs=rate_hz, output="sos"), values, axis=0))


def delay_samples(first: np.ndarray, second: np.ndarray, most: int) -> int:
    """By how many samples ``second`` (m,) comes after ``first`` (n,): where their cross-correlation
    over what overlaps is greatest, ``most`` at most either way. 0 where that is below
    :data:`CORRELATES`, as of noise alone."""
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
    return int(lags[best]) if along[best] >= CORRELATES else 0


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
