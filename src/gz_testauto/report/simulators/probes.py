"""The grounds of simulators on a terminal."""

import math
from typing import Optional, Sequence

from rich.console import Console

from gz_testauto.fidelity.bench.probes import ProbeRow
from gz_testauto.report.plain import plain_table, report_console


def print_probes(rows: Sequence[ProbeRow], console: Optional[Console] = None) -> None:
    """A line for each entry and terrain, on standard output unless told."""
    table = plain_table("entry", "simulator", "terrain", "off by (mm)", "friction", "should be", "")
    for row in rows:
        ground = row.ground
        table.add_row(
            ground.entry,
            row.simulator,
            ground.terrain,
            _text(1000.0 * ground.worst_m),
            _text(ground.friction),
            f"{ground.expected_friction:g}",
            ground.refusal or "as it should be",
        )
    (console or report_console()).print(table)


def _text(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3f}"
