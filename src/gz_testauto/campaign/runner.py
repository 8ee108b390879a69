"""Run a campaign: every selected trial that is not finished.

If the process is killed at any time, the same call continues with the first unfinished trial, and
repeats no finished trial. The order of a call is: lock the directory, create or open the campaign,
select and check the trials, start the heartbeat and the workers, and run the trials. A finished
trial is stored before the early stop is decided and the listener is called.
"""

import collections
import contextlib
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Deque, Dict, List, Optional, Sequence, Set

from gz_testauto.analysis.early_stop import DecisionScreen, decide, success_rates
from gz_testauto.base.truncation import truncate
from gz_testauto.campaign.progress import CampaignListener, Progress, WorldProgress
from gz_testauto.campaign.resume import not_followed_notice, open_or_create_campaign
from gz_testauto.campaign.selection import selected_trials, selection_text
from gz_testauto.metrics.interface import measure
from gz_testauto.results.attempts import Attempts
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.manifest import Manifest
from gz_testauto.results.paper_log import CampaignLog
from gz_testauto.results.records import AttemptRecord, CampaignResults, TrialRecord, utc_now
from gz_testauto.results.store import LoadedCampaign, ResultStore
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.trial.checks import check_trials
from gz_testauto.trial.executor import StopRequest, TrialResult, TrialStopped, close_completely
from gz_testauto.trial.outcome import Outcome
from gz_testauto.trial.plan import ALL, TrialSelection, is_within_max_worlds
from gz_testauto.trial.real_time_factor import low_factor_cause, low_real_time_factor
from gz_testauto.trial.testbed import TestBed
from gz_testauto.trial.trial import Trial
from gz_testauto.workers.interface import (
    Attempt,
    ExecutorFactory,
    OneWorker,
    Workers,
    WorkersFactory,
)
from gz_testauto.worlds.record import unmeasured_notice, visuals_notice
from gz_testauto.worlds.source import originals_notice

# Number of trials before a new attempt at a trial whose worker died, in a campaign with ``stop``.
OTHERS_FIRST = 16


def run_campaign(
    spec: CampaignSpec,
    out: Path,
    make_executor: ExecutorFactory,
    *,
    make_workers: WorkersFactory = OneWorker,
    selection: TrialSelection = ALL,
    failed_in: Optional[LoadedCampaign] = None,
    resume: bool = False,
    retry_invalid: bool = False,
    listener: Optional[CampaignListener] = None,
    should_stop: StopRequest = lambda: False,
    world_workers: int = 1,
) -> CampaignResults:
    """Run the remaining trials of a campaign and return the results of all trials.

    A campaign in the directory ``out`` is resumed; with ``resume``, ``out`` must contain it. With
    ``failed_in``, only the trials that failed in that campaign are run. If ``should_stop`` returns
    True, the running trials stop and are not stored. The numbers of workers and ``world_workers``,
    which generate the worlds of a world source, do not change the results.

    Raises ``SpecError`` if the campaign cannot run, ``ResultsError`` if the directory contains
    valid trials of a different campaign or is in use, ``DiskError`` if the disk is full,
    ``SimulatorError`` if the simulator does not start, and ``LostTrialsError`` if all trials would
    be invalid.
    """
    selection.check(spec)
    directory = CampaignDirectory(out)
    if resume:
        directory.require_begun()
    directory.require_fresh_or_begun()
    with directory.locked():
        listener = listener or CampaignListener()
        campaign, store = open_or_create_campaign(
            spec,
            directory,
            world_workers,
            world_count=selection.world_count(spec) if failed_in is None else None,
            progress=WorldProgress(listener.noticed, "prepared"),
            should_stop=should_stop,
        )
        with store:
            attempts = Attempts(store, spec.limits, retry_invalid)
            plan = [trial for trial in campaign.trials if is_within_max_worlds(spec, trial)]
            selection_trials = selected_trials(plan, selection, campaign.worlds, failed_in)
            pending_trials = attempts.remaining(selection_trials)
            description = selection_text(selection, failed_in)
            if pending_trials and description:
                store.select(description)
            decision = EarlyStopMonitor(spec, store, plan, pending_trials)
            log = CampaignLog(directory.log, lambda world: campaign.missions.of(world).goals)
            log.rewrite(_without_pending(store.results().trials, pending_trials))
            if pending_trials and not (decision.is_decided or should_stop()):
                notices = (
                    unmeasured_notice(campaign.worlds),
                    visuals_notice(campaign.worlds),
                    not_followed_notice(directory),
                    originals_notice(spec.worlds),
                )
                for notice in filter(None, notices):
                    listener.noticed(notice)
                checked = WorldProgress(listener.noticed, "checked", silent_s=1.0)
                for warning in check_trials(campaign.bed, pending_trials, checked, should_stop):
                    listener.noticed(warning)
                workers = make_workers(make_executor, campaign.bed)
                campaign_run = _Run(
                    campaign.bed,
                    directory,
                    store,
                    attempts,
                    decision,
                    log,
                    workers,
                    should_stop,
                    listener,
                    len(selection_trials),
                )
                if not should_stop():
                    campaign_run.run_trials(pending_trials)
            return store.results()


