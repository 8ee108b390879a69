"""Detection of worlds and trials that a gate expected but could not evaluate."""

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import AbstractSet, Dict, Iterator, List, Sequence, Set, Tuple

from gz_testauto.analysis.comparison import WorldTrials, valid_trials_by_world
from gz_testauto.analysis.early_stop import early_stop
from gz_testauto.extras.gate.options import GateOptions
from gz_testauto.extras.gate.questions import GatePair, metric_worlds
from gz_testauto.metrics.interface import Metric
from gz_testauto.report.plain import count_text
from gz_testauto.results.records import CampaignResults, TrialRecord


@dataclass(frozen=True)
class NotJudged:
    """An expected result that is missing.

    ``expectation`` is a sentence that is true if the result exists. ``allowed`` is True if the user
    or the campaign allows that it is missing; ``remedy`` is then not used.
    """

    expectation: str
    reason: str
    allowed: bool
    remedy: str = ""
    planner: str = ""
    worlds: Tuple[str, ...] = ()


@dataclass(frozen=True)
class GateSide:
    """One results directory that a gate evaluates, with the planners' names as in the verdicts.

    ``worlds`` are expected in both directories. ``only`` are worlds that the other directory does
    not contain. ``recorded`` are the finished trials, and ``settled`` those that can be evaluated.
    ``ended_by_rule`` is True if the early stop has ended the campaign.
    """

    title: str
    planners: Tuple[str, ...]
    worlds: Tuple[str, ...]
    only: Tuple[str, ...]
    recorded: Tuple[TrialRecord, ...]
    settled: Tuple[TrialRecord, ...]
    ended_by_rule: bool

    @property
    def total(self) -> int:
        return len(self.worlds) + len(self.only)

    def valid_trials(self, planner: str) -> WorldTrials:
        """Return the trials that can be evaluated, by world in the plan's order."""
        trials = valid_trials_by_world([t for t in self.settled if t.planner == planner])
        return {world: trials[world] for world in self.worlds if world in trials}

    def unsettled(self) -> Tuple[str, ...]:
        """Return the worlds without a settled trial of the evaluated planners. After an early stop,
        worlds with invalid trials are omitted."""
        if not self.planners:
            return ()
        settled = {record.world for record in self.settled if record.planner in self.planners}
        invalid = {record.world for record in self.recorded if not record.outcome.valid}
        passed_over = invalid if self.ended_by_rule else set()  # the early stop omits them
        return tuple(w for w in self.worlds if w not in settled and w not in passed_over)


