"""The one line at the head of the page: who reaches the goal most often, and who is not told apart.

Owns the wording. The order is that of the success rates, which decides nothing; what is decided of
a pair is its verdict (:func:`gz_testauto.report.verdicts.success_verdict`).
"""

from typing import Dict, List

from gz_testauto.analysis.overview import Analysis
from gz_testauto.report.verdicts import success_verdict

Others = Dict[str, List[str]]
"""Planners, each with those of whom the same is said."""


def ranking(analysis: Analysis) -> str:
    """The planners in order of their rates, what of it is decided and what is not; empty where
    there are not two to compare."""
    ranked = sorted(
        (summary for summary in analysis.summaries if summary.trials),
        key=lambda summary: -summary.success.value,
    )
    if len(ranked) < 2:
        return ""
    rates = ", ".join(f"{one.planner} {100 * one.success.value:.1f} %" for one in ranked)
    names = [summary.planner for summary in ranked]
    ahead: Others = {name: [] for name in names}
    alike: Others = {name: [] for name in names}
    unknown: Others = {name: [] for name in names}
    for pair in analysis.comparisons.pairs:
        if pair.first in names and pair.second in names:
            verdict = success_verdict(pair, analysis.early_end)
            one, other = sorted((pair.first, pair.second), key=names.index)
            if verdict.better == other:
                one, other = other, one
            of = ahead if verdict.better else alike if verdict.decided else unknown
            of[one].append(other)
    first = next((name for name in names if len(ahead[name]) == len(names) - 1), None)
    others = {name: behind for name, behind in ahead.items() if name != first}
    said = [
        f"By success rate: {rates}.",
        "No planner is shown to be first." if first is None else _first(first, ahead[first]),
        _listed("More often at the goal", "than", others),
        _listed("Equal but for less than what the campaign calls negligible", "and", alike),
        _listed("Not told apart", "and", unknown),
    ]
    return " ".join(filter(None, said))


def _first(name: str, behind: List[str]) -> str:
    """That ``name`` is ahead of all others, who are ``behind``."""
    than = behind[0] if len(behind) == 1 else "every other planner"
    return f"{name} is first: it reaches the goal more often than {than}."


def _listed(heading: str, word: str, others: Others) -> str:
    """``Not told apart: a and b; c and d``; empty where there is nothing to list."""
    order = list(others)
    said = [
        f"{name} {word} {other}"
        for name, of in others.items()
        for other in sorted(of, key=order.index)
    ]
    return f"{heading}: {'; '.join(said)}." if said else ""
