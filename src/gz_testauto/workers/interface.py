"""Who runs the trials of a campaign, one after the other or several side by side.

:mod:`gz_testauto.campaign.runner` decides which trial comes next and what becomes of its
result; :class:`Workers` runs as many at a time as there are of them. Which worker runs a trial,
and in which order, makes no difference to its result.

Call order, all from one thread::

    workers = make_workers(make_executor, campaign)  # starts nothing yet
    workers.open(should_stop)
    workers.identity                                 # of the simulator, for the manifest
    workers.begin(trial)                             # while fewer than workers.size are begun
    attempt = workers.next_ended(should_stop)        # of those begun; None: more may begin
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
    """One try at a trial, which took ``wall_s``: its result, or the cause why there is none, and
    whether another try would end by the same cause (``repeatable``) or the worker died."""

    trial: Trial
    wall_s: float
    result: Optional[TrialResult] = None
    cause: str = ""
    repeatable: bool = False
    worker_died: bool = False

    @classmethod
    def invalid(cls, trial: Trial, wall_s: float, error: GzTestautoError) -> "Attempt":
        """One that ended by one of :data:`~gz_testauto.results.attempts.FAILURES`."""
        return cls(trial, wall_s, cause=error.full, repeatable=will_recur(error))


class Workers(abc.ABC):
    """Runs up to ``size`` trials at a time, which may change while workers come and go. See the
    module for the call order."""

    size: int = 1

    @abc.abstractmethod
    def open(self, should_stop: StopRequest) -> None:
        """Start what the trials need. Raises as ``TrialExecutor.open`` does."""

    @property
    @abc.abstractmethod
    def identity(self) -> SimulatorIdentity:
        """Name and version of the simulator; known once open."""

    @abc.abstractmethod
    def begin(self, trial: Trial) -> None:
        """Take a trial on. Raises ``SimulatorError`` or ``NavigatorError`` when what an invalid
        trial harmed cannot be started afresh."""

    def worker_of(self, trial: Trial) -> str:
        """Who is at a trial that was begun, in words; empty where none is yet."""
        return ""

    @abc.abstractmethod
    def next_ended(self, should_stop: StopRequest) -> Optional[Attempt]:
        """Wait for one of the trials begun to end; None when ``size`` has grown before.

        Asked to stop, it gives up those under way, and raises ``TrialStopped`` when none is
        left. What an executor raises beside the causes of an invalid trial is a bug and comes
        through.
        """

    @abc.abstractmethod
    def close(self) -> None:
        """End everything that was started. Idempotent; also called when ``open`` failed."""


def shared_simulator(spec: CampaignSpec) -> str:
    """The name of the campaign's simulator where that is one for all workers, else nothing."""
    if not isinstance(spec, BuiltinCampaignSpec) or spec.simulator not in SIMULATORS.names():
        return ""
    shared = getattr(SIMULATORS.get(spec.simulator), "shared", False)
    return spec.simulator if shared else ""


def require_own_simulators(spec: CampaignSpec) -> None:
    """Raise ``SpecError`` where workers side by side would share a simulator."""
    shared = shared_simulator(spec)
    if shared:
        raise SpecError(
            f"campaign {spec.name}: the simulator {shared!r} is one that runs already, and trials "
            "side by side would be in one another's world; give --workers 1"
        )


WorkersFactory = Callable[[ExecutorFactory, PreparedCampaign], Workers]


class RenewableExecutor:
    """An executor that is opened before its first trial, and renewed before the next one when an
    invalid trial may have harmed it."""

    def __init__(self, executor: TrialExecutor) -> None:
        self._executor = executor
        self._opened = False
        self._harmed = False

    @property
    def identity(self) -> SimulatorIdentity:
        """Of its simulator; known once open."""
        return self._executor.identity

    def open(self) -> SimulatorIdentity:
        """Open the executor, if it is not."""
        if not self._opened:
            self._executor.open()
            self._opened = True
        return self.identity

    def renew(self) -> None:
        """Start afresh what an invalid trial may have harmed. Raises as
        ``TrialExecutor.recover`` does, and is then still to be done."""
        if self._harmed:
            self._executor.recover()
            self._harmed, self._opened = False, True

    def execute(self, trial: Trial, should_stop: StopRequest) -> TrialResult:
        """Run one trial; see ``TrialExecutor.execute``."""
        self.renew()
        self.open()
        try:
            return self._executor.execute(trial, should_stop)
        except FAILURES:
            self._harmed = True
            raise

    def close(self) -> None:
        """Close the executor."""
        self._opened = False
        self._executor.close()


class OneWorker(Workers):
    """One executor, in the caller's thread."""

    def __init__(self, make_executor: ExecutorFactory, campaign: PreparedCampaign) -> None:
        self._executor = RenewableExecutor(make_executor(campaign))
        self._begun: List[Trial] = []

    def open(self, should_stop: StopRequest) -> None:
        """Open the executor."""
        self._executor.open()

    @property
    def identity(self) -> SimulatorIdentity:
        """The executor's."""
        return self._executor.identity

    def begin(self, trial: Trial) -> None:
        """Note the trial."""
        self._executor.renew()
        self._begun.append(trial)

    def worker_of(self, trial: Trial) -> str:
        """The calling process."""
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
