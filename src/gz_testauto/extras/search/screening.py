"""Choose the worlds of a search: plain worlds, and worlds that were screened for difficulty.

The failure rate in the plain worlds, the first ones of the campaign, is not biased. Of each group
of :data:`GROUP` further worlds, only the one with the longest shortest path is simulated, since
planners fail more often on longer paths.
"""

import math
from dataclasses import dataclass
from typing import List, Sequence, Tuple

from gz_testauto.analysis.intervals import LEVEL, Estimate
from gz_testauto.base.errors import SpecError
from gz_testauto.worlds.record import WorldRecord

GROUP = 5

PLAIN_SHARE = 0.25  # share of the simulations in plain worlds

RANDOM = "random"

STRATEGIES = ("screened", RANDOM)


@dataclass(frozen=True)
class SearchPlan:
    """The numbers of simulated worlds of a search, plain and after a screening."""

    plain: int
    screened: int

    @classmethod
    def of_budget(cls, budget: int, planners: int, strategy: str) -> "SearchPlan":
        """Return the plan for ``budget`` simulations in total.

        With the strategy ``random``, all worlds are plain. Raises ``SpecError`` if the budget is
        too low for one world of each kind.
        """
        worlds = budget // planners
        least = 1 if strategy == RANDOM else 2
        if worlds < least:
            raise SpecError(
                f"--budget is {budget}; the strategy {strategy!r} needs at least "
                f"{least * planners} simulations with {planners} planners"
            )
        plain = worlds if strategy == RANDOM else max(1, round(PLAIN_SHARE * worlds))
        return cls(plain, worlds - plain)

    @property
    def worlds(self) -> int:
        return self.plain + GROUP * self.screened

    def chosen(self, worlds: Sequence[WorldRecord]) -> List[WorldRecord]:
        """Return the world with the longest shortest path of each group.

        Groups in which the robot has no path are omitted.
        """
        chosen_worlds = []
        for first in range(self.plain, self.worlds, GROUP):
            group = worlds[first : first + GROUP]
            with_path = [world for world in group if world.shortest_path_m is not None]
            if with_path:
                chosen_worlds.append(max(with_path, key=lambda world: world.shortest_path_m or 0.0))
        return chosen_worlds


def ratio_of_rates(first: Tuple[int, int], second: Tuple[int, int]) -> Estimate:
    """Return the ratio of two rates, each as numbers of events and of trials.

    The interval is exact for Poisson counts: given their sum, the events of the first are binomial
    (Przyborowski and Wilenski, Biometrika 31, 1940). It is conservative for shares.
    """
    (events, trials), (other_events, other_trials) = first, second
    total = events + other_events
    if not (total and trials and other_trials):
        return Estimate.unknown()
    from scipy.stats import binomtest

    share = binomtest(events, total).proportion_ci(LEVEL, "exact")
    value, low, high = (
        math.inf
        if probability == 1.0
        else probability / (1.0 - probability) * other_trials / trials
        for probability in (events / total, float(share.low), float(share.high))
    )
    return Estimate(value, low, high, "conditional binomial")
