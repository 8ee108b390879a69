"""Compute all statistics of a campaign in one call, for all reports, and group its worlds by
winner.
"""

from dataclasses import dataclass
from typing import Dict, List, Optional, Sequence, Tuple

from gz_testauto.analysis.comparison import Comparisons, compare
from gz_testauto.analysis.early_stop import EarlyStop, early_stop, success_rates
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
    """
    comparisons = compare(results, pairs)
    return Analysis(
        results,
        results.metrics,
        summarize(results),
        comparisons,
        group_worlds(results),
        early_stop(results),
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
