"""The line at the head of the page: the success rates and the significant differences.

Owns the wording. The order is that of the success rates, which decides nothing; a pair is decided
by its verdict (:func:`gz_testauto.report.verdicts.success_verdict`).
"""

from typing import Dict, List

from gz_testauto.analysis.overview import Analysis
from gz_testauto.report.verdicts import success_verdict

Others = Dict[str, List[str]]
"""Each planner with the other planners of pairs that have the same verdict."""


def ranking(analysis: Analysis) -> str:
    """Return the planners in the order of their rates, with the decided and undecided pairs; empty
    for fewer than two planners."""
    ranked = sorted(
        (summary for summary in analysis.summaries if summary.trials),
        key=lambda summary: -summary.success.value,
    )
    if len(ranked) < 2:
        return ""
    rates = ", ".join(f"{one.planner} {100 * one.success.value:.1f} %" for one in ranked)
    names = [summary.planner for summary in ranked]
    ahead: Others = {name: [] for name in names}
    equivalent: Others = {name: [] for name in names}
    unknown: Others = {name: [] for name in names}
    for pair in analysis.comparisons.pairs:
        if pair.first in names and pair.second in names:
            verdict = success_verdict(pair, analysis.early_end)
            one, other = sorted((pair.first, pair.second), key=names.index)
            if verdict.better == other:
                one, other = other, one
            of = ahead if verdict.better else equivalent if verdict.decided else unknown
            of[one].append(other)
    first = next((name for name in names if len(ahead[name]) == len(names) - 1), None)
    others = {name: behind for name, behind in ahead.items() if name != first}
    sentences = [
        f"Success rates: {rates}.",
        "No planner was significantly better than all others."
        if first is None
        else _first(first, ahead[first]),
        _listed("Significantly higher success rate", "than", others),
        _listed("Equivalent within the margin of the campaign", "and", equivalent),
        _listed("No significant difference", "and", unknown),
    ]
    return " ".join(filter(None, sentences))


def _first(name: str, behind: List[str]) -> str:
    """Return the sentence for a planner that is better than all others, ``behind``."""
    than = behind[0] if len(behind) == 1 else "every other planner"
    return f"{name} reached the goal significantly more often than {than}."


def _listed(heading: str, word: str, others: Others) -> str:
    """Return ``No significant difference: a and b; c and d.``; empty for an empty list."""
    order = list(others)
    pairs = [
        f"{name} {word} {other}"
        for name, of in others.items()
        for other in sorted(of, key=order.index)
    ]
    return f"{heading}: {'; '.join(pairs)}." if pairs else ""
