"""Is the decision in? What a campaign that ends when decided knows after each world.

Owns the decision: a pair of planners is decided after the first world at which the bets against
"they succeed equally often" (:mod:`gz_testauto.analysis.anytime`) reach ``1/α``, ``α``
split among the pairs; or, where a difference is said to be negligible, at which their confidence
sequence lies within it. Both hold however often it is looked at. Everything is a function of the
worlds judged, in the order in which they were (table ``judged``): that is the
order of the plan, and a world is judged when all trials of it and of all worlds before it have
ended. So what finishes first, in how many workers, and when the runner was killed change nothing.
"""

import itertools
from dataclasses import dataclass
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from gz_testauto.analysis import anytime, rounding
from gz_testauto.analysis.intervals import Estimate
from gz_testauto.results.records import CampaignResults, TrialRecord
from gz_testauto.spec.stopping import StopSpec

Rates = Mapping[str, Mapping[str, float]]
"""Of every planner the success rate in each world, by their names."""


@dataclass(frozen=True)
class PairDecision:
    """Two planners. ``difference`` is the first's success rate minus the second's with the
    confidence sequence that belongs to ``alpha``, ``p_value`` holds at any number of worlds.
    ``better`` names the one that succeeds more often, ``negligible`` says that they differ by less
    than matters; while neither is, the pair is open."""

    first: str
    second: str
    worlds: int
    alpha: float
    difference: Estimate
    p_value: float
    better: str = ""
    negligible: bool = False

    @property
    def decided(self) -> bool:
        """Whether an answer is in."""
        return bool(self.better) or self.negligible


@dataclass(frozen=True)
class EarlyEnd:
    """What is known after ``worlds`` judged worlds of at most ``at_most``."""

    rule: StopSpec
    worlds: int
    at_most: int
    pairs: Tuple[PairDecision, ...]

    @property
    def decided(self) -> bool:
        """Whether every pair is."""
        return bool(self.pairs) and all(pair.decided for pair in self.pairs)


def early_end(results: CampaignResults) -> Optional[EarlyEnd]:
    """What a campaign knows that ends when decided; None for one that does not."""
    if results.stop is None:
        return None
    rates = success_rates(results.trials)
    pairs = decide(results.stop, results.planners, results.judged, rates)
    count = len(results.worlds)
    at_most = min(results.stop.at_most or count, count)
    return EarlyEnd(results.stop, len(results.judged), at_most, pairs)


def decide(
    rule: StopSpec, planners: Sequence[str], judged: Sequence[str], rates: Rates
) -> Tuple[PairDecision, ...]:
    """Judge every pair that the rule asks for."""
    asked = [
        pair
        for pair in itertools.combinations(planners, 2)
        if not rule.baseline or rule.baseline in pair
    ]
    alpha = rule.alpha / max(len(asked), 1)
    return tuple(_decide(pair, judged, rates, alpha, rule.equivalence_margin) for pair in asked)


def success_rates(trials: Sequence[TrialRecord]) -> Dict[str, Dict[str, float]]:
    """Of the valid trials."""
    ended: Dict[str, Dict[str, List[bool]]] = {}
    for record in trials:
        if record.outcome.valid:
            worlds = ended.setdefault(record.planner, {})
            worlds.setdefault(record.world, []).append(record.completed)
    return {
        planner: {world: sum(runs) / len(runs) for world, runs in worlds.items()}
        for planner, worlds in ended.items()
    }


def _decide(
    pair: Tuple[str, str],
    judged: Sequence[str],
    rates: Rates,
    alpha: float,
    negligible: Optional[float],
) -> PairDecision:
    first, second = pair
    if not judged:
        return PairDecision(first, second, 0, alpha, Estimate.unknown(anytime.METHOD), 1.0)
    of_first, of_second = ([rates[name][world] for world in judged] for name in pair)
    values = rounding.differences(of_first, of_second)
    p_value = anytime.p_value(values)
    difference = anytime.interval(values, anytime.DIFFERENCE, alpha)
    better = ""
    if p_value <= alpha:
        better = first if difference.value > 0 else second
    small = negligible is not None and -negligible < difference.low <= difference.high < negligible
    return PairDecision(
        first, second, len(values), alpha, difference, p_value, better, small and not better
    )
