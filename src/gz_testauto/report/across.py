"""The report on several compared campaigns, above the usual tables.

Owns the wording; every number comes from :mod:`gz_testauto.analysis`.
"""

from typing import Iterator, Optional

from rich.console import Console, Group, RenderableType
from rich.text import Text

from gz_testauto.analysis.across import Across, Side
from gz_testauto.analysis.overview import Analysis
from gz_testauto.base.escaping import escape_all_texts
from gz_testauto.report.plain import count_text, indented, plain_table, report_console
from gz_testauto.report.table import report

SHOWN = 8
"""Worlds and reasons named in one list."""


def print_across(across: Across, analysis: Analysis, console: Optional[Console] = None) -> None:
    """Print which campaigns are comparable, the reasons if not, and the tables."""
    console = console or report_console()
    across, analysis = escape_all_texts(across), escape_all_texts(analysis)
    console.print(Group(*_heading(across)))
    if sum(not side.left_out for side in across.sides) > 1:
        console.print(report(analysis))


def _heading(across: Across) -> Iterator[RenderableType]:
    table = plain_table("directory", "campaign", "worlds", "compared", "simulator")
    for side in across.sides:
        common = "left out" if side.left_out else str(side.common)
        table.add_row(side.label, side.campaign, str(side.worlds), common, side.simulator or "-")
    yield table
    for side in across.sides:
        yield from _of(side, across.sides[0])
    for label, worlds in across.only.items():
        if worlds:
            noun = count_text(len(worlds), "world")
            yield Text(f"Only in {label}, not compared: {noun}", style="yellow")
            more = " ..." if len(worlds) > SHOWN else ""
            yield indented(" ".join(worlds[:SHOWN]) + more)
    yield ""


def _of(side: Side, first: Side) -> Iterator[RenderableType]:
    if side.reasons:
        what = "is not comparable" if side.left_out else "compared although it differs"
        yield Text(f"{side.label}: {what} (values of {first.label}, and {side.label}):", "yellow")
        yield from map(indented, side.reasons[:SHOWN])
        if len(side.reasons) > SHOWN:
            yield indented(f"and {len(side.reasons) - SHOWN} more")
    for note in side.notes:
        yield Text(f"{side.label}: {note}." if side is not first else f"{note}.", style="dim")
