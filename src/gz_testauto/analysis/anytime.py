"""Compute tests and intervals that are valid at every number of worlds.

Under the hypothesis that the mean of bounded numbers is ``m``, a bet on each next number is fair. A
bet against ``m`` multiplies a capital of 1 by ``1 + λ (x − m)`` per number; if ``m`` is the mean of
each number given the previous ones, the expected capital is constant. By Ville's inequality, the
probability that the capital ever reaches ``1/α`` is then at most ``α``. The probability of wrongly
rejecting ``m`` is therefore at most ``α``, even if the test is evaluated after each world. The
values of ``m`` that are not rejected are a confidence sequence.

The bets ``λ`` are a fixed mixture: the shares ``sin θ``, with ``θ`` evenly spaced in (0, π/2), of
the largest bet that cannot lose the whole capital. For the differences 1, 0, −1 of two planners and
``m = 0``, worlds without a difference change nothing, and this is the mixture test of the
discordant worlds with Jeffreys' prior, the anytime-valid form of McNemar's. The capital does not
depend on the order of the numbers, but whether it ever reached ``1/α`` does. Worlds must therefore
be added in an order that does not depend on their outcomes.

J. Ville, "Étude critique de la notion de collectif" (1939); H. Robbins, Annals of Mathematical
Statistics 41 (1970) 1397–1409 (mixtures); I. Waudby-Smith and A. Ramdas, "Estimating means of
bounded random variables by betting", JRSS-B 86 (2024) 1–27; A. Ramdas, P. Grünwald, V. Vovk and G.
Shafer, "Game-theoretic statistics and safe anytime-valid inference", Statistical Science 38 (2023)
576–601. For shifts of a metric the bet is on the sign of a difference, in proportion to the rank of
its magnitude among those so far, which is random for a symmetric distribution, as in Wilcoxon's
test.
"""

import functools
import math
from typing import Callable, Optional, Tuple

import numpy as np

from gz_testauto.analysis import rounding
from gz_testauto.analysis.bounded_mean import DIFFERENCE as DIFFERENCE
from gz_testauto.analysis.bounded_mean import RATE as RATE
from gz_testauto.analysis.intervals import LEVEL, Estimate

TEST = "bets on the discordant worlds, at any time"
METHOD = "confidence sequence by betting"

BETS = np.sin((np.arange(64) + 0.5) * (np.pi / 128))
"""Shares of the largest possible bet, one for each component of the mixture."""

HALVINGS = 60
NEVER = 10_000_000
"""A decision that requires more worlds than this number counts as unreachable."""


def above(values: np.ndarray, mean: float, bounds: Tuple[float, float]) -> np.ndarray:
    """Return the logarithmic gain of each value for bets on a mean above ``mean``.

    The result has shape (*values.shape, bets). ``mean`` must be above the lower bound.
    """
    share = (np.asarray(values, dtype=float) - bounds[0]) / (mean - bounds[0])
    return np.log((1.0 - BETS) + BETS * share[..., np.newaxis])


def below(values: np.ndarray, mean: float, bounds: Tuple[float, float]) -> np.ndarray:
    """Return the logarithmic gain of each value for bets on a mean below ``mean``.

    The result has shape (*values.shape, bets). ``mean`` must be below the upper bound.
    """
    mirrored = (-bounds[1], -bounds[0])
    return above(-np.asarray(values, dtype=float), -mean, mirrored)


def shift_above(differences: np.ndarray, center: float) -> np.ndarray:
    """Return the logarithmic gain of each difference for bets on a center above ``center``.

    The distribution of the differences is assumed to be symmetric. The result has shape (n, bets)
    and depends on the order of the differences.
    """
    values = rounding.differences(differences, np.full(len(differences), center))
    sizes = np.abs(values)
    later_than = np.tri(len(values), dtype=bool)
    ranks = ((sizes[np.newaxis, :] <= sizes[:, np.newaxis]) & later_than).sum(axis=1)
    scores = np.sign(values) * ranks / np.arange(1, len(values) + 1)
    return np.log1p(BETS * scores[:, np.newaxis])


def capital(bets: np.ndarray) -> float:
    """Return the logarithm of the total capital after all values; ``bets`` has shape (n, bets)."""
    return float(_log_mean_exp(bets.sum(axis=0)))


