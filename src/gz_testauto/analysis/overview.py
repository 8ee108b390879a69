"""Compute all statistics of a campaign, for all reports, and group its worlds by winner."""

import math
from dataclasses import dataclass, replace
from typing import Dict, List, Optional, Sequence, Tuple

from gz_testauto.analysis.comparison import ALPHA, Compared, Comparison, Comparisons, compare
from gz_testauto.analysis.early_stop import EarlyStop, early_stop, success_rates
from gz_testauto.analysis.intervals import SELECTED, Estimate
from gz_testauto.analysis.summary import PlannerSummary, summarize
from gz_testauto.metrics.interface import Metric
from gz_testauto.results.records import CampaignResults


@dataclass(frozen=True)
class WorldGroup:
    """The worlds with the same ``winners``: the planners that succeeded or, with repetitions,
    succeeded most often, in the campaign's order; empty if no planner succeeded."""

    winners: Tuple[str, ...]
    worlds: Tuple[str, ...]


@dataclass(frozen=True)
class Analysis:
    results: CampaignResults
    metrics: Tuple[Metric, ...]
    summaries: Tuple[PlannerSummary, ...]
    comparisons: Comparisons
    winners: Tuple[WorldGroup, ...]
    early_stop: Optional[EarlyStop] = None


def analyze(
    results: CampaignResults, pairs: Optional[Sequence[Tuple[str, str]]] = None
) -> Analysis:
    """Return the analysis, with comparisons of ``pairs`` of planners, by default of all pairs. For
    selected trials, it contains no tests, and no intervals of success rates and differences."""
    distinct = results.without_copies
    comparisons, summaries = compare(distinct, pairs), summarize(distinct)
    stop = early_stop(distinct)
    if stop is not None:
        comparisons = _with_decisions(comparisons, stop)
    # A selection by results, such as the trials that failed in an earlier version, does not
    # represent all worlds, and the other version would seem better in it.
    if results.selection:
        comparisons = Comparisons(tuple(map(_without_tests, comparisons.pairs)))
        summaries = tuple(
            replace(
                summary,
                success=_without_interval(summary.success),
                naive=_without_interval(summary.naive),
            )
            for summary in summaries
        )
    return Analysis(
        results,
        results.metrics,
        summaries,
        comparisons,
        group_worlds(distinct),
        stop,
    )


def _with_decisions(comparisons: Comparisons, stop: EarlyStop) -> Comparisons:
    """Return the comparisons with the intervals, levels and decisions of an early stop."""
    decisions = {(pair.first, pair.second): pair for pair in stop.pairs if pair.worlds}
    pairs = []
    for pair in comparisons.pairs:
        decision = decisions.get((pair.first, pair.second))
        if decision is not None:
            difference = decision.difference
            if decision.alpha != ALPHA and difference.has_interval:
                level = f"{100 * (1 - decision.alpha):.4g} %"
                difference = difference._replace(method=f"{difference.method}, {level}")
            pair = replace(
                pair,
                difference=difference,
                p_adjusted=min(1.0, len(stop.pairs) * decision.p_value),
                significant=bool(decision.better),
            )
        pairs.append(pair)
    return replace(comparisons, pairs=tuple(pairs))


def _without_interval(estimate: Estimate) -> Estimate:
    return Estimate.without_interval(estimate.value, SELECTED)


def _without_tests(pair: Comparison) -> Comparison:
    return replace(_without_test(pair), metrics=tuple(map(_without_test, pair.metrics)))


def _without_test(comparison: Compared) -> Compared:
    return replace(
        comparison,
        difference=_without_interval(comparison.difference),
        p_value=math.nan,
        p_adjusted=math.nan,
        significant=False,
        relevant=False,
    )


def group_worlds(results: CampaignResults) -> Tuple[WorldGroup, ...]:
    """Return the worlds in which every planner has a valid trial, grouped by their winners. Groups
    with few winners are first, and that without a winner is last."""
    rates = success_rates(results.trials)
    groups: Dict[Tuple[str, ...], List[str]] = {}
    for world in dict.fromkeys(record.world for record in results.trials):
        planners = [name for name in results.planners if world in rates.get(name, ())]
        if len(planners) < len(results.planners):
            continue
        best_rate = max(rates[name][world] for name in planners)
        winners = tuple(
            name for name in planners if best_rate > 0 and rates[name][world] == best_rate
        )
        groups.setdefault(winners, []).append(world)
    order = sorted(groups, key=lambda winners: (not winners, len(winners), winners))
    return tuple(WorldGroup(winners, tuple(groups[winners])) for winners in order)
