"""Print the report on a campaign for a terminal with 80 columns."""

import shlex
import textwrap
from pathlib import Path
from typing import AbstractSet, Iterable, List, Mapping, Optional, Sequence

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from gz_testauto.analysis.comparison import Comparison
from gz_testauto.analysis.overview import Analysis, WorldGroup
from gz_testauto.analysis.summary import PlannerSummary, failures
from gz_testauto.base.escaping import escape_all_texts, escape_text
from gz_testauto.base.resources import PACKAGE
from gz_testauto.base.truncation import join_truncated
from gz_testauto.metrics.interface import Metric
from gz_testauto.report.metric_tables import (
    absent_everywhere,
    absent_note,
    contradictions,
    differences_note,
    differences_table,
    first_metrics,
    further_means,
    means_table,
)
from gz_testauto.report.names import arrows_text, metric_heading
from gz_testauto.report.notes import (
    CAUSE_SHOWN,
    Note,
    aborted_notes,
    barn_notes,
    copies_notes,
    correlation_notes,
    early_stop_caveats,
    early_stop_notes,
    extent_text,
    invalid_notes,
    load_notes,
    means_notes,
    missing_notes,
    overall_notes,
    running_notes,
    selection_notes,
    stack_notes,
    success_note,
    unmeasured_notes,
    validity_notes,
    visuals_notes,
    worker_deaths_notes,
)
from gz_testauto.report.plain import (
    count_text,
    indented,
    joined,
    methods_text,
    plain_table,
    report_console,
)
from gz_testauto.report.rows import Notation, has_lanes, success_rows
from gz_testauto.report.verdicts import success_verdict
from gz_testauto.results.directory import PAGE
from gz_testauto.results.records import CampaignResults

LAST_SHOWN = 8  # latest trials that are shown while a campaign runs
WON_SHOWN = 12  # listed worlds in which only one planner of a pair succeeded


def print_report(analysis: Analysis, console: Optional[Console] = None) -> None:
    console = console or report_console()
    console.print(report(escape_all_texts(analysis)))


def closing_lines(results: CampaignResults, directory: Path, program: str = PACKAGE) -> List[str]:
    """Return the lines after the report: the results directory, and commands to continue with.
    ``program`` is the command that starts the program in the user's shell."""
    lines = [f"results: {directory}"]
    if (directory / PAGE).is_file():
        lines.append(f"open {directory / PAGE} in a browser")
    failed = next((t for t in results.trials if t.outcome.valid and not t.completed), None)
    if failed is not None:
        where, planner = shlex.quote(str(directory)), shlex.quote(failed.planner)
        repetition = f" --repetition {failed.repetition}" if failed.repetition else ""
        command = f"{program} replay {where} {failed.world_index} {planner}{repetition}"
        lines.append(f"run a failed trial again: {command}")
    return [escape_text(line) for line in lines]


def report(analysis: Analysis) -> RenderableType:
    results, summaries = analysis.results, analysis.summaries
    parts: List[RenderableType] = [
        _title(results),
        *_note_lines(running_notes(results)),
        *_note_lines(early_stop_notes(analysis.early_stop), "bold"),
        *_note_lines(selection_notes(results), "yellow"),
        "",
    ]
    if not any(summary.trials for summary in summaries):
        parts.append("No valid trial yet.")
    else:
        parts += [
            _outcome_table(summaries),
            *_note_lines(copies_notes(results), "yellow"),
            *_note_lines(validity_notes(summaries), "yellow"),
            *_note_lines(load_notes(summaries), "yellow"),
            "",
            *([means_table(analysis)] if first_metrics(analysis) else []),
            *_note_lines(means_notes(analysis), "yellow"),
            *_method_notes(analysis),
            *_note_lines(early_stop_caveats(results), "dim"),
        ]
        parts += further_means(analysis)
        metrics = {metric.name: metric for metric in analysis.metrics}
        pairs = [pair for pair in analysis.comparisons.pairs if pair.worlds]
        absent = absent_everywhere(pairs)
        for pair in analysis.comparisons.pairs:
            parts += ["", *_comparison_lines(pair, metrics, analysis, absent)]
        if pairs:
            parts += ["", Text(differences_note(pairs, metrics), "dim")]
        parts += _note_lines(overall_notes(analysis), separated=True)
        parts += ["", *_winner_lines(results, analysis.winners)]
    parts += _note_lines(missing_notes(results), "yellow", separated=True)
    parts += _note_lines(unmeasured_notes(results), "yellow", separated=True)
    parts += _note_lines(visuals_notes(results), "yellow", separated=True)
    parts += _note_lines(stack_notes(results), "yellow", separated=True)
    return Group(*parts, *_invalid_lines(results))


def progress_report(analysis: Analysis) -> RenderableType:
    """Return the report on a running campaign, without means and comparisons."""
    escaped_analysis = escape_all_texts(analysis)
    results = escaped_analysis.results
    parts: List[RenderableType] = [_title(results), *_note_lines(running_notes(results)), ""]
    if any(summary.trials for summary in escaped_analysis.summaries):
        parts.append(_outcome_table(escaped_analysis.summaries))
    last_trials = sorted(results.trials, key=lambda record: (record.finished_at, record.trial))
    if last_trials:
        parts += ["", Text("Latest trials", style="bold")]
    for record in reversed(last_trials[-LAST_SHOWN:]):
        line = f"{record.world} {record.planner}: {record.outcome.value}, {record.detail}"
        parts.append(indented(textwrap.shorten(line, CAUSE_SHOWN)))
    return Group(*parts, *_invalid_lines(results))


