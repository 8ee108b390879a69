"""Compute all statistics of one campaign once, for all reports.

Owns only the list: each part is computed by the module of its name.
"""

from dataclasses import dataclass
from typing import Optional, Sequence, Tuple

from gz_testauto.analysis.comparison import Comparisons, compare
from gz_testauto.analysis.early_end import EarlyEnd, early_end
from gz_testauto.analysis.summary import PlannerSummary, summarize
from gz_testauto.analysis.winners import WorldGroup, group_worlds
from gz_testauto.metrics.interface import Metric
from gz_testauto.results.records import CampaignResults


@dataclass(frozen=True)
class Analysis:
    """The results, the metrics to show, in order, and all statistics."""

    results: CampaignResults
    metrics: Tuple[Metric, ...]
    summaries: Tuple[PlannerSummary, ...]
    comparisons: Comparisons
    winners: Tuple[WorldGroup, ...]
    early_end: Optional[EarlyEnd] = None
    """The decisions of a campaign with early stop; None for another one."""


def analyze(
    results: CampaignResults, pairs: Optional[Sequence[Tuple[str, str]]] = None
) -> Analysis:
    """Compute all statistics; ``pairs`` are the compared planners, by default every pair."""
    comparisons = compare(results, pairs)
    return Analysis(
        results,
        results.metrics,
        summarize(results),
        comparisons,
        group_worlds(results),
        early_end(results),
    )
