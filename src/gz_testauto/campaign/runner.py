"""Runs a campaign: every selected trial that is not finished, one after the other.

Owns resuming, retrying, stopping and the order of writing; knows nothing of how a trial is
run (:mod:`gz_testauto.campaign.executor`) or kept (:mod:`gz_testauto.campaign.store`). Killed
at any moment, the same call continues with the first unfinished trial and repeats none.
"""

import contextlib
import datetime
import time
from pathlib import Path
from typing import Callable, Iterable, Optional

from gz_testauto.campaign.checks import check_trials
from gz_testauto.campaign.directory import CampaignDirectory
from gz_testauto.campaign.entering import enter_directory
from gz_testauto.campaign.executor import StopRequest, TrialExecutor, TrialResult, TrialStopped
from gz_testauto.campaign.log import CampaignLog
from gz_testauto.campaign.manifest import Manifest
from gz_testauto.campaign.outcome import Outcome
from gz_testauto.campaign.preparation import PreparedCampaign
from gz_testauto.campaign.progress import CampaignListener, Progress
from gz_testauto.campaign.results import AttemptRecord, CampaignResults, TrialRecord
from gz_testauto.campaign.store import ResultStore
from gz_testauto.campaign.trials import ALL, Selection, Trial
from gz_testauto.errors import NavigatorError, SimulatorError
from gz_testauto.metrics.interface import measure
from gz_testauto.spec.campaign import CampaignSpec

ExecutorFactory = Callable[[PreparedCampaign], TrialExecutor]

_INVALID = (SimulatorError, NavigatorError)


def run_campaign(
    spec: CampaignSpec,
    out: Path,
    make_executor: ExecutorFactory,
    *,
    selection: Selection = ALL,
    resume: bool = False,
    listener: Optional[CampaignListener] = None,
    should_stop: StopRequest = lambda: False,
) -> CampaignResults:
    """Run what is left of a campaign and return everything known so far.

    A directory with finished trials of the same campaign is continued; ``resume`` refuses to
    begin a new one. Asked to stop, it gives up the trial under way and returns. Every check
    that can be made without a simulator is made before one is started.

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
                run = _Run(campaign, directory, store, make_executor(campaign), should_stop)
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
        executor: TrialExecutor,
        should_stop: StopRequest,
    ) -> None:
        self._campaign = campaign
        self._directory = directory
        self._store = store
        self._executor = executor
        self._should_stop = should_stop
        self._log = CampaignLog(directory.log, campaign.spec.goal.pose)
        self._began_s = time.monotonic()

    def tell(self, listener: CampaignListener, total: int, done: int) -> None:
        """Say whom to tell, and how many trials are selected and done."""
        self._listener = listener
        self._total, self._done, self._done_before = total, done, done

    def through(self, pending: Iterable[Trial]) -> None:
        """Run the trials until all are done or a stop is asked for."""
        finished = self._store.results().trials
        self._log.rewrite(finished)
        self._listener.began(self._progress())
        try:
            # Stopped in the middle, the trial under way counts as not begun.
            with contextlib.suppress(TrialStopped):
                self._executor.open()
                self._note_simulator(bound=bool(finished))
                self._began_s = time.monotonic()
                for trial in pending:
                    if self._should_stop():
                        break
                    self._finish(trial)
        finally:
            self._executor.close()
            self._listener.ended(self._progress())

    def _note_simulator(self, bound: bool) -> None:
        """Write what simulates into the manifest; ``bound``: it must be what it was."""
        manifest = Manifest.read(self._directory)
        manifest.with_simulator(self._executor.identity, bound).write(self._directory)

    def _finish(self, trial: Trial) -> None:
        """Try a trial until it says something about the planner, or too often."""
        self._log.began(trial)
        failed = self._store.invalid_attempts(trial.index)
        cause = failed[-1].cause if failed else ""
        attempt = len(failed)
        while attempt < self._campaign.spec.limits.max_attempts:
            attempt += 1
            self._listener.trial_began(trial, self._progress(trial))
            began_s = time.monotonic()
            try:
                result = self._executor.execute(trial, self._should_stop)
            except _INVALID as error:
                wall_s = time.monotonic() - began_s
                if self._should_stop():  # a stop may look like a failure to the simulator
                    raise TrialStopped from error
                cause = str(error)
                self._note_invalid(trial, attempt, cause, wall_s)
                self._executor.recover()
            else:
                self._keep(trial, attempt, result, time.monotonic() - began_s)
                return
        self._give_up(trial, attempt, cause)

    def _note_invalid(self, trial: Trial, attempt: int, cause: str, wall_s: float) -> None:
        self._store.add_invalid_attempt(
            AttemptRecord(trial.index, attempt, cause, wall_s, _utc_now())
        )
        self._listener.attempt_failed(trial, attempt, cause)

    def _keep(self, trial: Trial, attempt: int, result: TrialResult, wall_s: float) -> None:
        metrics = measure(result.recording, self._campaign.metric_context)
        record = _record(
            trial,
            result.outcome,
            result.detail,
            attempt,
            wall_s,
            trajectory=f"{trial.label}.npz",
            metrics=metrics,
        )
        self._store.finish(record, result.recording)
        self._tell_finished(record)

    def _give_up(self, trial: Trial, attempts: int, cause: str) -> None:
        record = _record(trial, Outcome.INVALID, cause, attempts, wall_s=0.0)
        self._store.finish(record)
        self._tell_finished(record)

    def _tell_finished(self, record: TrialRecord) -> None:
        self._done += 1
        self._log.ended(record)
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
