"""The tables of means and of differences between two planners, as the metrics are declared.

Owns headings, units and decimals on the page, all of which come from
:class:`~gz_testauto.metrics.interface.Metric`.
"""

from typing import Iterator, List, Mapping, Sequence, Tuple

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from gz_testauto.analysis.comparison import ALPHA, Comparison, MetricComparison
from gz_testauto.analysis.overview import Analysis
from gz_testauto.analysis.summary import PlannerSummary
from gz_testauto.metrics.interface import Metric
from gz_testauto.report.names import metric_heading
from gz_testauto.report.plain import WIDTH, plain_table
from gz_testauto.report.rows import OPEN_END, Notation, mean_of, metric_differences, smallest_text

_NOTATION = Notation()
FIRST = 6
"""Metrics in the first table of means; this package's own come first."""


def means_table(analysis: Analysis) -> Table:
    """The first table of means: what is cut short by failure stands beside its number of trials."""
    table = plain_table("mean of", "n")
    metrics = sorted(_shown(analysis)[:FIRST], key=lambda metric: not metric.completed_only)
    for metric in metrics:
        table.add_column(_heading(metric), justify="right")
    for summary in analysis.summaries:
        cells = [mean_of(metric, summary, _NOTATION).mean for metric in metrics]
        table.add_row(summary.planner, str(summary.reached), *cells)
    return table


def further_means(analysis: Analysis) -> List[RenderableType]:
    """Tables of the other metrics: plugins', and what the user's own stack published; each mean
    with its number of trials."""
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
    short = _listed([metric_heading(metric) for metric, _ in columns if metric.completed_only])
    note = "Means over the (n) trials that have the number" + (
        f"; {short} only of trials that reached the goal." if short else "."
    )
    return [*parts, Text(note, style="dim")]


def differences_table(pair: Comparison, metrics: Mapping[str, Metric]) -> Table:
    """One row per metric that two planners are compared by; ``metrics`` by name."""
    table = plain_table("difference of", "worlds")
    for heading in ("shift", "95 % interval", "p", "p (Holm)", "verdict"):
        table.add_column(heading, justify="right")
    for metric, row in metric_differences(pair, metrics, _NOTATION):
        label = f"{metric_heading(metric)} {metric.label_unit}".strip()
        table.add_row(label, *map(str, row))
    return table


def differences_note(pair: Comparison, metrics: Mapping[str, Metric]) -> Text:
    """How the differences were computed, and over which worlds."""
    text = f"Shift: {pair.first} minus {pair.second}, Hodges–Lehmann; Wilcoxon signed-rank."
    compared = [metrics[found.name] for found in pair.metrics]
    short = _listed([metric_heading(metric) for metric in compared if metric.completed_only])
    if short:
        text += f" {short[0].upper()}{short[1:]} over worlds in which both reached the goal."
    shifts = [found.shift for found in pair.metrics if found.worlds]
    reasons = sorted({shift.method for shift in shifts if not shift.has_interval})
    if reasons:
        text += f" No interval: {', '.join(reasons)}."
    if any(_ends_at_zero(found) for found in pair.metrics):
        text += " " + OPEN_END
    text += f" Relevant, from: {_listed([smallest_text(one) for one in compared])}."
    return Text(text, style="dim")


def _ends_at_zero(found: MetricComparison) -> bool:
    return found.p_value < ALPHA and 0.0 in found.shift[1:3]


def _shown(analysis: Analysis) -> List[Metric]:
    return [metric for metric in analysis.metrics if metric.in_table]


def _heading(metric: Metric) -> str:
    heading = metric_heading(metric)
    return f"{heading}\n{metric.label_unit}" if metric.label_unit else heading


def _counted(metric: Metric, summary: PlannerSummary) -> str:
    """The mean with its number of trials."""
    found = mean_of(metric, summary, _NOTATION)
    return f"{found.mean} ({found.trials})" if found.trials else found.mean


def _fitting(
    columns: Sequence[Tuple[Metric, List[str]]], planners: Sequence[str]
) -> Iterator[List[Tuple[Metric, List[str]]]]:
    """As many columns at a time as fit beside the planners' names, one at least."""
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


def _listed(labels: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return " and ".join(filter(None, (", ".join(labels[:-1]), *labels[-1:])))
