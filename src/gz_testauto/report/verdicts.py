"""Verdicts in words: one sentence per question, with its interval.

Owns the wording. A planner is called better where a difference is significant (its p-value,
adjusted where several questions are asked) and relevant (its size); of success, in a campaign that
ends when decided, the test that ends it says what is significant. Every number comes from
:mod:`gz_testauto.analysis`.
"""

import math
from dataclasses import dataclass
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from gz_testauto.analysis.comparison import (
    Comparison,
    MetricComparison,
)
from gz_testauto.analysis.early_end import EarlyEnd, PairDecision
from gz_testauto.analysis.intervals import LEVEL
from gz_testauto.metrics.interface import Metric
from gz_testauto.report.names import metric_heading
from gz_testauto.report.plain import count_text, number_text, p_text

WITHOUT_SHIFT = (
    "The test finds a difference, but the shift is 0, as the two are equal in many worlds, so that "
    "nobody is called better,"
)
Won = Tuple[Tuple[str, Tuple[str, ...]], ...]


@dataclass(frozen=True)
class Verdict:
    """An answer: ``lead`` is what is found, ``evidence`` the numbers; ``decided`` where that is a
    difference which is significant and relevant, or that there is none. ``won`` names the planners
    of a pair with the worlds that only this one mastered, ``better`` who of them succeeds more
    often, where that is significant and relevant."""

    lead: str
    evidence: str
    decided: bool
    won: Won = ()
    better: str = ""


def success_verdict(pair: Comparison, end: Optional[EarlyEnd] = None) -> Verdict:
    """Who of a pair reaches the goal more often; in a campaign that ends when decided, by the test
    that ends it, where that asks for this pair."""
    if not pair.worlds:
        lead = f"{pair.first} and {pair.second} have no world in common that both have driven."
        return Verdict(lead, "", False)
    won = ((pair.first, pair.first_won), (pair.second, pair.second_won))
    if end is not None:
        for decision in end.pairs:
            if (decision.first, decision.second) == (pair.first, pair.second) and decision.worlds:
                return _early_verdict(pair, decision, end, won)
    decided = pair.significant and pair.relevant
    ahead, behind, sign = pair.first, pair.second, 1.0
    if pair.difference.value < 0:
        ahead, behind, sign = behind, ahead, -1.0
    if pair.significant and pair.difference.value != 0.0:
        lead = _more_often(pair, ahead, behind)
    else:
        lead = f"Not decided: does {ahead} or {behind} reach the goal more often?"
    evidence = (
        f"{_rates(pair, ahead)}{_ahead(ahead, 100 * sign * pair.difference.value)}, mean over "
        f"{count_text(pair.worlds, 'world')}, {_interval(pair, sign)}; {pair.test}, "
        f"{p_text(pair.p_value)}{_holm(pair)}."
    )
    return Verdict(lead, evidence, decided, won, ahead if decided else "")


def _early_verdict(pair: Comparison, decision: PairDecision, end: EarlyEnd, won: Won) -> Verdict:
    """What the test says that ends the campaign, with the interval that belongs to it."""
    ahead, behind, sign = decision.first, decision.second, 1.0
    if decision.difference.value < 0:
        ahead, behind, sign = behind, ahead, -1.0
    value, *ends = (100 * sign * number for number in decision.difference[:3])
    low, high = sorted(ends)
    if decision.better:
        lead = _more_often(pair, ahead, behind)
    elif decision.negligible:
        lead = (
            f"{ahead} and {behind} are equivalent: their success rates differ by less than the "
            f"margin of {100 * (end.rule.equivalence_margin or 0.0):g} points."
        )
    else:
        lead = f"Not decided: does {ahead} or {behind} reach the goal more often?"
    evidence = (
        f"{_rates(pair, ahead)}{_ahead(ahead, value)} in {count_text(decision.worlds, 'world')}, "
        f"{100 * (1 - decision.alpha):.4g} % interval {low:+.1f} to {high:+.1f} points "
        f"({decision.difference.method}); {pair.test}, {p_text(decision.p_value)}, decided at "
        f"{decision.alpha:.3g} or less. {_ending(end)}"
    )
    return Verdict(lead, evidence, decision.decided, won, decision.better if pair.relevant else "")


def _more_often(pair: Comparison, ahead: str, behind: str) -> str:
    """What a significant difference of success is called."""
    said = f"{ahead} reaches the goal more often than {behind}"
    if pair.relevant:
        return f"{said}."
    return (
        f"{said}, but by less than the {100 * pair.smallest_relevant:g} points that are relevant."
    )


def _interval(pair: Comparison, sign: float) -> str:
    if not pair.difference.has_interval:
        return f"no interval: {pair.difference.method}"
    low, high = sorted(100 * sign * end + 0.0 for end in pair.difference[1:3])
    made = "" if pair.difference.method == pair.test else f" ({pair.difference.method})"
    return f"{100 * LEVEL:.0f} % interval {low:+.1f} to {high:+.1f} points{made}"


