"""The interface of workers, which run the trials of a campaign one at a time or in parallel.

:mod:`gz_testauto.campaign.runner` selects the next trial and handles its result; :class:`Workers`
runs one trial per worker at a time. The result of a trial does not depend on its worker or on the
order.

Call order, all from one thread::

    workers = make_workers(make_executor, campaign)  # starts no process
    workers.open(should_stop)
    workers.identity                                 # of the simulator, for the manifest
    workers.begin(trial)                             # while fewer than workers.size are running
    attempt = workers.next_ended(should_stop)        # None: more trials can be started
    workers.close()                                  # always, also after failures
"""

import abc
import os
import time
from dataclasses import dataclass
from typing import Callable, List, Optional

from gz_testauto.base.errors import GzTestautoError, SpecError
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
from gz_testauto.trial.plan import Trial
from gz_testauto.trial.setup import PreparedCampaign

ExecutorFactory = Callable[[PreparedCampaign], TrialExecutor]


@dataclass(frozen=True, eq=False)
class Attempt:
    """One execution of a trial, which took ``wall_s``: its result, or the cause of a failure.
    ``repeatable``: another attempt would fail as well; ``worker_died``: its worker exited."""

    trial: Trial
    wall_s: float
    result: Optional[TrialResult] = None
    cause: str = ""
    repeatable: bool = False
    worker_died: bool = False

    @classmethod
    def invalid(cls, trial: Trial, wall_s: float, error: GzTestautoError) -> "Attempt":
        """Return an attempt that failed with one of :data:`.attempts.FAILURES`."""
        return cls(trial, wall_s, cause=error.full, repeatable=will_recur(error))


class Workers(abc.ABC):
    """Runs up to ``size`` trials at a time; ``size`` changes when workers start or exit. The module
    lists the call order."""

    size: int = 1

    @abc.abstractmethod
    def open(self, should_stop: StopRequest) -> None:
        """Start the processes and simulators. Raises the errors of ``TrialExecutor.open``."""

    @property
    @abc.abstractmethod
    def identity(self) -> SimulatorIdentity:
        """Name and version of the simulator; available after :meth:`open`."""

    @abc.abstractmethod
    def begin(self, trial: Trial) -> None:
        """Start a trial. Raises ``SimulatorError`` or ``NavigatorError`` if a simulator or stack
        cannot be restarted after an invalid trial."""

    def worker_of(self, trial: Trial) -> str:
        """Return a description of the worker of a running trial; empty if it has none yet."""
        return ""

    @abc.abstractmethod
    def next_ended(self, should_stop: StopRequest) -> Optional[Attempt]:
        """Wait for the end of a running trial; return None if ``size`` has increased before.

        If ``should_stop`` returns true, it stops all running trials, and raises ``TrialStopped``
        when none is left. An exception that is not a cause of an invalid trial is a bug and is
        not caught.
        """

    @abc.abstractmethod
    def close(self) -> None:
        """End all processes and simulators. Idempotent; also called if ``open`` failed."""


def shared_simulator(spec: CampaignSpec) -> str:
    """Return the name of the campaign's simulator if all workers share one, else an empty text."""
    if not isinstance(spec, BuiltinCampaignSpec) or spec.simulator not in SIMULATORS.names():
        return ""
    shared = getattr(SIMULATORS.get(spec.simulator), "shared", False)
    return spec.simulator if shared else ""


def require_own_simulators(spec: CampaignSpec) -> None:
    """Raise ``SpecError`` if parallel workers would share a simulator."""
    shared = shared_simulator(spec)
    if shared:
        raise SpecError(
            f"campaign {spec.name}: the simulator {shared!r} is already running, and parallel "
            "trials would share its world; use --workers 1"
        )


WorkersFactory = Callable[[ExecutorFactory, PreparedCampaign], Workers]


class RenewableExecutor:
    """An executor that is opened before its first trial, and restarted before the trial after an
    invalid one."""

    def __init__(self, executor: TrialExecutor) -> None:
        self._executor = executor
        self._opened = False
        self._needs_restart = False

    @property
    def identity(self) -> SimulatorIdentity:
        """The simulator's name and version; available after :meth:`open`."""
        return self._executor.identity

    def open(self) -> SimulatorIdentity:
        """Open the executor unless it is open."""
        if not self._opened:
            self._executor.open()
            self._opened = True
        return self.identity

    def renew(self) -> None:
        """Restart the executor after an invalid trial. Raises the errors of
        ``TrialExecutor.recover``; the restart is then still necessary."""
        if self._needs_restart:
            self._executor.recover()
            self._needs_restart, self._opened = False, True

    def execute(self, trial: Trial, should_stop: StopRequest) -> TrialResult:
        """Run one trial, as ``TrialExecutor.execute``."""
        self.renew()
        self.open()
        try:
            return self._executor.execute(trial, should_stop)
        except FAILURES:
            self._needs_restart = True
            raise

    def close(self) -> None:
        """Close the executor."""
        self._opened = False
        self._executor.close()


class OneWorker(Workers):
    """One executor in the caller's thread."""

    def __init__(self, make_executor: ExecutorFactory, campaign: PreparedCampaign) -> None:
        self._executor = RenewableExecutor(make_executor(campaign))
        self._begun: List[Trial] = []

    def open(self, should_stop: StopRequest) -> None:
        """Open the executor."""
        self._executor.open()

    @property
    def identity(self) -> SimulatorIdentity:
        """The identity of the executor's simulator."""
        return self._executor.identity

    def begin(self, trial: Trial) -> None:
        """Store the trial for :meth:`next_ended`."""
        self._executor.renew()
        self._begun.append(trial)

    def worker_of(self, trial: Trial) -> str:
        """Return the calling process."""
        return f"process {os.getpid()}"

    def next_ended(self, should_stop: StopRequest) -> Attempt:
        """Run the trial."""
        if should_stop():
            raise TrialStopped
        trial, began_s = self._begun.pop(), time.monotonic()
        try:
            result = self._executor.execute(trial, should_stop)
        except FAILURES as error:
            return Attempt.invalid(trial, time.monotonic() - began_s, error)
        return Attempt(trial, time.monotonic() - began_s, result)

    def close(self) -> None:
        """Close the executor."""
        self._executor.close()
