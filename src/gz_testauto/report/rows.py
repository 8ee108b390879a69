"""Create the rows of a campaign's tables. A renderer for the terminal, the page or LaTeX defines
their :class:`Notation`."""

import math
from dataclasses import dataclass
from typing import List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from gz_testauto.analysis.comparison import Comparison, MetricComparison
from gz_testauto.analysis.intervals import Estimate
from gz_testauto.analysis.overview import Analysis
from gz_testauto.analysis.summary import PlannerSummary
from gz_testauto.metrics.interface import Metric
from gz_testauto.metrics.traffic import lane_departure_share
from gz_testauto.report.names import metric_heading
from gz_testauto.report.plain import number_text, p_text
from gz_testauto.trial.outcome import Outcome


@dataclass(frozen=True)
class Notation:
    """The notation of an output format: texts for a missing number, a missing interval and the
    minus sign, and the form of an interval, with ``{}`` for each end."""

    missing: str = "-"
    no_interval: str = "-"
    minus: str = "-"
    interval_form: str = "[{}, {}]"

    def number(self, value: float, decimals: int, sign: str = "") -> str:
        """Return a number as text. ``sign`` is ``+`` to show the sign of positive numbers."""
        if math.isnan(value):
            return self.missing
        return number_text(value, decimals, sign).replace("-", self.minus)

    def interval(
        self, estimate: Estimate, decimals: int, factor: float = 1.0, sign: str = ""
    ) -> str:
        if not estimate.has_interval:
            return self.no_interval
        ends = (self.number(factor * end, decimals, sign) for end in (estimate.low, estimate.high))
        return self.interval_form.format(*ends)

    def p(self, value: float) -> str:
        return self.missing if math.isnan(value) else p_text(value, "")


class SuccessRow(NamedTuple):
    """Success rate and interval of a planner in percent, and the numbers of trials with each
    outcome of the table's columns.

    ``off_road`` is the share of the time with a part of the robot outside all lanes. It
    is None if no planner has lanes.
    """

    summary: PlannerSummary
    rate: str
    interval: str
    counts: Tuple[int, ...]
    off_road: Optional[str] = None


class Mean(NamedTuple):
    mean: str
    deviation: str
    trials: int


class DifferenceRow(NamedTuple):
    """The difference of two planners in a metric or in success rate.

    ``means`` are those of both planners in the same ``worlds``. ``statistic`` is ``mean`` or
    ``median``: the statistic of the differences that ``difference`` estimates.
    """

    worlds: int
    means: Tuple[str, str]
    statistic: str
    difference: str
    interval: str
    p: str
    p_holm: str
    verdict: str
    """``significant``, ``relevant``, ``both`` or ``neither``."""


def success_rows(
    summaries: Sequence[PlannerSummary], outcomes: Sequence[Outcome], notation: Notation
) -> List[SuccessRow]:
    on_road = has_lanes(summaries)
    return [
        SuccessRow(
            summary,
            notation.number(100 * summary.success.value, 1),
            notation.interval(summary.success, 1, 100),
            tuple(summary.outcomes.get(outcome, 0) for outcome in outcomes),
            _off_road_text(summary, notation) if on_road else None,
        )
        for summary in summaries
    ]


def has_lanes(summaries: Sequence[PlannerSummary]) -> bool:
    return any(summary.mean_trials(lane_departure_share.name) for summary in summaries)


def _off_road_text(summary: PlannerSummary, notation: Notation) -> str:
    share = summary.metrics.get(lane_departure_share.name)
    return f"{notation.number(100 * share.mean, 1)} %" if share else notation.missing


def measured_metrics(analysis: Analysis) -> List[Metric]:
    """Return the metrics for tables that have a value in at least one trial."""
    return [
        metric
        for metric in analysis.metrics
        if metric.in_table
        and any(summary.mean_trials(metric.name) for summary in analysis.summaries)
    ]


def mean_of(metric: Metric, summary: PlannerSummary, notation: Notation) -> Mean:
    trials = summary.mean_trials(metric.name)
    if not trials:
        return Mean(notation.missing, notation.missing, 0)
    statistics, factor = summary.metrics[metric.name], metric.shown_factor
    return Mean(
        notation.number(statistics.mean * factor, metric.decimals),
        notation.number(statistics.deviation * factor, metric.decimals),
        trials,
    )


def success_difference(pair: Comparison, notation: Notation) -> DifferenceRow:
    """Return the difference of two success rates, in percentage points."""
    return DifferenceRow(
        pair.worlds,
        (notation.number(100 * pair.first_rate, 1), notation.number(100 * pair.second_rate, 1)),
        "mean",
        notation.number(100 * pair.difference.value, 1, "+"),
        notation.interval(pair.difference, 1, 100, "+"),
        *_test_texts(pair, notation),
    )


def metric_differences(
    pair: Comparison, metrics: Mapping[str, Metric], notation: Notation
) -> List[Tuple[Metric, DifferenceRow]]:
    rows = []
    for comparison in pair.metrics:
        metric = metrics[comparison.name]
        factor, decimals = metric.shown_factor, metric.decimals
        row = DifferenceRow(
            comparison.worlds,
            (
                notation.number(comparison.first_mean * factor, decimals),
                notation.number(comparison.second_mean * factor, decimals),
            ),
            comparison.statistic,
            notation.number(comparison.difference.value * factor, decimals, "+"),
            notation.interval(comparison.difference, decimals, factor, "+"),
            *_test_texts(comparison, notation),
        )
        rows.append((metric, row))
    return rows


def _test_texts(
    comparison: Union[Comparison, MetricComparison], notation: Notation
) -> Tuple[str, str, str]:
    """Return the p-value, the p-value adjusted by Holm's method, and the verdict, as texts."""
    verdict = notation.missing  # no test was possible
    if not math.isnan(comparison.p_value):
        verdict = {
            (True, True): "both",
            (True, False): "significant",
            (False, True): "relevant",
            (False, False): "neither",
        }[comparison.significant, comparison.relevant]
    return notation.p(comparison.p_value), notation.p(comparison.p_adjusted), verdict


def smallest_text(metric: Metric) -> str:
    """Return text with the smallest relevant difference, such as ``time 1 s``."""
    smallest = f"{metric.smallest_relevant * metric.shown_factor:g} {metric.label_unit}".strip()
    return f"{metric_heading(metric)} {smallest if metric.smallest_relevant else 'any'}"
