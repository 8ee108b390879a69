"""Describe the results of comparisons in one sentence each, with its confidence interval.

A planner is called better if the difference is significant and relevant. For a metric that is
compared by the median, it is called better in the typical world. In a campaign that stops early,
the stopping test decides whether the success rates differ significantly.
"""

import math
from dataclasses import dataclass
from typing import Dict, List, Mapping, Optional, Tuple

from gz_testauto.analysis.comparison import ALPHA, Comparison, MetricComparison
from gz_testauto.analysis.early_stop import EarlyStop, PairDecision
from gz_testauto.analysis.intervals import LEVEL
from gz_testauto.metrics.interface import Metric
from gz_testauto.report.names import metric_heading
from gz_testauto.report.plain import count_text, number_text, p_text

Won = Tuple[Tuple[str, Tuple[str, ...]], ...]
POINTS = "percentage points"


@dataclass(frozen=True)
class VerdictText:
    """The result of one comparison in words.

    ``lead`` is the result, ``evidence`` states its numbers. ``decided`` is true if a difference is
    significant and relevant, or if the planners are equivalent. ``won`` pairs each planner with the
    worlds in which only this planner succeeded. ``better`` is the planner with the significantly
    and relevantly higher success rate, or empty.
    """

    lead: str
    evidence: str
    decided: bool
    won: Won = ()
    better: str = ""


def success_verdict(pair: Comparison, end: Optional[EarlyStop] = None) -> VerdictText:
    """Return the result of the comparison of two success rates. ``end`` is the current decision of
    a campaign that can stop early."""
    if not pair.worlds:
        lead = f"{pair.first} and {pair.second} have no common world with valid trials of both."
        return VerdictText(lead, "", False)
    won_worlds = ((pair.first, pair.first_won), (pair.second, pair.second_won))
    if math.isnan(pair.p_value):
        return _untested_verdict(pair, won_worlds)
    if end is not None:
        for decision in end.pairs:
            if (decision.first, decision.second) == (pair.first, pair.second) and decision.worlds:
                return _early_verdict(pair, decision, end, won_worlds)
    is_decided = pair.significant and pair.relevant
    leader, follower, sign = pair.first, pair.second, pair.sign
    if sign < 0.0:
        leader, follower = follower, leader
    points = 100 * sign * pair.difference.value
    if pair.significant:
        lead = _higher_rate(pair, leader, follower)
    else:
        lead = _not_significant(leader, follower, pair.p_value < ALPHA <= pair.p_adjusted)
    evidence = (
        f"{_rates(pair, leader)}The difference {leader} − {follower} was {_signed(points)} "
        f"{POINTS} in {count_text(pair.worlds, 'world')} ({_interval_text(pair, sign)}; "
        f"{pair.test}, {p_text(pair.p_value)}{_holm_text(pair.p_value, pair.p_adjusted)})."
    )
    return VerdictText(lead, evidence, is_decided, won_worlds, leader if is_decided else "")


def _untested_verdict(pair: Comparison, won_worlds: Won) -> VerdictText:
    points = 100 * pair.difference.value
    evidence = (
        f"{_rates(pair, pair.first)}The difference {pair.first} − {pair.second} was "
        f"{_signed(points)} {POINTS} in {count_text(pair.worlds, 'world')}."
    )
    lead = f"{pair.first} and {pair.second} were not tested: {pair.difference.method}."
    return VerdictText(lead, evidence, False, won_worlds)


def _early_verdict(
    pair: Comparison, decision: PairDecision, end: EarlyStop, won_worlds: Won
) -> VerdictText:
    leader, follower, sign = decision.first, decision.second, 1.0
    if decision.second == decision.better or (
        not decision.better and decision.difference.value < 0.0
    ):
        leader, follower, sign = follower, leader, -1.0
    value, *ends = (100 * sign * number for number in decision.difference[:3])
    low, high = sorted(ends)
    if decision.better:
        lead = _higher_rate(pair, leader, follower)
    elif decision.negligible:
        lead = (
            f"{leader} and {follower} are equivalent: their success rates differ by less than the "
            f"margin of {100 * (end.rule.equivalence_margin or 0.0):g} {POINTS}."
        )
    else:
        lead = _not_significant(leader, follower)
    evidence = (
        f"{_rates(pair, leader)}The difference {leader} − {follower} was {_signed(value)} {POINTS} "
        f"in {count_text(decision.worlds, 'world')} ({100 * (1 - decision.alpha):.4g} % CI "
        f"{_signed(low)} to {_signed(high)}, {decision.difference.method}; {pair.test}, "
        f"{p_text(decision.p_value)}, level {decision.alpha:.3g}). {_stop_text(end)}"
    )
    better = decision.better if pair.relevant else ""
    return VerdictText(lead, evidence, decision.decided, won_worlds, better)


def _higher_rate(pair: Comparison, leader: str, follower: str) -> str:
    lead = f"The success rate of {leader} was significantly higher than that of {follower}"
    if pair.relevant:
        return f"{lead}."
    return (
        f"{lead}, but by less than the relevant difference of "
        f"{100 * pair.smallest_relevant:g} {POINTS}."
    )


def _not_significant(leader: str, follower: str, is_adjusted: bool = False) -> str:
    suffix = " after Holm's correction" if is_adjusted else ""
    return f"The success rates of {leader} and {follower} did not differ significantly{suffix}."


def _signed(points: float) -> str:
    return f"{points:+.1f}" if round(points, 1) else "0.0"


def _interval_text(pair: Comparison, sign: float) -> str:
    if not pair.difference.has_interval:
        return f"no CI: {pair.difference.method}"
    low, high = sorted(100 * sign * end + 0.0 for end in pair.difference[1:3])
    method = "" if pair.difference.method == pair.test else f", {pair.difference.method}"
    return f"{100 * LEVEL:.0f} % CI {_signed(low)} to {_signed(high)}{method}"


