"""Run trials in local worker processes, each with its own simulator.

A worker that exits or does not respond is replaced, the first time immediately, and after
further failures with increasing delays.
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
from gz_testauto.trial.executor import StopRequest, TrialStopped
from gz_testauto.trial.testbed import TestBed
from gz_testauto.trial.trial import Trial
from gz_testauto.workers.interface import (
    CLOSE_TIMEOUT_S,
    Attempt,
    ExecutorFactory,
    OneWorker,
    WorkerPool,
    Workers,
    WorkersFactory,
    require_own_simulators,
    shared_simulator,
)
from gz_testauto.workers.worker_process import ProcessWatchdog, work

# Wall time (s) in which workers must exit after a second Ctrl-C.
EXIT_TIMEOUT_S = 2.0

MAX_DELAY_S = 30.0
# Number of failed starts in a row after which a worker process is not replaced.
MAX_FAILED_STARTS = 6

_POLL_S = 0.1

_Events = queue.Queue  # pairs of a worker and its message, or None if it has exited


class ProcessWorkers(WorkerPool):
    """A pool of worker processes. The executor factory and the campaign must be picklable."""

    def __init__(self, make_executor: ExecutorFactory, bed: TestBed, size: int) -> None:
        """Raise the errors of ``make_executor``; no process starts yet."""
        super().__init__()
        make_executor(bed)  # raises the error here instead of in every worker process
        self._limits = bed.spec.limits
        self._context = multiprocessing.get_context("spawn")
        self._events: _Events = queue.Queue()
        self._stop_flag = self._context.RawValue("b", 0)
        # In shared memory: through a pipe, a stopped worker would block its parent process.
        setting = pickle.dumps((make_executor, bed, bed.computed))
        self._setting = self._context.RawArray("B", len(setting))
        memoryview(self._setting).cast("B")[:] = setting
        self._slots = [_WorkerSlot() for _ in range(size)]

    @property
    def size(self) -> int:  # type: ignore[override]
        """Return the number of workers that are ready, but at least one."""
        return max(sum(worker.is_ready for worker in self._workers), 1)

    def open(self, should_stop: StopRequest) -> None:
        if self.most_trials is not None:
            del self._slots[max(self.most_trials, 1) :]
        self._start_due_workers()
        while any(slot.is_starting for slot in self._slots):
            if should_stop():
                raise TrialStopped
            self._poll()

    def close(self) -> None:
        """Request all worker processes to exit, and kill them after a timeout.

        The timeout is :data:`CLOSE_TIMEOUT_S` or, after a second Ctrl-C, :data:`EXIT_TIMEOUT_S`.
        """
        self._request_stop()
        workers = self._workers
        if self._stop_by_s is not None and time.monotonic() > self._stop_by_s:
            for worker in workers:
                if worker.trial is not None:  # the time for stopping the trial has passed
                    worker.kill()
        is_second_stop = isinstance(sys.exc_info()[1], KeyboardInterrupt)
        deadline_s = time.monotonic() + (EXIT_TIMEOUT_S if is_second_stop else CLOSE_TIMEOUT_S)
        try:
            for worker in workers:
                worker.request_exit()
            for worker in workers:
                worker.process.join(max(deadline_s - time.monotonic(), 0.0))
        finally:
            for worker in workers:
                worker.kill()
            self._slots.clear()

    # Workers and their messages.

    @property
    def _workers(self) -> List["_Worker"]:
        return [slot.worker for slot in self._slots if slot.worker is not None]

    def worker_of(self, trial: Trial) -> str:
        pids = (worker.process.pid for worker in self._workers if worker.trial == trial)
        return next((f"process {pid}" for pid in pids), "")

    @property
    def _is_busy(self) -> bool:
        return any(worker.trial is not None for worker in self._workers)

    def _request_stop(self) -> None:
        self._stop_flag.value = 1

    def _assign(self) -> None:
        for worker in self._workers:
            if self._waiting and not worker.is_occupied and worker.begin(self._waiting[0]):
                self._waiting.popleft()

    def _poll(self) -> Optional[Attempt]:
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
        if worker.is_ready:
            return self._handle_result(slot, worker, answer)
        self._handle_startup(slot, worker, answer)
        return None

    def _handle_startup(self, slot: "_WorkerSlot", worker: "_Worker", answer: Reply) -> None:
        try:
            identity = answer.result()
        except FAILURES:
            if self._identity is None:  # at the first start, the other workers would fail, too
                raise
            worker.kill_reason = f"the simulator did not start: {answer.error}"
            worker.kill()
            return
        self._identity = self._identity or identity
        worker.is_ready = True
        slot.failed_starts = 0

    def _handle_result(
        self, slot: "_WorkerSlot", worker: "_Worker", answer: Reply
    ) -> Optional[Attempt]:
        trial, wall_s = worker.release_trial()
        slot.deaths = 0
        try:
            return Attempt(trial, wall_s, answer.result())
        except FAILURES as error:
            return Attempt.invalid(trial, wall_s, error)
        except TrialStopped:
            return None

    def _handle_exit(self, slot: "_WorkerSlot", worker: "_Worker") -> Optional[Attempt]:
        """Schedule the replacement of a worker; return the attempt of its trial, if any."""
        worker.process.join(EXIT_TIMEOUT_S)  # sets the exit status
        worker.kill()
        slot.schedule_replacement(worker)
        if all(slot.is_abandoned for slot in self._slots):
            raise SimulatorError(
                f"no worker could start, {MAX_FAILED_STARTS} times in a row: {worker.exit_reason}. "
                "Finished trials are stored; to continue, run the same command again"
            )
        if worker.trial is None:
            return None
        trial, wall_s = worker.release_trial()
        return Attempt(trial, wall_s, cause=worker.exit_reason, worker_died=not worker.hung)

    def _start_due_workers(self) -> None:
        for slot in self._slots:
            if slot.is_due and self._stop_by_s is None:
                slot.worker = _Worker(self._context, self._setting, self._stop_flag, self._events)


class _WorkerSlot:
    """A slot for one worker process and, after its exit, for its replacements."""

    def __init__(self) -> None:
        self.worker: Optional[_Worker] = None
        self.deaths = 0
        """Number of worker exits since the last finished trial."""
        self.failed_starts = 0
        """Number of failed starts in a row."""
        self._due_s = 0.0

    @property
    def is_abandoned(self) -> bool:
        return self.failed_starts >= MAX_FAILED_STARTS

    @property
    def is_starting(self) -> bool:
        return not self.is_abandoned and (self.worker is None or not self.worker.is_ready)

    @property
    def is_due(self) -> bool:
        return self.worker is None and not self.is_abandoned and time.monotonic() >= self._due_s

    def schedule_replacement(self, worker: "_Worker") -> None:
        self.failed_starts += not worker.is_ready
        self.worker = None
        # the first replacement starts immediately
        delay_s = min(2.0 ** (self.deaths - 1), MAX_DELAY_S) if self.deaths else 0.0
        self.deaths += 1
        self._due_s = time.monotonic() + delay_s


class _Worker:
    def __init__(self, context: Any, setting: Any, stop_flag: Any, events: _Events) -> None:
        counters = context.RawArray("Q", 2)
        self._parent, child_end = context.Pipe()
        self.process = context.Process(
            target=work, args=(child_end, setting, stop_flag, counters), name="gz_testauto worker"
        )
        # A Ctrl-C during the start is blocked until the worker ignores SIGINT.
        resource_tracker.ensure_running()  # would otherwise unblock SIGINT
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self.process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        child_end.close()
        self.trial: Optional[Trial] = None
        self.is_ready = False
        self.kill_reason = ""
        self.hung = False
        self._began_s = 0.0
        self._watchdog = ProcessWatchdog(self.process.pid, counters)
        threading.Thread(target=self._listen, args=(events,), daemon=True).start()

    @property
    def is_occupied(self) -> bool:
        return not self.is_ready or self.trial is not None

    def begin(self, trial: Trial) -> bool:
        """Send a trial; return False if the worker has exited."""
        try:
            self._parent.send(trial)
        except OSError:
            return False
        self.trial, self._began_s = trial, time.monotonic()
        self._watchdog.idle_s = 0.0
        return True

    def release_trial(self) -> Tuple[Trial, float]:
        """Make the worker idle; return its trial and the wall time (s) since the trial's start."""
        trial, self.trial = self.trial, None
        assert trial is not None
        return trial, time.monotonic() - self._began_s

    def request_exit(self) -> None:
        with contextlib.suppress(OSError):
            self._parent.send(None)

    def kill(self) -> None:
        self.process.kill()
        self.process.join()

    def kill_if_hung(self, stall_timeout_s: float, hang_timeout_s: float) -> None:
        self._watchdog.check()
        if self.kill_reason:
            return
        if self._watchdog.lifeless_s > stall_timeout_s:
            self.kill_reason = (
                f"the worker process did not respond for {stall_timeout_s:g} s "
                "(limits.stall_timeout_s)"
            )
        elif self.is_occupied and self._watchdog.idle_s > hang_timeout_s:
            self.kill_reason = (
                f"the worker process hung: it finished no control period in {hang_timeout_s:g} s "
                "(limits.hang_timeout_s)"
            )
            self.hung = True
        if self.kill_reason:
            self.process.kill()

    @property
    def exit_reason(self) -> str:
        status = self.process.exitcode
        if self.kill_reason or status is None:
            return self.kill_reason
        if status < 0:
            with contextlib.suppress(ValueError):
                return f"the worker process died ({signal.Signals(-status).name})"
        return f"the worker process died (exit status {status})"

    def _listen(self, events: _Events) -> None:
        """Put pairs of this worker and a message into ``events``; None when the worker exits."""
        while True:
            try:
                # blocks if the worker is stopped while it sends, and therefore runs in a thread
                events.put((self, receive_message(self._parent)))
            except (EOFError, OSError):
                events.put((self, None))
                return


def local_workers(count: int, at_most: bool = False) -> WorkersFactory:
    """Return a factory of ``count`` workers on this machine.

    A single worker runs trials in the calling process. If ``at_most`` is true, a single worker is
    also used if all workers would share one simulator.
    """

    def make(make_executor: ExecutorFactory, bed: TestBed) -> Workers:
        if count == 1 or (at_most and shared_simulator(bed.spec)):
            return OneWorker(make_executor, bed)
        require_own_simulators(bed.spec)
        return ProcessWorkers(make_executor, bed, count)

    return make
