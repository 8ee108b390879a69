"""Shows how far a campaign is, on standard error.

A bar with the time left in a terminal; one plain line per trial where the output goes to a file
or a build log.
"""

import sys
from typing import IO, Optional, Tuple, Union

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from gz_testauto.base.escaping import escape_text
from gz_testauto.campaign.progress import CampaignListener
from gz_testauto.campaign.progress import Progress as CampaignProgress
from gz_testauto.results.records import TrialRecord
from gz_testauto.trial.plan import Trial


def progress_listener(stream: Optional[IO[str]] = None) -> CampaignListener:
    """The listener that fits the stream, standard error unless told."""
    stream = stream or sys.stderr
    if stream.isatty():
        return BarListener(Console(file=stream, highlight=False))
    return LineListener(stream)


class LineListener(CampaignListener):
    """One line per trial."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def noticed(self, notice: str) -> None:
        """Say it."""
        self._say(notice)

    def began(self, progress: CampaignProgress) -> None:
        """Say what lies ahead."""
        left = progress.total - progress.done
        resumed = f", {progress.done} were done before" if progress.done else ""
        self._say(f"{left} of {progress.total} trials to run{resumed}")

    def trial_ended(self, record: TrialRecord, progress: CampaignProgress) -> None:
        """Say how it ended and how long the rest will take."""
        self._say(
            f"[{progress.done}/{progress.total}, {time_left(progress)}] {record.world} "
            f"{record.planner}: {record.outcome.value}, {record.detail}"
        )

    def attempt_failed(self, trial: Trial, attempt: int, cause: str) -> None:
        """Say that a try said nothing, and why."""
        self._say(f"{trial.world} {trial.planner}: attempt {attempt} is invalid: {cause}")

    def trial_postponed(self, trial: Trial, real_time_factor: float) -> None:
        """Say that a trial was too slow."""
        self._say(f"{trial.world} {trial.planner}: {_too_slow(real_time_factor)}")

    def _say(self, text: str) -> None:
        print(escape_text(text), file=self._stream, flush=True)


class BarListener(CampaignListener):
    """A bar, with the trials scrolling by above it."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]}"),
            console=console,
        )
        self._task = self._bar.add_task("starting the simulator", total=None, left="")

    def noticed(self, notice: str) -> None:
        """Let it stand above the bar."""
        self._show(notice)

    def began(self, progress: CampaignProgress) -> None:
        """Draw the bar."""
        self._bar.start()
        self._bar.update(self._task, total=progress.total, completed=progress.done)

    def trial_began(self, trial: Trial, progress: CampaignProgress) -> None:
        """Name the trial under way."""
        self._update(f"{trial.world} {trial.planner}", progress)

    def trial_ended(self, record: TrialRecord, progress: CampaignProgress) -> None:
        """Let the trial scroll up and move the bar."""
        style = "green" if record.completed else "red" if record.outcome.valid else "yellow"
        self._show(
            f"{record.world} {record.planner}: ",
            (record.outcome.value, style),
            f", {record.detail}",
        )
        self._update(f"{record.world} {record.planner}", progress)

    def attempt_failed(self, trial: Trial, attempt: int, cause: str) -> None:
        """Let the cause scroll up."""
        self._show(
            f"{trial.world} {trial.planner}: attempt {attempt} is ",
            ("invalid", "yellow"),
            f": {cause}",
        )

    def trial_postponed(self, trial: Trial, real_time_factor: float) -> None:
        """Let it scroll up that a trial was too slow."""
        self._show(f"{trial.world} {trial.planner}: {_too_slow(real_time_factor)}")

    def ended(self, progress: CampaignProgress) -> None:
        """Leave the bar as it is."""
        self._bar.stop()

    def _show(self, *parts: Union[str, Tuple[str, str]]) -> None:
        """Text, or text with a style; names and details are shown as they are."""
        shown = (escape_text(part) if isinstance(part, str) else part for part in parts)
        self._console.print(Text.assemble(*shown))

    def _update(self, description: str, progress: CampaignProgress) -> None:
        self._bar.update(
            self._task,
            description=escape_text(description),
            completed=progress.done,
            left=time_left(progress),
        )


def _too_slow(real_time_factor: float) -> str:
    return f"real-time factor {real_time_factor:.1f}; will be repeated alone"


def print_status(text: str) -> None:
    """Print a line on standard error."""
    print(text, file=sys.stderr, flush=True)


def announce_stop() -> None:
    """Say, at the first Ctrl-C, what a second one would do."""
    print("\nstopping; once more to stop at once", file=sys.stderr, flush=True)


def time_left(progress: CampaignProgress) -> str:
    """``12 s left``, ``3 min left`` or ``2 h 05 min left``; empty while it is unknown."""
    seconds = progress.remaining_s
    if seconds is None:
        return "time left unknown"
    if seconds < 100:
        return f"{seconds:.0f} s left"
    minutes = round(seconds / 60)
    return (
        f"{minutes} min left" if minutes < 100 else f"{minutes // 60} h {minutes % 60:02d} min left"
    )