def _ending(end: EarlyEnd) -> str:
    """What the number of worlds depends on, and why the numbers hold all the same."""
    holds = "which holds however often it is looked at."
    if end.worlds >= end.at_most:
        return f"The campaign was to end as soon as this test decides, {holds}"
    if not end.decided:
        return f"The campaign ends as soon as this test decides, {holds}"
    return (
        f"The campaign ended early, after {count_text(end.worlds, 'world')} of at most "
        f"{end.at_most}, as soon as this test had decided, {holds}"
    )


def _ahead(ahead: str, points: float) -> str:
    return f"{ahead} is ahead by {points:.1f} points" if points else "they are level"


def metric_verdicts(pair: Comparison, metrics: Mapping[str, Metric]) -> List[Verdict]:
    """Which of a pair's metrics differ significantly, one sentence each."""
    found = ((metrics[one.name], one) for one in pair.metrics)
    return [_metric_verdict(pair, metric, one) for metric, one in found if _has_size(one)]


def undecided(pair: Comparison, metrics: Mapping[str, Metric]) -> str:
    """In which metrics no difference is shown, in which it has no size, and which could not be
    compared."""
    open_ones = [one for one in pair.metrics if not _has_size(one)]
    said = ""
    for some, text in (
        (
            [one for one in open_ones if one.worlds and not one.significant],
            "No difference is shown",
        ),
        ([one for one in open_ones if one.significant], WITHOUT_SHIFT),
        ([one for one in open_ones if not one.worlds], "In no world both have a number"),
    ):
        if some:
            said += f"{text} in: {', '.join(metric_heading(metrics[one.name]) for one in some)}. "
    return said.strip()


def _has_size(found: MetricComparison) -> bool:
    """Whether the difference is significant, and its estimate not 0."""
    return found.significant and found.shift.value != 0.0


def advantage(pair: Comparison, metric: Metric, found: MetricComparison) -> str:
    """For whom a difference speaks, in a table's cell."""
    if not found.significant:
        return "relevant, not significant" if found.relevant else "neither"
    if not found.shift.value:
        return "significant: the shift is 0"
    lower = pair.first if found.shift.value < 0 else pair.second
    if not found.relevant:
        return f"significant, not relevant: lower for {lower}"
    if metric.better == "neither":
        return f"lower for {lower}"
    higher = pair.second if lower == pair.first else pair.first
    return f"better for {lower if metric.better == 'lower' else higher}"


def _metric_verdict(pair: Comparison, metric: Metric, found: MetricComparison) -> Verdict:
    first_lower = found.shift.value < 0
    lower, higher = (pair.first, pair.second) if first_lower else (pair.second, pair.first)
    unit = f" {metric.label_unit}" if metric.label_unit else ""
    subject, said, rest = lower, "lower", higher
    if metric.better == "higher":
        subject, said, rest = higher, "higher", lower
    size = number_text(abs(found.shift.value) * metric.shown_factor, metric.decimals)
    sign = metric.shown_factor if subject == pair.first else -metric.shown_factor
    value, *ends = (sign * number + 0.0 for number in found.shift[:3])  # no -0
    shift, *shown = (number_text(one, metric.decimals, "+") for one in (value, *sorted(ends)))
    within, method = (
        f"{100 * LEVEL:.0f} % interval {' to '.join(shown)}{unit}, ",
        found.shift.method,
    )
    if not found.shift.has_interval:
        within, method = "", f"no interval: {method}"
    heading = _capital(metric_heading(metric))
    whose = f"{said} by {size}{unit}"
    lead = f"{heading} is better for {subject}: {whose} than for {rest}."
    if metric.better == "neither" or not found.relevant:
        lead = f"{heading}: {whose} for {subject} than for {rest}."
    if not found.relevant:
        smallest = number_text(found.smallest_relevant * metric.shown_factor, metric.decimals)
        lead = f"{lead[:-1]}, less than the {smallest}{unit} that are relevant."
    evidence = (
        f"{subject} minus {rest}: {shift}{unit}, {within}"
        f"over {count_text(found.worlds, 'world')} ({method}); Wilcoxon signed-rank, "
        f"{p_text(found.p_value)}, Holm {p_text(found.p_adjusted, '')}."
    )
    return Verdict(lead, evidence, found.relevant)


def _rates(pair: Comparison, ahead: str) -> str:
    """The two rates in common worlds, where one trial each says them."""
    if pair.counts is None:
        return ""
    both, first_only, second_only, _ = pair.counts
    rates: Dict[str, int] = {pair.first: both + first_only, pair.second: both + second_only}
    order: Sequence[str] = sorted(rates, key=lambda name: name != ahead)
    said = " and ".join(f"{name} in {rates[name]} of {pair.worlds}" for name in order)
    return f"It was reached by {said} worlds: "


def _holm(pair: Comparison) -> str:
    if math.isnan(pair.p_adjusted) or pair.p_adjusted == pair.p_value:
        return ""
    return f", Holm {p_text(pair.p_adjusted, '')}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
