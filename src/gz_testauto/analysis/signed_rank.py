"""Test and estimate the shift of a metric between two planners, over worlds in which both have a
value.

Wilcoxon's signed-rank test and, in the metric's own unit, the Hodges–Lehmann estimate of the shift:
the median of all Walsh averages ``(d_i + d_j)/2, i ≤ j``, with the interval that belongs to the
test. F. Wilcoxon, Biometrics Bulletin 1 (1945); J. L. Hodges and E. L. Lehmann, Annals of
Mathematical Statistics 34 (1963); worked example in M. Hollander and D. A. Wolfe, "Nonparametric
Statistical Methods" (1973), pp. 27–39. Differences of zero are dropped, and equal magnitudes have
midranks. Under the null hypothesis, given the ranks, both signs have a probability of 1/2. For up
to :data:`EXACT_UP_TO` differences, the exact distribution is computed, even if magnitudes are
equal.
"""

import math
from typing import Sequence, Union

import numpy as np

from gz_testauto.analysis.intervals import LEVEL, ONE_WORLD, Estimate
from gz_testauto.analysis.rounding import without_noise

EXACT_UP_TO = 50
"""Largest number of differences for the exact distribution; above it, the normal approximation is
used.
"""

METHOD = "Hodges–Lehmann"

Differences = Union[Sequence[float], np.ndarray]


def signed_rank(differences: Differences) -> float:
    """Return the two-sided p-value of the hypothesis that the differences are symmetric about zero.

    It is 1 if all differences are zero.
    """
    from scipy.stats import rankdata

    values = without_noise(differences)
    values = values[values != 0.0]
    count = len(values)
    if not count:
        return 1.0
    ranks = rankdata(np.abs(values))
    positive = float(ranks[values > 0.0].sum())
    smaller = min(positive, float(ranks.sum()) - positive)
    if count <= EXACT_UP_TO:
        doubled = np.rint(2.0 * ranks).astype(int)  # midranks are whole or half numbers
        return min(1.0, 2.0 * float(_null_distribution(doubled)[: round(2.0 * smaller) + 1].sum()))
    from scipy.stats import norm

    mean, deviation = float(ranks.sum()) / 2.0, math.sqrt(float((ranks**2).sum())) / 2.0
    return min(1.0, 2.0 * float(norm.cdf((smaller + 0.5 - mean) / deviation)))


def shift(differences: Differences) -> Estimate:
    """Return the Hodges–Lehmann estimate of the center of the differences, with its interval.

    The ends are infinite if there are fewer than six differences, which are too few for the level.
    If there is only one world, or so many differences are equal that the interval would have no
    width, the estimate has no interval, and ``method`` states the reason. If an end is exactly 0
    and the test's p-value is below 0.05, the interval does not include that end.
    """
    values = without_noise(differences)
    count = len(values)
    if count == 0:
        return Estimate.unknown()
    rows, columns = np.triu_indices(count)
    walsh = np.sort(without_noise((values[rows] + values[columns]) / 2.0))
    center = float(np.median(walsh))
    if count == 1:
        return Estimate.without_interval(center, ONE_WORLD)
    below = _critical_rank(count)
    low, high = (-math.inf, math.inf) if below < 1 else (walsh[below - 1], walsh[-below])
    numbers, counts = np.unique(values, return_counts=True)
    most_common, times = numbers[counts.argmax()], counts.max()
    if low == high or times == count:
        equal = "equal" if most_common == 0.0 else "the same difference"
        return Estimate.without_interval(center, f"{equal} in {times} of {count} worlds")
    return Estimate(center, float(low), float(high), METHOD)


def _critical_rank(count: int) -> int:
    """Return the rank, from either end, of the Walsh average that limits the interval.

    It is the largest k with ``P(W ≤ k − 1) ≤ (1 − LEVEL)/2`` under the null hypothesis, or 0 if
    there is no such k.
    """
    tail = (1 - LEVEL) / 2
    if count > EXACT_UP_TO:
        from scipy.stats import norm

        mean = count * (count + 1) / 4
        deviation = math.sqrt(count * (count + 1) * (2 * count + 1) / 24)
        return max(math.floor(mean + norm.ppf(tail) * deviation + 0.5), 0)
    ranks = np.arange(1, count + 1)
    return int(np.count_nonzero(np.cumsum(_null_distribution(ranks)) <= tail))


def _null_distribution(ranks: np.ndarray) -> np.ndarray:
    """Return P(W = w) for each w, shape (sum of ranks + 1,).

    W is the sum of the ``ranks`` (integers) of differences with a positive sign.
    """
    probability = np.zeros(int(ranks.sum()) + 1)
    probability[0] = 1.0
    for rank in ranks:
        with_rank = np.concatenate([np.zeros(rank), probability[:-rank]])
        probability = (probability + with_rank) / 2.0
    return probability
