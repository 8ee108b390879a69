"""Evaluate the early stop of a campaign after each world.

A pair of planners is decided after the first world at which the bets against equal success rates
(:mod:`gz_testauto.analysis.anytime`) reach ``1/α``, where ``α`` is split among the pairs, or when
its confidence sequence is within the equivalence margin.

Worlds are evaluated in the order of the plan (table ``judged``), when all trials of a world and of
all previous worlds have ended.
"""

import itertools
import math
from dataclasses import dataclass
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

import numpy as np

from gz_testauto.analysis import anytime, rounding
from gz_testauto.analysis.intervals import Estimate
from gz_testauto.results.records import CampaignResults, TrialRecord
from gz_testauto.spec.campaign import StopSpec

_TOLERANCE = 1e-6  # limit of rounding errors of the logarithm of a capital

Rates = Mapping[str, Mapping[str, float]]  # success rates by the names of planner and world


@dataclass(frozen=True)
class PairDecision:
    """The decision of the early stop on a pair of planners.

    ``difference`` is the first success rate minus the second, with its confidence sequence at level
    ``alpha``. ``p_value`` is valid at every number of worlds. ``better`` is the planner with the
    higher rate if the rates differ, and ``negligible`` is true for equivalent planners. Otherwise
    the pair is undecided.
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
        return bool(self.better) or self.negligible


@dataclass(frozen=True)
class EarlyStop:
    """The decisions after ``worlds`` of at most ``max_worlds`` evaluated worlds."""

    rule: StopSpec
    worlds: int
    max_worlds: int
    pairs: Tuple[PairDecision, ...]

    @property
    def decided(self) -> bool:
        return bool(self.pairs) and all(pair.decided for pair in self.pairs)


def early_stop(results: CampaignResults) -> Optional[EarlyStop]:
    """Return the current decisions, or None for a campaign without early stop."""
    if results.stop is None:
        return None
    rates = success_rates(results.trials)
    pairs = decide(results.stop, results.planners, results.judged, rates)
    world_count = len(results.worlds) + results.further_worlds
    max_worlds = min(results.stop.max_worlds or world_count, world_count)
    return EarlyStop(results.stop, len(results.judged), max_worlds, pairs)


def decide(
    rule: StopSpec, planners: Sequence[str], judged_worlds: Sequence[str], rates: Rates
) -> Tuple[PairDecision, ...]:
    """Return the decisions on all pairs of planners, or on the pairs with the rule's baseline.

    ``judged_worlds`` are the evaluated worlds in their order, and ``rates`` the success rates by
    planner and world.
    """
    pairs, alpha = _pairs_and_alpha(rule, planners)
    return tuple(
        _decide_pair(pair, judged_worlds, rates, alpha, rule.equivalence_margin) for pair in pairs
    )


class DecisionScreen:
    """A fast check before :func:`decide`, whose cost per world is constant.

    If :attr:`can_be_decided` is false, some pair is undecided. If it is true, only rounding errors,
    or contradictions between earlier and later worlds, can prevent a decision on all pairs.
    """

    def __init__(self, rule: StopSpec, planners: Sequence[str]) -> None:
        self._pairs, alpha = _pairs_and_alpha(rule, planners)
        self._limit = -math.log(alpha / 2.0) - _TOLERANCE
        margin = rule.equivalence_margin or 0.0
        means = (0.0, 0.0, -margin, margin) if margin else (0.0, 0.0)
        self._tests = list(zip((anytime.above, anytime.below) * 2, means))
        shape = (len(means), len(self._pairs))
        self._totals = np.zeros((*shape, 1, len(anytime.BETS)))
        self._largest = np.full(shape, -math.inf)

    def add(self, world: str, rates: Rates) -> None:
        """Add the next evaluated world."""
        differences = np.array(
            [rates[first][world] - rates[second][world] for first, second in self._pairs]
        )
        for totals, (side, mean) in zip(self._totals, self._tests):
            totals[:, 0] += side(differences, mean, anytime.DIFFERENCE)
        capital = anytime.capital_over_time(self._totals)[..., 0]
        self._largest = np.maximum(self._largest, capital)

    @property
    def can_be_decided(self) -> bool:
        different, within_margin = self._largest[:2].max(axis=0), self._largest[2:]
        is_decided = different >= self._limit
        if len(within_margin):
            is_decided |= within_margin.min(axis=0) >= self._limit
        return bool(is_decided.all())


def _pairs_and_alpha(
    rule: StopSpec, planners: Sequence[str]
) -> Tuple[List[Tuple[str, str]], float]:
    pairs = [
        pair
        for pair in itertools.combinations(planners, 2)
        if not rule.baseline or rule.baseline in pair
    ]
    return pairs, rule.alpha / max(len(pairs), 1)


def success_rates(trials: Sequence[TrialRecord]) -> Dict[str, Dict[str, float]]:
    """Return the success rate over the valid trials, by planner and world."""
    results_of_worlds: Dict[str, Dict[str, List[bool]]] = {}
    for record in trials:
        if record.outcome.valid:
            worlds = results_of_worlds.setdefault(record.planner, {})
            worlds.setdefault(record.world, []).append(record.completed)
    return {
        planner: {world: sum(completed) / len(completed) for world, completed in worlds.items()}
        for planner, worlds in results_of_worlds.items()
    }


def _decide_pair(
    pair: Tuple[str, str],
    judged_worlds: Sequence[str],
    rates: Rates,
    alpha: float,
    equivalence_margin: Optional[float],
) -> PairDecision:
    first, second = pair
    if not judged_worlds:
        return PairDecision(first, second, 0, alpha, Estimate.unknown(anytime.METHOD), 1.0)
    of_first, of_second = ([rates[name][world] for world in judged_worlds] for name in pair)
    values = rounding.differences(of_first, of_second)
    p_value = anytime.p_value(values, 0.0, anytime.DIFFERENCE)
    difference = anytime.interval(values, anytime.DIFFERENCE, alpha)
    # The side that was rejected first, since later worlds can also reject the other one.
    sides = [side(values, 0.0, anytime.DIFFERENCE) for side in (anytime.above, anytime.below)]
    rejection_counts = [anytime.first_rejected(bets, alpha / 2.0) or math.inf for bets in sides]
    better = ""
    if p_value <= alpha:
        better = first if rejection_counts[0] < rejection_counts[1] else second
    is_negligible = (
        equivalence_margin is not None
        and -equivalence_margin < difference.low <= difference.high < equivalence_margin
    )
    return PairDecision(
        first, second, len(values), alpha, difference, p_value, better, is_negligible and not better
    )
