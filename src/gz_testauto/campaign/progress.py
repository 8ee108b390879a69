"""How far a campaign is, and who is told.

Owns the numbers of a progress bar; how they are shown is the command line's and the node's.
"""

from dataclasses import dataclass
from typing import Optional

from gz_testauto.results.records import TrialRecord
from gz_testauto.trial.plan import Trial


@dataclass(frozen=True)
class Progress:
    """``done`` of ``total`` selected trials are finished, ``done_before`` of them by earlier
    runs; this run has worked ``elapsed_s`` (wall). ``running`` is the trial under way."""

    total: int
    done: int
    done_before: int
    elapsed_s: float
    running: Optional[Trial] = None

    @property
    def remaining_s(self) -> Optional[float]:
        """Wall time left at this run's pace so far; None before its first trial has ended."""
        done_now = self.done - self.done_before
        if done_now <= 0:
            return None
        return self.elapsed_s / done_now * (self.total - self.done)


class CampaignListener:
    """Told what happens, in the runner's thread. Override what is of interest."""

    def noticed(self, notice: str) -> None:
        """Something about the campaign that people should know, before it begins."""

    def began(self, progress: Progress) -> None:
        """Everything is checked; the simulator starts now."""

    def trial_began(self, trial: Trial, progress: Progress) -> None:
        """A trial starts, for the first time or again."""

    def trial_ended(self, record: TrialRecord, progress: Progress) -> None:
        """A trial is in the store."""

    def attempt_failed(self, trial: Trial, attempt: int, cause: str) -> None:
        """A try at a trial ended invalid."""

    def trial_postponed(self, trial: Trial, real_time_factor: float) -> None:
        """A trial ran too slowly beside others and will be repeated alone, at the end."""

    def ended(self, progress: Progress) -> None:
        """No trial will follow: all are done, or the runner was asked to stop."""