def _title(results: CampaignResults) -> Text:
    text = Text(f"Campaign {results.name}", style="bold")
    return text.append(f"  {extent_text(results)}", style="default")


def _note_lines(
    notes: Iterable[Note], style: str = "", separated: bool = False
) -> List[RenderableType]:
    lines: List[RenderableType] = []
    for note in notes:
        lines += [""] if separated else []
        lines += [Text(note.text, style), *map(indented, note.items)]
    return lines


def _invalid_lines(results: CampaignResults) -> List[RenderableType]:
    aborted = _note_lines(aborted_notes(results), "yellow", separated=True)
    invalid = _note_lines(invalid_notes(results), "yellow", separated=True)
    return [*aborted, *invalid, *_note_lines(worker_deaths_notes(results), separated=True)]


def _outcome_table(summaries: Sequence[PlannerSummary]) -> Table:
    table = plain_table("planner", "reached", "success % [95 %]")
    shown_failures = failures(summaries, all_but_rare=True)
    for outcome in shown_failures:
        table.add_column(outcome.heading, justify="right")
    has_invalid = any(summary.invalid for summary in summaries)
    if has_invalid:
        table.add_column("invalid", justify="right")
    rows = success_rows(summaries, shown_failures, Notation())
    if has_lanes(summaries):
        table.add_column("off road", justify="right")
    for summary, rate, interval, counts, off_road in rows:
        table.add_row(
            summary.planner,
            f"{summary.reached}/{summary.trials}",
            f"{rate} {interval}" if summary.success.has_interval else rate,
            *map(str, counts),
            *([str(summary.invalid)] if has_invalid else []),
            *([] if off_road is None else [off_road]),
        )
    return table


def _method_notes(analysis: Analysis) -> List[RenderableType]:
    summaries = analysis.summaries
    notes = [success_note(summaries), *barn_notes(analysis.results, summaries)]
    short, of_all = (
        joined(
            [metric_heading(m) for m in first_metrics(analysis) if m.completed_only is completed]
        )
        for completed in (True, False)
    )
    if short:
        text = f"{short[0].upper()}{short[1:]}: means over the n trials that reached the goal."
        notes.append(Note(text))
    if of_all:
        spl = "; a failure has SPL 0" if "SPL" in of_all else ""
        notes.append(Note(f"{of_all[0].upper()}{of_all[1:]}: means over all valid trials{spl}."))
    if short or of_all:
        notes.append(Note(arrows_text(first_metrics(analysis))))
    notes += [
        Note(f"Intervals: {methods_text(summary.success for summary in summaries)}."),
        *correlation_notes(summaries),
    ]
    return _note_lines(notes, "dim")


def _comparison_lines(
    pair: Comparison,
    metrics: Mapping[str, Metric],
    analysis: Analysis,
    absent_metrics: AbstractSet[str],
) -> List[RenderableType]:
    title = Text(f"{pair.first} and {pair.second}", style="bold")
    title.append(f"  {count_text(pair.worlds, 'world')} with both", style="default")
    if not pair.worlds:
        return [title]
    verdict = success_verdict(pair, analysis.early_stop)
    lines: List[RenderableType] = [title, Text(f"{verdict.lead} {verdict.evidence}")]
    if pair.counts is not None:
        lines.append(
            f"Number of worlds in which the goal was reached by both planners: {pair.counts.both}; "
            f"only by {pair.first}: {pair.counts.first_only}; only by {pair.second}: "
            f"{pair.counts.second_only}; by neither: {pair.counts.neither}."
        )
    # of two planners, the groups of worlds below contain the same worlds
    if len(analysis.results.planners) > 2:
        lines += [
            Text(f"Only {planner}: {join_truncated(worlds, WON_SHOWN)}.")
            for planner, worlds in verdict.won
            if worlds and pair.counts is not None
        ]
    if any(comparison.worlds for comparison in pair.metrics):
        lines += [differences_table(pair, metrics)]
    lines += [Text(line, "yellow") for line in contradictions(pair, metrics)]
    absent = absent_note(pair, absent_metrics, metrics)
    return [*lines, *([Text(absent, "dim")] if absent else [])]


def _winner_lines(
    results: CampaignResults, groups: Sequence[WorldGroup]
) -> Iterable[RenderableType]:
    if not groups:
        return
    has_repetitions = any(record.repetition for record in results.trials)
    often = " most often" if has_repetitions else ""
    yield Text(f"Worlds by planners that reached the goal{often}", style="bold")
    for group in groups:
        if not group.winners:
            winners = "none"
        elif len(group.winners) == len(results.planners) > 1:
            winners = "all"
        else:
            winners = ("only " if len(group.winners) == 1 else "") + ", ".join(group.winners)
        yield Text(f"{winners} ({len(group.worlds)}):")
        yield indented(" ".join(group.worlds))
