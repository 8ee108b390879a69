"""The records that the store keeps and analysis reads.

Plain frozen data. The fields of a record are the columns of its table
(:mod:`gz_testauto.results.schema`), so a field is declared here and nowhere else.
"""

import datetime
from dataclasses import dataclass, field
from typing import Any, Mapping, Optional, Tuple

from gz_testauto.metrics.interface import RELEVANT_SUCCESS, Metric
from gz_testauto.results.declarations import shown_metrics
from gz_testauto.spec.stopping import StopSpec
from gz_testauto.trial.outcome import Outcome
from gz_testauto.trial.plan import Trial
from gz_testauto.worlds.record import WorldRecord

STALE_S = 30.0
"""A heartbeat older than this is that of a runner that was killed or stopped."""


def utc_now() -> str:
    """Return the current time: UTC, ISO 8601, to the second."""
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


@dataclass(frozen=True)
class TrialRecord:
    """One finished trial. ``trial`` is its index in the plan.

    ``metrics`` maps names to values, NaN where a recording could not tell. ``attempts`` counts
    all tries, the last included; ``trajectory`` is a file name below ``trajectories/``, empty
    for an invalid trial. ``wall_s`` is the wall time of the last attempt; ``finished_at`` is
    UTC, ISO 8601.
    """

    trial: int
    world: str
    world_index: int
    planner: str
    repetition: int
    seed: int
    outcome: Outcome
    detail: str
    attempts: int
    wall_s: float
    finished_at: str
    trajectory: str = ""
    metrics: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, trial: Trial, **fields: Any) -> "TrialRecord":
        """Return the record of a trial that ended now, with the fields that ``trial`` lacks."""
        return cls(
            trial=trial.index,
            finished_at=utc_now(),
            **{name: value for name, value in vars(trial).items() if name != "index"},
            **fields,
        )

    @property
    def completed(self) -> bool:
        """Whether the robot reached its goal."""
        return self.outcome.success


@dataclass(frozen=True)
class AttemptRecord:
    """One try at a trial that said nothing about the planner, with the cause. ``attempt`` counts
    all tries at the trial from 1."""

    trial: int
    attempt: int
    cause: str
    wall_s: float
    finished_at: str


@dataclass(frozen=True)
class RunningTrial:
    """A trial under way. ``worker`` says who runs it, in words, empty where it is not known;
    ``since`` is UTC, ISO 8601."""

    trial: int
    world: str
    planner: str
    repetition: int
    worker: str
    since: str


@dataclass(frozen=True)
class Runner:
    """Who runs a campaign, or did when its process was killed. Times are UTC, ISO 8601."""

    process: int
    host: str
    started_at: str
    heartbeat_at: str
    trials: Tuple[RunningTrial, ...] = ()

    def silent_s(self, now: Optional[datetime.datetime] = None) -> float:
        """Wall time since the last heartbeat, as far as the clocks agree."""
        return age_s(self.heartbeat_at, now)

    def is_stale(self, now: Optional[datetime.datetime] = None) -> bool:
        """Whether it was killed or stopped, so that nothing runs."""
        return self.silent_s(now) > STALE_S


def age_s(moment: str, now: Optional[datetime.datetime] = None) -> float:
    """Wall time since ``moment`` (ISO 8601, UTC), 0 where that is still to come."""
    now = now or datetime.datetime.now(datetime.timezone.utc)
    return max((now - datetime.datetime.fromisoformat(moment)).total_seconds(), 0.0)


@dataclass(frozen=True)
class CampaignResults:
    """Everything a store holds, in the plan's order.

    ``planned`` is the number of trials of the whole plan, ``planners`` their names in the
    campaign's order. ``worker_deaths`` are the attempts that ended with their worker,
    ``invalid_attempts`` the others that said nothing about the planner. ``declared`` are the
    metrics as the store declares them.
    """

    name: str
    planners: Tuple[str, ...]
    worlds: Tuple[WorldRecord, ...]
    planned: int
    trials: Tuple[TrialRecord, ...]
    invalid_attempts: Tuple[AttemptRecord, ...] = ()
    worker_deaths: Tuple[AttemptRecord, ...] = ()
    declared: Tuple[Metric, ...] = ()
    stop: Optional[StopSpec] = None
    """When the campaign ends before its last world; None where it never does."""
    judged: Tuple[str, ...] = ()
    """The worlds by which such a campaign decides, in the order in which they were judged."""
    relevant_success: float = RELEVANT_SUCCESS
    """The smallest difference of two success rates that matters."""
    running: Optional[Runner] = None
    """Who runs the campaign, and which trials; None when nobody does."""

    @property
    def metrics(self) -> Tuple[Metric, ...]:
        """The metrics to show, in order: what is declared, and what trials have beside it."""
        return shown_metrics(self.declared, {name for one in self.trials for name in one.metrics})

    @property
    def invalid(self) -> Tuple[TrialRecord, ...]:
        """Trials that were given up: no attempt said anything about the planner."""
        return tuple(record for record in self.trials if not record.outcome.valid)

    def of(self, planner: str) -> Tuple[TrialRecord, ...]:
        """All finished trials of one planner, invalid ones too."""
        return tuple(record for record in self.trials if record.planner == planner)
