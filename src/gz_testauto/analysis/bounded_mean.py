"""Estimate and test the mean of bounded numbers, one per world.

The interval is Gaffke's bound: a Bayesian bootstrap over the n worlds and one more world at the end
of the scale. With Dirichlet weights ``D`` the lower limit is the quantile of ``Σ D_i x_i +
D_0·lowest`` and the upper one that of ``Σ D_i x_i + D_0·highest``. N. Gaffke, "Three test
statistics for a nonparametric one-sided hypothesis on the mean of a nonnegative variable",
Mathematical Methods of Statistics 14 (2005) 451–467; E. Learned-Miller and P. S. Thomas, "A new
confidence interval for the mean of a bounded random variable" (2019), arXiv 1905.06208. For numbers
that are 0 or 1 it is Clopper and Pearson's interval, and for the differences 1, 0, −1 of two
planners its p-value of a mean of 0 is that of the exact McNemar test. For other numbers, its
validity is a conjecture, and docs/measurements/statistics.md lists the measured coverage.
"""

from typing import Tuple

import numpy as np

from gz_testauto.analysis.intervals import LEVEL, ONE_WORLD, Estimate
from gz_testauto.analysis.rounding import mean, without_noise

Bounds = Tuple[float, float]

RATE: Bounds = (0.0, 1.0)
DIFFERENCE: Bounds = (-1.0, 1.0)

METHOD = "Gaffke"

_LARGEST_STEP = 0.15
_STEP = 0.6
_SMALLEST = 1e-13

_FEW = 64  # number of different values up to which each term of a sum is computed

_RADIUS = 0.5
_TERMS = 26  # of the power series, whose remainder is below the rounding errors up to ``_RADIUS``

_NEGLIGIBLE = 80.0  # decay at which the integrand is below the rounding errors of the probability


def mean_interval(values: np.ndarray, bounds: Bounds) -> Estimate:
    """Return the mean of one value per world with its interval, which does not exist for a single
    world. ``bounds`` are the smallest and the largest possible value."""
    numbers = without_noise(values)
    if not len(numbers):
        return Estimate.unknown()
    center = mean(numbers)
    if len(numbers) == 1:
        return Estimate.without_interval(center, ONE_WORLD)
    tail = (1.0 - LEVEL) / 2.0
    low, high = one_sided_bounds(numbers, (tail, tail), bounds)
    return Estimate(center, min(low, center), max(high, center), METHOD)


def one_sided_bounds(
    values: np.ndarray, alphas: Tuple[float, float], bounds: Bounds
) -> Tuple[float, float]:
    """Return a lower and an upper bound of the mean of at least one value. ``alphas`` are the
    probabilities with which each bound is wrong."""
    from scipy.optimize import brentq

    numbers = without_noise(values)
    lowest, highest = low, high = bounds
    if numbers.max() > lowest:
        top = float(numbers.max())
        low = brentq(lambda m: _at_most(numbers, lowest, m) - alphas[0], lowest, top)
    if numbers.min() < highest:
        bottom = float(numbers.min())
        high = brentq(lambda m: _at_most(-numbers, -highest, -m) - alphas[1], bottom, highest)
    return float(low), float(high)


def one_sided_p_values(values: np.ndarray, limit: float, bounds: Bounds) -> Tuple[float, float]:
    """Return the p-values of two hypotheses: that the mean is at most ``limit``, and that it is at
    least ``limit``."""
    numbers = without_noise(values)
    lowest, highest = bounds
    return _at_most(numbers, lowest, limit), _at_most(-numbers, -highest, -limit)


def mean_p_value(values: np.ndarray, expected: float, bounds: Bounds) -> float:
    """Return the two-sided p-value of the hypothesis that the mean is ``expected``; 1 for fewer
    than two worlds.

    It is below 0.05 if and only if the interval does not contain ``expected``.
    """
    if len(values) < 2:
        return 1.0
    return min(1.0, 2.0 * min(one_sided_p_values(values, expected, bounds)))


