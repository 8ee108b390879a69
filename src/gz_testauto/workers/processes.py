"""Workers that are local processes, each with its own simulator.

A worker that dies, freezes or hangs is replaced, immediately the first time and after growing
delays later. None survives this process. :mod:`gz_testauto.workers.worker_process` is the code that
a worker runs.
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
from gz_testauto.workers.pool import CLOSE_TIMEOUT_S, WorkerPool
from gz_testauto.workers.worker_process import ProcessWatchdog, work

EXIT_TIMEOUT_S = 2.0
"""Wall time for workers to exit after a second Ctrl-C."""

MAX_DELAY_S = 30.0
MAX_FAILED_STARTS = 6
"""Number of failed starts in a row after which a worker is not replaced."""

_POLL_S = 0.1

_Events = queue.Queue  # of (worker, its message, or None when it has exited)


class ProcessWorkers(WorkerPool):
    """``size`` processes that run for the whole campaign, one trial at a time each.

    ``make_executor`` and the campaign must be picklable.
    """

    def __init__(
        self, make_executor: ExecutorFactory, campaign: PreparedCampaign, size: int
    ) -> None:
        """Prepare the workers; no process starts. Raises the errors of ``make_executor``."""
        super().__init__()
        if size < 1:
            raise ValueError(f"{size} workers")
        make_executor(campaign)  # raises here what it would raise in every process
        self._limits = campaign.spec.limits
        self._context = multiprocessing.get_context("spawn")
        self._events: _Events = queue.Queue()
        self._shared = _SharedMemory(self._context, pickle.dumps((make_executor, campaign)))
        self._slots = [_WorkerSlot() for _ in range(size)]
        self._identity: Optional[SimulatorIdentity] = None

    @property
    def size(self) -> int:  # type: ignore[override]
        """The number of workers that are ready, at least one."""
        return max(sum(worker.ready for worker in self._workers), 1)

    def open(self, should_stop: StopRequest) -> None:
        """Start all processes and their simulators."""
        self._start_due_workers()
        while any(slot.is_starting for slot in self._slots):
            if should_stop():
                raise TrialStopped
            self._look()

    @property
    def identity(self) -> SimulatorIdentity:
        """The identity of the simulators, which is the same for all."""
        assert self._identity is not None, "call open first"
        return self._identity

    def close(self) -> None:
        """Request every process to close its simulator and exit. Kill those that do not in time,
        immediately if a second Ctrl-C was the cause."""
        self._ask_to_stop()
        workers = self._workers
        if self._stop_by_s is not None and time.monotonic() > self._stop_by_s:
            for worker in workers:
                if worker.trial is not None:  # its time to stop has passed
                    worker.end()
        is_second_stop = isinstance(sys.exc_info()[1], KeyboardInterrupt)
        deadline_s = time.monotonic() + (EXIT_TIMEOUT_S if is_second_stop else CLOSE_TIMEOUT_S)
        try:
            for worker in workers:
                worker.request_exit()
            for worker in workers:
                worker.process.join(max(deadline_s - time.monotonic(), 0.0))
        finally:
            for worker in workers:
                worker.end()
            self._slots.clear()

    # Workers and their messages.

    @property
    def _workers(self) -> List["_Worker"]:
        return [slot.worker for slot in self._slots if slot.worker is not None]

    def worker_of(self, trial: Trial) -> str:
        """Return the process of the worker."""
        found = (one.process.pid for one in self._workers if one.trial == trial)
        return next((f"process {pid}" for pid in found), "")

    @property
    def _busy(self) -> bool:
        return any(worker.trial is not None for worker in self._workers)

    def _ask_to_stop(self) -> None:
        self._shared.stop.value = 1

    def _assign(self) -> None:
        for worker in self._workers:
            if self._waiting and not worker.is_occupied and worker.begin(self._waiting[0]):
                self._waiting.popleft()

    def _look(self) -> Optional[Attempt]:
        self._start_due_workers()
        for worker in self._workers:
            worker.kill_if_hung(self._limits.stall_timeout_s, self._limits.hang_timeout_s)
        try:
            worker, answer = self._events.get(timeout=_POLL_S)
        except queue.Empty:
            return None
        slot = next(slot for slot in self._slots if slot.worker is worker)
        if answer is None:
            return self._handle_exit(slot, worker)
        if worker.ready:
            return self._handle_result(slot, worker, answer)
        self._handle_startup(slot, worker, answer)
        return None

    def _handle_startup(self, slot: "_WorkerSlot", worker: "_Worker", answer: Reply) -> None:
        try:
            identity = answer.result()
        except FAILURES:
            if self._identity is None:  # at the first start, the others would fail, too
                raise
            worker.kill_reason = f"the simulator did not start: {answer.error}"
            worker.end()
            return
        self._identity = self._identity or identity
        worker.ready = True
        slot.failed_starts = 0

    def _handle_result(
        self, slot: "_WorkerSlot", worker: "_Worker", answer: Reply
    ) -> Optional[Attempt]:
        trial, wall_s = worker.ended()
        slot.deaths = 0
        try:
            return Attempt(trial, wall_s, answer.result())
        except FAILURES as error:
            return Attempt.invalid(trial, wall_s, error)
        except TrialStopped:
            return None

    def _handle_exit(self, slot: "_WorkerSlot", worker: "_Worker") -> Optional[Attempt]:
        """Schedule the replacement of a worker; return its attempt if it ran a trial."""
        worker.process.join(EXIT_TIMEOUT_S)  # waits for its own exit status
        worker.end()
        slot.died(worker)
        if all(slot.is_abandoned for slot in self._slots):
            raise SimulatorError(
                f"no worker starts: {worker.exit_reason}, {MAX_FAILED_STARTS} times in a row; "
                "finished trials are stored: run the same command to continue"
            )
        if worker.trial is None:
            return None
        trial, wall_s = worker.ended()
        return Attempt(trial, wall_s, cause=worker.exit_reason, worker_died=not worker.hung)

    def _start_due_workers(self) -> None:
        for slot in self._slots:
            if slot.is_due and self._stop_by_s is None:
                slot.worker = _Worker(self._context, self._shared, self._events)


class _WorkerSlot:
    """The slot of a worker and of its replacements."""

    def __init__(self) -> None:
        self.worker: Optional[_Worker] = None
        self.deaths = 0
        """Number of deaths since the last finished trial of this slot."""
        self.failed_starts = 0
        """Number of failed starts in a row."""
        self._due_s = 0.0

    @property
    def is_abandoned(self) -> bool:
        """True if no further worker is started."""
        return self.failed_starts >= MAX_FAILED_STARTS

    @property
    def is_starting(self) -> bool:
        """True if a worker is starting or will be started."""
        return not self.is_abandoned and (self.worker is None or not self.worker.ready)

    @property
    def is_due(self) -> bool:
        """True if a worker must be started now."""
        return self.worker is None and not self.is_abandoned and time.monotonic() >= self._due_s

    def died(self, worker: "_Worker") -> None:
        """Schedule the next worker, with a delay that grows with the number of deaths."""
        self.failed_starts += not worker.ready
        self.worker = None
        delay_s = min(2.0 ** (self.deaths - 1), MAX_DELAY_S) if self.deaths else 0.0
        self.deaths += 1
        self._due_s = time.monotonic() + delay_s


class _SharedMemory:
    """Memory that all workers share: the pickled executor factory and the flag to stop."""

    def __init__(self, context: Any, setting: bytes) -> None:
        # Not in a pipe, in which a stopped worker would block its parent process.
        self.setting = context.RawArray("B", len(setting))
        memoryview(self.setting).cast("B")[:] = setting
        self.stop = context.RawValue("b", 0)


class _Worker:
    """One worker process, as the parent process sees it."""

    def __init__(self, context: Any, shared: _SharedMemory, events: _Events) -> None:
        pulse = context.RawArray("Q", 2)
        self._parent, its = context.Pipe()
        self.process = context.Process(
            target=work, args=(its, shared.setting, shared.stop, pulse), name="gz_testauto worker"
        )
        # A Ctrl-C during the start is blocked until the worker ignores SIGINT.
        resource_tracker.ensure_running()  # which would otherwise unblock it in between
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self.process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        its.close()
        self.trial: Optional[Trial] = None
        self.ready = False
        """True if its simulator has started."""
        self.kill_reason = ""
        """The reason for which the parent process killed it."""
        self.hung = False
        self._began_s = 0.0
        self._watchdog = ProcessWatchdog(self.process.pid, pulse)
        threading.Thread(target=self._listen, args=(events,), daemon=True).start()

    @property
    def is_occupied(self) -> bool:
        """True if it is starting or runs a trial."""
        return not self.ready or self.trial is not None

    def begin(self, trial: Trial) -> bool:
        """Send it a trial; return false if it has exited."""
        try:
            self._parent.send(trial)
        except OSError:
            return False
        self.trial, self._began_s = trial, time.monotonic()
        self._watchdog.begin()
        return True

    def ended(self) -> Tuple[Trial, float]:
        """Return the finished trial and its wall time (s)."""
        trial, self.trial = self.trial, None
        assert trial is not None
        return trial, time.monotonic() - self._began_s

    def request_exit(self) -> None:
        """Request its exit after the present trial."""
        with contextlib.suppress(OSError):
            self._parent.send(None)

    def end(self) -> None:
        """Kill the process."""
        self.process.kill()
        self.process.join()

    def kill_if_hung(self, stall_timeout_s: float, hang_timeout_s: float) -> None:
        """Kill the process if it is frozen or hung."""
        self._watchdog.check()
        if self.kill_reason:
            return
        if self._watchdog.lifeless_s > stall_timeout_s:
            self.kill_reason = (
                f"the worker process froze: no sign of life for {stall_timeout_s:g} s"
            )
        elif self.is_occupied and self._watchdog.idle_s > hang_timeout_s:
            self.kill_reason = f"the worker process hung: no control period in {hang_timeout_s:g} s"
            self.hung = True
        if self.kill_reason:
            self.process.kill()

    @property
    def exit_reason(self) -> str:
        """The reason of its exit, as text."""
        status = self.process.exitcode
        if self.kill_reason or status is None:
            return self.kill_reason
        if status < 0:
            with contextlib.suppress(ValueError):
                return f"the worker process died ({signal.Signals(-status).name})"
        return f"the worker process died (exit status {status})"

    def _listen(self, events: _Events) -> None:
        """Forward its messages, and finally its exit. This is a thread, because a worker that is
        stopped while it sends would block its reader."""
        while True:
            try:
                events.put((self, receive_message(self._parent)))
            except (EOFError, OSError):
                events.put((self, None))
                return


def local_workers(count: int, at_most: bool = False) -> WorkersFactory:
    """Return a factory of workers on this machine. A single worker is the calling process. With
    ``at_most`` this is also used if all workers would share a simulator."""

    def make(make_executor: ExecutorFactory, campaign: PreparedCampaign) -> Workers:
        size = count
        if size > 1 and at_most and shared_simulator(campaign.spec):
            size = 1
        if size == 1:
            return OneWorker(make_executor, campaign)
        require_own_simulators(campaign.spec)
        return ProcessWorkers(make_executor, campaign, size)

    return make
