"""The value that every statistic here is made of: an estimate with its interval.

For one success rate, one trial per world, that is the exact interval: C. J. Clopper and E. S.
Pearson, Biometrika 26 (1934), by scipy.
"""

import math
from typing import NamedTuple

LEVEL = 0.95
"""Confidence level of every interval."""


class Estimate(NamedTuple):
    """A number and its two-sided confidence interval at :data:`LEVEL`; NaN where there is none.

    ``method`` names what made the interval, fit for a table's footnote, or the reason why there is
    none.
    """

    value: float
    low: float
    high: float
    method: str

    @classmethod
    def unknown(cls, method: str = "") -> "Estimate":
        """What can be said of nothing."""
        return cls(math.nan, math.nan, math.nan, method)

    @classmethod
    def without_interval(cls, value: float, reason: str) -> "Estimate":
        """Return a number whose interval does not exist, and why."""
        return cls(value, math.nan, math.nan, reason)

    @property
    def has_interval(self) -> bool:
        """Whether there is an interval; one with infinite ends counts."""
        return not math.isnan(self.low)


def success_rate(successes: int, trials: int) -> Estimate:
    """Return the rate of independent trials with Clopper and Pearson's interval; unknown for no
    trials."""
    if trials == 0:
        return Estimate.unknown()
    from scipy.stats import binomtest

    result = binomtest(successes, trials).proportion_ci(LEVEL, "exact")
    return Estimate(successes / trials, float(result.low), float(result.high), "Clopper–Pearson")