def _stop_text(end: EarlyStop) -> str:
    valid = "its result is valid at every number of worlds."
    if end.worlds >= end.max_worlds:
        return f"The campaign reached its limit of {end.max_worlds} worlds; {valid}"
    if not end.decided:
        return f"The campaign stops as soon as this test decides; {valid}"
    return (
        f"The campaign stopped after {end.worlds} of at most {end.max_worlds} worlds, as soon as "
        f"this test had decided; {valid}"
    )


def metric_verdicts(pair: Comparison, metrics: Mapping[str, Metric]) -> List[VerdictText]:
    """Return the result for each metric in which the pair differs significantly."""
    comparisons = ((metrics[comparison.name], comparison) for comparison in pair.metrics)
    return [
        _metric_verdict(pair, metric, comparison)
        for metric, comparison in comparisons
        if comparison.significant
    ]


def undecided(pair: Comparison, metrics: Mapping[str, Metric]) -> str:
    """Return sentences on metrics without a significant difference or without values. The text is
    empty without these metrics."""
    sentences = []
    for comparisons, text in (
        (
            [
                comparison
                for comparison in pair.metrics
                if not (math.isnan(comparison.p_value) or comparison.significant)
            ],
            "The differences are not significant in these metrics",
        ),
        (
            [comparison for comparison in pair.metrics if not comparison.worlds],
            "No world has a value of both planners for these metrics",
        ),
    ):
        if comparisons:
            names = ", ".join(
                metric_heading(metrics[comparison.name]) for comparison in comparisons
            )
            sentences.append(f"{text}: {names}.")
    return " ".join(sentences)


def advantage(pair: Comparison, metric: Metric, comparison: MetricComparison) -> str:
    """Return ``better for fgm``, or ``lower for fgm`` for a metric without a better direction. The
    text is empty unless the difference is significant and relevant."""
    if not (comparison.significant and comparison.relevant):
        return ""
    lower, higher = pair.first, pair.second
    if comparison.difference.value > 0:
        lower, higher = higher, lower
    text = f"lower for {lower}"
    if metric.better != "neither":
        text = f"better for {lower if metric.better == 'lower' else higher}"
    if comparison.is_of_means:
        return text
    return f"{text} in the typical world{', not on average' if comparison.mean_contradicts else ''}"


def _metric_verdict(pair: Comparison, metric: Metric, comparison: MetricComparison) -> VerdictText:
    names, means = (pair.first, pair.second), (comparison.first_mean, comparison.second_mean)
    factor = -metric.shown_factor  # for the subject minus the other planner
    if (comparison.difference.value > 0) == (metric.better == "higher"):
        factor = metric.shown_factor
    else:
        names, means = names[::-1], means[::-1]
    subject, other_name = names
    unit = f" {metric.label_unit}" if metric.label_unit else ""

    def text(number: float, plus: str = "") -> str:
        return number_text(number + 0.0, metric.decimals, plus)  # no -0

    value, *ends = (factor * number for number in comparison.difference[:3])
    interval = f"no CI: {comparison.difference.method}"
    if comparison.difference.has_interval:
        interval_text = " to ".join(text(end, "+") for end in sorted(ends))
        interval = f"{100 * LEVEL:.0f} % CI {interval_text}{unit}, {comparison.difference.method}"
    heading = metric_heading(metric)
    direction = "higher" if metric.better == "higher" else "lower"
    lead = f"{heading[:1].upper()}{heading[1:]} was {text(abs(value))}{unit} {direction} for "
    lead += f"{subject} than for {other_name}"
    if not comparison.is_of_means:
        lead = f"In the typical world, {heading} was{lead.partition(' was')[2]}"
    if not comparison.relevant:
        smallest = text(comparison.smallest_relevant * metric.shown_factor)
        lead += f", less than the relevant difference of {smallest}{unit}"
    elif comparison.mean_contradicts:
        lead += ", but its mean was not"
    elif metric.better != "neither":
        lead += ", which is better"
    shown_means = " and ".join(text(mean * metric.shown_factor) for mean in means)
    evidence = (
        f"The {comparison.statistic} difference {subject} − {other_name} was "
        f"{text(value, '+')}{unit} in {count_text(comparison.worlds, 'world')} ({interval}; "
        f"{comparison.test}, {p_text(comparison.p_value)}, Holm-adjusted "
        f"{p_text(comparison.p_adjusted)}). The means in these worlds were {shown_means}{unit}."
    )
    return VerdictText(
        f"{lead}.", evidence, comparison.relevant and not comparison.mean_contradicts
    )


def _rates(pair: Comparison, leader: str) -> str:
    """Return a sentence with both success rates in the common worlds, first that of ``leader``. The
    text is empty for a campaign with repetitions."""
    if pair.counts is None:
        return ""
    both_count, first_only, second_only, _ = pair.counts
    rates: Dict[str, int] = {
        pair.first: both_count + first_only,
        pair.second: both_count + second_only,
    }
    first, second = sorted(rates, key=lambda name: name != leader)
    if rates[first] == rates[second]:
        return (
            f"{first} and {second} each reached the goal in {rates[first]} of {pair.worlds} "
            "worlds. "
        )
    return (
        f"{first} reached the goal in {rates[first]} of {pair.worlds} worlds, {second} in "
        f"{rates[second]}. "
    )


def _holm_text(p_value: float, p_adjusted: float) -> str:
    if math.isnan(p_adjusted) or p_adjusted == p_value:
        return ""
    return f", Holm-adjusted {p_text(p_adjusted)}"
