"""Create the tables of means and of differences between two planners."""

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
FIRST = 6  # number of metrics in the first table of means


def means_table(analysis: Analysis) -> Table:
    """Return the table of means of the first :data:`FIRST` metrics. The number of trials follows a
    mean in parentheses if other trials have no value."""
    table = plain_table("mean of", "n")
    metrics = sorted(_shown_metrics(analysis)[:FIRST], key=lambda metric: not metric.completed_only)
    for metric in metrics:
        table.add_column(_heading_with_unit(metric), justify="right")
    for summary in analysis.summaries:
        cells = []
        for metric in metrics:
            mean, _, trials = mean_of(metric, summary, _NOTATION)
            expected_trials = summary.reached if metric.completed_only else summary.trials
            cells.append(f"{mean} ({trials})" if 0 < trials < expected_trials else mean)
        table.add_row(summary.planner, str(summary.reached), *cells)
    return table


def further_means(analysis: Analysis) -> List[RenderableType]:
    """Return the tables of means of all metrics after the first :data:`FIRST`, and a note."""
    columns = [
        (metric, [_mean_with_count(metric, summary) for summary in analysis.summaries])
        for metric in _shown_metrics(analysis)[FIRST:]
    ]
    if not columns:
        return []
    parts: List[RenderableType] = []
    for group in _split_columns(columns, [summary.planner for summary in analysis.summaries]):
        table = plain_table("mean of")
        for metric, _ in group:
            table.add_column(_heading_with_unit(metric), justify="right")
        for index, summary in enumerate(analysis.summaries):
            table.add_row(summary.planner, *(cells[index] for _, cells in group))
        parts += ["", table]
    short = joined([metric_heading(metric) for metric, _ in columns if metric.completed_only])
    note = "Means over the (n) trials that have the number" + (
        f"; {short} only of trials that reached the goal." if short else "."
    )
    return [*parts, Text(note, style="dim")]


def differences_table(pair: Comparison, metrics: Mapping[str, Metric]) -> Table:
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
    """Return a sentence on the metrics whose mean and significant median differences have opposite
    signs."""
    names = [
        metric_heading(metrics[comparison.name])
        for comparison in pair.metrics
        if comparison.significant and comparison.mean_contradicts
    ]
    if not names:
        return []
    return [
        f"In {joined(names)}, the planner that is ahead in the typical world is behind in the mean."
    ]


def differences_note(pair: Comparison, metrics: Mapping[str, Metric]) -> Text:
    comparisons = [comparison for comparison in pair.metrics if comparison.worlds]
    absent_metrics = [
        metric_heading(metrics[comparison.name])
        for comparison in pair.metrics
        if not comparison.worlds
    ]
    no_world = f"No world has a value of both for {joined(absent_metrics)}."
    if not comparisons:
        return Text(no_world, style="dim")
    text = (
        f"Means of {pair.first} and {pair.second} in the same n worlds. Difference: mean or median "
        f"over these worlds of {pair.first} − {pair.second}. The median describes the typical "
        "world. "
        f"Methods: {', '.join(sorted({comparison.test for comparison in comparisons}))}."
    )
    completed_metrics = [
        metrics[comparison.name]
        for comparison in comparisons
        if metrics[comparison.name].completed_only
    ]
    if completed_metrics:
        short = joined([metric_heading(metric) for metric in completed_metrics])
        text += f" {short[0].upper()}{short[1:]}: worlds in which both reached the goal."
    if absent_metrics:
        text += f" {no_world}"
    reasons = sorted(
        {
            comparison.difference.method
            for comparison in comparisons
            if not comparison.difference.has_interval
        }
    )
    if reasons:
        text += f" No interval exists for some metrics ({', '.join(reasons)})."
    smallest = joined([smallest_text(metrics[comparison.name]) for comparison in comparisons])
    text += f" The smallest relevant differences are {smallest}."
    return Text(text, style="dim")


def _shown_metrics(analysis: Analysis) -> List[Metric]:
    return [metric for metric in analysis.metrics if metric.in_table]


def _heading_with_unit(metric: Metric) -> str:
    heading = metric_heading(metric)
    return f"{heading}\n{metric.label_unit}" if metric.label_unit else heading


def _mean_with_count(metric: Metric, summary: PlannerSummary) -> str:
    row = mean_of(metric, summary, _NOTATION)
    return f"{row.mean} ({row.trials})" if row.trials else row.mean


def _split_columns(
    columns: Sequence[Tuple[Metric, List[str]]], planners: Sequence[str]
) -> Iterator[List[Tuple[Metric, List[str]]]]:
    """Yield groups of columns that fit into a terminal next to the planners' names."""
    first = max(map(len, (*planners, "mean of"))) + 1
    group: List[Tuple[Metric, List[str]]] = []
    width = first
    for metric, cells in columns:
        wide = max(map(len, (metric_heading(metric), metric.label_unit, *cells))) + 1
        if group and width + wide > WIDTH:
            yield group
            group, width = [], first
        group.append((metric, cells))
        width += wide
    yield group
