"""Define the records that the store keeps and that the analysis reads.

The fields of a record are the columns of its table (:mod:`gz_testauto.results.schema`).
"""

import datetime
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any, Dict, Mapping, Optional, Tuple

from pydantic import NonNegativeInt

from gz_testauto.base.errors import GzTestautoError
from gz_testauto.metrics.interface import METRICS, RELEVANT_SUCCESS, Metric, builtin_metrics
from gz_testauto.metrics.reported import REPORTED
from gz_testauto.spec.campaign import StopSpec
from gz_testauto.trial.outcome import Outcome
from gz_testauto.trial.trial import Trial
from gz_testauto.worlds.record import WorldRecord, generated_name

STALE_S = 30.0
"""Age of a heartbeat (wall time) above which its process counts as killed or stopped."""


def utc_now() -> str:
    """Return the current UTC time in ISO 8601, with a resolution of 1 s."""
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


@dataclass(frozen=True)
class TrialRecord:
    """One finished trial. ``trial`` is its index in the plan.

    A value in ``metrics`` that the recording does not determine is NaN. ``attempts`` counts all
    attempts. ``trajectory`` is the name of a file in ``trajectories/``, empty for an invalid trial.
    ``wall_s`` is the wall time of the valid attempt, 0 for an invalid trial; ``finished_at`` is
    UTC, ISO 8601.
    """

    trial: NonNegativeInt
    world: str
    world_index: NonNegativeInt
    planner: str
    repetition: NonNegativeInt
    seed: int
    outcome: Outcome
    detail: str
    attempts: NonNegativeInt
    wall_s: float
    finished_at: str
    trajectory: str = ""
    metrics: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, trial: Trial, **fields: Any) -> "TrialRecord":
        """Return the record of a trial that has just finished. ``fields`` are those that ``trial``
        does not determine."""
        return cls(
            trial=trial.index,
            world=trial.world.name,
            world_index=trial.world.world_index,
            planner=trial.planner.name,
            repetition=trial.repetition,
            seed=trial.seed,
            finished_at=utc_now(),
            **fields,
        )

    @property
    def completed(self) -> bool:
        """True if the robot reached its goal."""
        return self.outcome.success


@dataclass(frozen=True)
class AttemptRecord:
    """One invalid attempt at a trial. ``attempt`` counts all attempts at the trial from 1.
    ``wall_s`` is its wall time; ``finished_at`` is UTC, ISO 8601."""

    trial: int
    attempt: int
    cause: str
    wall_s: float
    finished_at: str


@dataclass(frozen=True)
class RunningTrial:
    """A running trial.

    ``worker`` describes the worker that executes it, empty if unknown. ``since`` is UTC, ISO 8601.
    """

    trial: int
    world: str
    planner: str
    repetition: int
    worker: str
    since: str


@dataclass(frozen=True)
class Runner:
    """The process that runs a campaign, or ran it until it was killed. Times are UTC, ISO 8601."""

    process: int
    host: str
    started_at: str
    heartbeat_at: str
    trials: Tuple[RunningTrial, ...] = ()

    def silent_s(self, now: Optional[datetime.datetime] = None) -> float:
        """Return the time since the last heartbeat, if the clocks of both hosts agree."""
        return age_s(self.heartbeat_at, now)

    def is_stale(self, now: Optional[datetime.datetime] = None) -> bool:
        """Return whether the process was killed or stopped, since its last heartbeat is old."""
        return self.silent_s(now) > STALE_S


def age_s(moment: str, now: Optional[datetime.datetime] = None) -> float:
    """Return the wall time (s) since ``moment`` (ISO 8601, UTC), or 0 if it is in the future."""
    now = now or datetime.datetime.now(datetime.timezone.utc)
    return max((now - datetime.datetime.fromisoformat(moment)).total_seconds(), 0.0)


