"""By how much does A differ from B, over worlds in which both gave a number?

Wilcoxon's signed-rank test and, in the metric's own unit, the Hodges–Lehmann estimate of the
shift: the median of all Walsh averages ``(d_i + d_j)/2, i ≤ j``, with the interval that belongs
to the test. F. Wilcoxon, Biometrics Bulletin 1 (1945); J. L. Hodges and E. L. Lehmann, Annals
of Mathematical Statistics 34 (1963); worked example in M. Hollander and D. A. Wolfe,
"Nonparametric Statistical Methods" (1973), pp. 27–39.
"""

import math
import warnings
from typing import Sequence

import numpy as np

from gz_testauto.analysis.intervals import LEVEL, Estimate

EXACT_UP_TO = 50
"""More pairs than this use the normal approximation of the rank sum."""


def signed_rank(differences: Sequence[float], zeros: str = "wilcox") -> float:
    """Two-sided p-value that the differences are symmetric about zero; 1 when all are zero.

    ``zeros`` is ``"wilcox"`` (drop them) or ``"pratt"`` (rank them, then drop), as rates of a
    few repetitions need, where ties at zero are common. Exact for few pairs without ties, else
    with the normal distribution.
    """
    from scipy.stats import wilcoxon

    values = np.asarray(differences, dtype=float)
    if not values.any():
        return 1.0
    if zeros == "wilcox":  # dropped here, lest scipy gives up the exact distribution for them
        values = values[values != 0]
    # scipy decides between the exact distribution and the normal one, for which alone the
    # correction counts; its warnings say which, and so does docs/statistics.md.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return float(wilcoxon(values, zero_method=zeros, correction=True).pvalue)


def shift(differences: Sequence[float]) -> Estimate:
    """Hodges–Lehmann estimate of the differences' centre, with its interval.

    The interval is as wide as the data allow where they are too few for the level (fewer than
    six); it then has infinite ends.
    """
    values = np.asarray(differences, dtype=float)
    count = len(values)
    if count == 0:
        return Estimate.unknown()
    rows, columns = np.triu_indices(count)
    walsh = np.sort((values[rows] + values[columns]) / 2)
    below = _critical_rank(count)
    low, high = (-math.inf, math.inf) if below < 1 else (walsh[below - 1], walsh[-below])
    return Estimate(float(np.median(walsh)), float(low), float(high), "Hodges–Lehmann")


def _critical_rank(count: int) -> int:
    """How many Walsh averages, from either end, the interval's limit is: the largest k with
    ``P(W ≤ k − 1) ≤ (1 − LEVEL)/2`` under the null hypothesis; 0 when there is none."""
    tail = (1 - LEVEL) / 2
    if count > EXACT_UP_TO:
        from scipy.stats import norm

        mean = count * (count + 1) / 4
        deviation = math.sqrt(count * (count + 1) * (2 * count + 1) / 24)
        return max(math.floor(mean + norm.ppf(tail) * deviation), 0)
    return int(np.count_nonzero(np.cumsum(_null_distribution(count)) <= tail))


def _null_distribution(count: int) -> np.ndarray:
    """P(W = w) of the rank sum of ``count`` pairs, shape (count·(count+1)/2 + 1,)."""
    ways = np.zeros(count * (count + 1) // 2 + 1)
    ways[0] = 1.0
    for rank in range(1, count + 1):
        with_rank = np.concatenate([np.zeros(rank), ways[:-rank]])
        ways = (ways + with_rank) / 2.0
    return ways
