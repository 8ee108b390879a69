"""Count the attempts at trials, and limit the invalid ones.

An attempt is one execution of a trial, a maneuver or an episode. It is invalid if it raises one of
:data:`FAILURES`. Trials of a campaign are repeated by :mod:`gz_testauto.campaign.runner`, maneuvers
by :func:`run_attempts`.
"""

import collections
import re
from typing import Callable, Counter, DefaultDict, List, Optional, Sequence, Tuple, TypeVar

from gz_testauto.base.errors import (
    ConfigurationError,
    GzTestautoError,
    LostTrialsError,
    NavigatorError,
    SceneError,
    SceneRejectedError,
    SimulatorError,
)
from gz_testauto.results.records import AttemptRecord
from gz_testauto.results.store import ResultStore
from gz_testauto.spec.campaign import LimitsSpec
from gz_testauto.trial.trial import Trial

FAILURES = (SimulatorError, NavigatorError)

MAX_ATTEMPTS = 2  # largest number of attempts at a maneuver or an episode

_NUMBER = re.compile(r"\d+(\.\d+)?")

Result = TypeVar("Result")


def will_recur(error: GzTestautoError) -> bool:
    return isinstance(error, (SceneError, SceneRejectedError, ConfigurationError))


def run_attempts(
    attempt: Callable[[], Result],
    failed: Callable[[GzTestautoError, bool], None],
    limit: int = MAX_ATTEMPTS,
) -> Result:
    """Call ``attempt`` until it succeeds, at most ``limit`` times, and return its result.

    After an error of :data:`FAILURES`, ``failed`` is called with the error and with whether another
    attempt follows. After the last attempt, or if the error would recur, it is raised.
    """
    for number in range(1, limit + 1):
        try:
            return attempt()
        except FAILURES as error:
            follows = number < limit and not will_recur(error)
            failed(error, follows)
            if not follows:
                raise
    raise AssertionError("the last attempt returns or raises")


class Attempts:
    """The attempts at the trials of one campaign in all runs.

    ``limits.max_attempts`` limits invalid attempts, and ``limits.max_worker_deaths`` attempts whose
    worker process died. An abandoned trial is attempted again if ``retry_invalid`` is true, no
    trial is valid yet, or the limits have been raised.
    """

    def __init__(self, store: ResultStore, limits: LimitsSpec, retry_invalid: bool = False) -> None:
        self._store = store
        self._limits = limits
        results = store.results()
        self._attempt_counts: Counter[int] = collections.Counter()
        self._invalid: DefaultDict[int, List[AttemptRecord]] = collections.defaultdict(list)
        self._deaths: DefaultDict[int, List[AttemptRecord]] = collections.defaultdict(list)
        for attempt in results.invalid_attempts:
            self._count(attempt, self._invalid)
        for attempt in results.worker_deaths:
            self._count(attempt, self._deaths)
        self._valid = {record.trial for record in results.trials if record.outcome.valid}
        self._abandoned_trials = {record.trial for record in results.invalid}
        self._lost_trial: Optional[Trial] = None
        if retry_invalid or not self._valid:
            self._reset_exhausted_trials()
        self._reopen_if_limits_were_raised()

    def remaining(self, trials: Sequence[Trial]) -> List[Trial]:
        finished_trials = self._valid | self._abandoned_trials
        return [trial for trial in trials if trial.index not in finished_trials]

    @property
    def has_valid_trial(self) -> bool:
        return bool(self._valid)

    def count(self, trial: int) -> int:
        return self._attempt_counts[trial]

    def has_reached_limit(self, trial: int) -> bool:
        invalid, deaths = self._invalid[trial], self._deaths[trial]
        limits = self._limits
        return len(invalid) >= limits.max_attempts or len(deaths) >= limits.max_worker_deaths

    def last_cause(self, trial: int) -> str:
        return self._attempts_at(trial)[-1].cause

    def record_failure(self, attempt: AttemptRecord, worker_died: bool) -> None:
        if worker_died:
            self._store.add_worker_death(attempt)
        else:
            self._store.add_invalid_attempt(attempt)
        self._count(attempt, self._deaths if worker_died else self._invalid)

    def record_success(self, trial: int) -> None:
        self._valid.add(trial)

    def abandon(self, trial: Trial, scene_at_fault: bool = False) -> None:
        """Update :attr:`is_hopeless` when a trial is not attempted again.

        If ``scene_at_fault`` is true, its scene caused the failure. Other worlds are then not
        affected, and :attr:`is_hopeless` does not change.
        """
        if scene_at_fault:
            return
        causes = {_NUMBER.sub("0", attempt.cause) for attempt in self._attempts_at(trial.index)}
        if len(causes) == 1:
            self._lost_trial = self._lost_trial or trial

    @property
    def is_hopeless(self) -> bool:
        """True if no trial is valid, and all attempts at an abandoned trial failed with the same
        cause, apart from numbers in its text."""
        return self._lost_trial is not None and not self._valid

    def raise_if_hopeless(self) -> None:
        if self.is_hopeless and self._lost_trial is not None:
            attempts = self._attempts_at(self._lost_trial.index)
            attempt_count = len(attempts)
            subject = "the attempt" if attempt_count == 1 else f"each of {attempt_count} attempts"
            cause = attempts[-1].cause.rstrip(".")
            raise LostTrialsError(
                f"no trial is valid: {subject} at {self._lost_trial.world.name} "
                f"{self._lost_trial.planner.name} was invalid: {cause}. The campaign stops: "
                "remove the cause and run the same command again"
            )

    def _reset_exhausted_trials(self) -> None:
        exhausted_trials = {
            trial for trial in self._attempt_counts if self.has_reached_limit(trial)
        }
        for trial in exhausted_trials | self._abandoned_trials:
            self._invalid.pop(trial, None)
            self._deaths.pop(trial, None)
        self._abandoned_trials.clear()

    def _reopen_if_limits_were_raised(self) -> None:
        names = ("max_attempts", "max_worker_deaths")
        limits = {name: getattr(self._limits, name) for name in names}
        previous_limits = self._store.retry_limits()
        if limits == previous_limits:
            return
        is_raised = any(
            limit is not None and limits[name] > limit for name, limit in previous_limits.items()
        )
        reopened_trials = {
            trial
            for trial in self._abandoned_trials
            if is_raised and not self.has_reached_limit(trial)
        }
        self._store.reopen(reopened_trials, **limits)
        self._abandoned_trials -= reopened_trials

    def _count(
        self, attempt: AttemptRecord, attempts: DefaultDict[int, List[AttemptRecord]]
    ) -> None:
        self._attempt_counts[attempt.trial] += 1
        attempts[attempt.trial].append(attempt)

    def _attempts_at(self, trial: int) -> Tuple[AttemptRecord, ...]:
        attempts = [*self._invalid[trial], *self._deaths[trial]]
        return tuple(sorted(attempts, key=lambda attempt: attempt.attempt))