class EarlyStopMonitor:
    """A monitor of the early stop: the evaluated worlds, and whether they decide the campaign.

    Worlds are evaluated in the order of the plan. A world with unfinished trials delays the next
    ones; a world with an invalid trial is skipped until that trial is valid. The trials in copies
    of a world belong to this world.
    """

    def __init__(
        self, spec: CampaignSpec, store: ResultStore, trials: List[Trial], pending: List[Trial]
    ) -> None:
        self.is_decided = False
        self._rule = spec.stop
        if self._rule is None:
            return
        self._store = store
        self._planners = [planner.name for planner in spec.planners]
        results = store.results().without_copies
        kept_records = _without_pending(results.trials, pending)
        self._records = {record.trial: record for record in kept_records}
        self._judged_worlds = list(results.judged)
        self._copies = results.copies
        self._waiting_trials: Dict[str, Set[int]] = {}
        for trial in trials:
            world = self._copies.get(trial.world.name, trial.world.name)
            self._waiting_trials.setdefault(world, set()).add(trial.index)
        self._screen = DecisionScreen(self._rule, self._planners)
        rates = success_rates(kept_records)
        for world in self._judged_worlds:
            self._waiting_trials.pop(world, None)
            self._screen.add(world, rates)
        self._update_decision()
        self._evaluate_finished_worlds()

    def add_finished(self, record: TrialRecord) -> None:
        if self._rule is not None:
            world = self._copies.get(record.world, record.world)
            self._records[record.trial] = replace(record, world=world)
            self._evaluate_finished_worlds()

    def _evaluate_finished_worlds(self) -> None:
        evaluated_worlds = []
        for world, trials in self._waiting_trials.items():
            if self.is_decided or not trials <= self._records.keys():
                break
            evaluated_worlds.append(world)
            records = [self._records[trial] for trial in trials]
            if all(record.outcome.valid for record in records):
                self._store.judge(world)
                self._judged_worlds.append(world)
                self._screen.add(world, success_rates(records))
                self._update_decision()
        for world in evaluated_worlds:
            del self._waiting_trials[world]

    def _update_decision(self) -> None:
        assert self._rule is not None
        if not self._screen.can_be_decided:
            return
        rates = success_rates(list(self._records.values()))
        pairs = decide(self._rule, self._planners, self._judged_worlds, rates)
        self.is_decided = bool(pairs) and all(pair.decided for pair in pairs)


