"""How tables, numbers and text from results look on a terminal.

Text from results is shown as it is and does nothing: rich's markup is off, and what is not
printable is escaped (:mod:`gz_testauto.base.escaping`).
"""

import math
import textwrap
from typing import IO, Iterable, Optional

from rich.console import Console
from rich.table import Table
from rich.text import Text

from gz_testauto.analysis.intervals import LEVEL, Estimate
from gz_testauto.analysis.summary import PlannerSummary

WIDTH = 80


def report_console(stream: Optional[IO[str]] = None) -> Console:
    """Where reports are printed: standard output, or ``stream``."""
    return Console(file=stream, width=WIDTH, highlight=False, markup=False, emoji=False)


def plain_table(*headings: str) -> Table:
    """An empty table without lines, its first column to the left and the others to the right."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for index, heading in enumerate(headings):
        first = index == 0
        table.add_column(
            heading, justify="left" if first else "right", overflow="fold", no_wrap=not first
        )
    return table


def count_text(number: int, noun: str) -> str:
    """``1 world``, ``2 worlds``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def p_text(value: float, prefix: str = "p ") -> str:
    """A p-value to three decimals: ``p = 0.012``; a dash for none."""
    if math.isnan(value):
        return "-"
    if value < 0.001:
        return f"{prefix}< 0.001"
    return f"{prefix}= {value:.3f}" if prefix else f"{value:.3f}"


def duration_text(seconds: float) -> str:
    """``12 s``, ``3 min`` or ``2 h 05 min``."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60:02d} min"


def number_text(value: float, decimals: int, sign: str = "") -> str:
    """A number as a reader takes it in: a dash for none, a sign for infinity."""
    if math.isnan(value):
        return "-"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return f"{value:{sign}.{decimals}f}"


def interval_text(one: Estimate, decimals: int, factor: float = 1.0, sign: str = "") -> str:
    """The interval in brackets, in units of 1 / ``factor``; empty where there is none."""
    if not one.has_interval:
        return ""
    low, high = (number_text(factor * end, decimals, sign) for end in (one.low, one.high))
    return f"[{low}, {high}]"


def methods_text(estimates: Iterable[Estimate]) -> str:
    """By which methods the intervals were made, and why there is none where there is none; empty
    for no estimate."""
    found = [one for one in estimates if not math.isnan(one.value)]
    made = sorted({one.method for one in found if one.has_interval})
    reasons = sorted({one.method for one in found if not one.has_interval and one.method})
    said = [f"{', '.join(made)}, {100 * LEVEL:.0f} %"] if made else []
    said += [f"none: {', '.join(reasons)}"] if reasons else []
    return "; ".join(said)


def correlation_text(summary: PlannerSummary) -> str:
    """How much the trials of a planner in one world resemble each other, in words."""
    if summary.correlation == 0.0:
        return (
            "trials in one world do not resemble each other more than trials in different worlds "
            "(ICC 0.00)"
        )
    return (
        f"trials in one world resemble each other with ICC {summary.correlation:.2f}, design "
        f"effect {summary.design_effect:.1f}"
    )


def indented(text: str, style: str = "") -> Text:
    """Wrapped here, because rich's own indenting fills lines with spaces."""
    indent = "  "
    return Text(
        textwrap.fill(
            text,
            WIDTH,
            initial_indent=indent,
            subsequent_indent=indent,
            break_on_hyphens=False,
        ),
        style=style,
    )
