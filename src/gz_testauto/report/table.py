"""The table at the end of a campaign, for a terminal of 80 columns.

Owns wording and layout; every number comes from :mod:`gz_testauto.analysis`.
"""

import math
import textwrap
from collections import Counter
from typing import Iterable, List, Mapping, Optional, Sequence

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from gz_testauto.analysis.comparison import Comparison, Comparisons
from gz_testauto.analysis.overview import Analysis
from gz_testauto.analysis.summary import PlannerSummary, failures
from gz_testauto.analysis.winners import WorldGroup
from gz_testauto.base.escaping import all_printable
from gz_testauto.metrics.interface import Metric
from gz_testauto.report.early_end import early_end_lines, early_end_note
from gz_testauto.report.metric_tables import (
    differences_note,
    differences_table,
    further_means,
    means_table,
    verdict_text,
)
from gz_testauto.report.plain import (
    correlation_text,
    duration_text,
    indented,
    interval_text,
    methods_text,
    number_text,
    p_text,
    plain_table,
    report_console,
)
from gz_testauto.results.records import CampaignResults
from gz_testauto.results.running import age_s
from gz_testauto.spec.stack import KEEPS_UP
from gz_testauto.worlds.record import unmeasured_in

CAUSE_SHOWN = 150
"""Characters of an invalid trial's cause; the store has it all."""

LAST_SHOWN = 8
"""Endings shown while a campaign runs."""


def print_report(analysis: Analysis, console: Optional[Console] = None) -> None:
    """Print the whole report, on standard output unless told."""
    console = console or report_console()
    console.print(report(all_printable(analysis)))


def report(analysis: Analysis) -> RenderableType:
    """Everything that a reader should see, as rich renders it."""
    results, summaries = analysis.results, analysis.summaries
    parts: List[RenderableType] = [
        _heading(results),
        *_running(results),
        *early_end_lines(analysis.early_end),
        "",
    ]
    if not any(summary.trials for summary in summaries):
        parts.append("No trial has ended in a way that says something about a planner.")
    else:
        parts += [
            _outcome_table(summaries),
            *_load(summaries),
            "",
            means_table(analysis),
            *_notes(results, summaries),
            *early_end_note(analysis.early_end),
        ]
        parts += further_means(analysis)
        metrics = {metric.name: metric for metric in analysis.metrics}
        for pair in analysis.comparisons.pairs:
            parts += ["", *_comparison(pair, metrics)]
        parts += [*_overall(analysis.comparisons), "", *_winners(results, analysis.winners)]
    parts += [*_missing(results), *_unmeasured(results)]
    parts += [*_invalid(results), *_worker_deaths(results)]
    return Group(*parts)


def progress_report(analysis: Analysis) -> RenderableType:
    """What somebody looks at while a campaign runs: progress, rates so far, the last endings, what
    runs now, and what was invalid."""
    shown = all_printable(analysis)
    results = shown.results
    parts: List[RenderableType] = [_heading(results), *_running(results), ""]
    if any(summary.trials for summary in shown.summaries):
        parts.append(_outcome_table(shown.summaries))
    last = sorted(results.trials, key=lambda record: (record.finished_at, record.trial))
    if last:
        parts += ["", Text("The last to end", style="bold")]
    for record in reversed(last[-LAST_SHOWN:]):
        said = f"{record.world} {record.planner}: {record.outcome.value}, {record.detail}"
        parts.append(indented(textwrap.shorten(said, CAUSE_SHOWN)))
    return Group(*parts, *_invalid(results), *_worker_deaths(results))


def _heading(results: CampaignResults) -> Text:
    done = len(results.trials)
    text = Text(f"Campaign {results.name}", style="bold")
    text.append(
        f"  {_count(done, 'trial')} of {results.planned}, {_count(len(results.worlds), 'world')}, "
        f"{_count(len(results.planners), 'planner')}",
        style="default",
    )
    return text


