"""Compute tests and intervals that are valid at every number of worlds.

Under the hypothesis that the mean of bounded numbers is ``m``, a bet multiplies a capital of 1 by
``1 + λ (x − m)`` per number, and the expected capital is constant. By Ville's inequality, the
probability that the capital ever reaches ``1/α`` is then at most ``α``. The values of ``m`` that
are not rejected are a confidence sequence.

The bets ``λ`` are a fixed mixture: the shares ``sin θ``, with ``θ`` evenly spaced in (0, π/2), of
the largest bet that cannot lose the whole capital. One capital is bet on a mean above ``m`` and
another on a mean below ``m``; for a two-sided test, each has half of ``α``. For the differences 1,
0, −1 of two planners and ``m = 0``, this is the mixture test of the discordant worlds with
Jeffreys' prior, the anytime-valid form of McNemar's.

Tests and bounds use the largest capital so far, so p-value, bounds and decision agree. The order of
worlds must not depend on their outcomes.

J. Ville, "Étude critique de la notion de collectif" (1939); H. Robbins, Annals of Mathematical
Statistics 41 (1970) 1397–1409 (mixtures); I. Waudby-Smith and A. Ramdas, "Estimating means of
bounded random variables by betting", JRSS-B 86 (2024) 1–27; A. Ramdas, P. Grünwald, V. Vovk and G.
Shafer, "Game-theoretic statistics and safe anytime-valid inference", Statistical Science 38 (2023)
576–601.
"""

import math
from typing import Callable, Optional, Tuple

import numpy as np

from gz_testauto.analysis.bounded_mean import DIFFERENCE as DIFFERENCE
from gz_testauto.analysis.bounded_mean import RATE as RATE
from gz_testauto.analysis.intervals import LEVEL, Estimate

TEST = "bets on the discordant worlds, at any time"
METHOD = "confidence sequence by betting"
CONTRADICTION = "earlier and later worlds contradict each other"

# Shares of the largest possible bet, for each component of the mixture.
BETS = np.sin((np.arange(64) + 0.5) * (np.pi / 128))

HALVINGS = 50
NEVER = 10_000_000  # number of worlds above which a decision counts as unreachable


def above(values: np.ndarray, mean: float, bounds: Tuple[float, float]) -> np.ndarray:
    """Return the logarithm of the factor by which each value multiplies the capital of each bet on
    a mean above ``mean``, shape (*values.shape, bets). ``bounds`` are the smallest and the largest
    possible value; ``mean`` must be above the smallest."""
    share = (np.asarray(values, dtype=float) - bounds[0]) / (mean - bounds[0])
    return np.log((1.0 - BETS) + BETS * share[..., np.newaxis])


def below(values: np.ndarray, mean: float, bounds: Tuple[float, float]) -> np.ndarray:
    """Return the same as :func:`above` for bets on a mean below ``mean``, which must be below the
    upper bound."""
    mirrored_bounds = (-bounds[1], -bounds[0])
    return above(-np.asarray(values, dtype=float), -mean, mirrored_bounds)


def capital_over_time(bets: np.ndarray) -> np.ndarray:
    """Return the logarithm of the mean capital of all bets after each value, shape (..., n).
    ``bets``, shape (..., n, bets), are gains of :func:`above` or :func:`below`."""
    return _log_mean_exp(np.cumsum(bets, axis=-2))


def _log_mean_exp(logarithms: np.ndarray) -> np.ndarray:
    # The largest exponent is subtracted to avoid overflow.
    largest = logarithms.max(axis=-1, keepdims=True)
    return np.asarray(np.log(np.exp(logarithms - largest).mean(axis=-1)) + largest[..., 0])


def first_rejected(bets: np.ndarray, alpha: float) -> Optional[int]:
    """Return the number of values after which the capital first reaches ``1/alpha``, which rejects
    the mean at the level ``alpha``, or None. ``bets`` has shape (n, bets)."""
    rejections = np.flatnonzero(capital_over_time(bets) >= -math.log(alpha))
    return int(rejections[0]) + 1 if len(rejections) else None


def p_value(values: np.ndarray, mean: float, bounds: Tuple[float, float]) -> float:
    """Return the two-sided p-value of the hypothesis that the mean is ``mean``; 1 without values.

    It is at most ``alpha`` exactly if :func:`interval` at this level excludes ``mean``.
    """
    if not len(values):
        return 1.0
    largest = max(
        float(capital_over_time(side(values, mean, bounds)).max()) for side in (above, below)
    )
    return min(1.0, 2.0 * math.exp(-largest))


def one_sided_bounds(
    values: np.ndarray, alphas: Tuple[float, float], bounds: Tuple[float, float]
) -> Tuple[float, float]:
    """Return a lower and an upper bound for the mean of at least one value.

    For each bound, the probability that it is wrong after any number of worlds is at most the
    corresponding value of ``alphas``.
    """

    def last_rejected_mean(
        side: Callable[..., np.ndarray], alpha: float, start: float, end: float
    ) -> float:
        limit = -math.log(alpha)

        def is_rejected(mean: float) -> bool:
            gains = side(levels, mean, bounds).T
            totals = np.cumsum(np.take(gains, index, axis=1), axis=1)  # faster than over rows
            # the capital of all bets is at most that of the best one
            reached = totals[:, totals.max(axis=0) >= limit]
            return bool((_log_mean_exp(np.ascontiguousarray(reached.T)) >= limit).any())

        for _ in range(HALVINGS):  # ``start`` is rejected, ``end`` is not
            middle = (start + end) / 2.0
            if middle in (start, end):
                break
            start, end = (middle, end) if is_rejected(middle) else (start, middle)
        return start

    levels, index = np.unique(values, return_inverse=True)
    low, high = bounds
    return (
        last_rejected_mean(above, alphas[0], low, high),
        last_rejected_mean(below, alphas[1], high, low),
    )


def interval(
    values: np.ndarray, bounds: Tuple[float, float], alpha: float = 1.0 - LEVEL
) -> Estimate:
    """Return the mean with its confidence sequence.

    The sequence is the intersection of the intervals after each value, and can exclude the present
    mean. It is empty with a probability of at most ``alpha``; the estimate then has no interval.
    """
    if not len(values):
        return Estimate.unknown(METHOD)
    center = float(np.mean(values))
    low, high = one_sided_bounds(values, (alpha / 2.0, alpha / 2.0), bounds)
    if low > high:
        return Estimate.without_interval(center, CONTRADICTION)
    return Estimate(center, low, high, METHOD)


def worlds_needed(bets: np.ndarray, alpha: float) -> Optional[int]:
    """Return the approximate total number of values until the capital reaches ``1/alpha``, if
    further values are like the current values. It is None without values, and if it would exceed
    :data:`NEVER`. ``bets`` has shape (n, bets)."""
    world_count, limit = len(bets), -math.log(alpha)
    if not world_count:
        return None
    totals = bets.sum(axis=0)

    def is_enough(number: int) -> bool:
        return bool(_log_mean_exp(totals * (number / world_count)) >= limit)

    if not is_enough(NEVER):
        return None
    low, high = 0, NEVER
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high