@dataclass(frozen=True)
class CampaignResults:
    """The content of a store, in the plan's order.

    ``planned`` is the total number of trials. ``worker_deaths`` are the attempts whose worker died,
    ``invalid_attempts`` the other invalid attempts. ``declared`` are the declarations of the
    metrics that the store contains.
    """

    name: str
    planners: Tuple[str, ...]
    worlds: Tuple[WorldRecord, ...]
    planned: NonNegativeInt
    trials: Tuple[TrialRecord, ...]
    invalid_attempts: Tuple[AttemptRecord, ...] = ()
    worker_deaths: Tuple[AttemptRecord, ...] = ()
    declared: Tuple[Metric, ...] = ()
    stop: Optional[StopSpec] = None
    """The rule by which the campaign stops before its last world; None if it runs all worlds."""
    judged: Tuple[str, ...] = ()
    """The worlds that count for the decision by ``stop``, in the order of their evaluation."""
    stopped: Tuple[str, ...] = ()
    """The labels of the campaigns with ``stop`` among those that these results combine."""
    relevant_success: float = RELEVANT_SUCCESS
    """The smallest difference of two success rates that is practically relevant."""
    normal_real_time_factor: float = 1.0
    """The real-time factor of a trial with a stack on a computer that is fast enough: 1, or
    ``stack.max_real_time_factor`` if it is lower. If campaigns are combined, the lowest of them.
    """
    selection: str = ""
    """The trials that were selected by name or by their results, such as ``trials that failed in
    monday``; empty if all trials of the plan, or those of its first worlds, were run."""
    copies: Mapping[str, str] = field(default_factory=dict)
    """The first of several equal worlds, by the name of each of the others."""
    further_worlds: NonNegativeInt = 0
    """The number of worlds that the campaign has not generated yet, after ``worlds``."""
    notices: Tuple[str, ...] = ()
    """The checks and values that trials on a stack do not have."""
    running: Optional[Runner] = None
    """The process that runs the campaign, with its running trials."""

    @property
    def further_names(self) -> Tuple[str, ...]:
        """The names of the worlds that the campaign has not generated yet."""
        first = max((world.world_index + 1 for world in self.worlds), default=0)
        return tuple(generated_name(first + number) for number in range(self.further_worlds))

    @property
    def planned_names(self) -> Tuple[str, ...]:
        """The names of all worlds, also of those that are not generated yet."""
        return (*(world.name for world in self.worlds), *self.further_names)

    @property
    def metrics(self) -> Tuple[Metric, ...]:
        """The metrics to show: declared metrics that are always shown or that were measured, then
        other measured metrics, sorted by name."""
        measured_names = {name for record in self.trials for name in record.metrics}
        metrics: Dict[str, Metric] = {
            metric.name: metric for metric in self.declared or builtin_metrics()
        }
        metrics.update(
            {name: _find_metric(name) for name in sorted(measured_names - metrics.keys())}
        )
        return tuple(
            metric
            for metric in metrics.values()
            if metric.name in measured_names
            or metric.in_table
            or metric.in_comparison
            or metric.in_agreement
        )

    @property
    def is_sequential(self) -> bool:
        """True if the number of worlds can depend on their outcomes, because the campaign has early
        stop (``stop``)."""
        return self.stop is not None or bool(self.stopped)

    @property
    def invalid(self) -> Tuple[TrialRecord, ...]:
        """The trials that were abandoned without a valid attempt."""
        return tuple(record for record in self.trials if not record.outcome.valid)

    @property
    def without_copies(self) -> "CampaignResults":
        """The results with trials in copies of a world as further repetitions in this world."""
        if not any(world.name in self.copies for world in self.worlds):
            return self
        repetitions: Counter[Tuple[str, str]] = Counter()
        trials = []
        for trial in self.trials:
            world = self.copies.get(trial.world, trial.world)
            repetition = repetitions[world, trial.planner]
            repetitions[world, trial.planner] += 1
            trials.append(replace(trial, world=world, repetition=repetition))
        return replace(
            self,
            worlds=tuple(world for world in self.worlds if world.name not in self.copies),
            trials=tuple(trials),
            judged=tuple(world for world in self.judged if world not in self.copies),
        )

    def of(self, planner: str) -> Tuple[TrialRecord, ...]:
        """Return all trials of one planner, including invalid ones."""
        return tuple(record for record in self.trials if record.planner == planner)


def _find_metric(name: str) -> Metric:
    try:
        metric = REPORTED.get(name) or METRICS.get(name)
    except GzTestautoError:
        metric = None
    if isinstance(metric, Metric):
        return metric
    return Metric(name=name, better="neither", completed_only=True, description="not installed")
