"""Averages over simulated time of a sampled signal, by the trapezoidal rule on its own stamps.

Every metric that contains an integral takes it from here, so that none of them counts samples
where it should weigh time.
"""

import math

import numpy as np


def time_mean(values: np.ndarray, time_s: np.ndarray) -> float:
    """``∫ values dt / T``; NaN for fewer than two samples. Both have shape (n,)."""
    if len(time_s) < 2:
        return math.nan
    from scipy.integrate import trapezoid

    return float(trapezoid(values, time_s) / (time_s[-1] - time_s[0]))


def time_rms(values: np.ndarray, time_s: np.ndarray) -> float:
    """``sqrt(∫ values² dt / T)``; NaN for fewer than two samples. Both have shape (n,)."""
    return math.sqrt(time_mean(np.square(values), time_s))


def time_percentile(values: np.ndarray, time_s: np.ndarray, percent: float) -> float:
    """The value that the signal, linear between samples, is below for ``percent`` of the time.

    NaN for fewer than two samples, or where one is not finite.
    """
    if len(time_s) < 2 or not np.isfinite(values).all():
        return math.nan
    # Ten points per mean interval: uneven stamps are weighed by the time they stand for.
    instants = np.linspace(time_s[0], time_s[-1], 10 * (len(time_s) - 1) + 1)
    return float(np.percentile(np.interp(instants, time_s, values), percent))


def share_below(values: np.ndarray, time_s: np.ndarray, limit: float) -> float:
    """Share of the time, in [0, 1], in which the signal, linear between samples, is below
    ``limit``. Exact at the crossings, the last interval included; NaN for fewer than two
    samples."""
    if len(time_s) < 2:
        return math.nan
    start, end = values[:-1] - limit, values[1:] - limit
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = np.where(start * end < 0.0, np.abs(start) / np.abs(start - end), 0.0)
    below = np.where(
        start * end < 0.0,
        np.where(start < 0.0, crossing, 1.0 - crossing),
        ((start < 0.0) | (end < 0.0)).astype(float),
    )
    return float(below @ np.diff(time_s) / (time_s[-1] - time_s[0]))
