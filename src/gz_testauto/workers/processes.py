"""Workers that are processes of this machine, each with a simulator of its own.

Owns their lives: a worker that dies, freezes or hangs is replaced, at once the first time and
later each time after; none outlives this process, however it ends. What a worker does is
:mod:`gz_testauto.workers.worker_process`'s.
"""

import contextlib
import multiprocessing
import pickle
import queue
import signal
import sys
import threading
import time
from multiprocessing import resource_tracker
from typing import Any, List, Optional, Tuple

from gz_testauto.base.errors import SimulatorError
from gz_testauto.processes.remote import Reply, receive_message
from gz_testauto.results.attempts import FAILURES
from gz_testauto.trial.executor import SimulatorIdentity, StopRequest, TrialStopped
from gz_testauto.trial.plan import Trial
from gz_testauto.trial.setup import PreparedCampaign
from gz_testauto.workers.interface import (
    Attempt,
    ExecutorFactory,
    OneWorker,
    Workers,
    WorkersFactory,
    require_own_simulators,
    shared_simulator,
)
from gz_testauto.workers.liveness import Vigil
from gz_testauto.workers.pool import CLOSING_S, WorkerPool
from gz_testauto.workers.worker_process import work

AT_ONCE_S = 2.0
"""Wall time that workers have to end when asked twice."""

LONGEST_DELAY_S = 30.0
STARTS = 6
"""How often in a row one worker may fail to start before the campaign goes on without it."""

_POLL_S = 0.1

_Events = queue.Queue  # of (worker, what it says, None when it is gone)