def _running(results: CampaignResults) -> List[RenderableType]:
    """Who runs the campaign now, and what; silent where nobody does."""
    runner = results.running
    if runner is None:
        return []
    who = f"process {runner.process} on {runner.host}"
    at = [f"{one.world} {one.planner}" for one in runner.trials]
    if runner.is_stale():
        said = (
            f"Not running: the last heartbeat of {who} is {duration_text(runner.silent_s())} old, "
            "so it was killed or stopped. The same command continues"
        )
        return [Text(f"{said}; to be begun again: {', '.join(at)}." if at else f"{said}.")]
    lines = [Text(f"Running now, by {who}, since {duration_text(age_s(runner.started_at))}:")]
    for one, what in zip(runner.trials, at):
        worker = one.worker or "waiting for a worker"
        lines.append(indented(f"{what}, since {duration_text(age_s(one.since))} ({worker})"))
    return [*lines] if at else [Text(f"Running now, by {who}: no trial has begun.")]


def _outcome_table(summaries: Sequence[PlannerSummary]) -> Table:
    table = plain_table("planner", "reached", "success % [95 %]")
    shown = failures(summaries, all_but_rare=True)
    for outcome in shown:
        table.add_column(outcome.heading, justify="right")
    for summary in summaries:
        rate = summary.success
        table.add_row(
            summary.planner,
            f"{summary.reached}/{summary.trials}",
            f"{100 * rate.value:.1f} {interval_text(rate, 1, 100)}".strip()
            if summary.trials
            else "-",
            *[str(summary.outcomes.get(outcome, 0)) for outcome in shown],
        )
    return table


def _load(summaries: Sequence[PlannerSummary]) -> List[RenderableType]:
    """What came late because the machine was busy, per planner; silent where nothing did."""
    lines = []
    for summary in summaries:
        load = summary.load
        counts = (
            (load.slow_attempts, "attempt", "too slow to count"),
            (load.slow_trials, "trial", f"below real-time factor {KEEPS_UP:g}"),
            (load.missed_cycles_trials, "trial", "with missed control cycles"),
            (load.late_trials, "trial", "with late periods"),
        )
        said = [f"{_count(number, noun)} {what}" for number, noun, what in counts if number]
        if said:
            lines.append(indented(f"{summary.planner}: {', '.join(said)}", style="yellow"))
    return [Text("The machine was busy:", style="yellow"), *lines] if lines else []


def _notes(results: CampaignResults, summaries: Sequence[PlannerSummary]) -> List[RenderableType]:
    repeated = any(summary.trials > summary.worlds for summary in summaries)
    notes = [
        "Success: share of worlds."
        if not repeated
        else "Success: mean over worlds of the share of trials that reached the goal.",
        *_barn_scores(results, summaries),
        "Length, time, safety and comfort: means over the n trials that reached the goal. SPL "
        "and cycle time: over all valid trials; in SPL a failure counts 0.",
        f"Intervals: {methods_text(summary.success for summary in summaries)}.",
    ]
    for summary in summaries:
        if not math.isnan(summary.correlation):
            notes.append(
                f"{summary.planner}: {correlation_text(summary)}. With trials as the unit, the "
                f"interval would be {interval_text(summary.naive, 1, 100)}."
            )
    return [Text(note, style="dim") for note in notes]


def _barn_scores(results: CampaignResults, summaries: Sequence[PlannerSummary]) -> List[str]:
    """The score of the BARN challenge, where the worlds' best ways are published."""
    if not any(world.published_path_m for world in results.worlds):
        return []
    scores = [
        f"{summary.planner} {number_text(summary.metrics['barn_score'].mean, 3)}"
        for summary in summaries
        if "barn_score" in summary.metrics
    ]
    return [f"BARN score, failures 0: {', '.join(scores)}."]


def _comparison(pair: Comparison, metrics: Mapping[str, Metric]) -> List[RenderableType]:
    title = Text(f"{pair.first} against {pair.second}", style="bold")
    title.append(f"  {_count(pair.worlds, 'world')} with both", style="default")
    if not pair.worlds:
        return [title]
    difference = pair.difference
    lines: List[RenderableType] = [
        title,
        f"Success {100 * difference.value:+.1f} points{_interval(pair)}, mean over worlds; "
        f"{pair.test}: {p_text(pair.p_value)}{_adjusted(pair)} {_size(pair)}",
    ]
    if pair.counts is not None:
        lines.append(
            f"Both {pair.counts.both}, only {pair.first} {pair.counts.first_only}, only "
            f"{pair.second} {pair.counts.second_only}, neither {pair.counts.neither}."
        )
    return [*lines, differences_table(pair, metrics), differences_note(pair, metrics)]


