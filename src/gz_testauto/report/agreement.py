"""What ``gz_testauto agree`` prints; every number comes from :mod:`gz_testauto.analysis`."""

from typing import List, Optional

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from gz_testauto.analysis.agreement import Agreement
from gz_testauto.analysis.intervals import LEVEL
from gz_testauto.analysis.summary import metric_named
from gz_testauto.campaign.results import TrialRecord
from gz_testauto.report.table import WIDTH, number_text, plain_table


def print_agreement(
    found: Agreement, first: str, second: str, console: Optional[Console] = None
) -> None:
    """Print it, on standard output unless told; ``first`` and ``second`` are the simulators."""
    console = console or Console(width=WIDTH, highlight=False)
    console.print(agreement_report(found, first, second))


def agreement_report(found: Agreement, first: str, second: str) -> RenderableType:
    """Everything that a reader should see, as rich renders it."""
    total, same = sum(found.trials.values()), sum(found.same.values())
    if not total:
        return Text("No trial has ended validly in both simulators.")
    rate = found.rate
    parts: List[RenderableType] = [
        f"{first} and {second} end {same} of {total} trials alike: {100 * rate.value:.1f} % "
        f"[{100 * rate.low:.1f}, {100 * rate.high:.1f}]",
        *(f"  {name}: {found.same[name]} of {count}" for name, count in found.trials.items()),
        f"Interval: {rate.method}, {100 * LEVEL:.0f} %.",
        "",
        _metrics(found),
        f"Shift: {second} minus {first}, Hodges–Lehmann, where both reached the goal.",
    ]
    if found.disagreements:
        parts += ["", "Trials that ended differently"]
        for one, other in found.disagreements:
            parts.append(f"  {one.world} {one.planner}: {_how(one)}; {_how(other)}")
    return Group(*parts)


def _how(record: TrialRecord) -> str:
    return f"{record.outcome.value}, {record.detail}" if record.detail else record.outcome.value


def _metrics(found: Agreement) -> Table:
    table = plain_table("difference of", "pairs", "shift", "95 % interval", "median of magnitudes")
    for metric in found.metrics:
        shift = metric.shift
        relative = number_text(100 * metric.median_relative, 2)
        table.add_row(
            f"{metric.name} ({metric_named(metric.name).unit})",
            str(metric.pairs),
            number_text(shift.value, 3, "+"),
            f"[{number_text(shift.low, 3, '+')}, {number_text(shift.high, 3, '+')}]",
            f"{relative} %",
        )
    return table