def settled_worlds(results: CampaignResults, planners: Sequence[str]) -> Set[str]:
    """Return the worlds before the first world in which ``planners`` have unfinished trials; with
    early stop, the judged worlds."""
    if results.stop is not None:
        return set(results.judged)
    names = results.planned_names
    if len(results.trials) >= results.planned:
        return set(names)
    world_count = len(names) + len(results.copies)
    expected = max(results.planned // max(world_count * len(results.planners), 1), 1)
    expected *= len(planners)
    copies = Counter(results.copies.values())
    finished: Dict[str, int] = {}
    for record in results.trials:
        if record.planner in planners:
            finished[record.world] = finished.get(record.world, 0) + 1
    settled: Set[str] = set()
    for name in names:
        # The outcome of a trial in a later world can affect whether it has already finished.
        if finished.get(name, 0) < expected * (1 + copies[name]):
            break
        settled.add(name)
    return settled


def ended_by_rule(results: CampaignResults) -> bool:
    end = early_stop(results)
    return end is not None and (end.decided or len(results.trials) >= results.planned)


def select_worlds(results: CampaignResults, worlds: AbstractSet[str]) -> CampaignResults:
    return replace(results, trials=tuple(t for t in results.trials if t.world in worlds))


def not_judged(
    sides: Sequence[GateSide],
    pairs: Sequence[GatePair],
    metrics: Sequence[Metric],
    options: GateOptions,
) -> Tuple[NotJudged, ...]:
    return (
        *_invalid_trials(sides, options),
        *_ended_by_rule(sides),
        *_missing_worlds(sides, pairs, metrics, options),
    )


def repetition_notes(sides: Sequence[GateSide]) -> List[str]:
    notes = []
    for side in sides:
        for planner in side.planners:
            counts = Counter(t.world for t in side.settled if t.planner == planner)
            if len(set(counts.values())) > 1:
                few, many = min(counts.values()), max(counts.values())
                notes.append(f"{planner} has {few} to {many} trials per world")
    return notes


def _invalid_trials(sides: Sequence[GateSide], options: GateOptions) -> Iterator[NotJudged]:
    most, name = options.max_invalid, options.name_of("max_invalid")
    for side in sides:
        for planner in side.planners:
            trials = [
                record
                for record in side.recorded
                if record.planner == planner and record.world in side.worlds
            ]
            invalid = [record for record in trials if not record.outcome.valid]
            if not invalid:
                continue
            share = len(invalid) / len(trials)
            remedy = "repeat them with `run --retry-invalid`"
            if share < 1.0:
                # Rounded up to 0.1 %, but below 1, which the option does not accept.
                enough = math.ceil(1000 * share) / 1000
                remedy += f", or declare {name} {min(enough, 0.999):g}"
            yield NotJudged(
                f"trials of {planner} are valid",
                f"{len(invalid)} of {count_text(len(trials), 'trial')} of {planner} "
                f"{_is_or_are(len(invalid))} invalid "
                f"({100 * share:.3g} %, allowed {100 * most:.3g} %)",
                allowed=share <= most,
                remedy=remedy,
                planner=planner,
                worlds=tuple(dict.fromkeys(record.world for record in invalid)),
            )


def _ended_by_rule(sides: Sequence[GateSide]) -> Iterator[NotJudged]:
    for side in sides:
        worlds = side.unsettled() if side.ended_by_rule else ()
        if worlds:
            yield NotJudged(
                f"every world of {side.title} is judged",
                f"{_share_text(worlds, side)} {_is_or_are(len(worlds))} not judged because its "
                "campaign ended by its rule (stop)",
                allowed=True,
                worlds=worlds,
            )


def _missing_worlds(
    sides: Sequence[GateSide],
    pairs: Sequence[GatePair],
    metrics: Sequence[Metric],
    options: GateOptions,
) -> Iterator[NotJudged]:
    """Yield the worlds that are missing for all pairs, then for one pair or one metric."""
    unfinished = [() if side.ended_by_rule else side.unsettled() for side in sides]
    absent = {world for side in sides for world in side.unsettled()}
    lacking = sum(len(side.only) for side in sides) + len({w for ws in unfinished for w in ws})
    gaps: List[Tuple[int, NotJudged]] = []

    def add_gap(
        expectation: str, reason: str, worlds: Sequence[str], more: int = 0, planner: str = ""
    ) -> None:
        if worlds:
            gap = NotJudged(expectation, reason, False, planner=planner, worlds=tuple(worlds))
            gaps.append((lacking + more, gap))

    for index, (side, worlds) in enumerate(zip(sides, unfinished)):
        if side.only:
            other = sides[1 - index].title
            reason = f"{_share_text(side.only, side)} {_is_or_are(len(side.only))} not in {other}"
            add_gap(f"worlds of {side.title} are in {other}", reason, side.only)
        reason = (
            f"{_share_text(worlds, side)} {_is_or_are(len(worlds))} unfinished, or after an "
            "unfinished world"
        )
        add_gap(f"worlds of {side.title} are finished", reason, worlds)
    for pair in pairs:
        without = _worlds_without_trials(sides, pair, absent)
        planner, names = pair.planner, " or ".join(filter(None, (pair.planner, pair.baseline)))
        reason = f"{count_text(len(without), 'world')} without a trial of {names}"
        add_gap(f"{planner} has trials in every world", reason, without, len(without), planner)
        for metric in metrics if pair.baseline else ():
            unmeasured = metric_worlds(metric, pair).unmeasured
            more = len(without) + len(unmeasured)
            reason = (
                f"{metric.name} is unknown in {count_text(len(unmeasured), 'world')} for {names}"
            )
            add_gap(
                f"{metric.name} of {planner} is known in every world",
                reason,
                unmeasured,
                more,
                planner,
            )
    needed = max((count for count, _ in gaps), default=0)
    most, name = options.allow_missing_worlds, options.name_of("allow_missing_worlds")
    finished = min(side.total - len(worlds) for side, worlds in zip(sides, unfinished))
    # Finished worlds are the first ones, so that --worlds selects them if nothing else is missing.
    is_only_unfinished = lacking == needed and not any(side.only for side in sides)
    selection = f"judge the first by {options.name_of('worlds')} {finished}, "
    optional_selection = selection if is_only_unfinished and finished else ""
    remedy = f"run the missing trials, {optional_selection}or declare {name} {needed}"
    for count, gap in gaps:
        yield replace(gap, allowed=count <= most, remedy="" if count <= most else remedy)


def _worlds_without_trials(
    sides: Sequence[GateSide], pair: GatePair, absent: AbstractSet[str]
) -> Tuple[str, ...]:
    """Return the worlds, except ``absent``, in which a planner of the pair has no trial."""
    incomplete: Set[str] = set()
    for side in sides:
        for planner in {pair.planner, pair.baseline} & set(side.planners):
            run = {record.world for record in side.recorded if record.planner == planner}
            incomplete |= {world for world in side.worlds if world not in run | absent}
    return tuple(world for world in sides[0].worlds if world in incomplete)


def _share_text(worlds: Sequence[str], side: GateSide) -> str:
    return f"{len(worlds)} of {count_text(side.total, 'world')} of {side.title}"


def _is_or_are(number: int) -> str:
    return "is" if number == 1 else "are"
