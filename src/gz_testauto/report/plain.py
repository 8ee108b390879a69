"""Format tables, numbers and text from results for a terminal.

Text from results cannot control the terminal: rich's markup is disabled, and characters that are
not printable are escaped (:mod:`gz_testauto.base.escaping`).
"""

import math
import textwrap
from typing import IO, Iterable, Optional, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from gz_testauto.analysis.intervals import LEVEL, Estimate
from gz_testauto.analysis.summary import PlannerSummary

WIDTH = 80


class ReportConsole(Console):
    """A console for reports. A closed pipe raises ``BrokenPipeError``; rich would exit with 1."""

    def on_broken_pipe(self) -> None:
        """Raise the error again that rich has caught."""
        raise BrokenPipeError


def report_console(stream: Optional[IO[str]] = None) -> Console:
    """Return the console for reports, which writes to standard output or to ``stream``."""
    return ReportConsole(file=stream, width=WIDTH, highlight=False, markup=False, emoji=False)


def plain_table(*headings: str) -> Table:
    """Return an empty table without lines. The first column is aligned left, the others right."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for index, heading in enumerate(headings):
        first = index == 0
        table.add_column(
            heading, justify="left" if first else "right", overflow="fold", no_wrap=not first
        )
    return table


def count_text(number: int, noun: str) -> str:
    """Return a count with its noun, such as ``1 world`` or ``2 worlds``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def joined(items: Sequence[str], last: str = " and ") -> str:
    """Return the items joined as ``a``, ``a and b`` or ``a, b and c``.

    ``last`` is the word before the last item.
    """
    return last.join(filter(None, (", ".join(items[:-1]), *items[-1:])))


def p_text(value: float, prefix: str = "p ") -> str:
    """Return a p-value with three decimals, such as ``p = 0.012``, or a dash for NaN."""
    if math.isnan(value):
        return "-"
    if value < 0.001:
        return f"{prefix}< 0.001"
    return f"{prefix}= {value:.3f}" if prefix else f"{value:.3f}"


def duration_text(seconds: float) -> str:
    """Return a duration as ``12 s``, ``3 min`` or ``2 h 05 min``."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60:02d} min"


def number_text(value: float, decimals: int, sign: str = "") -> str:
    """Return a number as text, with a dash for NaN and ``∞`` for infinity.

    Numbers from 1e9 on are in exponential notation.
    """
    if math.isnan(value):
        return "-"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if abs(value) >= 1e9:
        return f"{value:{sign}.2e}"
    return f"{value:{sign}.{decimals}f}"


def interval_text(one: Estimate, decimals: int, factor: float = 1.0, sign: str = "") -> str:
    """Return the interval, multiplied by ``factor``, in brackets; empty if there is no interval."""
    if not one.has_interval:
        return ""
    low, high = (number_text(factor * end, decimals, sign) for end in (one.low, one.high))
    return f"[{low}, {high}]"


def methods_text(estimates: Iterable[Estimate]) -> str:
    """Return a note on the methods of the intervals, and on the reasons why some are missing.

    The note is empty if there are no estimates.
    """
    found = [one for one in estimates if not math.isnan(one.value)]
    methods = sorted({one.method for one in found if one.has_interval})
    reasons = sorted({one.method for one in found if not one.has_interval and one.method})
    parts = [f"{', '.join(methods)}, {100 * LEVEL:.0f} %"] if methods else []
    parts += [f"none: {', '.join(reasons)}"] if reasons else []
    return "; ".join(parts)


def correlation_text(summary: PlannerSummary) -> str:
    """Return text on the correlation of a planner's trials in the same world."""
    if summary.correlation == 0.0:
        return "trials in one world are not correlated (ICC 0.00)"
    return (
        f"trials in one world are correlated with ICC {summary.correlation:.2f}, design effect "
        f"{summary.design_effect:.1f}"
    )


def indented(text: str) -> Text:
    """Return wrapped and indented text.

    rich's own indentation is not used, because it fills lines with spaces.
    """
    indent = "  "
    return Text(
        textwrap.fill(
            text,
            WIDTH,
            initial_indent=indent,
            subsequent_indent=indent,
            break_on_hyphens=False,
        )
    )
