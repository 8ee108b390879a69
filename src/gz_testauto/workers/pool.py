"""What all kinds of several workers have in common: they come and go while trials wait.

Owns the queue of trials begun, handing them to workers that are free, and the end: workers that
do not give up their trials in time are not waited for. Where the workers are is the subclass's.
"""

import abc
import collections
import time
from typing import Deque, Optional

from gz_testauto.trial.executor import StopRequest, TrialStopped
from gz_testauto.trial.plan import Trial
from gz_testauto.workers.interface import Attempt, Workers

CLOSING_S = 15.0
"""Wall time that workers have to give up their trials, and then to close their simulators."""


class WorkerPool(Workers):
    """Several workers. A subclass says how many there are (``size``, one while there is none),
    and implements what begins with an underscore here."""

    def __init__(self) -> None:
        self._waiting: Deque[Trial] = collections.deque()
        self._stop_by_s: Optional[float] = None

    def begin(self, trial: Trial) -> None:
        """Hand the trial to a worker that has none, or to the next that has."""
        self._waiting.append(trial)
        self._assign()

    def next_ended(self, should_stop: StopRequest) -> Optional[Attempt]:
        """Wait for the first to end, or for another worker."""
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
        """Ask all to stop; raise ``TrialStopped`` when some have not after a while."""
        if self._stop_by_s is None:
            self._stop_by_s = time.monotonic() + CLOSING_S
            self._waiting.clear()
            self._ask_to_stop()
        elif time.monotonic() > self._stop_by_s:
            raise TrialStopped

    @property
    @abc.abstractmethod
    def _busy(self) -> bool:
        """Whether any worker is at a trial."""

    @abc.abstractmethod
    def _assign(self) -> None:
        """Give trials that wait to workers that have none."""

    @abc.abstractmethod
    def _look(self) -> Optional[Attempt]:
        """See, for a moment, to what the workers say: an attempt that has ended, or None. One
        that was given up has ended without."""

    @abc.abstractmethod
    def _ask_to_stop(self) -> None:
        """Have all workers give up their trials; waits for none."""
