"""A comparison of simulators on a terminal."""

import math
from typing import Iterator, Mapping, Optional, Sequence, Tuple

from rich.console import Console
from rich.table import Table

from gz_testauto.analysis.intervals import Estimate
from gz_testauto.fidelity.estimates import NOTHING, PUBLISHED, Measured
from gz_testauto.fidelity.findings import Findings, Ranking
from gz_testauto.fidelity.measures.interface import Measure
from gz_testauto.fidelity.sensitivity import SPREAD
from gz_testauto.report.plain import plain_table, report_console

TURNS_SHOWN = 5


def print_findings(found: Findings, console: Optional[Console] = None) -> None:
    """Print all of it, on standard output unless told."""
    console = console or report_console()
    console.print(found.spec.name, style="bold")
    console.print(reference_text(found))
    console.print()
    _print_ranking(console, "Ranking", found.ranking)
    if found.printed is not None:
        _print_ranking(console, "Ranking by the scores that were printed", found.printed)
        console.print(change_text(found))
        console.print()
    for measure in found.measures:
        console.print(measure_title(found, measure), style="bold")
        console.print(measure_table(found, measure))
        console.print()
    for line in notes(found):
        console.print(line)


def reference_text(found: Findings) -> str:
    """What the others are measured against."""
    spec = found.spec
    if spec.reference is None:
        return "Without a reference: nothing here says how true a simulator is."
    if spec.real:
        return f"Measured against the real robot's recordings, {spec.reference}."
    return f"Measured against {spec.reference}: this is agreement with it, not accuracy."


def change_text(found: Findings) -> str:
    """Whether the scores that were printed have another first one than the measurements."""
    assert found.printed is not None, "asked where there are printed scores"
    firsts = [
        ranking.table.entries[ranking.table.order[0]] for ranking in (found.printed, found.ranking)
    ]
    if firsts[0] == firsts[1]:
        return f"By either, {firsts[0]} has the greatest total."
    return (
        f"The winner changes: by the printed scores {firsts[0]} has the greatest total, by the "
        f"measurements and rules {firsts[1]}. The printed scores do not follow from the "
        "measurements."
    )


def _print_ranking(console: Console, title: str, ranking: Ranking) -> None:
    console.print(title, style="bold")
    console.print(ranking.verdict.text)
    spread = f"weights ±{100 * SPREAD:.0f} %"
    table = plain_table("", "total", "first:", spread, "any weights")
    for row in ranking.table.order:
        table.add_row(
            ranking.table.entries[row],
            f"{ranking.table.totals[row]:.3f}",
            "",
            f"{100 * ranking.near.first[row]:.1f} %",
            f"{100 * ranking.any.first[row]:.1f} %",
        )
    console.print(table)
    for line in turning_lines(ranking):
        console.print(line)
    for name, lacking in ranking.table.left_out.items():
        console.print(f"{name} does not count: not known of {', '.join(lacking)}.")
    console.print()


def turning_lines(ranking: Ranking) -> Iterator[str]:
    """The weights that turn the first place, those nearest to the given ones."""
    for change in ranking.turning[:TURNS_SHOWN]:
        yield (
            f"A weight of {change.needed:.3f} for {change.criterion} ({change.given:g} given) "
            f"makes {change.winner} first."
        )


def measure_title(found: Findings, measure: Measure) -> str:
    """Name, unit, direction, weight."""
    unit = f", {measure.unit}" if measure.unit else ""
    weight = found.spec.weights.get(measure.name)
    counts = f"weight {weight:g}" if weight else "not weighted"
    return f"{measure.name}{unit} ({measure.better} is better, {counts})"


def measure_table(found: Findings, measure: Measure) -> Table:
    """Value, interval, floor."""
    table = plain_table("", "value", "95 %", "")
    for name, one in of_entries(found, measure).items():
        table.add_row(name, *measured_texts(one))
    floor = floor_of(found, measure)
    if not math.isnan(floor):
        table.add_row("floor: the reference's own", number(floor), "", "")
    return table


def of_entries(found: Findings, measure: Measure) -> Mapping[str, Measured]:
    """What was measured of each entry; of a measure that does not count, without those of which
    nobody published anything."""
    counts = measure.name in found.spec.weights
    return {
        name: own[measure.name]
        for name, own in found.measured.items()
        if counts or own[measure.name].missing != NOTHING
    }


def floor_of(found: Findings, measure: Measure) -> float:
    """Of the reference's own repetitions, NaN where there is none."""
    floors = (own[measure.name].floor for own in found.measured.values())
    return next((floor for floor in floors if not math.isnan(floor)), math.nan)


def measured_texts(one: Measured) -> Tuple[str, str, str]:
    """Value, interval, and what is to be said of it."""
    if one.missing:
        return "-", "", f"not measured: {one.missing}"
    said = "as published" if one.estimate.method == PUBLISHED else ""
    if one.ties:
        said = "ties with the reference"
    return number(one.estimate.value), interval(one.estimate), said


def number(value: float) -> str:
    """Four digits."""
    return "-" if math.isnan(value) else f"{value:.4g}"


def interval(estimate: Estimate) -> str:
    """In brackets; nothing where there is none."""
    if math.isnan(estimate.low):
        return ""
    return f"[{estimate.low:.4g}, {estimate.high:.4g}]"


def notes(found: Findings) -> Sequence[str]:
    """What a reader must know beside."""
    told = []
    methods = {
        one.estimate.method
        for own in found.measured.values()
        for one in own.values()
        if not one.missing and one.estimate.method
    }
    for method in sorted(methods - {PUBLISHED}):
        told.append(f"Intervals: {method}." if "bootstrap" in method else f"{method.capitalize()}.")
    if PUBLISHED in methods:
        told.append("Published values have no interval and are taken as they are.")
    sources = {entry.source for entry in found.spec.ranked if entry.source}
    told += [f"Published values: {source}." for source in sorted(sources)]
    return told
