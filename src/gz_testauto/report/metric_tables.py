"""Create the tables of means and of differences between two planners."""

from typing import AbstractSet, Iterator, List, Mapping, Sequence, Set, Tuple

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from gz_testauto.analysis.comparison import Comparison
from gz_testauto.analysis.overview import Analysis
from gz_testauto.analysis.summary import PlannerSummary
from gz_testauto.metrics.interface import Metric
from gz_testauto.report.names import arrows_text, better_arrow, metric_heading
from gz_testauto.report.plain import WIDTH, joined, plain_table
from gz_testauto.report.rows import (
    Notation,
    mean_of,
    measured_metrics,
    metric_differences,
    smallest_text,
)

_NOTATION = Notation()
FIRST = 6  # number of metrics in the first table of means


def means_table(analysis: Analysis) -> Table:
    """Return the table of means of the first :data:`FIRST` metrics that have a value. The number of
    trials follows a mean in parentheses if other trials have no value."""
    table = plain_table("mean of", "n")
    metrics = sorted(first_metrics(analysis), key=lambda metric: not metric.completed_only)
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
    """Return tables with the means of the metrics that :func:`means_table` omits, and a note. The
    result is empty if it omits none."""
    columns = [
        (metric, [_mean_with_count(metric, summary) for summary in analysis.summaries])
        for metric in measured_metrics(analysis)
        if metric not in first_metrics(analysis)
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
    table = plain_table("metric", "n")
    table.add_column("means", justify="right")  # in a narrow table, below each other
    for heading in ("of", "diff.", "95 % interval", "p\n(Holm)", "verdict"):
        table.add_column(heading, justify="right", no_wrap=True)
    for metric, row in metric_differences(pair, metrics, _NOTATION):
        if row.worlds:
            table.add_row(
                f"{better_arrow(metric)} {metric_heading(metric)} {metric.label_unit}".strip(),
                str(row.worlds),
                " ".join(row.means),
                *(row.statistic, row.difference, row.interval, row.p_holm, row.verdict),
            )
    return table


def contradictions(pair: Comparison, metrics: Mapping[str, Metric]) -> List[str]:
    """Return a sentence on the metrics whose mean and significant median differences have opposite
    signs. The result is empty without these metrics."""
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


def absent_note(
    pair: Comparison, absent_everywhere: AbstractSet[str], metrics: Mapping[str, Metric]
) -> str:
    """Return a sentence on the metrics without a value in a common world of the pair, except for
    those in ``absent_everywhere``. The text is empty without these metrics."""
    absent = _absent(pair) - absent_everywhere
    return _absent_text(absent, metrics) if absent else ""


def differences_note(pairs: Sequence[Comparison], metrics: Mapping[str, Metric]) -> str:
    """Return the explanation of the tables of differences of all pairs with common worlds."""
    absent = absent_everywhere(pairs)
    no_world = f" {_absent_text(absent, metrics)}" if absent else ""
    comparisons = [metric for pair in pairs for metric in pair.metrics if metric.worlds]
    if not comparisons:
        return no_world.strip()
    compared = [metrics[name] for name in dict.fromkeys(metric.name for metric in comparisons)]
    text = (
        "Means of both planners in the same n worlds. Difference: mean or median over these worlds "
        "of the first − the second planner. The median describes the typical world. "
        f"{arrows_text(compared)} "
        f"Methods: {', '.join(sorted({comparison.test for comparison in comparisons}))}."
    )
    completed = [metric_heading(metric) for metric in compared if metric.completed_only]
    if completed:
        short = joined(completed)
        text += f" {short[0].upper()}{short[1:]}: worlds in which both reached the goal."
    text += no_world
    reasons = sorted(
        {
            comparison.difference.method
            for comparison in comparisons
            if not comparison.difference.has_interval
        }
    )
    if reasons:
        text += f" No interval exists for some metrics ({', '.join(reasons)})."
    smallest = joined([smallest_text(metric) for metric in compared])
    return f"{text} The smallest relevant differences are {smallest}."


def _absent(pair: Comparison) -> Set[str]:
    return {comparison.name for comparison in pair.metrics if not comparison.worlds}


def absent_everywhere(pairs: Sequence[Comparison]) -> Set[str]:
    """Return the names of the metrics that no pair has in a common world."""
    absent = [_absent(pair) for pair in pairs]
    return set.intersection(*absent) if absent else set()


def _absent_text(names: AbstractSet[str], metrics: Mapping[str, Metric]) -> str:
    headings = [metric_heading(metric) for name, metric in metrics.items() if name in names]
    return f"No world has a value of both for {joined(headings)}."


def first_metrics(analysis: Analysis) -> List[Metric]:
    shown = [metric for metric in analysis.metrics if metric.in_table][:FIRST]
    return [metric for metric in shown if metric in measured_metrics(analysis)]


def _heading_with_unit(metric: Metric) -> str:
    unit = f"{metric.label_unit} {better_arrow(metric)}".strip()
    return f"{metric_heading(metric)}\n{unit}" if unit else metric_heading(metric)


def _mean_with_count(metric: Metric, summary: PlannerSummary) -> str:
    row = mean_of(metric, summary, _NOTATION)
    return f"{row.mean} ({row.trials})" if row.trials else row.mean


def _split_columns(
    columns: Sequence[Tuple[Metric, List[str]]], planners: Sequence[str]
) -> Iterator[List[Tuple[Metric, List[str]]]]:
    """Yield groups of columns that fit into a terminal next to the planners' names."""
    first_width = max(map(len, (*planners, "mean of"))) + 1
    group: List[Tuple[Metric, List[str]]] = []
    width = first_width
    for metric, cells in columns:
        column_width = max(map(len, (*_heading_with_unit(metric).splitlines(), *cells))) + 1
        if group and width + column_width > WIDTH:
            yield group
            group, width = [], first_width
        group.append((metric, cells))
        width += column_width
    yield group
