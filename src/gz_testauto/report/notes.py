"""Create the notes of a campaign for the terminal, the page, LaTeX and JSON."""

import math
import re
import textwrap
from collections import Counter
from dataclasses import dataclass
from typing import Dict, Iterator, List, Optional, Sequence, Tuple

from gz_testauto.analysis.comparison import ALPHA
from gz_testauto.analysis.early_stop import EarlyStop, PairDecision
from gz_testauto.analysis.overview import Analysis
from gz_testauto.analysis.summary import PlannerSummary
from gz_testauto.base.truncation import join_truncated
from gz_testauto.report.names import metric_heading
from gz_testauto.report.plain import (
    correlation_text,
    count_text,
    duration_text,
    interval_text,
    joined,
    number_text,
    p_text,
)
from gz_testauto.report.rows import has_lanes, measured_metrics
from gz_testauto.results.records import CampaignResults, age_s
from gz_testauto.trial.outcome import Outcome
from gz_testauto.worlds.record import OTHER_VISUALS, other_visuals_in, unmeasured_in

CAUSE_SHOWN = 150  # shown characters of a cause; the store contains the full text
COPIES_SHOWN = ABORTS_SHOWN = 5

_EARLY_STOP_CAVEAT = (
    "The number of worlds depends on their outcomes. This decision, and the differences of success "
    "below with their p-values, are valid at every number of worlds; other intervals and p-values "
    "assume a fixed number of worlds."
)


@dataclass(frozen=True)
class Note:
    """A sentence of the report, and the list of items that it introduces."""

    text: str
    items: Tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.text} {'; '.join(self.items)}." if self.items else self.text


def notes(analysis: Analysis) -> List[Note]:
    """Return all notes except :func:`running_notes`."""
    return [
        *caveats(analysis),
        *overall_notes(analysis),
        *invalid_notes(analysis.results),
        *worker_deaths_notes(analysis.results),
    ]


def caveats(analysis: Analysis) -> List[Note]:
    """Return the notes that are necessary to interpret success rates and means."""
    results, summaries = analysis.results, analysis.summaries
    return [
        *selection_notes(results),
        *early_stop_notes(analysis.early_stop),
        *early_stop_caveats(results),
        *copies_notes(results),
        *validity_notes(summaries),
        *means_notes(analysis),
        *load_notes(summaries),
        *barn_notes(results, summaries),
        *correlation_notes(summaries),
        *missing_notes(results),
        *unmeasured_notes(results),
        *visuals_notes(results),
        *stack_notes(results),
        *aborted_notes(results),
    ]


def selection_notes(results: CampaignResults) -> Iterator[Note]:
    if results.selection:
        yield Note(
            f"Selected trials: {results.selection}. The rates and differences describe only these "
            "trials, not all worlds, so there are no intervals and no tests. To compare planners, "
            "run the complete campaign."
        )


def copies_notes(results: CampaignResults) -> Iterator[Note]:
    of_originals: Dict[str, List[str]] = {}
    for copy, original in results.copies.items():
        of_originals.setdefault(original, []).append(copy)
    if of_originals:
        yield Note(
            "Worlds with the same content, start and goal count as repetitions of one world:",
            tuple(
                f"{original}: {join_truncated(names, COPIES_SHOWN)}"
                for original, names in of_originals.items()
            ),
        )


def validity_notes(summaries: Sequence[PlannerSummary]) -> Iterator[Note]:
    # The worlds with invalid trials can be harder or easier than the others. So the note has the
    # success rates for the cases that all invalid trials failed and that all succeeded.
    shares = {s.invalid / (s.trials + s.invalid) for s in summaries if s.trials + s.invalid}
    if len(shares) < 2:
        return
    lines = []
    for summary in summaries:
        total = summary.trials + summary.invalid
        if total:
            low, high = summary.reached / total, (summary.reached + summary.invalid) / total
            lines.append(
                f"{summary.planner}: {summary.invalid} of {total} invalid; success "
                f"{number_text(100 * low, 1)} to {number_text(100 * high, 1)} % of all trials"
            )
    text = "The shares of invalid trials differ, which can bias every comparison. If all invalid "
    yield Note(f"{text}trials had failed or succeeded:", tuple(lines))


