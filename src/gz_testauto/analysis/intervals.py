"""The value that every statistic here is made of: an estimate with its interval."""

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
