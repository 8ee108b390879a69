"""Runs a campaign: every selected trial that is not finished.

Owns resuming, retrying, stopping and what is written when; knows nothing of how a trial is run
(:mod:`gz_testauto.campaign.executor`), by whom (:mod:`gz_testauto.campaign.workers`) or how it
is kept (:mod:`gz_testauto.campaign.store`). Killed at any moment, the same call continues with
the first unfinished trial and repeats none.
"""

import collections
import contextlib
import datetime
import time
from dataclasses import replace
from pathlib import Path
from typing import Deque, Dict, Optional, Sequence

from gz_testauto.campaign.checks import check_trials
from gz_testauto.campaign.directory import CampaignDirectory
from gz_testauto.campaign.entering import enter_directory
from gz_testauto.campaign.executor import StopRequest, TrialResult, TrialStopped
from gz_testauto.campaign.log import CampaignLog
from gz_testauto.campaign.manifest import Manifest
from gz_testauto.campaign.outcome import Outcome
from gz_testauto.campaign.pace import pace_to_repeat, too_slow
from gz_testauto.campaign.preparation import PreparedCampaign
from gz_testauto.campaign.progress import CampaignListener, Progress
from gz_testauto.campaign.results import AttemptRecord, CampaignResults, TrialRecord
from gz_testauto.campaign.store import ResultStore
from gz_testauto.campaign.trials import ALL, Selection, Trial
from gz_testauto.campaign.workers import (
    Attempt,
    ExecutorFactory,
    OneWorker,
    Workers,
    WorkersFactory,
)
from gz_testauto.metrics.interface import measure
from gz_testauto.spec.campaign import CampaignSpec


def run_campaign(
    spec: CampaignSpec,
    out: Path,
    make_executor: ExecutorFactory,
    *,
    make_workers: WorkersFactory = OneWorker,
    selection: Selection = ALL,
    resume: bool = False,
    listener: Optional[CampaignListener] = None,
    should_stop: StopRequest = lambda: False,
) -> CampaignResults:
    """Run what is left of a campaign and return everything known so far.

    A directory with finished trials of the same campaign is continued; ``resume`` refuses to
    begin a new one. Asked to stop, it gives up the trials under way and returns. Every check
    that can be made without a simulator is made before one is started. How many trials run
    side by side, and where, is up to ``make_workers``; it makes no difference to the results.

    Raises ``SpecError`` for a campaign that cannot be run, ``ResultsError`` for a directory of
    another campaign, one in use or a full disk, ``SimulatorError`` when the simulator cannot
    be (re)started. Finished trials are safe in each case.
    """
    selection.check(spec)
    directory = CampaignDirectory(out)
    if resume:
        directory.require_campaign()
    directory.require_fresh_or_campaign()
    with directory.locked():
        campaign, store = enter_directory(spec, directory)
        with store:
            finished = store.finished()
            selected = [trial for trial in campaign.trials if selection.covers(trial)]
            pending = [trial for trial in selected if trial.index not in finished]
            if pending and not should_stop():
                check_trials(campaign, pending)
                workers = make_workers(make_executor, campaign)
                run = _Run(campaign, directory, store, workers, should_stop)
                run.tell(
                    listener or CampaignListener(), len(selected), len(selected) - len(pending)
                )
                run.through(pending)
            return store.results()


