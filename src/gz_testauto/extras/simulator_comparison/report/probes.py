"""Probes of the simulators' ground on a terminal."""

import math
from typing import Optional, Sequence

from rich.console import Console

from gz_testauto.base.escaping import escape_text
from gz_testauto.extras.simulator_comparison.bench.runner import ProbeRow
from gz_testauto.extras.simulator_comparison.report.terminal import print_paragraph
from gz_testauto.report.plain import plain_table, report_console


def print_probes(rows: Sequence[ProbeRow], console: Optional[Console] = None) -> None:
    """Print a line for each entry and terrain, by default on standard output, and below them the
    errors of refused ones."""
    console = console or report_console()
    table = plain_table("entry", "simulator", "terrain", "error, mm", "friction", "expected", "")
    for column in table.columns[1:3]:
        column.no_wrap = False
    for row in rows:
        ground = row.ground
        table.add_row(
            escape_text(ground.entry),
            row.simulator,
            escape_text(ground.terrain),
            _text(1000.0 * ground.worst_m),
            _text(ground.friction),
            f"{ground.expected_friction:g}",
            "refused" if ground.refusal else "correct",
        )
    console.print(table)
    for row in rows:
        if row.ground.refusal:
            where = f"{row.ground.entry} on {row.ground.terrain}"
            print_paragraph(console, f"{where}: {row.ground.refusal}", "  ")


def _text(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3f}"
