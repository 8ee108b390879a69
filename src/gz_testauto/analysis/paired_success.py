"""Did A succeed more often than B? One trial of each per world.

Only worlds in which exactly one of them succeeded tell them apart: McNemar's test in its exact
(binomial) form. The interval for the difference of the two rates is Newcombe's square-and-add
interval for paired data with the corrected correlation (his method 10): R. G. Newcombe,
"Improved confidence intervals for the difference between binomial proportions based on paired
data", Statistics in Medicine 17 (1998) 2635–2650; worked example in D. G. Altman et al.,
"Statistics with Confidence", 2nd ed. (2000), p. 52.
"""

import math
from typing import NamedTuple, Tuple

from gz_testauto.analysis.intervals import LEVEL, Estimate


class PairedCounts(NamedTuple):
    """In how many worlds both succeeded, only the first, only the second, or neither."""

    both: int
    first_only: int
    second_only: int
    neither: int

    @property
    def worlds(self) -> int:
        """All of them."""
        return sum(self)


def mcnemar(counts: PairedCounts) -> float:
    """Two-sided exact p-value that both succeed equally often; 1 when no world tells."""
    from scipy.stats import binomtest

    discordant = counts.first_only + counts.second_only
    return float(binomtest(counts.first_only, discordant).pvalue) if discordant else 1.0


def rate_difference(counts: PairedCounts) -> Estimate:
    """Rate of the first minus rate of the second, with Newcombe's interval."""
    worlds = counts.worlds
    if worlds == 0:
        return Estimate.unknown()
    first = counts.both + counts.first_only
    second = counts.both + counts.second_only
    low_1, up_1 = _reach(first, worlds)
    low_2, up_2 = _reach(second, worlds)
    phi = _correlation(counts)
    down = math.sqrt(max(low_1**2 - 2 * phi * low_1 * up_2 + up_2**2, 0.0))
    up = math.sqrt(max(up_1**2 - 2 * phi * up_1 * low_2 + low_2**2, 0.0))
    difference = (first - second) / worlds
    return Estimate(difference, difference - down, difference + up, "Newcombe, paired")


def _reach(successes: int, worlds: int) -> Tuple[float, float]:
    """How far Wilson's interval reaches below and above the rate."""
    from scipy.stats import binomtest

    rate = successes / worlds
    interval = binomtest(successes, worlds).proportion_ci(LEVEL, "wilson")
    return rate - float(interval.low), float(interval.high) - rate


def _correlation(counts: PairedCounts) -> float:
    """Newcombe's phi: the correlation of the two, a positive one shrunk by half a world."""
    both, first_only, second_only, neither = counts
    product = (
        (both + first_only)
        * (second_only + neither)
        * (both + second_only)
        * (first_only + neither)
    )
    if product == 0:
        return 0.0
    excess = float(both * neither - first_only * second_only)
    if excess > 0:
        excess = max(excess - counts.worlds / 2, 0.0)
    return excess / math.sqrt(product)
