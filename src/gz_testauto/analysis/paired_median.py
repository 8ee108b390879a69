"""Test and estimate the median of differences between two planners, one per world.


The test is the sign test in its exact (binomial) form, and the interval consists of two order
statistics: M. Hollander and D. A. Wolfe, "Nonparametric Statistical Methods" (1973), sections 3.4
and 3.6. Both assume only that worlds are independent. A difference of 0 counts for neither sign, so
that the p-value is below 0.05 exactly if the interval does not contain 0.
"""

import math
from typing import Sequence, Union

import numpy as np

from gz_testauto.analysis.intervals import LEVEL, ONE_WORLD, Estimate
from gz_testauto.analysis.rounding import without_noise

METHOD = "order statistics"
TEST = "sign test"

Differences = Union[Sequence[float], np.ndarray]


def sign_test(differences: Differences) -> float:
    """Return the two-sided p-value of the hypothesis that the median difference is 0."""
    values = without_noise(differences)
    majority = max(int((values > 0.0).sum()), int((values < 0.0).sum()))
    return coin_p_value(majority, len(values))


def coin_p_value(majority: int, tosses: int) -> float:
    """Return the two-sided p-value of a fair coin whose more frequent side occurred ``majority``
    times."""
    return min(1.0, 2.0 * float(_coin_tails(majority, tosses))) if majority else 1.0


def _coin_tails(heads: Union[int, np.ndarray], tosses: int) -> np.ndarray:
    """Return the probability of at least ``heads`` heads of a fair coin, for ``heads`` > 0."""
    from scipy.special import betainc

    return np.asarray(betainc(heads, tosses - heads + 1, 0.5))


def median_difference(differences: Differences) -> Estimate:
    """Return the median with its interval.

    The ends are infinite for fewer than six differences. The estimate has no interval for one
    world, or if many equal differences leave no width.
    """
    values = np.sort(without_noise(differences))
    value_count = len(values)
    if value_count == 0:
        return Estimate.unknown()
    center = float(np.median(values))
    if value_count == 1:
        return Estimate.without_interval(center, ONE_WORLD)
    # The largest k with P(X ≤ k − 1) ≤ (1 − LEVEL)/2 for the number X of heads of a fair coin.
    tails = _coin_tails(value_count - np.arange(value_count // 2), value_count)
    rank = int(np.count_nonzero(tails <= (1.0 - LEVEL) / 2.0))
    low, high = (values[rank - 1], values[-rank]) if rank else (-math.inf, math.inf)
    if low == high or values[0] == values[-1]:
        times = int(np.count_nonzero(values == center))
        equal = "equal" if center == 0.0 else "the same difference"
        return Estimate.without_interval(center, f"{equal} in {times} of {value_count} worlds")
    return Estimate(center, float(low), float(high), METHOD)
