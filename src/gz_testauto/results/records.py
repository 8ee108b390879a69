"""What is known of finished trials: the records that the store keeps and analysis reads.

Plain frozen data. Where it is kept is :mod:`gz_testauto.results.store`'s.
"""

from dataclasses import dataclass, field
from typing import Mapping, Optional, Tuple

from gz_testauto.metrics.interface import RELEVANT_SUCCESS, Metric
from gz_testauto.results.declarations import shown_metrics
from gz_testauto.results.running import Runner
from gz_testauto.spec.stopping import StopSpec
from gz_testauto.trial.outcome import Outcome
from gz_testauto.worlds.record import WorldRecord


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
