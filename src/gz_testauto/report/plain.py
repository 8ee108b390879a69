"""Format tables, numbers and text from results for a terminal. Rich's markup is disabled, and
characters that are not printable are escaped."""

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
        raise BrokenPipeError


def report_console(stream: Optional[IO[str]] = None) -> Console:
    return ReportConsole(file=stream, width=WIDTH, highlight=False, markup=False, emoji=False)


def plain_table(*headings: str) -> Table:
    """Return a table without lines. The first column is aligned left, the others right."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for index, heading in enumerate(headings):
        first = index == 0
        table.add_column(
            heading, justify="left" if first else "right", overflow="fold", no_wrap=not first
        )
    return table


def count_text(number: int, noun: str) -> str:
    """Return text such as ``1 world`` or ``2 worlds``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def joined(items: Sequence[str], last: str = " and ") -> str:
    """Return text such as ``a``, ``a and b`` or ``a, b and c``."""
    return last.join(filter(None, (", ".join(items[:-1]), *items[-1:])))


def p_text(value: float, prefix: str = "p ") -> str:
    """Return text such as ``p = 0.012`` or ``p < 0.001``, or a dash for NaN."""
    if math.isnan(value):
        return "-"
    if value < 0.001:
        return f"{prefix}< 0.001"
    return f"{prefix}= {value:.3f}" if prefix else f"{value:.3f}"


def duration_text(seconds: float) -> str:
    """Return text such as ``12 s``, ``3 min`` or ``2 h 05 min``."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60:02d} min"


def number_text(value: float, decimals: int, sign: str = "") -> str:
    if math.isnan(value):
        return "-"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if abs(value) >= 1e9:
        return f"{value:{sign}.2e}"
    return f"{value:{sign}.{decimals}f}"


def interval_text(estimate: Estimate, decimals: int, factor: float = 1.0, sign: str = "") -> str:
    if not estimate.has_interval:
        return ""
    low, high = (number_text(factor * end, decimals, sign) for end in (estimate.low, estimate.high))
    return f"[{low}, {high}]"


def methods_text(estimates: Iterable[Estimate]) -> str:
    known_values = [estimate for estimate in estimates if not math.isnan(estimate.value)]
    methods = sorted({estimate.method for estimate in known_values if estimate.has_interval})
    reasons = sorted(
        {
            estimate.method
            for estimate in known_values
            if not estimate.has_interval and estimate.method
        }
    )
    # Intervals of an early stop state their level, which depends on the number of pairs.
    parts = [method for method in methods if method.endswith("%")]
    methods = [method for method in methods if method not in parts]
    parts += [f"{', '.join(methods)}, {100 * LEVEL:.0f} %"] if methods else []
    parts += [f"none: {', '.join(reasons)}"] if reasons else []
    return "; ".join(parts)


def correlation_text(summary: PlannerSummary) -> str:
    if summary.correlation == 0.0:
        return "trials in one world are not correlated (ICC 0.00)"
    return (
        f"trials in one world are correlated with ICC {summary.correlation:.2f}, design effect "
        f"{summary.design_effect:.1f}"
    )


def indented(text: str) -> Text:
    # rich's own indentation would fill lines with spaces
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