class _Run:
    """One call of :func:`run_campaign`, from the start of the simulator to its end."""

    def __init__(
        self,
        campaign: PreparedCampaign,
        directory: CampaignDirectory,
        store: ResultStore,
        workers: Workers,
        should_stop: StopRequest,
    ) -> None:
        self._campaign = campaign
        self._directory = directory
        self._store = store
        self._workers = workers
        self._should_stop = should_stop
        self._log = CampaignLog(directory.log, campaign.spec.goal_in)
        self._attempts: Dict[int, int] = {}
        self._began_s = time.monotonic()

    def tell(self, listener: CampaignListener, total: int, done: int) -> None:
        """Say whom to tell, and how many trials are selected and done."""
        self._listener = listener
        self._total, self._done, self._done_before = total, done, done

    def through(self, pending: Sequence[Trial]) -> None:
        """Run the trials until all are done or a stop is asked for."""
        results = self._store.results()
        self._log.rewrite(results.trials)
        self._listener.began(self._progress())
        try:
            # Stopped in the middle, a trial under way counts as not begun.
            with contextlib.suppress(TrialStopped):
                self._workers.open()
                self._note_simulator(bound=bool(results.trials))
                self._began_s = time.monotonic()
                self._run_all(pending)
        finally:
            self._workers.close()
            self._listener.ended(self._progress())

    def _note_simulator(self, bound: bool) -> None:
        """Write what simulates into the manifest; ``bound``: it must be what it was."""
        manifest = Manifest.read(self._directory)
        manifest.with_simulator(self._workers.identity, bound).write(self._directory)

    def _run_all(self, pending: Sequence[Trial]) -> None:
        """Try every trial until it says something about the planner, or too often. Those that
        were too slow beside others come again at the end, one at a time."""
        waiting: Deque[Trial] = collections.deque(pending)
        postponed: Deque[Trial] = collections.deque()
        side_by_side = self._workers.size > 1
        under_way = 0
        while True:
            while waiting and under_way < self._workers.size and not self._should_stop():
                under_way += self._begin(waiting.popleft())
            if not under_way:
                if not postponed or self._should_stop():
                    return
                side_by_side = False
                waiting.append(postponed.popleft())
                continue
            attempt = self._workers.next_ended(self._should_stop)
            under_way -= 1
            if attempt.result is None and self._should_stop():
                continue  # a stop may look like a failure to the simulator
            slow = self._too_slow(attempt)
            if slow:
                self._note_invalid(replace(attempt, cause=slow))
                (postponed if side_by_side else waiting).appendleft(attempt.trial)
            elif attempt.result is None:
                self._note_invalid(attempt)
                if attempt.repeatable:
                    self._give_up(attempt.trial, self._attempts[attempt.trial.index], attempt.cause)
                else:
                    waiting.appendleft(attempt.trial)
            elif side_by_side and self._is_to_repeat(attempt.trial, attempt.result):
                postponed.append(attempt.trial)
            else:
                self._keep(attempt, attempt.result)

    def _begin(self, trial: Trial) -> bool:
        """Begin a trial, or give it up when it has been tried too often."""
        failed = self._store.invalid_attempts(trial.index)
        if len(failed) >= self._campaign.spec.limits.max_attempts:
            self._give_up(trial, len(failed), failed[-1].cause)
            return False
        self._attempts[trial.index] = len(failed) + 1
        self._listener.trial_began(trial, self._progress(trial))
        self._workers.begin(trial)
        return True

    def _note_invalid(self, attempt: Attempt) -> None:
        trial = attempt.trial
        number = self._attempts[trial.index]
        self._store.add_invalid_attempt(
            AttemptRecord(trial.index, number, attempt.cause, attempt.wall_s, _utc_now())
        )
        self._listener.attempt_failed(trial, number, attempt.cause)

    def _too_slow(self, attempt: Attempt) -> str:
        """Why a trial that ended was too slow to say anything; empty where it was not."""
        if attempt.result is None:
            return ""
        return too_slow(self._campaign.spec, attempt.result.recording)

    def _is_to_repeat(self, trial: Trial, result: TrialResult) -> bool:
        """Whether a trial fell below the pace that the campaign states; tells of it."""
        pace = pace_to_repeat(self._campaign.spec, result.recording)
        if pace is not None:
            self._listener.trial_postponed(trial, pace)
        return pace is not None

    def _keep(self, attempt: Attempt, result: TrialResult) -> None:
        trial = attempt.trial
        record = _record(
            trial,
            result.outcome,
            result.detail,
            self._attempts[trial.index],
            attempt.wall_s,
            trajectory=f"{trial.label}.npz",
            metrics=measure(result.recording, self._campaign.metric_context),
        )
        self._store.finish(record, result.recording)
        self._tell_finished(record)

    def _give_up(self, trial: Trial, attempts: int, cause: str) -> None:
        record = _record(trial, Outcome.INVALID, cause, attempts, wall_s=0.0)
        self._store.finish(record)
        self._tell_finished(record)

    def _tell_finished(self, record: TrialRecord) -> None:
        self._done += 1
        self._log.add(record)
        self._listener.trial_ended(record, self._progress())

    def _progress(self, running: Optional[Trial] = None) -> Progress:
        return Progress(
            self._total,
            self._done,
            self._done_before,
            time.monotonic() - self._began_s,
            running,
        )


def _record(
    trial: Trial, outcome: Outcome, detail: str, attempts: int, wall_s: float, **rest: object
) -> TrialRecord:
    return TrialRecord(
        trial=trial.index,
        world=trial.world,
        world_index=trial.world_index,
        planner=trial.planner,
        repetition=trial.repetition,
        seed=trial.seed,
        outcome=outcome,
        detail=detail,
        attempts=attempts,
        wall_s=wall_s,
        finished_at=_utc_now(),
        **rest,  # type: ignore[arg-type]
    )


def _utc_now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