class ProcessWorkers(WorkerPool):
    """``size`` processes that live as long as the campaign, one trial at a time each.

    ``make_executor`` and the campaign must be picklable.
    """

    def __init__(
        self, make_executor: ExecutorFactory, campaign: PreparedCampaign, size: int
    ) -> None:
        """Start nothing yet; raises what ``make_executor`` raises."""
        super().__init__()
        if size < 1:
            raise ValueError(f"{size} workers")
        make_executor(campaign)  # refuses here what it would refuse in every process
        self._limits = campaign.spec.limits
        self._context = multiprocessing.get_context("spawn")
        self._events: _Events = queue.Queue()
        self._shared = _Shared(self._context, pickle.dumps((make_executor, campaign)))
        self._places = [_Place() for _ in range(size)]
        self._identity: Optional[SimulatorIdentity] = None

    @property
    def size(self) -> int:  # type: ignore[override]
        """As many as are ready, and one while none is."""
        return max(sum(worker.ready for worker in self._workers), 1)

    def open(self, should_stop: StopRequest) -> None:
        """Start all processes and their simulators."""
        self._start_those_due()
        while any(place.is_starting for place in self._places):
            if should_stop():
                raise TrialStopped
            self._look()

    @property
    def identity(self) -> SimulatorIdentity:
        """Of the simulators, which are all the same."""
        assert self._identity is not None, "open comes first"
        return self._identity

    def close(self) -> None:
        """Ask every process to close its simulator and end; kill those that do not in time, at
        once when a second Ctrl-C brought us here."""
        self._ask_to_stop()
        workers = self._workers
        if self._stop_by_s is not None and time.monotonic() > self._stop_by_s:
            for worker in workers:
                if worker.trial is not None:  # it has had its time
                    worker.end()
        asked_twice = isinstance(sys.exc_info()[1], KeyboardInterrupt)
        deadline_s = time.monotonic() + (AT_ONCE_S if asked_twice else CLOSING_S)
        try:
            for worker in workers:
                worker.dismiss()
            for worker in workers:
                worker.process.join(max(deadline_s - time.monotonic(), 0.0))
        finally:
            for worker in workers:
                worker.end()
            self._places.clear()

    # inside

    @property
    def _workers(self) -> List["_Worker"]:
        return [place.worker for place in self._places if place.worker is not None]

    def worker_of(self, trial: Trial) -> str:
        """The worker's process."""
        found = (one.process.pid for one in self._workers if one.trial == trial)
        return next((f"process {pid}" for pid in found), "")

    @property
    def _busy(self) -> bool:
        return any(worker.trial is not None for worker in self._workers)

    def _ask_to_stop(self) -> None:
        self._shared.stop.value = 1

    def _assign(self) -> None:
        for worker in self._workers:
            if self._waiting and not worker.occupied and worker.begin(self._waiting[0]):
                self._waiting.popleft()

    def _look(self) -> Optional[Attempt]:
        self._start_those_due()
        for worker in self._workers:
            worker.end_if_lost(self._limits.stall_timeout_s, self._limits.hang_timeout_s)
        try:
            worker, answer = self._events.get(timeout=_POLL_S)
        except queue.Empty:
            return None
        place = next(place for place in self._places if place.worker is worker)
        if answer is None:
            return self._take_dead(place, worker)
        if not worker.ready:
            return self._take_start(place, worker, answer)
        return self._take_trial(place, worker, answer)

    def _take_start(self, place: "_Place", worker: "_Worker", answer: Reply) -> Optional[Attempt]:
        """None: a start is no attempt."""
        try:
            identity = answer.result()
        except FAILURES:
            if self._identity is None:  # the first one: what else is to be expected
                raise
            worker.lost = f"the simulator did not start: {answer.error}"
            worker.end()
            return None
        self._identity = self._identity or identity
        worker.ready = True
        place.failed_starts = 0
        return None

    def _take_trial(self, place: "_Place", worker: "_Worker", answer: Reply) -> Optional[Attempt]:
        trial, wall_s = worker.ended()
        place.deaths = 0
        try:
            return Attempt(trial, wall_s, answer.result())
        except FAILURES as error:
            return Attempt.invalid(trial, wall_s, error)
        except TrialStopped:
            return None

    def _take_dead(self, place: "_Place", worker: "_Worker") -> Optional[Attempt]:
        """Have a worker replaced; its attempt, if it was at a trial."""
        worker.process.join(AT_ONCE_S)  # it says itself how it ended
        worker.end()
        place.died(worker)
        if all(place.given_up for place in self._places):
            raise SimulatorError(
                f"no worker starts: {worker.epitaph}, {STARTS} times in a row; finished trials "
                "are safe, the same command continues"
            )
        if worker.trial is None:
            return None
        trial, wall_s = worker.ended()
        return Attempt(trial, wall_s, cause=worker.epitaph, worker_died=not worker.hung)

    def _start_those_due(self) -> None:
        for place in self._places:
            if place.is_due and self._stop_by_s is None:
                place.worker = _Worker(self._context, self._shared, self._events)


class _Place:
    """Where a worker is, or its successor will be."""

    def __init__(self) -> None:
        self.worker: Optional[_Worker] = None
        self.deaths = 0
        """Since a trial has last ended here."""
        self.failed_starts = 0
        """In a row."""
        self._due_s = 0.0

    @property
    def given_up(self) -> bool:
        """Whether none will come here any more."""
        return self.failed_starts >= STARTS

    @property
    def is_starting(self) -> bool:
        """Whether one will be ready, or given up, soon."""
        return not self.given_up and (self.worker is None or not self.worker.ready)

    @property
    def is_due(self) -> bool:
        """Whether one is to be started now."""
        return self.worker is None and not self.given_up and time.monotonic() >= self._due_s

    def died(self, worker: "_Worker") -> None:
        """Have the next one started, the later the more have died."""
        self.failed_starts += not worker.ready
        self.worker = None
        delay_s = min(2.0 ** (self.deaths - 1), LONGEST_DELAY_S) if self.deaths else 0.0
        self.deaths += 1
        self._due_s = time.monotonic() + delay_s


