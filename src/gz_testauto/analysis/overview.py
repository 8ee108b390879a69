"""All that is found of one campaign, computed once for whoever shows it.

Owns nothing but the list: each part is computed by the module that is named for it.
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
    """The results, the metrics to show, in order, and what the results come to."""

    results: CampaignResults
    metrics: Tuple[Metric, ...]
    summaries: Tuple[PlannerSummary, ...]
    comparisons: Comparisons
    winners: Tuple[WorldGroup, ...]
    early_end: Optional[EarlyEnd] = None
    """What a campaign knows that ends when decided; None for one that does not."""


def analyze(
    results: CampaignResults, pairs: Optional[Sequence[Tuple[str, str]]] = None
) -> Analysis:
    """Compute all of it; ``pairs`` of planners are compared, every pair unless told."""
    comparisons = compare(results, pairs)
    return Analysis(
        results,
        results.metrics,
        summarize(results),
        comparisons,
        group_worlds(results),
        early_end(results),
    )
