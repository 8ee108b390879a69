"""Decide after each world whether a campaign with early stop is decided.

A pair of planners is decided after the first world at which the bets against equal success rates
(:mod:`gz_testauto.analysis.anytime`) reach ``1/α``, ``α`` split among the pairs; or, with an
equivalence margin, at which their confidence sequence is within it. Both are valid at every number
of worlds. Everything is a function of the judged worlds in their order (table ``judged``), which is
that of the plan: a world is judged when all trials of it and of all worlds before it have ended.
The order of finished trials, the number of workers and kills of the runner therefore have no
effect.
"""

import itertools
from dataclasses import dataclass
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from gz_testauto.analysis import anytime, rounding
from gz_testauto.analysis.intervals import Estimate
from gz_testauto.results.records import CampaignResults, TrialRecord
from gz_testauto.spec.campaign import StopSpec

Rates = Mapping[str, Mapping[str, float]]
"""The success rate of every planner in each world, by their names."""


@dataclass(frozen=True)
class PairDecision:
    """The decision on two planners.

    ``difference`` is the first's success rate minus the second's with the confidence sequence of
    level ``alpha``; ``p_value`` is valid at every number of worlds. ``better`` is the planner with
    the higher rate, ``negligible`` is true for equivalence; otherwise the pair is undecided.
    """

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
        """True if the pair is decided."""
        return bool(self.better) or self.negligible


@dataclass(frozen=True)
class EarlyStop:
    """The decisions after ``worlds`` judged worlds of at most ``max_worlds``."""

    rule: StopSpec
    worlds: int
    max_worlds: int
    pairs: Tuple[PairDecision, ...]

    @property
    def decided(self) -> bool:
        """True if every pair is decided."""
        return bool(self.pairs) and all(pair.decided for pair in self.pairs)


def early_stop(results: CampaignResults) -> Optional[EarlyStop]:
    """Return the decisions of a campaign with early stop; None for another one."""
    if results.stop is None:
        return None
    rates = success_rates(results.trials)
    pairs = decide(results.stop, results.planners, results.judged, rates)
    count = len(results.worlds)
    max_worlds = min(results.stop.max_worlds or count, count)
    return EarlyStop(results.stop, len(results.judged), max_worlds, pairs)


def decide(
    rule: StopSpec, planners: Sequence[str], judged: Sequence[str], rates: Rates
) -> Tuple[PairDecision, ...]:
    """Decide every pair of the rule."""
    selected = [
        pair
        for pair in itertools.combinations(planners, 2)
        if not rule.baseline or rule.baseline in pair
    ]
    alpha = rule.alpha / max(len(selected), 1)
    return tuple(_decide(pair, judged, rates, alpha, rule.equivalence_margin) for pair in selected)


def success_rates(trials: Sequence[TrialRecord]) -> Dict[str, Dict[str, float]]:
    """Return the success rates of the valid trials, by planner and world."""
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