def _interval(pair: Comparison) -> str:
    shown = interval_text(pair.difference, 1, 100, "+")
    if not shown:
        return f" (no interval: {pair.difference.method})"
    return (
        f" {shown}"
        if pair.difference.method == pair.test
        else (f" {shown} ({pair.difference.method})")
    )


def _size(pair: Comparison) -> str:
    """Whether the difference of success is significant and relevant, as a sentence."""
    said = {
        "both": "Significant and relevant",
        "significant": "Significant, but smaller than what is relevant",
        "relevant": "As large as what is relevant, but not significant",
        "neither": "Neither significant nor relevant",
        "-": "Not tested",
    }[verdict_text(pair)]
    return f"{said} (from {100 * pair.smallest_relevant:g} points)."


def _adjusted(pair: Comparison) -> str:
    if math.isnan(pair.p_adjusted) or pair.p_adjusted == pair.p_value:
        return "."
    return f", Holm {p_text(pair.p_adjusted, '')}."


def _overall(comparisons: Comparisons) -> Iterable[RenderableType]:
    if comparisons.overall_test:
        yield ""
        yield (
            f"All planners together, success: {comparisons.overall_test} "
            f"{p_text(comparisons.overall_p)}."
        )


def _winners(results: CampaignResults, groups: Sequence[WorldGroup]) -> Iterable[RenderableType]:
    if not groups:
        return
    repeated = any(record.repetition for record in results.trials)
    often = " most often" if repeated else ""
    yield Text(f"Worlds by who reached the goal{often}", style="bold")
    for group in groups:
        if not group.winners:
            who = "nobody"
        elif len(group.winners) == len(results.planners) > 1:
            who = "all"
        else:
            who = ("only " if len(group.winners) == 1 else "") + ", ".join(group.winners)
        yield Text(f"{who} ({len(group.worlds)}):")
        yield indented(" ".join(group.worlds))


def _missing(results: CampaignResults) -> List[RenderableType]:
    """What worlds were simulated without, as the campaign allows; silent when all was there."""
    counts = Counter(name for world in results.worlds for name in world.missing)
    if not counts:
        return []
    said = (
        "Simulated without what worlds name and is not there, as worlds.allow_missing says "
        "(plugins: where they are not installed):"
    )
    named = [indented(f"{name} ({_count(count, 'world')})") for name, count in counts.items()]
    return ["", Text(said, style="yellow"), *named]


def _unmeasured(results: CampaignResults) -> List[RenderableType]:
    """What worlds hold and no figure above knows of; silent where there is nothing."""
    found = unmeasured_in(results.worlds)
    if not found:
        return []
    said = "Not measured: neither clearance, collisions nor the shortest path know of"
    return ["", Text(said, style="yellow"), *map(indented, found)]


def _invalid(results: CampaignResults) -> List[RenderableType]:
    """How many tries said nothing, and why; silent when there were none."""
    attempts = results.invalid_attempts
    if not attempts:
        return []
    lost = sum(not record.outcome.valid for record in results.trials)
    causes = Counter(textwrap.shorten(attempt.cause, CAUSE_SHOWN) for attempt in attempts)
    lines: List[RenderableType] = [
        "",
        Text(
            f"Invalid: {_count(len(attempts), 'attempt')} repeated or given up, "
            f"{_count(lost, 'trial')} lost; none of them counts above.",
            style="yellow",
        ),
    ]
    for cause, times in causes.most_common():
        lines.append(indented(f"{times} × {cause}"))
    return lines


def _worker_deaths(results: CampaignResults) -> List[RenderableType]:
    """How many tries ended with their worker; silent when none did."""
    deaths = results.worker_deaths
    if not deaths:
        return []
    return ["", f"Workers died in {_count(len(deaths), 'attempt')}; those were repeated."]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
