"""Reports for a terminal of 80 columns: comparison of simulators, and probes of their ground."""

import math
import textwrap
from typing import Callable, Optional, Sequence, Tuple

from rich.console import Console
from rich.table import Table

from gz_testauto.base.escaping import escape_text
from gz_testauto.extras.simulator_comparison.findings import Findings, Ranking
from gz_testauto.extras.simulator_comparison.measures.inertial import AXES
from gz_testauto.extras.simulator_comparison.measures.interface import Measure, find_measure
from gz_testauto.extras.simulator_comparison.probe import GroundProbe
from gz_testauto.extras.simulator_comparison.report.sentences import (
    AXES_TITLE,
    MAX_REVERSALS_SHOWN,
    NEAR,
    axis_rows,
    baseline_lines,
    change_text,
    condition_lines,
    delay_text,
    entry_values,
    example_lines,
    feature_texts,
    lead_text,
    left_out_lines,
    measure_title,
    measured_texts,
    notes,
    number,
    rankings,
    reference_floor,
    reference_text,
    relative,
    reversal_text,
    score_text,
    simulator_lines,
    without_interval_text,
)
from gz_testauto.report.plain import WIDTH, plain_table, report_console

ENTRIES_PER_TABLE = 5


def print_findings(findings: Findings, console: Optional[Console] = None) -> None:
    console = console or report_console()
    console.print(findings.spec.name, style="bold")
    for text in (findings.spec.description, reference_text(findings)):
        print_paragraph(console, text)
    console.print()
    change = [] if findings.published_ranking is None else [change_text(findings)]
    _print_section(console, "Comparison with published values", [*change, *example_lines(findings)])
    for title, ranking in rankings(findings):
        _print_ranking(console, title, findings, ranking)
    _print_section(console, "Compared with the baseline", baseline_lines(findings))
    _print_scores(console, findings)
    weighted = [m for m in findings.measures if findings.spec.weights.get(m.name)]
    for measure in weighted:
        _print_table(console, measure_title(findings, measure), measure_table(findings, measure))
    _print_unweighted(console, findings, [m for m in findings.measures if m not in weighted])
    _print_axes(console, findings)
    _print_section(console, "Left out", left_out_lines(findings))
    _print_grounds(console, findings)
    compared = [f"{name}: {text}" for name, text in simulator_lines(findings)]
    _print_section(console, "Compared entries", compared)
    features = [
        f"{quoted.entry} ({quoted.source}): "
        + "; ".join(f"{name} {value}" for name, value in quoted.features.items())
        for quoted in feature_texts(findings)
    ]
    _print_section(console, "Features, as quoted", features)
    _print_section(console, "Methods and conditions", notes(findings))


def print_paragraph(console: Console, text: str, indent: str = "") -> None:
    """Print a paragraph; ``indent`` precedes its second and later lines."""
    if text:
        console.print(
            textwrap.fill(
                escape_text(" ".join(text.split())),
                WIDTH,
                subsequent_indent=indent,
                break_on_hyphens=False,
            )
        )


def _print_section(console: Console, title: str, lines: Sequence[str]) -> None:
    if not lines:
        return
    console.print(title, style="bold")
    for line in lines:
        print_paragraph(console, line, "  ")
    console.print()


def _print_table(console: Console, title: str, table: Table) -> None:
    console.print(title, style="bold")
    console.print(table)
    console.print()


def _print_ranking(console: Console, title: str, findings: Findings, ranking: Ranking) -> None:
    console.print(title, style="bold")
    for text in (ranking.verdict.text, without_interval_text(findings, ranking)):
        print_paragraph(console, text)
    console.print()
    if not ranking.verdict.ranked:
        return
    console.print(ranking_table(ranking))
    console.print()
    for text in (lead_text(ranking), delay_text(findings, ranking), reversal_text(ranking)):
        print_paragraph(console, text)
    if len(ranking.reversals) > 1:
        console.print(reversal_table(ranking))
    console.print()


def ranking_table(ranking: Ranking) -> Table:
    """Return a table of the totals, and of the shares of draws in which an entry is first."""
    counted = float(ranking.table.weights[ranking.table.counted].sum())
    headings = [
        "",
        f"total\nof {counted:g}",
        "\n95 %",
        f"first, weights\n{NEAR}",
        "first,\nany weights",
    ]
    rows = []
    for row in ranking.table.order:
        low, high = ranking.intervals[row].tolist()
        rows.append(
            [
                escape_text(ranking.table.entries[row]),
                f"{ranking.table.totals[row]:.3f}",
                "" if math.isnan(low) else f"[{low:.2f}, {high:.2f}]",
                f"{100 * ranking.near_ranks[row, 0]:.1f} %",
                f"{100 * ranking.any_ranks[row, 0]:.1f} %",
            ]
        )
    return _without_empty(plain_table, headings, rows)


def reversal_table(ranking: Ranking) -> Table:
    table = plain_table("weight of", "specified", "needed", "change", "then first")
    for change in ranking.reversals[:MAX_REVERSALS_SHOWN]:
        table.add_row(
            escape_text(change.criterion),
            f"{change.specified:g}",
            f"{change.needed:.3f}",
            relative(change),
            escape_text(change.winner),
        )
    return table


