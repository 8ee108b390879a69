"""Comparison of two simulators under the same velocity commands, on a terminal."""

from typing import Optional

from rich.console import Console

from gz_testauto.base.escaping import escape_text
from gz_testauto.extras.simulator_comparison.findings import Findings
from gz_testauto.extras.simulator_comparison.measures.interface import find_measure
from gz_testauto.extras.simulator_comparison.report.sentences import (
    condition_lines,
    measured_texts,
    number,
)
from gz_testauto.extras.simulator_comparison.report.terminal import remark_table
from gz_testauto.report.plain import report_console


def print_open_loop(found: Findings, console: Optional[Console] = None) -> None:
    """Print the measures of one simulator against the other, with the floor of the other's own
    repetitions."""
    console = console or report_console()
    ((name, own),) = found.measured.items()
    table = remark_table("", "value", "95 %", "floor", "")
    for measure in map(find_measure, found.spec.weights):
        one = own[measure.name]
        unit = f", {measure.unit}" if measure.unit else ""
        value, within, remark = measured_texts(one)
        remark = "ties" if one.ties else remark
        table.add_row(f"{measure.name}{unit}", value, within, number(one.floor), remark)
    console.print(f"{name} against {found.spec.reference}, with the same velocity commands")
    console.print(table)
    console.print(
        f"Floor: difference between the repetitions of {found.spec.reference}, from slightly "
        "different starts. Ties: no significant difference between the two at 5 %."
    )
    for line in (*found.conditions.notes, *condition_lines(found)):
        console.print(escape_text(line))
