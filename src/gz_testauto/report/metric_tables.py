"""Create the tables of means and of differences between two planners.

Headings, units and decimals come from :class:`~gz_testauto.metrics.interface.Metric`.
"""

from typing import Iterator, List, Mapping, Sequence, Tuple

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from gz_testauto.analysis.comparison import Comparison
from gz_testauto.analysis.overview import Analysis
from gz_testauto.analysis.summary import PlannerSummary
from gz_testauto.metrics.interface import Metric
from gz_testauto.report.names import metric_heading
from gz_testauto.report.plain import WIDTH, joined, plain_table
from gz_testauto.report.rows import Notation, mean_of, metric_differences, smallest_text

_NOTATION = Notation()
FIRST = 6
"""Number of metrics in the first table of means. The metrics of this package come first."""


def means_table(analysis: Analysis) -> Table:
    """Return the first table of means.

    The metrics of completed trials are placed next to the number of these trials. A mean is
    followed by its number of trials if some of them have no value.
    """
    table = plain_table("mean of", "n")
    metrics = sorted(_shown(analysis)[:FIRST], key=lambda metric: not metric.completed_only)
    for metric in metrics:
        table.add_column(_heading(metric), justify="right")
    for summary in analysis.summaries:
        cells = []
        for metric in metrics:
            mean, _, trials = mean_of(metric, summary, _NOTATION)
            expected = summary.reached if metric.completed_only else summary.trials
            cells.append(f"{mean} ({trials})" if 0 < trials < expected else mean)
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
    """Return a table with one row per metric with a value of both planners; ``metrics`` maps names
    to metrics.
    """
    table = plain_table("metric", "n", "means")
    for heading in ("of", "diff.", "95 % interval", "p (Holm)", "verdict"):
        table.add_column(heading, justify="right")
    for metric, row in metric_differences(pair, metrics, _NOTATION):
        if row.worlds:
            table.add_row(
                f"{metric_heading(metric)} {metric.label_unit}".strip(),
                str(row.worlds),
                " ".join(row.means),
                *(row.statistic, row.difference, row.interval, row.p_holm, row.verdict),
            )
    return table


def contradictions(pair: Comparison, metrics: Mapping[str, Metric]) -> List[str]:
    """Return a sentence on the metrics whose mean and median differences have opposite signs, if
    the median is significant.
    """
    names = [
        metric_heading(metrics[found.name])
        for found in pair.metrics
        if found.significant and found.mean_contradicts
    ]
    if not names:
        return []
    return [
        f"In {joined(names)}, the planner that is ahead in the typical world is behind in the mean."
    ]


def differences_note(pair: Comparison, metrics: Mapping[str, Metric]) -> Text:
    """Return a note on the methods with which differences were estimated, and on their worlds."""
    compared = [found for found in pair.metrics if found.worlds]
    text = (
        f"Means of {pair.first} and {pair.second} in the same n worlds. Difference: mean or median "
        f"over these worlds of {pair.first} − {pair.second}. The median describes the typical "
        "world. "
        f"Methods: {', '.join(sorted({found.test for found in compared}))}."
    )
    reached = [metrics[found.name] for found in compared if metrics[found.name].completed_only]
    if reached:
        short = joined([metric_heading(metric) for metric in reached])
        text += f" {short[0].upper()}{short[1:]}: worlds in which both reached the goal."
    absent = [metric_heading(metrics[one.name]) for one in pair.metrics if not one.worlds]
    if absent:
        text += f" No world has a value of both for {joined(absent)}."
    reasons = sorted({one.difference.method for one in compared if not one.difference.has_interval})
    if reasons:
        text += f" No interval exists for some metrics ({', '.join(reasons)})."
    smallest = joined([smallest_text(metrics[found.name]) for found in compared])
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
