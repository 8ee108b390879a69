"""JUnit XML with one test case per planner and world, for the history of a world over builds."""

from typing import Dict, List, Sequence, Tuple

from gz_testauto.extras.gate.report import Case, junit_suite
from gz_testauto.extras.gate.request import GateEvaluation
from gz_testauto.report.plain import count_text
from gz_testauto.results.records import TrialRecord

Trials = Dict[Tuple[str, str], List[TrialRecord]]  # by planner and world


def worlds_to_junit(name: str, judged: GateEvaluation) -> str:
    """Return a test case for each planner and world, which passes if each trial reached the goal.

    The type of a ``failure`` is ``lost`` if the baseline reached the goal more often, else
    ``failed``. A case is an ``error`` if all trials are invalid, and ``skipped`` without a trial.
    """
    trials: Trials = {}
    for side in judged.sides:
        for record in side.recorded:
            trials.setdefault((record.planner, record.world), []).append(record)
    cases = [
        _world_case(pair.planner, world, pair.baseline, trials)
        for pair in judged.pairs
        for world in (judged.sides[0].worlds if judged.sides else ())
    ]
    return junit_suite(name, f"{name}.{judged.campaign}", cases)


def _world_case(planner: str, world: str, baseline: str, trials: Trials) -> Case:
    title = f"{planner} in {world}"
    records = trials.get((planner, world), [])
    valid = [record for record in records if record.outcome.valid]
    lines = [f"{record.outcome.value}: {record.detail}" for record in records]
    if not records:
        return title, "skipped", "not run", "no trial has finished", ()
    if not valid:
        return title, "error", "invalid", f"{title}: all trials are invalid", lines
    text = f"{planner} {_reached_text(valid)}"
    baseline_records = [
        record for record in trials.get((baseline, world), ()) if record.outcome.valid
    ]
    if baseline_records:
        text += f", {baseline} {_reached_text(baseline_records)}"
    if all(record.completed for record in valid):
        return title, "", "", text, ()
    lost = bool(baseline_records) and _success_share(baseline_records) > _success_share(valid)
    return title, "failure", "lost" if lost else "failed", text, lines


def _success_share(records: Sequence[TrialRecord]) -> float:
    return sum(record.completed for record in records) / len(records)


def _reached_text(records: Sequence[TrialRecord]) -> str:
    completed = sum(record.completed for record in records)
    return f"reached the goal in {completed} of {count_text(len(records), 'trial')}"
