"""What is said of a campaign that ends when its decision is in.

Owns the words; the decision is :mod:`gz_testauto.analysis.decisions.early_end`'s.
"""

from typing import Any, Dict, List, Optional

from rich.console import RenderableType
from rich.text import Text

from gz_testauto.analysis.decisions.early_end import EarlyEnd, PairDecision
from gz_testauto.analysis.intervals import Estimate
from gz_testauto.report.plain import indented, number_text

CAVEAT = (
    "The number of worlds depends on how they ended. What is said here, and the differences of "
    "success below with their p-values, hold all the same, however often one looks; other "
    "intervals and p-values are those of a number of worlds that was set before."
)


def early_end_lines(end: Optional[EarlyEnd]) -> List[RenderableType]:
    """The decision; silent for a campaign that has no ``stop``."""
    if end is None:
        return []
    return [Text(_heading(end), style="bold"), *(indented(pair_line(pair)) for pair in end.pairs)]


def early_end_text(end: EarlyEnd) -> str:
    """The decision and what holds, as one paragraph."""
    return f"{_heading(end)} {'; '.join(map(pair_line, end.pairs))}. {CAVEAT}"


def _heading(end: EarlyEnd) -> str:
    many = "1 world" if end.worlds == 1 else f"{end.worlds} worlds"
    state = "Decided after" if end.decided else "Not decided after"
    return f"{state} {many} of at most {end.at_most}, alpha {end.rule.alpha:g}:"


def early_end_note(end: Optional[EarlyEnd]) -> List[RenderableType]:
    """What a reader has to know of everything else."""
    return [] if end is None else [Text(CAVEAT, style="dim")]


def pair_line(pair: PairDecision) -> str:
    """``fgm succeeds more often than dwa: +21.5 points [+9.2, +34.5] in 91 worlds``."""
    if pair.better:
        other = pair.second if pair.better == pair.first else pair.first
        said = f"{pair.better} succeeds more often than {other}"
    elif pair.negligible:
        said = f"{pair.first} and {pair.second} do not differ by what matters"
    else:
        said = f"{pair.first} against {pair.second} is open"
    if not pair.worlds:
        return said
    return f"{said}: {pair.first} minus {pair.second} {_points(pair.difference)}"


def early_end_document(end: Optional[EarlyEnd]) -> Optional[Dict[str, Any]]:
    """The same for JSON."""
    if end is None:
        return None
    return {
        "rule": end.rule.model_dump(),
        "decided": end.decided,
        "worlds": end.worlds,
        "at_most": end.at_most,
        "pairs": end.pairs,
    }


def _points(difference: Estimate) -> str:
    value, low, high = (number_text(100 * one, 1, "+") for one in difference[:3])
    return f"{value} points [{low}, {high}]"
