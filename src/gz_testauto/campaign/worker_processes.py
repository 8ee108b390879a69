"""Workers that are processes of this machine, each with a simulator of its own.

Owns their lives: a worker that dies costs the attempt it was at and is replaced; none outlives
this process, however it ends.
"""

import contextlib
import functools
import multiprocessing
import os
import signal
import threading
import time
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait as wait_for_any
from typing import Any, Dict, List, NamedTuple, Optional

from gz_testauto.campaign.executor import (
    SimulatorIdentity,
    StopRequest,
    TrialResult,
    TrialStopped,
)
from gz_testauto.campaign.preparation import PreparedCampaign
from gz_testauto.campaign.trials import Trial
from gz_testauto.campaign.workers import (
    INVALID,
    Attempt,
    ExecutorFactory,
    ExecutorKeeper,
    OneWorker,
    Workers,
    WorkersFactory,
)
from gz_testauto.errors import SimulatorError

CLOSING_S = 15.0
"""Wall time that workers have to end their simulators, before they are killed."""

_LOOK_S = 0.1


class ProcessWorkers(Workers):
    """``size`` processes that live as long as the campaign, one trial at a time each.

    ``make_executor`` and the campaign must be picklable. Each process is a pool of its own, so
    that one that dies takes no other with it.
    """

    def __init__(
        self, make_executor: ExecutorFactory, campaign: PreparedCampaign, size: int
    ) -> None:
        """Start nothing yet; raises what ``make_executor`` raises."""
        if size < 1:
            raise ValueError(f"{size} workers")
        make_executor(campaign)  # refuses here what it would refuse in every process
        self.size = size
        self._context = multiprocessing.get_context("spawn")
        self._stop = self._context.Event()
        self._setting = (make_executor, campaign, self._stop)
        self._workers: List[_Worker] = []
        self._idle: List[_Worker] = []
        self._under_way: Dict[Future[TrialResult], _Task] = {}
        self._identity: Optional[SimulatorIdentity] = None

    def open(self) -> None:
        """Start all processes and their simulators."""
        self._workers = [self._start() for _ in range(self.size)]
        for worker in self._workers:
            try:
                self._identity = worker.started.result()
            except BrokenProcessPool as error:
                raise SimulatorError("a worker process died while it started") from error
        self._idle = list(self._workers)

    @property
    def identity(self) -> SimulatorIdentity:
        """Of the simulators, which are all the same."""
        assert self._identity is not None, "open comes first"
        return self._identity

    def begin(self, trial: Trial) -> None:
        """Hand the trial to a process that has none."""
        worker = self._idle.pop(0)
        future = worker.pool.submit(_execute, trial)
        self._under_way[future] = _Task(worker, trial, time.monotonic())

    def next_ended(self, should_stop: StopRequest) -> Attempt:
        """Wait for the first to end."""
        while self._under_way:
            if should_stop():
                self._stop.set()
            ended, _ = wait(self._under_way, timeout=_LOOK_S, return_when=FIRST_COMPLETED)
            for future in ended:
                attempt = self._take(future, self._under_way.pop(future))
                if attempt is not None:
                    return attempt
        raise TrialStopped

    def close(self) -> None:
        """Ask every process to close its simulator and end; kill those that do not."""
        self._stop.set()
        closing = []
        for worker in self._workers:
            with contextlib.suppress(BrokenProcessPool):
                closing.append(worker.pool.submit(_close))
        _, late = wait(closing, timeout=CLOSING_S)
        for worker in self._workers:
            if late:
                worker.kill()
            worker.pool.shutdown()
        self._workers, self._idle = [], []
        self._under_way.clear()

    def _start(self) -> "_Worker":
        pool = ProcessPoolExecutor(
            1, mp_context=self._context, initializer=_set_up, initargs=self._setting
        )
        return _Worker(pool, pool.submit(_open))

    def _take(self, future: "Future[TrialResult]", task: "_Task") -> Optional[Attempt]:
        """What became of a trial; None when it was given up."""
        wall_s = time.monotonic() - task.began_s
        try:
            attempt = Attempt(task.trial, wall_s, future.result())
        except BrokenProcessPool:
            self._replace(task.worker)
            return Attempt(task.trial, wall_s, cause="the worker process died", worker_died=True)
        except INVALID as error:
            attempt = Attempt.invalid(task.trial, wall_s, error)
        except TrialStopped:
            return None
        self._idle.append(task.worker)
        return attempt

    def _replace(self, dead: "_Worker") -> None:
        dead.pool.shutdown()
        self._workers.remove(dead)
        successor = self._start()
        self._workers.append(successor)
        self._idle.append(successor)


class _Worker:
    """One process, as its owner sees it."""

    def __init__(self, pool: ProcessPoolExecutor, started: "Future[Any]") -> None:
        self.pool = pool
        self.started = started
        self._pids = pool.submit(os.getpid)

    def kill(self) -> None:
        """End the process, whatever it is at."""
        if self._pids.done() and self._pids.exception() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pids.result(), signal.SIGKILL)


class _Task(NamedTuple):
    worker: _Worker
    trial: Trial
    began_s: float


class _State:
    """What a worker process keeps between trials."""

    keeper: Optional[ExecutorKeeper] = None
    stop: Any = None


def _set_up(make_executor: ExecutorFactory, campaign: PreparedCampaign, stop: Any) -> None:
    """Begin a worker's life, in its process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches it too; its owner decides
    threading.Thread(target=_end_with_owner, daemon=True).start()
    _State.keeper = ExecutorKeeper(make_executor(campaign))
    _State.stop = stop


def _end_with_owner() -> None:
    """A worker whose owner was killed must not wait for work for ever."""
    owner = multiprocessing.parent_process()
    assert owner is not None
    wait_for_any([owner.sentinel])
    os._exit(1)


def _keeper() -> ExecutorKeeper:
    assert _State.keeper is not None, "_set_up comes first"
    return _State.keeper


def _open() -> SimulatorIdentity:
    return _keeper().open()


def _execute(trial: Trial) -> TrialResult:
    return _keeper().execute(trial, _State.stop.is_set)


def _close() -> None:
    _keeper().close()


def local_workers(count: int) -> WorkersFactory:
    """Workers on this machine: the calling process itself when one is enough."""
    return OneWorker if count == 1 else functools.partial(ProcessWorkers, size=count)