def capital_over_time(bets: np.ndarray) -> np.ndarray:
    """Return the logarithm of the capital after each value, shape (..., n).

    ``bets`` has shape (..., n, bets).
    """
    return _log_mean_exp(np.cumsum(bets, axis=-2))


def _log_mean_exp(bets: np.ndarray) -> np.ndarray:
    """Return the logarithm of the mean of ``exp(bets)`` over the last axis."""
    return np.logaddexp.reduce(bets, axis=-1) - math.log(bets.shape[-1])


def two_sided(values: np.ndarray, mean: float, bounds: Tuple[float, float]) -> np.ndarray:
    """Return the logarithm of the capital after each value if half of it is bet on each side of
    ``mean``.

    The result has the shape of ``values``, whose last axis is their order.
    """
    sides = [capital_over_time(side(values, mean, bounds)) for side in (above, below)]
    return np.logaddexp(*sides) - math.log(2.0)


def p_value(differences: np.ndarray) -> float:
    """Return the p-value of the hypothesis that the mean difference is 0.

    It is the reciprocal of the largest capital, or 1 if there are no differences.
    """
    if not len(differences):
        return 1.0
    return min(1.0, math.exp(-float(two_sided(differences, 0.0, DIFFERENCE).max())))


def one_sided_bounds(
    values: np.ndarray, alpha: float, bounds: Tuple[float, float]
) -> Tuple[float, float]:
    """Return a lower and an upper bound for the mean.

    The probability that a bound is ever wrong, at any number of worlds, is at most ``alpha``.
    """
    low, high = bounds
    limit = -math.log(alpha)
    center = float(np.mean(values))

    def refuted(mean: float, side: Callable[..., np.ndarray]) -> bool:
        return capital(side(values, mean, bounds)) >= limit

    return (
        _last(lambda mean: refuted(mean, above), low, center),
        _last(lambda mean: refuted(mean, below), high, center),
    )


def interval(
    values: np.ndarray, bounds: Tuple[float, float], alpha: float = 1.0 - LEVEL
) -> Estimate:
    """Return the mean with its current confidence sequence, or an unknown estimate without
    values.
    """
    if not len(values):
        return Estimate.unknown(METHOD)
    center = float(np.mean(values))
    limit = -math.log(alpha)

    def refuted(mean: float) -> bool:
        sides = [capital(side(values, mean, bounds)) for side in (above, below)]
        return bool(np.logaddexp(*sides) - math.log(2.0) >= limit)

    low, high = (_last(refuted, bound, center) for bound in bounds)
    return Estimate(center, low, high, METHOD)


def shift_bounds(differences: np.ndarray, alpha: float) -> Tuple[float, float]:
    """Return a lower and an upper bound for the center of symmetrically distributed differences.

    Their probability of error is that of :func:`one_sided_bounds`. A bound is infinite if there are
    too few differences.
    """
    values = np.asarray(differences, dtype=float)
    limit = -math.log(alpha)

    def refuted(center: float, sign: float) -> bool:
        return capital(shift_above(sign * values, sign * center)) >= limit

    center, size = float(np.median(values)), float(np.abs(values).max())
    reach = float(np.ptp(values)) + 1e3 * rounding.TOLERANCE * max(size, 1e-9)
    ends = []
    for sign in (1.0, -1.0):
        far = center - sign * 2.0 * reach
        end = -sign * math.inf
        if refuted(far, sign):
            end = _last(functools.partial(refuted, sign=sign), far, center)
        ends.append(end)
    return ends[0], ends[1]


def worlds_needed(bets: np.ndarray, alpha: float) -> Optional[int]:
    """Return the approximate total number of values until the capital reaches ``1/alpha``.

    Further values are assumed to be like the current ones. Returns None if the capital never
    reaches the limit.
    """
    count, limit = len(bets), -math.log(alpha)
    if not count:
        return None
    totals = bets.sum(axis=0)

    def enough(number: int) -> bool:
        return bool(_log_mean_exp(totals * (number / count)) >= limit)

    if not enough(NEVER):
        return None
    low, high = 0, NEVER
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _last(refuted: Callable[[float], bool], start: float, end: float) -> float:
    """Return the last refuted value between ``start``, which is refuted, and ``end``, which
    is not.
    """
    for _ in range(HALVINGS):
        middle = (start + end) / 2.0
        if middle in (start, end):
            break
        start, end = (middle, end) if refuted(middle) else (start, middle)
    return start