def means_notes(analysis: Analysis) -> Iterator[Note]:
    metrics = [metric for metric in measured_metrics(analysis) if metric.completed_only]
    reached_worlds = {
        planner: {record.world for record in analysis.results.of(planner) if record.completed}
        for planner in analysis.results.planners
    }
    counts = {planner: len(worlds) for planner, worlds in reached_worlds.items() if worlds}
    if metrics and len({frozenset(reached_worlds[planner]) for planner in counts}) > 1:
        counts_text = ", ".join(f"{planner} {number}" for planner, number in counts.items())
        names = joined([metric_heading(metric) for metric in metrics])
        yield Note(
            f"The means of {names} are over different worlds, those in which each planner reached "
            f"the goal ({counts_text}). The comparisons contain the means in the same worlds."
        )


def extent_text(results: CampaignResults) -> str:
    return (
        f"{count_text(len(results.trials), 'trial')} of {results.planned}, "
        f"{count_text(len(results.worlds), 'world')}, "
        f"{count_text(len(results.planners), 'planner')}"
    )


def running_notes(results: CampaignResults) -> Iterator[Note]:
    runner = results.running
    if runner is None:
        return
    owner = f"process {runner.process} on {runner.host}"
    names = [f"{trial.world} {trial.planner}" for trial in runner.trials]
    if runner.is_stale():
        text = (
            f"Not running: the last heartbeat of {owner} is {duration_text(runner.silent_s())} "
            "old, so it was killed or stopped. The same command resumes the campaign"
        )
        yield Note(f"{text}; trials to restart: {', '.join(names)}." if names else f"{text}.")
    elif not names:
        yield Note(f"Running now, by {owner}: no trial has started.")
    else:
        lines = []
        for trial, name in zip(runner.trials, names):
            worker = trial.worker or "waiting for a worker"
            lines.append(f"{name}, since {duration_text(age_s(trial.since))} ({worker})")
        duration = duration_text(age_s(runner.started_at))
        yield Note(f"Running now, by {owner}, since {duration}:", tuple(lines))


def success_note(summaries: Sequence[PlannerSummary]) -> Note:
    text = "Success: share of worlds."
    if any(summary.trials > summary.worlds for summary in summaries):
        text = "Success: mean over worlds of the share of trials that reached the goal."
    if has_lanes(summaries):
        text += " Off road: mean share of the time with a part of the robot outside all lanes."
    return Note(text)


def early_stop_notes(end: Optional[EarlyStop]) -> Iterator[Note]:
    if end is not None:
        state = "Decided after" if end.decided else "Not decided after"
        world_count = count_text(end.worlds, "world")
        heading = f"{state} {world_count} of at most {end.max_worlds}, alpha {end.rule.alpha:g}:"
        yield Note(heading, tuple(map(_pair_decision, end.pairs)))


def early_stop_caveats(results: CampaignResults) -> Iterator[Note]:
    if results.stop is not None:
        yield Note(_EARLY_STOP_CAVEAT)
    elif results.stopped:
        omitted_count = len({trial.world for trial in results.trials} - {*results.judged})
        excluded_text = (
            f"Of the worlds in common, {omitted_count} are not compared, because an early stop did "
            "not evaluate them, or evaluated them in another order. "
            if omitted_count
            else ""
        )
        yield Note(
            f"With early stop (`stop`): {', '.join(results.stopped)}. {excluded_text}The number of "
            "worlds depends on their outcomes. The differences of success below with their "
            "p-values are valid at every number of worlds; other intervals and p-values assume a "
            "fixed number of worlds."
        )


def _pair_decision(pair: PairDecision) -> str:
    if pair.better:
        other_planner = pair.second if pair.better == pair.first else pair.first
        text = f"{pair.better} reached the goal more often than {other_planner}"
    elif pair.negligible:
        text = f"{pair.first} and {pair.second} are equivalent"
    else:
        text = f"{pair.first} and {pair.second} are undecided"
    if not pair.worlds:
        return text
    value, low, high = (number_text(100 * share, 1, "+") for share in pair.difference[:3])
    return f"{text}: {pair.first} − {pair.second} {value} points [{low}, {high}]"


def load_notes(summaries: Sequence[PlannerSummary]) -> Iterator[Note]:
    lines = []
    for summary in summaries:
        load = summary.load
        counts = (
            (load.slow_attempts, "attempt", "too slow to count"),
            (load.slow_trials, "trial", f"below real-time factor {load.slow_factor:g}"),
            (load.missed_cycles_trials, "trial", "with missed control cycles"),
            (load.late_trials, "trial", "with late periods"),
        )
        effects = [
            f"{count_text(number, noun)} {effect}" for number, noun, effect in counts if number
        ]
        if effects:
            lines.append(f"{summary.planner}: {', '.join(effects)}")
    if lines:
        yield Note("The machine was busy:", tuple(lines))


