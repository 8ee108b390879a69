"""Compute averages of a sampled signal over time, also for uneven stamps."""

import math

import numpy as np


def time_mean(values: np.ndarray, time_s: np.ndarray) -> float:
    """Return the mean over time, ``∫ values dt / T`` by the trapezoidal rule; NaN for fewer than
    two samples."""
    if len(time_s) < 2:
        return math.nan
    from scipy.integrate import trapezoid

    return float(trapezoid(values, time_s) / (time_s[-1] - time_s[0]))


def time_rms(values: np.ndarray, time_s: np.ndarray) -> float:
    """Return the RMS over time, ``sqrt(∫ values² dt / T)``; NaN for fewer than two samples."""
    return math.sqrt(time_mean(np.square(values), time_s))


def time_percentile(values: np.ndarray, time_s: np.ndarray, percent: float) -> float:
    """Return the value below which the signal is for ``percent`` of the time.

    The signal is linear between samples. If one of two samples is infinite, each counts for half of
    the time between them. The result is NaN for fewer than two samples, or if a value is NaN.
    """
    if len(time_s) < 2 or np.isnan(values).any():
        return math.nan
    # Ten points per mean interval weight samples with uneven stamps by time.
    instants = np.linspace(time_s[0], time_s[-1], 10 * (len(time_s) - 1) + 1)
    interpolated_values = np.interp(instants, time_s, np.where(np.isinf(values), 0.0, values))
    infinite = np.interp(instants, time_s, np.isinf(values).astype(float))
    nearest_values = values[
        np.rint(np.interp(instants, time_s, np.arange(len(time_s)))).astype(int)
    ]
    sorted_values = np.sort(np.where(infinite > 0.0, nearest_values, interpolated_values))
    rank = percent / 100.0 * (len(sorted_values) - 1)
    low, high = sorted_values[math.floor(rank)], sorted_values[math.ceil(rank)]
    return float(low if low == high else low + (rank - math.floor(rank)) * (high - low))


def share_below(values: np.ndarray, time_s: np.ndarray, limit: float) -> float:
    """Return the share of the time in which the signal is below ``limit``.

    Infinite and NaN samples count as in :func:`time_percentile`.
    """
    if len(time_s) < 2 or np.isnan(values).any():
        return math.nan
    below = (values < limit).astype(float)
    share = (below[:-1] + below[1:]) / 2.0
    before, after = values[:-1] - limit, values[1:] - limit  # excesses over the limit
    is_crossed = np.isfinite(before) & np.isfinite(after) & (below[:-1] != below[1:])
    crossing = np.abs(before[is_crossed]) / np.abs(before[is_crossed] - after[is_crossed])
    share[is_crossed] = np.where(before[is_crossed] < 0.0, crossing, 1.0 - crossing)
    return float((share * np.diff(time_s)).sum() / (time_s[-1] - time_s[0]))