class _Shared:
    """What all workers are given: how to make the executor, and the number that says stop."""

    def __init__(self, context: Any, setting: bytes) -> None:
        # In memory, not in a pipe, on which a worker that is stopped would keep its owner.
        self.setting = context.RawArray("B", len(setting))
        memoryview(self.setting).cast("B")[:] = setting
        self.stop = context.RawValue("b", 0)


class _Worker:
    """One process, as its owner sees it."""

    def __init__(self, context: Any, shared: _Shared, events: _Events) -> None:
        pulse = context.RawArray("Q", 2)
        self._owner, its = context.Pipe()
        self.process = context.Process(
            target=work, args=(its, shared.setting, shared.stop, pulse), name="gz_testauto worker"
        )
        # A Ctrl-C that reaches it while it starts waits until it can pass over it.
        resource_tracker.ensure_running()  # which would unblock it, started in between
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self.process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        its.close()
        self.trial: Optional[Trial] = None
        self.ready = False
        """Whether it has started."""
        self.lost = ""
        """Why it was ended by its owner."""
        self.hung = False
        self._began_s = 0.0
        self._vigil = Vigil(self.process.pid, pulse)
        threading.Thread(target=self._listen, args=(events,), daemon=True).start()

    @property
    def occupied(self) -> bool:
        """Whether it is at its start or at a trial."""
        return not self.ready or self.trial is not None

    def begin(self, trial: Trial) -> bool:
        """Send it a trial; False when it is gone."""
        try:
            self._owner.send(trial)
        except OSError:
            return False
        self.trial, self._began_s = trial, time.monotonic()
        self._vigil.begin()
        return True

    def ended(self) -> Tuple[Trial, float]:
        """The trial that has ended, and the wall time (s) that it took."""
        trial, self.trial = self.trial, None
        assert trial is not None
        return trial, time.monotonic() - self._began_s

    def dismiss(self) -> None:
        """Have it end once it has done what it is at."""
        with contextlib.suppress(OSError):
            self._owner.send(None)

    def end(self) -> None:
        """Have it ended now, whatever it is at."""
        self.process.kill()
        self.process.join()

    def end_if_lost(self, stall_timeout_s: float, hang_timeout_s: float) -> None:
        """End it when it will not come to an end of what it is at."""
        self._vigil.look()
        if self.lost:
            return
        if self._vigil.lifeless_s > stall_timeout_s:
            self.lost = f"the worker process froze: no sign of life for {stall_timeout_s:g} s"
        elif self.occupied and self._vigil.idle_s > hang_timeout_s:
            self.lost = f"the worker process hung: no control period in {hang_timeout_s:g} s"
            self.hung = True
        if self.lost:
            self.process.kill()

    @property
    def epitaph(self) -> str:
        """How it ended, in words."""
        status = self.process.exitcode
        if self.lost or status is None:
            return self.lost
        if status < 0:
            with contextlib.suppress(ValueError):
                return f"the worker process died ({signal.Signals(-status).name})"
        return f"the worker process died (exit status {status})"

    def _listen(self, events: _Events) -> None:
        """Pass on all that it says, and last that it is gone; in a thread, because one that is
        stopped in the middle of a word keeps its listener."""
        while True:
            try:
                events.put((self, receive_message(self._owner)))
            except (EOFError, OSError):
                events.put((self, None))
                return


def local_workers(count: int, at_most: bool = False) -> WorkersFactory:
    """Workers on this machine: the calling process itself when one is enough, as it is where all
    would share a simulator and so many are wanted ``at_most``."""

    def make(make_executor: ExecutorFactory, campaign: PreparedCampaign) -> Workers:
        size = count
        if size > 1 and at_most and shared_simulator(campaign.spec):
            size = 1
        if size == 1:
            return OneWorker(make_executor, campaign)
        require_own_simulators(campaign.spec)
        return ProcessWorkers(make_executor, campaign, size)

    return make
