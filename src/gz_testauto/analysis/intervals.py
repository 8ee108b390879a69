"""Estimates with confidence intervals."""

import math
from typing import NamedTuple

LEVEL = 0.95

# Reasons for an estimate without an interval.
ONE_WORLD = "one world is not enough"
SELECTED = "the trials were selected"


class Estimate(NamedTuple):
    """A number and its two-sided confidence interval (95 %), with the ends NaN if none exists.

    ``method`` is the name of the interval's method, or the reason why the interval does not exist.
    """

    value: float
    low: float
    high: float
    method: str

    @classmethod
    def unknown(cls, method: str = "") -> "Estimate":
        return cls(math.nan, math.nan, math.nan, method)

    @classmethod
    def without_interval(cls, value: float, reason: str) -> "Estimate":
        return cls(value, math.nan, math.nan, reason)

    @property
    def has_interval(self) -> bool:
        """True if the interval exists, also with infinite ends."""
        return not math.isnan(self.low)


def success_rate(successes: int, trials: int) -> Estimate:
    """Return the rate of independent trials with its exact interval.

    C. J. Clopper and E. S. Pearson, Biometrika 26 (1934).
    """
    if trials == 0:
        return Estimate.unknown()
    from scipy.special import betaincinv

    tail, failures = (1.0 - LEVEL) / 2.0, trials - successes
    low = float(betaincinv(successes, failures + 1, tail)) if successes else 0.0
    high = float(betaincinv(successes + 1, failures, 1.0 - tail)) if failures else 1.0
    return Estimate(successes / trials, low, high, "Clopper–Pearson")