@dataclass
class _Run:
    _bed: TestBed
    _directory: CampaignDirectory
    _store: ResultStore
    _attempts: Attempts
    _decision: EarlyStopMonitor
    _log: CampaignLog
    _workers: Workers
    _should_stop: StopRequest
    _listener: CampaignListener
    _selected: int
    """Number of selected trials, including those that earlier calls have finished."""

    def run_trials(self, pending_trials: Sequence[Trial]) -> None:
        self._done_count = self._done_before = self._selected - len(pending_trials)
        self._heartbeat = self._store.heartbeat()
        self._start_s = time.monotonic()
        has_valid_trial = self._attempts.has_valid_trial
        self._listener.began(self._progress())
        try:
            # A stopped trial counts as not started.
            with contextlib.suppress(TrialStopped), self._heartbeat:
                self._workers.most_trials = len(pending_trials)
                self._workers.open(self._should_stop)
                manifest = Manifest.read(self._directory)
                identity = self._workers.identity
                manifest.with_simulator(identity, has_valid_trial).write(self._directory)
                self._start_s = time.monotonic()
                self._run_all(pending_trials)
        finally:
            close_completely(self._workers.close)
            self._listener.ended(self._progress())

    def _run_all(self, pending_trials: Sequence[Trial]) -> None:
        # Trials that were too slow in parallel are repeated at the end, one at a time.
        self._waiting_trials = collections.deque(pending_trials)
        self._postponed_trials: Deque[Trial] = collections.deque()
        self._is_parallel = is_alone = False
        running_count = 0
        while True:
            while (
                self._waiting_trials and running_count < self._workers.size and self._can_continue()
            ):
                running_count += self._start(self._waiting_trials.popleft())
                # From now on, a running trial can have been slowed down by another one.
                self._is_parallel |= running_count > 1 and not is_alone
            if running_count:
                attempt = self._workers.next_ended(self._should_stop)
                if attempt is not None:
                    running_count -= 1
                    self._heartbeat.remove_trial(attempt.trial)
                    self._handle_result(attempt)
                continue
            self._attempts.raise_if_hopeless()
            if not self._postponed_trials or not self._can_continue():
                return
            self._is_parallel, is_alone = False, True
            self._waiting_trials.append(self._postponed_trials.popleft())

    def _handle_result(self, attempt: Attempt) -> None:
        trial, result = attempt.trial, attempt.result
        if result is None:
            if not self._should_stop():  # the simulator can report a stop as a failure
                self._handle_failure(attempt)
            return
        slow = low_factor_cause(self._bed.spec, result.recording)
        if slow:
            self._record_failure(replace(attempt, cause=slow))
            (self._postponed_trials if self._is_parallel else self._waiting_trials).appendleft(
                trial
            )
            return
        self._attempts.record_success(trial.index)
        factor = None
        if self._is_parallel:
            factor = low_real_time_factor(self._bed.spec, result.recording)
        if factor is not None:
            self._listener.trial_postponed(trial, factor)
            self._postponed_trials.append(trial)
        else:
            self._store_result(attempt, result)

    def _handle_failure(self, attempt: Attempt) -> None:
        self._record_failure(attempt)
        trial, waiting_trials = attempt.trial, self._waiting_trials
        if attempt.repeatable:
            self._abandon(trial, attempt.scene_at_fault)
        elif not attempt.worker_died:
            waiting_trials.appendleft(trial)
        elif self._bed.spec.stop is None:  # other trials first: the cause can be temporary
            waiting_trials.append(trial)
        else:
            waiting_trials.insert(min(len(waiting_trials), OTHERS_FIRST), trial)

    def _can_continue(self) -> bool:
        has_ended = self._attempts.is_hopeless or self._decision.is_decided
        return not (has_ended or self._should_stop())

    def _start(self, trial: Trial) -> bool:
        """Start an attempt at a trial.

        Returns False if the trial has no attempts left and was therefore stored as invalid.
        """
        if self._attempts.has_reached_limit(trial.index):
            self._abandon(trial)
            return False
        self._listener.trial_began(trial, self._progress(trial))
        self._workers.begin(trial)
        self._heartbeat.add_trial(trial, self._workers.worker_of(trial))
        return True

    def _record_failure(self, attempt: Attempt) -> None:
        trial = attempt.trial
        number = self._attempts.count(trial.index) + 1
        record = AttemptRecord(trial.index, number, attempt.cause, attempt.wall_s, utc_now())
        self._attempts.record_failure(record, attempt.worker_died)
        self._listener.attempt_failed(trial, number, truncate(attempt.cause))

    def _store_result(self, attempt: Attempt, result: TrialResult) -> None:
        trial = attempt.trial
        record = TrialRecord.of(
            trial,
            outcome=result.outcome,
            detail=result.detail,
            attempts=self._attempts.count(trial.index) + 1,
            wall_s=attempt.wall_s,
            trajectory=f"{trial.label}.npz",
            metrics=measure(result.recording, self._bed.metric_context, self._bed.metrics),
        )
        self._store.add_notices(result.notices)
        self._store.finish(record, result.recording)
        self._notify_finished(record)

    def _abandon(self, trial: Trial, scene_at_fault: bool = False) -> None:
        attempts, cause = self._attempts.count(trial.index), self._attempts.last_cause(trial.index)
        record = TrialRecord.of(
            trial, outcome=Outcome.INVALID, detail=truncate(cause), attempts=attempts, wall_s=0.0
        )
        self._store.finish(record)
        self._attempts.abandon(trial, scene_at_fault)
        self._notify_finished(record)

    def _notify_finished(self, record: TrialRecord) -> None:
        self._done_count += 1
        self._log.add(record)
        self._decision.add_finished(record)
        self._listener.trial_ended(record, self._progress())

    def _progress(self, running: Optional[Trial] = None) -> Progress:
        elapsed_s = time.monotonic() - self._start_s
        return Progress(self._selected, self._done_count, self._done_before, elapsed_s, running)


def _without_pending(
    records: Sequence[TrialRecord], pending_trials: Sequence[Trial]
) -> List[TrialRecord]:
    pending_indices = {trial.index for trial in pending_trials}
    return [record for record in records if record.trial not in pending_indices]
