"""The progress of a campaign, and its listeners.

Defines the numbers of a progress bar; the command line and the node display them.
"""

from dataclasses import dataclass
from typing import Optional

from gz_testauto.results.records import TrialRecord
from gz_testauto.trial.plan import Trial


@dataclass(frozen=True)
class Progress:
    """The progress of a run: ``done`` of ``total`` selected trials are finished, ``done_before`` of
    them by earlier runs. ``elapsed_s`` is the wall time of this run, ``running`` the present trial.
    """

    total: int
    done: int
    done_before: int
    elapsed_s: float
    running: Optional[Trial] = None

    @property
    def remaining_s(self) -> Optional[float]:
        """The estimated remaining wall time; None before the first trial of this run has ended."""
        done_now = self.done - self.done_before
        if done_now <= 0:
            return None
        return self.elapsed_s / done_now * (self.total - self.done)


class CampaignListener:
    """A receiver of the events of a campaign, in the runner's thread. Override the needed ones."""

    def noticed(self, notice: str) -> None:
        """Handle a notice about the campaign, before its start."""

    def began(self, progress: Progress) -> None:
        """Handle the start of the simulator, after all checks."""

    def trial_began(self, trial: Trial, progress: Progress) -> None:
        """Handle the start of a trial or of its repetition."""

    def trial_ended(self, record: TrialRecord, progress: Progress) -> None:
        """Handle a trial that is in the store."""

    def attempt_failed(self, trial: Trial, attempt: int, cause: str) -> None:
        """Handle an invalid attempt at a trial."""

    def trial_postponed(self, trial: Trial, real_time_factor: float) -> None:
        """Handle a trial that was too slow in parallel and will be repeated alone, at the end."""

    def ended(self, progress: Progress) -> None:
        """Handle the end of the run: all trials are finished, or a stop was requested."""
