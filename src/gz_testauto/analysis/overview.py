"""Compute all statistics of a campaign in one call, for all reports, and group its worlds by
winner.
"""

import math
from dataclasses import dataclass, replace
from typing import Dict, List, Optional, Sequence, Tuple

from gz_testauto.analysis.comparison import Comparison, Comparisons, compare
from gz_testauto.analysis.early_stop import EarlyStop, early_stop, success_rates
from gz_testauto.analysis.intervals import SELECTED, Estimate
from gz_testauto.analysis.summary import PlannerSummary, summarize
from gz_testauto.metrics.interface import Metric
from gz_testauto.results.records import CampaignResults


@dataclass(frozen=True)
class WorldGroup:
    """A group of worlds with the same ``winners``.

    ``winners`` are the planners that succeeded or, with repetitions, succeeded most often, in the
    campaign's order. It is empty if no planner succeeded.
    """

    winners: Tuple[str, ...]
    worlds: Tuple[str, ...]


@dataclass(frozen=True)
class Analysis:
    """The results of a campaign, the metrics to show, in order, and all statistics."""

    results: CampaignResults
    metrics: Tuple[Metric, ...]
    summaries: Tuple[PlannerSummary, ...]
    comparisons: Comparisons
    winners: Tuple[WorldGroup, ...]
    early_stop: Optional[EarlyStop] = None
    """The decisions of a campaign with early stop, or None for a campaign without it."""


def analyze(
    results: CampaignResults, pairs: Optional[Sequence[Tuple[str, str]]] = None
) -> Analysis:
    """Compute all statistics; ``pairs`` are the pairs of planners to compare, by default all
    pairs.

    Results of selected trials (``results.selection``) have neither intervals nor p-values: a
    selection by results, such as the trials that failed in an earlier version, does not represent
    all worlds, and the other version would seem better in it.
    """
    distinct = results.without_copies
    comparisons, summaries = compare(distinct, pairs), summarize(distinct)
    if results.selection:
        comparisons = Comparisons(tuple(map(_described, comparisons.pairs)))
        summaries = tuple(
            replace(one, success=_value(one.success), naive=_value(one.naive)) for one in summaries
        )
    return Analysis(
        results,
        results.metrics,
        summaries,
        comparisons,
        group_worlds(distinct),
        early_stop(distinct),
    )


def _value(one: Estimate) -> Estimate:
    """Return an estimate from selected trials without its interval."""
    return Estimate.without_interval(one.value, SELECTED)


def _described(pair: Comparison) -> Comparison:
    """Return a comparison of selected trials without intervals and p-values."""
    metrics = tuple(
        replace(
            one,
            difference=_value(one.difference),
            p_value=math.nan,
            p_adjusted=math.nan,
            significant=False,
            relevant=False,
        )
        for one in pair.metrics
    )
    return replace(
        pair,
        difference=_value(pair.difference),
        p_value=math.nan,
        p_adjusted=math.nan,
        significant=False,
        relevant=False,
        metrics=metrics,
    )


def group_worlds(results: CampaignResults) -> Tuple[WorldGroup, ...]:
    """Return the worlds in which every planner has a valid trial, grouped by their winners.

    Groups with one winner are first, followed by those with several winners, with all planners and
    without a winner.
    """
    rates = success_rates(results.trials)
    groups: Dict[Tuple[str, ...], List[str]] = {}
    for world in dict.fromkeys(record.world for record in results.trials):
        planners = [name for name in results.planners if world in rates.get(name, ())]
        if len(planners) < len(results.planners):
            continue
        best = max(rates[name][world] for name in planners)
        winners = tuple(name for name in planners if best > 0 and rates[name][world] == best)
        groups.setdefault(winners, []).append(world)
    order = sorted(groups, key=lambda winners: (not winners, len(winners), winners))
    return tuple(WorldGroup(winners, tuple(groups[winners])) for winners in order)