def barn_notes(results: CampaignResults, summaries: Sequence[PlannerSummary]) -> Iterator[Note]:
    if any(world.published_path_m for world in results.worlds):
        scores = [
            f"{summary.planner} {number_text(summary.metrics['barn_score'].mean, 3)}"
            for summary in summaries
            if "barn_score" in summary.metrics
        ]
        yield Note(f"BARN score, failures 0: {', '.join(scores)}.")


def correlation_notes(summaries: Sequence[PlannerSummary]) -> Iterator[Note]:
    for summary in summaries:
        if not math.isnan(summary.correlation):
            yield Note(
                f"{summary.planner}: {correlation_text(summary)}. With trials as the unit, the "
                f"interval would be {interval_text(summary.naive, 1, 100)}."
            )


def overall_notes(analysis: Analysis) -> Iterator[Note]:
    comparisons = analysis.comparisons
    metrics = [metric for pair in comparisons.pairs for metric in pair.metrics]
    if len(comparisons.pairs) > 1 and analysis.early_stop is None:
        yield Note(
            f"The p-values are Holm-adjusted over {len(comparisons.pairs)} pairs. The "
            "intervals are not adjusted: some exclude 0 by chance."
        )
    elif sum(not math.isnan(metric.p_value) for metric in metrics) > 1:
        yield Note(
            "The p-values of the metrics are Holm-adjusted together. Their intervals are not "
            "adjusted: some can exclude 0 by chance."
        )
    if comparisons.overall_test and not math.isnan(comparisons.overall_p):
        result = "differed" if comparisons.overall_p < ALPHA else "did not differ"
        yield Note(
            f"The success rates of all planners {result} significantly "
            f"({comparisons.overall_test}, {p_text(comparisons.overall_p)})."
        )


def missing_notes(results: CampaignResults) -> Iterator[Note]:
    counts = Counter(name for world in results.worlds for name in world.missing)
    if counts:
        yield Note(
            "Simulated without these missing resources of the worlds (worlds.allow_missing; "
            "plugins that are not installed):",
            tuple(f"{name} ({count_text(number, 'world')})" for name, number in counts.items()),
        )


def stack_notes(results: CampaignResults) -> Iterator[Note]:
    if results.notices:
        yield Note("Not available on this stack:", results.notices)


def unmeasured_notes(results: CampaignResults) -> Iterator[Note]:
    parts = tuple(unmeasured_in(results.worlds))
    if parts:
        text = "Not measured: clearance, collisions and the shortest path do not include"
        yield Note(text, parts)


def visuals_notes(results: CampaignResults) -> Iterator[Note]:
    models = tuple(other_visuals_in(results.worlds))
    if models:
        yield Note(f"{OTHER_VISUALS[0].upper()}{OTHER_VISUALS[1:]}", models)


def aborted_notes(results: CampaignResults) -> Iterator[Note]:
    aborted_trials = [t for t in results.trials if t.outcome is Outcome.PLANNER_ABORTED]
    first_texts: Dict[str, str] = {}  # by the text without numbers, which differ between trials
    counts: Counter[str] = Counter()
    for trial in aborted_trials:
        text = f"{trial.planner}: {textwrap.shorten(trial.detail, CAUSE_SHOWN)}"
        counts[first_texts.setdefault(re.sub(r"\d", "", text), text)] += 1
    if aborted_trials:
        causes = counts.most_common(ABORTS_SHOWN)
        yield Note(
            f"Aborted by the planner: {count_text(len(aborted_trials), 'trial')}. Most frequent "
            "reasons:",
            tuple(f"{times} × {cause}" for cause, times in causes),
        )


def invalid_notes(results: CampaignResults) -> Iterator[Note]:
    attempts, lost_count = results.invalid_attempts, len(results.invalid)
    causes = Counter(textwrap.shorten(attempt.cause, CAUSE_SHOWN) for attempt in attempts)
    if attempts or lost_count:
        yield Note(
            f"Invalid: {count_text(len(attempts), 'attempt')} repeated or abandoned, "
            f"{count_text(lost_count, 'trial')} lost; they are excluded above.",
            tuple(f"{times} × {cause}" for cause, times in causes.most_common()),
        )


def worker_deaths_notes(results: CampaignResults) -> Iterator[Note]:
    deaths = len(results.worker_deaths)
    if deaths:
        yield Note(f"Repeated because of a dead worker: {count_text(deaths, 'attempt')}.")
