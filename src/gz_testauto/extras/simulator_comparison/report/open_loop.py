"""The comparison of two simulators whose robots got the same commands, on a terminal."""

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
    """Print how far a robot that is commanded alike drives alike: the measures of one simulator
    against another, beside what the other's own repetitions differ by."""
    console = console or report_console()
    ((name, own),) = found.measured.items()
    table = remark_table("", "value", "95 %", "floor", "")
    for measure in map(find_measure, found.spec.weights):
        one = own[measure.name]
        unit = f", {measure.unit}" if measure.unit else ""
        value, within, said = measured_texts(one)
        remark = "ties" if one.ties else said
        table.add_row(f"{measure.name}{unit}", value, within, number(one.floor), remark)
    console.print(f"{name} against {found.spec.reference}, the robot commanded alike in both")
    console.print(table)
    console.print(
        f"Floor: what the repetitions of {found.spec.reference} differ by among themselves, from "
        "starts a little apart. Ties: the repetitions of the two cannot be told apart at 5 %."
    )
    for line in (*found.conditions.notes, *condition_lines(found)):
        console.print(escape_text(line))
