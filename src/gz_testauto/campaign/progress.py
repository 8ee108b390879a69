"""The progress of a campaign, and its listeners."""

import time
from dataclasses import dataclass
from typing import Callable, Dict, Optional

from gz_testauto.results.records import TrialRecord
from gz_testauto.trial.trial import Trial


@dataclass(frozen=True)
class Progress:
    """The progress of a campaign: ``done`` of ``total`` selected trials are finished.

    ``done_before`` counts those of earlier calls. ``elapsed_s`` is the wall time since the
    start of the workers, and ``running`` the trial that has just started.
    """

    total: int
    done: int
    done_before: int
    elapsed_s: float
    running: Optional[Trial] = None

    @property
    def remaining_s(self) -> Optional[float]:
        """The estimated remaining wall time (s); None before the first finished trial."""
        done_now = self.done - self.done_before
        if done_now <= 0:
            return None
        return self.elapsed_s / done_now * (self.total - self.done)


class WorldProgress:
    """A callback that reports the number of finished worlds to ``notice``: first after
    ``silent_s``, then every few seconds. ``done`` is the word for finished, such as "prepared"."""

    PERIOD_S = 3.0

    def __init__(self, notice: Callable[[str], None], done: str, silent_s: float = 0.0) -> None:
        self._notice, self._done_text = notice, done
        self._begun_s = time.monotonic()
        self._next_s = self._begun_s + silent_s
        self._first_count: Optional[int] = None

    def __call__(self, done: int, total: int) -> None:
        now_s = time.monotonic()
        if self._first_count is None:
            self._first_count, self._begun_s = done, now_s
        if now_s < self._next_s:
            return
        self._next_s = now_s + self.PERIOD_S
        text = f"{done} of {total} worlds {self._done_text}"
        if done > self._first_count:
            seconds = (now_s - self._begun_s) / (done - self._first_count)
            text += f", {seconds:.2g} s each"
        self._notice(text)


class CauseTexts:
    """The reported causes of invalid attempts, by trial, so that the same cause is not reported
    twice in succession."""

    def __init__(self) -> None:
        self._last_causes: Dict[int, str] = {}

    def of_attempt(self, trial: Trial, cause: str) -> str:
        is_repeated = self._last_causes.get(trial.index) == cause
        self._last_causes[trial.index] = cause
        return "the same cause" if is_repeated else cause

    def of_trial(self, record: TrialRecord) -> str:
        """Return the detail of a finished trial, or for an invalid trial whose cause was already
        reported, only the number of attempts."""
        if record.outcome.valid or self._last_causes.get(record.trial) != record.detail:
            return record.detail
        return f"after {record.attempts} {'attempt' if record.attempts == 1 else 'attempts'}"


class CampaignListener:
    """A receiver of campaign events; by default, the methods do nothing."""

    def noticed(self, notice: str) -> None:
        """Handle a notice for the user, before the simulator starts."""

    def began(self, progress: Progress) -> None:
        """Handle the start of the simulator, after all checks of the campaign."""

    def trial_began(self, trial: Trial, progress: Progress) -> None:
        """Handle the start of an attempt at a trial."""

    def trial_ended(self, record: TrialRecord, progress: Progress) -> None:
        """Handle a finished trial, whose result is already stored."""

    def attempt_failed(self, trial: Trial, attempt: int, cause: str) -> None:
        """Handle an invalid attempt at a trial."""

    def trial_postponed(self, trial: Trial, real_time_factor: float) -> None:
        """Handle a trial that was too slow in parallel and will be repeated alone."""

    def ended(self, progress: Progress) -> None:
        """Handle the end of the workers, also after an error."""
