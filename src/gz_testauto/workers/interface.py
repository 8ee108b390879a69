"""Define the interface of workers, which run the trials of a campaign one at a time or in parallel.

:mod:`gz_testauto.campaign.runner` selects the next trial and handles its result, which does not
depend on the worker or on the order of execution.

Call order, all from one thread::

    workers = make_workers(make_executor, bed)       # starts no process
    workers.most_trials = len(trials)                # optional
    workers.open(should_stop)
    workers.identity                                 # of the simulator, for the manifest
    workers.begin(trial)                             # while fewer than workers.size are running
    attempt = workers.next_ended(should_stop)        # None: more trials can be started
    workers.close()                                  # always, also after failures
"""

import abc
import collections
import os
import time
from dataclasses import dataclass
from typing import Callable, Deque, List, Optional

from gz_testauto.base.errors import GzTestautoError, SceneError, SpecError
from gz_testauto.results.attempts import FAILURES, will_recur
from gz_testauto.simulators import SIMULATORS
from gz_testauto.spec.campaign import BuiltinCampaignSpec, CampaignSpec
from gz_testauto.trial.executor import (
    SimulatorIdentity,
    StopRequest,
    TrialExecutor,
    TrialResult,
    TrialStopped,
)
from gz_testauto.trial.testbed import TestBed
from gz_testauto.trial.trial import Trial

CLOSE_TIMEOUT_S = 15.0
"""Wall time (s) in which workers must stop their trials, and then their simulators."""

ExecutorFactory = Callable[[TestBed], TrialExecutor]


@dataclass(frozen=True, eq=False)
class Attempt:
    """One execution of a trial: its result, or the cause of its failure.

    ``wall_s`` is the duration in wall time. ``repeatable`` means that another attempt would fail
    for the same cause, and ``scene_at_fault`` that this cause is the scene of the trial.
    ``worker_died`` means that the worker process exited, or sent no heartbeat and was killed. A
    worker that hung was killed, too, but its attempt counts as invalid.
    """

    trial: Trial
    wall_s: float
    result: Optional[TrialResult] = None
    cause: str = ""
    repeatable: bool = False
    scene_at_fault: bool = False
    worker_died: bool = False

    @classmethod
    def invalid(cls, trial: Trial, wall_s: float, error: GzTestautoError) -> "Attempt":
        """Return an attempt that failed with ``error``, one of :data:`.attempts.FAILURES`."""
        return cls(
            trial,
            wall_s,
            cause=error.full,
            repeatable=will_recur(error),
            scene_at_fault=isinstance(error, SceneError),
        )


class Workers(abc.ABC):
    """The workers of a campaign, which run up to ``size`` trials at a time.

    ``size`` changes when workers start or exit.
    """

    size: int = 1
    most_trials: Optional[int] = None
    """Number of trials that the caller will begin, if it is known: no more workers are needed."""

    @abc.abstractmethod
    def open(self, should_stop: StopRequest) -> None:
        """Start all workers and simulators. Raises the errors of ``TrialExecutor.open``."""

    @property
    @abc.abstractmethod
    def identity(self) -> SimulatorIdentity:
        """Return the name and version of the simulator. Call :meth:`open` first."""

    @abc.abstractmethod
    def begin(self, trial: Trial) -> None:
        """Start a trial, or keep it until :meth:`next_ended` runs it.

        Raises ``SimulatorError`` or ``NavigatorError`` if the simulator or the navigation stack
        cannot be restarted after an invalid trial.
        """

    def worker_of(self, trial: Trial) -> str:
        """Return a description of the worker that runs ``trial``, or ""."""
        return ""

    @abc.abstractmethod
    def next_ended(self, should_stop: StopRequest) -> Optional[Attempt]:
        """Wait until a trial ends, and return its attempt; return None if ``size`` has increased.

        If ``should_stop`` returns true, all running trials are stopped, and ``TrialStopped`` is
        raised after the last one. An exception that is not one of :data:`.attempts.FAILURES` is
        passed on.
        """

    @abc.abstractmethod
    def close(self) -> None:
        """Stop all workers and simulators. Idempotent; also called if :meth:`open` failed.

        A second Ctrl-C can interrupt a call by ``KeyboardInterrupt``; the next call finishes it.
        """


def shared_simulator(spec: CampaignSpec) -> str:
    """Return the name of the simulator that all workers would share; "" if each starts its own."""
    if not isinstance(spec, BuiltinCampaignSpec) or spec.simulator not in SIMULATORS.names():
        return ""
    is_shared = getattr(SIMULATORS.get(spec.simulator), "shared", False)
    return spec.simulator if is_shared else ""


def require_own_simulators(spec: CampaignSpec) -> None:
    """Raise ``SpecError`` if parallel workers would share one running simulator."""
    simulator = shared_simulator(spec)
    if simulator:
        raise SpecError(
            f"campaign {spec.name}: the simulator {simulator!r} is already running, and parallel "
            "trials would share one world; use --workers 1"
        )


