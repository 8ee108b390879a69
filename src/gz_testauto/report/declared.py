"""The table of the numbers that the user's own stack published, by the names of the campaign."""

import math
from typing import List, Sequence

from rich.console import RenderableType
from rich.text import Text

from gz_testauto.analysis.summary import PlannerSummary
from gz_testauto.report.plain import number_text, plain_table
from gz_testauto.results.records import CampaignResults


def declared_table(
    results: CampaignResults, summaries: Sequence[PlannerSummary]
) -> List[RenderableType]:
    """Means over the trials that reached the goal, with their number; nothing where the
    campaign declares no metrics."""
    if not results.declared:
        return []
    table = plain_table("mean of")
    for metric in results.declared:
        table.add_column(f"{metric.name}\n{metric.unit}" if metric.unit else metric.name)
        table.columns[-1].justify = "right"
    for summary in summaries:
        cells = []
        for metric in results.declared:
            found = summary.metrics.get(metric.name)
            known = found is not None and found.trials > 0
            mean = found.mean if known and found is not None else math.nan
            cells.append(number_text(mean, 3) + (f" ({found.trials})" if known and found else ""))
        table.add_row(summary.planner, *cells)
    note = "The stack's own numbers: means over the (n) trials that reached the goal and have them."
    return ["", table, Text(note, style="dim")]