def _print_scores(console: Console, findings: Findings) -> None:
    table = findings.ranking.table
    if not table.entries:
        return
    console.print("Scores, from 0 to 1", style="bold")
    for begin in range(0, len(table.entries), ENTRIES_PER_TABLE):
        chosen = range(begin, min(begin + ENTRIES_PER_TABLE, len(table.entries)))
        shown = _entries_table(["", "weight", *(table.entries[row] for row in chosen)])
        for column, criterion in enumerate(table.criteria):
            scores = [float(table.scores[row, column]) for row in chosen]
            texts = ("-" if math.isnan(score) else f"{score:.3f}" for score in scores)
            shown.add_row(escape_text(criterion), f"{table.weights[column]:g}", *texts)
        console.print(shown)
        console.print()


def measure_table(findings: Findings, measure: Measure) -> Table:
    rows = []
    for name, measured in entry_values(findings, measure).items():
        value, within, remark = measured_texts(measured)
        score = score_text(findings, name, measure)
        rows.append([escape_text(text) for text in (name, value, within, score, remark)])
    floor = reference_floor(findings, measure)
    if not math.isnan(floor):
        rows.append(["floor", number(floor), "", "", "the reference's own repetitions"])
    return _without_empty(remark_table, ["", "value", "95 %", "score", ""], rows)


def _print_unweighted(console: Console, findings: Findings, measures: Sequence[Measure]) -> None:
    if not measures:
        return
    console.print("Without a weight (= ties with the reference)", style="bold")
    names = list(findings.measured)
    for begin in range(0, len(names), ENTRIES_PER_TABLE):
        chosen = names[begin : begin + ENTRIES_PER_TABLE]
        table = _entries_table(["", *chosen, "floor"])
        for measure in measures:
            unit = f", {measure.unit}" if measure.unit else ""
            measured_values = [findings.measured[name][measure.name] for name in chosen]
            texts = (number(m.estimate.value) + ("=" if m.ties else "") for m in measured_values)
            table.add_row(
                f"{measure.name}{unit}", *texts, number(reference_floor(findings, measure))
            )
        console.print(table)
        console.print()


def _print_axes(console: Console, findings: Findings) -> None:
    if not findings.axes:
        return
    table = _entries_table(["entry", "", *AXES])
    for name, quantity, texts in axis_rows(findings):
        table.add_row(escape_text(name), quantity, *texts)
    _print_table(console, AXES_TITLE, table)


def _entries_table(headings: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column(headings[0], overflow="fold")
    for heading in headings[1:]:
        table.add_column(escape_text(heading), justify="right", overflow="fold", max_width=11)
    return table


def remark_table(*headings: str) -> Table:
    """Return an empty table whose last column is aligned left."""
    table = plain_table(*headings[:-1])
    table.add_column(headings[-1], justify="left", overflow="fold")
    return table


def _without_empty(
    make: Callable[..., Table], headings: Sequence[str], rows: Sequence[Sequence[str]]
) -> Table:
    """Return a table without the empty columns between the first and the last one."""
    columns = [
        column
        for column in range(len(headings))
        if column in (0, len(headings) - 1) or any(row[column] for row in rows)
    ]
    table = make(*(headings[column] for column in columns))
    for row in rows:
        table.add_row(*(row[column] for column in columns))
    return table


def _print_grounds(console: Console, findings: Findings) -> None:
    if not findings.conditions.grounds:
        return
    table = plain_table("ground of", "terrain", "worst error", "friction", "expected")
    for ground in findings.conditions.grounds:
        table.add_row(
            escape_text(ground.entry),
            escape_text(ground.terrain),
            millimeters(ground.worst_m),
            number(ground.friction),
            number(ground.expected_friction),
        )
    _print_table(console, "Ground, as probed", table)


def millimeters(length_m: float) -> str:
    return f"{1000 * length_m:.2f} mm" if math.isfinite(length_m) else "no ground"


def print_open_loop(findings: Findings) -> None:
    console = report_console()
    ((name, values),) = findings.measured.items()
    table = remark_table("", "value", "95 %", "floor", "")
    for measure in map(find_measure, findings.spec.weights):
        measured = values[measure.name]
        unit = f", {measure.unit}" if measure.unit else ""
        value, within, remark = measured_texts(measured)
        remark = "ties" if measured.ties else remark
        table.add_row(f"{measure.name}{unit}", value, within, number(measured.floor), remark)
    console.print(f"{name} against {findings.spec.reference}, with the same velocity commands")
    console.print(table)
    console.print(
        f"Floor: difference between the repetitions of {findings.spec.reference}, from slightly "
        "different starts. Ties: no significant difference between the two at 5 %."
    )
    for line in (*findings.conditions.notes, *condition_lines(findings)):
        console.print(escape_text(line))


def print_probes(
    probes: Sequence[Tuple[str, GroundProbe]], console: Optional[Console] = None
) -> None:
    console = console or report_console()
    table = plain_table("entry", "simulator", "terrain", "error, mm", "friction", "expected", "")
    for column in table.columns[1:3]:
        column.no_wrap = False
    for simulator, ground in probes:
        table.add_row(
            escape_text(ground.entry),
            simulator,
            escape_text(ground.terrain),
            _three_decimals(1000.0 * ground.worst_m),
            _three_decimals(ground.friction),
            f"{ground.expected_friction:g}",
            "refused" if ground.refusal else "correct",
        )
    console.print(table)
    for _, ground in probes:
        if ground.refusal:
            where = f"{ground.entry} on {ground.terrain}"
            print_paragraph(console, f"{where}: {ground.refusal}", "  ")


def _three_decimals(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3f}"
