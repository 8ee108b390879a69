"""Compare the success of two planners with one trial of each per world.

Only discordant worlds, in which exactly one of them succeeded, count: McNemar's test in its exact
(binomial) form. The interval of the difference of the two rates is Gaffke's
(:mod:`gz_testauto.analysis.bounded_mean`): its own test of a difference of 0 has the same p-value.
"""

from typing import NamedTuple

import numpy as np

from gz_testauto.analysis.bounded_mean import DIFFERENCE, WHOLE, mean_interval
from gz_testauto.analysis.intervals import Estimate


class PairedCounts(NamedTuple):
    """The numbers of worlds in which both, only the first, only the second or none succeeded."""

    both: int
    first_only: int
    second_only: int
    neither: int

    @property
    def worlds(self) -> int:
        """The number of all worlds."""
        return sum(self)


def mcnemar(counts: PairedCounts) -> float:
    """Return the two-sided exact p-value that both succeed equally often; 1 without discordant
    worlds."""
    from scipy.stats import binomtest

    discordant = counts.first_only + counts.second_only
    return float(binomtest(counts.first_only, discordant).pvalue) if discordant else 1.0


def rate_difference(counts: PairedCounts) -> Estimate:
    """Return the rate of the first minus the rate of the second, with its interval."""
    level = counts.both + counts.neither
    differences = np.repeat([1.0, -1.0, 0.0], [counts.first_only, counts.second_only, level])
    return mean_interval(differences, DIFFERENCE, WHOLE)