WorkersFactory = Callable[[ExecutorFactory, TestBed], Workers]


class RenewableExecutor:
    """A trial executor that opens before its first trial and restarts after an invalid trial."""

    def __init__(self, executor: TrialExecutor) -> None:
        self._executor = executor
        self._is_open = False
        self._needs_restart = False

    @property
    def identity(self) -> SimulatorIdentity:
        """Return the identity of the simulator. Call :meth:`open` first."""
        return self._executor.identity

    def open(self) -> SimulatorIdentity:
        """Open the executor if it is closed; return the name and version of the simulator."""
        if not self._is_open:
            self._executor.open()
            self._is_open = True
        return self.identity

    def renew(self) -> None:
        """Restart the executor if the previous trial was invalid.

        Raises the errors of ``TrialExecutor.recover``; the next call then tries again.
        """
        if self._needs_restart:
            self._executor.recover()
            self._needs_restart, self._is_open = False, True

    def execute(self, trial: Trial, should_stop: StopRequest) -> TrialResult:
        """Run one trial, and open or restart the executor if necessary."""
        self.renew()
        self.open()
        try:
            return self._executor.execute(trial, should_stop)
        except FAILURES:
            self._needs_restart = True
            raise

    def close(self) -> None:
        """Close the executor and its simulator."""
        self._is_open = False
        self._executor.close()


class OneWorker(Workers):
    """A single worker, whose executor runs in the thread of the caller."""

    def __init__(self, make_executor: ExecutorFactory, bed: TestBed) -> None:
        self._executor = RenewableExecutor(make_executor(bed))
        self._begun: List[Trial] = []

    def open(self, should_stop: StopRequest) -> None:
        """Open the executor and its simulator."""
        self._executor.open()

    @property
    def identity(self) -> SimulatorIdentity:
        """Return the identity of the simulator. Call :meth:`open` first."""
        return self._executor.identity

    def begin(self, trial: Trial) -> None:
        """Restart the executor after an invalid trial. Store the trial until :meth:`next_ended`."""
        self._executor.renew()
        self._begun.append(trial)

    def worker_of(self, trial: Trial) -> str:
        """Return ``process PID`` of the calling process."""
        return f"process {os.getpid()}"

    def next_ended(self, should_stop: StopRequest) -> Attempt:
        """Run the trial that was passed to :meth:`begin`, and return its attempt."""
        if should_stop():
            raise TrialStopped
        trial, began_s = self._begun.pop(), time.monotonic()
        try:
            result = self._executor.execute(trial, should_stop)
        except FAILURES as error:
            return Attempt.invalid(trial, time.monotonic() - began_s, error)
        return Attempt(trial, time.monotonic() - began_s, result)

    def close(self) -> None:
        """Close the executor and its simulator."""
        self._executor.close()


class WorkerPool(Workers):
    """A base class for pools of workers that can start and exit while trials wait.

    A subclass starts the workers, and also defines ``size`` (at least one) and ``_identity``.
    """

    def __init__(self) -> None:
        self._waiting: Deque[Trial] = collections.deque()
        self._stop_by_s: Optional[float] = None
        self._identity: Optional[SimulatorIdentity] = None

    @property
    def identity(self) -> SimulatorIdentity:
        """Return the name and version of the simulator, which are equal in all workers."""
        assert self._identity is not None, "call open first"
        return self._identity

    def begin(self, trial: Trial) -> None:
        """Assign the trial to an idle worker, or queue it until a worker is idle."""
        self._waiting.append(trial)
        self._assign()

    def next_ended(self, should_stop: StopRequest) -> Optional[Attempt]:
        """Wait until a trial ends or a worker is added; see :meth:`Workers.next_ended`."""
        size = self.size
        while self._waiting or self._is_busy:
            if should_stop():
                self._stop()
            attempt = self._poll()
            if attempt is not None:
                return attempt
            self._assign()
            if self.size > size:
                return None
        raise TrialStopped

    def _stop(self) -> None:
        """Request all workers to stop; raise ``TrialStopped`` if this takes too long."""
        if self._stop_by_s is None:
            self._stop_by_s = time.monotonic() + CLOSE_TIMEOUT_S
            self._waiting.clear()
            self._request_stop()
        elif time.monotonic() > self._stop_by_s:
            raise TrialStopped

    @property
    @abc.abstractmethod
    def _is_busy(self) -> bool: ...

    @abc.abstractmethod
    def _assign(self) -> None:
        """Assign queued trials to idle workers."""

    @abc.abstractmethod
    def _poll(self) -> Optional[Attempt]:
        """Wait briefly for messages; return the attempt of a trial that has ended, or None."""

    @abc.abstractmethod
    def _request_stop(self) -> None:
        """Request all workers to stop their trials, without waiting."""
