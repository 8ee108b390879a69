"""How often a trial is tried: counts attempts that came to nothing, and says when it is enough.

Two things go wrong, and each has a count of its own. An attempt that ended ``invalid`` (the
simulator died, the world did not load) is bounded by ``limits.max_attempts``. One whose worker
died (killed by hand or for want of memory) mostly says nothing of the trial, so it costs none of
those; ``limits.max_worker_deaths`` only keeps a trial that kills every worker from going on for
ever. Both counts are in the store and outlive the runner.
"""

import collections
import re
from typing import Counter, DefaultDict, List, Optional, Sequence, Tuple

from gz_testauto.base.errors import LostTrialsError
from gz_testauto.results.records import AttemptRecord
from gz_testauto.results.store import ResultStore
from gz_testauto.spec.campaign import LimitsSpec
from gz_testauto.trial.plan import Trial

_NUMBER = re.compile(r"\d+(\.\d+)?")


class Attempts:
    """The attempts at the trials of one campaign, those of earlier runs included.

    With ``retry_invalid``, a trial that was given up in an earlier run is tried again as if it
    were new; so it is as long as no trial of the campaign has been valid. Otherwise it is only
    when the limits have been raised since.
    """

    def __init__(self, store: ResultStore, limits: LimitsSpec, retry_invalid: bool = False) -> None:
        self._store = store
        self._limits = limits
        results = store.results()
        self._made: Counter[int] = collections.Counter()
        self._invalid: DefaultDict[int, List[AttemptRecord]] = collections.defaultdict(list)
        self._deaths: DefaultDict[int, List[AttemptRecord]] = collections.defaultdict(list)
        for attempt in results.invalid_attempts:
            self._count(attempt, self._invalid)
        for attempt in results.worker_deaths:
            self._count(attempt, self._deaths)
        self._valid = {record.trial for record in results.trials if record.outcome.valid}
        self._given_up = {record.trial for record in results.invalid}
        self._lost: Optional[Trial] = None
        if retry_invalid or not self._valid:
            self._begin_anew()
        self._go_on_where_limits_were_raised()

    def left(self, trials: Sequence[Trial]) -> List[Trial]:
        """Those that are neither done nor given up."""
        return [trial for trial in trials if trial.index not in self._valid | self._given_up]

    @property
    def some_trial_is_valid(self) -> bool:
        """Whether any trial has said something about a planner, in this run or before."""
        return bool(self._valid)

    def made(self, trial: int) -> int:
        """How many attempts at a trial have come to nothing, in all."""
        return self._made[trial]

    def used_up(self, trial: int) -> bool:
        """Whether a trial has been tried too often."""
        invalid, deaths = self._invalid[trial], self._deaths[trial]
        limits = self._limits
        return len(invalid) >= limits.max_attempts or len(deaths) >= limits.max_worker_deaths

    def last_cause(self, trial: int) -> str:
        """Why the last attempt at a trial came to nothing."""
        return self._counted(trial)[-1].cause

    def failed(self, attempt: AttemptRecord, worker_died: bool) -> None:
        """Keep an attempt that said nothing about the planner."""
        if worker_died:
            self._store.add_worker_death(attempt)
        else:
            self._store.add_invalid_attempt(attempt)
        self._count(attempt, self._deaths if worker_died else self._invalid)

    def succeeded(self, trial: int) -> None:
        """Note that a trial has a result."""
        self._valid.add(trial)

    def given_up(self, trial: Trial, scene_at_fault: bool = False) -> None:
        """Note that a trial will not be tried again; ``scene_at_fault``: for a cause that lies in
        its own world, and says nothing of others."""
        if scene_at_fault:
            return
        causes = {_NUMBER.sub("0", attempt.cause) for attempt in self._counted(trial.index)}
        if len(causes) == 1:
            self._lost = self._lost or trial

    @property
    def hopeless(self) -> bool:
        """Whether other trials will be lost, too: no trial has ever been valid, and one was given
        up whose attempts all came to nothing for the same cause, but for numbers in it."""
        return self._lost is not None and not self._valid

    def require_hope(self) -> None:
        """Raise ``LostTrialsError``, with the cause, when it is hopeless."""
        if self.hopeless and self._lost is not None:
            attempts = self._counted(self._lost.index)
            raise LostTrialsError(
                f"no trial is valid: {self._lost.world} {self._lost.planner} was lost in each of "
                f"{len(attempts)} attempts: {attempts[-1].cause}. The others are not tried: mend "
                "the cause and give the same command again"
            )

    def _begin_anew(self) -> None:
        """Forget the attempts at trials that were given up, or were about to be."""
        for trial in [trial for trial in self._made if self.used_up(trial)] + [*self._given_up]:
            self._invalid.pop(trial, None)
            self._deaths.pop(trial, None)
        self._given_up.clear()

    def _go_on_where_limits_were_raised(self) -> None:
        now = {
            "max_attempts": self._limits.max_attempts,
            "max_worker_deaths": self._limits.max_worker_deaths,
        }
        before = self._store.retry_limits()
        if now == before:
            return
        raised = any(limit is not None and now[name] > limit for name, limit in before.items())
        again = {trial for trial in self._given_up if raised and not self.used_up(trial)}
        self._store.reopen(again, **now)
        self._given_up -= again

    def _count(self, attempt: AttemptRecord, where: DefaultDict[int, List[AttemptRecord]]) -> None:
        self._made[attempt.trial] += 1
        where[attempt.trial].append(attempt)

    def _counted(self, trial: int) -> Tuple[AttemptRecord, ...]:
        """Those that count for the limits, in order."""
        both = [*self._invalid[trial], *self._deaths[trial]]
        return tuple(sorted(both, key=lambda attempt: attempt.attempt))
