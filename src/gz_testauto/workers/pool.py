"""The common part of pools of workers that can start and exit while trials wait.

Contains the queue of trials, their assignment to idle workers, and the stop: workers that do not
stop their trials in time are not waited for. Subclasses start the workers.
"""

import abc
import collections
import time
from typing import Deque, Optional

from gz_testauto.trial.executor import StopRequest, TrialStopped
from gz_testauto.trial.plan import Trial
from gz_testauto.workers.interface import Attempt, Workers

CLOSE_TIMEOUT_S = 15.0
"""Wall time for workers to stop their trials, and then to close their simulators."""


class WorkerPool(Workers):
    """Several workers. A subclass defines their number (``size``, at least one) and the methods
    with a leading underscore."""

    def __init__(self) -> None:
        self._waiting: Deque[Trial] = collections.deque()
        self._stop_by_s: Optional[float] = None

    def begin(self, trial: Trial) -> None:
        """Assign the trial to an idle worker, or queue it."""
        self._waiting.append(trial)
        self._assign()

    def next_ended(self, should_stop: StopRequest) -> Optional[Attempt]:
        """Wait for the first trial to end, or for an additional worker."""
        size = self.size
        while self._waiting or self._busy:
            if should_stop():
                self._stop()
            attempt = self._look()
            if attempt is not None:
                return attempt
            self._assign()
            if self.size > size:
                return None
        raise TrialStopped

    def _stop(self) -> None:
        """Request all workers to stop; raise ``TrialStopped`` if some still run after a while."""
        if self._stop_by_s is None:
            self._stop_by_s = time.monotonic() + CLOSE_TIMEOUT_S
            self._waiting.clear()
            self._ask_to_stop()
        elif time.monotonic() > self._stop_by_s:
            raise TrialStopped

    @property
    @abc.abstractmethod
    def _busy(self) -> bool:
        """True if any worker runs a trial."""

    @abc.abstractmethod
    def _assign(self) -> None:
        """Assign queued trials to idle workers."""

    @abc.abstractmethod
    def _look(self) -> Optional[Attempt]:
        """Wait briefly for messages of the workers; return an attempt that has ended, or None. A
        stopped trial has no attempt."""

    @abc.abstractmethod
    def _ask_to_stop(self) -> None:
        """Request all workers to stop their trials, without waiting."""
