"""Create the tables of means and of differences between two planners.

Headings, units and decimals come from :class:`~gz_testauto.metrics.interface.Metric`.
"""

from typing import Iterator, List, Mapping, Sequence, Tuple

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from gz_testauto.analysis.comparison import ALPHA, Comparison
from gz_testauto.analysis.overview import Analysis
from gz_testauto.analysis.summary import PlannerSummary
from gz_testauto.metrics.interface import Metric
from gz_testauto.report.names import metric_heading
from gz_testauto.report.plain import WIDTH, joined, plain_table
from gz_testauto.report.rows import OPEN_END, Notation, mean_of, metric_differences, smallest_text

_NOTATION = Notation()
FIRST = 6
"""Number of metrics in the first table of means. The metrics of this package come first."""


def means_table(analysis: Analysis) -> Table:
    """Return the first table of means.

    The metrics of completed trials are placed next to the number of these trials.
    """
    table = plain_table("mean of", "n")
    metrics = sorted(_shown(analysis)[:FIRST], key=lambda metric: not metric.completed_only)
    for metric in metrics:
        table.add_column(_heading(metric), justify="right")
    for summary in analysis.summaries:
        cells = [mean_of(metric, summary, _NOTATION).mean for metric in metrics]
        table.add_row(summary.planner, str(summary.reached), *cells)
    return table


def further_means(analysis: Analysis) -> List[RenderableType]:
    """Return the tables of all other metrics, such as those of plug-ins and navigation stacks.

    Each mean is shown with its number of trials.
    """
    columns = [
        (metric, [_counted(metric, summary) for summary in analysis.summaries])
        for metric in _shown(analysis)[FIRST:]
    ]
    if not columns:
        return []
    parts: List[RenderableType] = []
    for some in _fitting(columns, [summary.planner for summary in analysis.summaries]):
        table = plain_table("mean of")
        for metric, _ in some:
            table.add_column(_heading(metric), justify="right")
        for index, summary in enumerate(analysis.summaries):
            table.add_row(summary.planner, *(cells[index] for _, cells in some))
        parts += ["", table]
    short = joined([metric_heading(metric) for metric, _ in columns if metric.completed_only])
    note = "Means over the (n) trials that have the number" + (
        f"; {short} only of trials that reached the goal." if short else "."
    )
    return [*parts, Text(note, style="dim")]


def differences_table(pair: Comparison, metrics: Mapping[str, Metric]) -> Table:
    """Return a table with one row per compared metric; ``metrics`` maps names to metrics."""
    table = plain_table("metric", "worlds")
    for heading in ("shift", "95 % interval", "p", "p (Holm)", "significant", "relevant"):
        table.add_column(heading, justify="right")
    for metric, row in metric_differences(pair, metrics, _NOTATION):
        label = f"{metric_heading(metric)} {metric.label_unit}".strip()
        table.add_row(label, *map(str, row))
    return table


def differences_note(pair: Comparison, metrics: Mapping[str, Metric]) -> Text:
    """Return a note on the methods with which differences were estimated, and on their worlds."""
    text = (
        f"The shifts are Hodges–Lehmann estimates of the differences {pair.first} − {pair.second}. "
        "The p-values are those of Wilcoxon's signed-rank test."
    )
    compared = [metrics[found.name] for found in pair.metrics]
    short = joined([metric_heading(metric) for metric in compared if metric.completed_only])
    if short:
        text += (
            f" {short[0].upper()}{short[1:]} are compared in worlds in which both planners "
            "reached the goal."
        )
    shifts = [found.shift for found in pair.metrics if found.worlds]
    reasons = sorted({shift.method for shift in shifts if not shift.has_interval})
    if reasons:
        text += f" No interval exists for some metrics ({', '.join(reasons)})."
    if any(found.p_value < ALPHA and 0.0 in found.shift[1:3] for found in pair.metrics):
        text += " " + OPEN_END
    smallest = joined([smallest_text(metric) for metric in compared])
    text += f" The smallest relevant differences are {smallest}."
    return Text(text, style="dim")


def _shown(analysis: Analysis) -> List[Metric]:
    return [metric for metric in analysis.metrics if metric.in_table]


def _heading(metric: Metric) -> str:
    heading = metric_heading(metric)
    return f"{heading}\n{metric.label_unit}" if metric.label_unit else heading


def _counted(metric: Metric, summary: PlannerSummary) -> str:
    """Return the text of a mean with its number of trials."""
    found = mean_of(metric, summary, _NOTATION)
    return f"{found.mean} ({found.trials})" if found.trials else found.mean


def _fitting(
    columns: Sequence[Tuple[Metric, List[str]]], planners: Sequence[str]
) -> Iterator[List[Tuple[Metric, List[str]]]]:
    """Yield groups of at least one column that fit next to the column with the planners' names."""
    first = max(map(len, (*planners, "mean of"))) + 1
    some: List[Tuple[Metric, List[str]]] = []
    width = first
    for metric, cells in columns:
        wide = max(map(len, (metric_heading(metric), metric.label_unit, *cells))) + 1
        if some and width + wide > WIDTH:
            yield some
            some, width = [], first
        some.append((metric, cells))
        width += wide
    yield some