def _at_most(values: np.ndarray, end: float, limit: float) -> float:
    """Return the probability that Σ D_i x_i + D_0·end ≤ limit, where D is uniform on the simplex.

    Σ D_i x_i ≤ m if and only if Σ G_i (x_i − m) ≤ 0, with independent Gamma variables G_i, whose
    distribution is an integral over the characteristic function: J. P. Imhof, Biometrika 48 (1961)
    419–426.
    """
    points, counts = np.unique(np.append(values, end), return_counts=True)
    shapes = counts.astype(float)
    slopes = points - limit
    shapes, slopes = shapes[slopes != 0.0], slopes[slopes != 0.0]
    if not len(slopes) or slopes.max() < 0.0:
        return 1.0
    if slopes.min() > 0.0:
        return 0.0
    # In u = log t the integrand falls off exponentially on both sides, where the trapezoidal rule
    # converges faster than any power of the step. Its frequency grows with the square root of the
    # number of worlds.
    step = min(_LARGEST_STEP, _STEP / float(np.sqrt(shapes.sum())))
    slopes = slopes / np.abs(slopes).max()
    upper_limit = np.log(1.0 / _SMALLEST) / shapes[np.abs(slopes) == 1.0].sum()
    u = np.arange(np.log(_SMALLEST), upper_limit, step)
    angle, decay = _exponents(slopes, shapes, np.exp(u))
    integral = step * float((np.sin(angle) * np.exp(-decay)).sum())
    return float(np.clip(0.5 - integral / np.pi, _SMALLEST, 1.0))


def _exponents(
    slopes: np.ndarray, shapes: np.ndarray, t: np.ndarray
) -> Tuple[np.ndarray, np.ndarray]:
    """Return Σ shape·arctan(slope·t) and Σ shape·log(1 + slope²·t²)/2 for increasing ``t``, shape
    (k,). If the second sum exceeds :data:`_NEGLIGIBLE`, 0 and ∞ can be returned instead."""
    if len(slopes) <= _FEW:
        return _direct_sums(slopes, shapes, t)
    order = np.argsort(np.abs(slopes))
    slopes, shapes = slopes[order], shapes[order]
    angle, decay = np.zeros(len(t)), np.full(len(t), np.inf)
    start, end = 0, int(np.searchsorted(t, _RADIUS))
    while start < len(t):
        # The sums of power series need the moments of the slopes only. The other slopes are few,
        # since each of them adds to the decay.
        block, scale = t[start:end], t[end - 1]
        split = int(np.searchsorted(np.abs(slopes) * scale, _RADIUS))
        series = _series_sums(slopes[:split] * scale, shapes[:split], block / scale)
        direct = _direct_sums(slopes[split:], shapes[split:], block)
        angle[start:end], decay[start:end] = series[0] + direct[0], series[1] + direct[1]
        if decay[end - 1] > _NEGLIGIBLE:
            break
        start, end = end, max(int(np.searchsorted(t, 2.0 * scale)), end + 1)
    return angle, decay


def _direct_sums(
    slopes: np.ndarray, shapes: np.ndarray, t: np.ndarray
) -> Tuple[np.ndarray, np.ndarray]:
    """Return the sums of :func:`_exponents`, term by term."""
    scaled_slopes = slopes[:, np.newaxis] * t
    return shapes @ np.arctan(scaled_slopes), shapes @ np.log1p(scaled_slopes**2) / 2.0


def _series_sums(
    slopes: np.ndarray, shapes: np.ndarray, t: np.ndarray
) -> Tuple[np.ndarray, np.ndarray]:
    """Return the sums of :func:`_exponents` as power series in ``slope·t``."""
    odd_terms = _odd_powers(slopes, shapes * slopes)
    powers = _odd_powers(t, t)
    degrees = np.arange(1, 2 * _TERMS, 2)
    signs = (-1.0) ** np.arange(_TERMS)
    angle = (signs * odd_terms.sum(axis=1) / degrees) @ powers
    return angle, t * ((signs * (odd_terms @ slopes) / (degrees + 1)) @ powers)


def _odd_powers(base: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Return ``first`` · ``base``^(2k) for k from 0, shape (terms, n)."""
    factors = np.broadcast_to(base**2, (_TERMS, len(base))).copy()
    factors[0] = first
    return np.multiply.accumulate(factors, out=factors)
