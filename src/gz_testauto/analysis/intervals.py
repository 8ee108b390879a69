"""The value that every statistic here is made of: an estimate with its interval.

For one success rate, one trial per world, that is Wilson's score interval, and Clopper–Pearson's
exact one where nobody or everybody succeeded, because Wilson's is too short there. E. B. Wilson,
JASA 22 (1927); C. J. Clopper and E. S. Pearson, Biometrika 26 (1934); both by scipy.
"""

import math
from typing import NamedTuple

LEVEL = 0.95
"""Confidence level of every interval."""


class Estimate(NamedTuple):
    """A number and its two-sided confidence interval at :data:`LEVEL`; NaN where there is none.

    ``method`` names what made the interval, fit for a table's footnote.
    """

    value: float
    low: float
    high: float
    method: str

    @classmethod
    def unknown(cls, method: str = "") -> "Estimate":
        """What can be said of nothing."""
        return cls(math.nan, math.nan, math.nan, method)


def success_rate(successes: int, trials: int) -> Estimate:
    """The rate with its interval; unknown for no trials."""
    if trials == 0:
        return Estimate.unknown()
    from scipy.stats import binomtest

    extreme = successes in (0, trials)
    result = binomtest(successes, trials).proportion_ci(LEVEL, "exact" if extreme else "wilson")
    method = "Clopper–Pearson" if extreme else "Wilson"
    return Estimate(successes / trials, float(result.low), float(result.high), method)
