"""The value of every statistic: an estimate with its interval.

A success rate with one trial per world has the exact interval: C. J. Clopper and E. S. Pearson,
Biometrika 26 (1934), by scipy.
"""

import math
from typing import NamedTuple

LEVEL = 0.95
"""Confidence level of every interval."""

ONE_WORLD = "one world is not enough"
"""Reason why an estimate has no interval."""


class Estimate(NamedTuple):
    """A number and its two-sided confidence interval at :data:`LEVEL`; NaN where there is none.

    ``method`` names the method of the interval, for a table's footnote, or the reason why there is
    none.
    """

    value: float
    low: float
    high: float
    method: str

    @classmethod
    def unknown(cls, method: str = "") -> "Estimate":
        """Return the estimate without data."""
        return cls(math.nan, math.nan, math.nan, method)

    @classmethod
    def without_interval(cls, value: float, reason: str) -> "Estimate":
        """Return a number whose interval does not exist, and why."""
        return cls(value, math.nan, math.nan, reason)

    @property
    def has_interval(self) -> bool:
        """True if there is an interval; its ends can be infinite."""
        return not math.isnan(self.low)


def success_rate(successes: int, trials: int) -> Estimate:
    """Return the rate of independent trials with Clopper and Pearson's interval; unknown for no
    trials."""
    if trials == 0:
        return Estimate.unknown()
    from scipy.stats import binomtest

    result = binomtest(successes, trials).proportion_ci(LEVEL, "exact")
    return Estimate(successes / trials, float(result.low), float(result.high), "Clopper–Pearson")
