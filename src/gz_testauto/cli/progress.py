"""Show the progress of a campaign on standard error. A terminal shows a bar with the remaining
time; files and build logs have one line per trial."""

import contextlib
import os
import sys
from typing import IO, Tuple, Union

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from gz_testauto.base.escaping import escape_text
from gz_testauto.campaign.progress import CampaignListener, CauseTexts
from gz_testauto.campaign.progress import Progress as CampaignProgress
from gz_testauto.report.plain import duration_text
from gz_testauto.results.records import TrialRecord
from gz_testauto.trial.trial import Trial


def progress_listener() -> CampaignListener:
    if sys.stderr.isatty():
        return BarListener(Console(file=sys.stderr, highlight=False))
    return LineListener(sys.stderr)


class LineListener(CampaignListener):
    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._causes = CauseTexts()

    def noticed(self, notice: str) -> None:
        self._show(notice)

    def began(self, progress: CampaignProgress) -> None:
        remaining = progress.total - progress.done
        resumed_text = f", {progress.done} were done before" if progress.done else ""
        self._show(f"{remaining} of {progress.total} trials to run{resumed_text}")

    def trial_ended(self, record: TrialRecord, progress: CampaignProgress) -> None:
        self._show(
            f"[{progress.done}/{progress.total}, {time_left(progress)}] {record.world} "
            f"{record.planner}: {record.outcome.value}, {self._causes.of_trial(record)}"
        )

    def attempt_failed(self, trial: Trial, attempt: int, cause: str) -> None:
        name = f"{trial.world.name} {trial.planner.name}"
        text = self._causes.of_attempt(trial, cause)
        self._show(f"{name}: attempt {attempt} is ", ("invalid", "yellow"), f": {text}")

    def trial_postponed(self, trial: Trial, real_time_factor: float) -> None:
        self._show(
            f"{trial.world.name} {trial.planner.name}: real-time factor {real_time_factor:.1f}; "
            "will be repeated alone"
        )

    def _show(self, *parts: Union[str, Tuple[str, str]]) -> None:
        """Print one line of strings, or pairs of a string and a style."""
        line = "".join(part if isinstance(part, str) else part[0] for part in parts)
        print(escape_text(line), file=self._stream, flush=True)


class BarListener(LineListener):
    def __init__(self, console: Console) -> None:
        super().__init__(console.file)
        self._console = console
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]}"),
            console=console,
        )
        self._task = self._bar.add_task("starting the simulator", total=None, left="")

    def began(self, progress: CampaignProgress) -> None:
        self._bar.start()
        self._bar.update(self._task, total=progress.total, completed=progress.done)

    def trial_began(self, trial: Trial, progress: CampaignProgress) -> None:
        self._update(f"{trial.world.name} {trial.planner.name}", progress)

    def trial_ended(self, record: TrialRecord, progress: CampaignProgress) -> None:
        style = "green" if record.completed else "red" if record.outcome.valid else "yellow"
        self._show(
            f"{record.world} {record.planner}: ",
            (record.outcome.value, style),
            f", {self._causes.of_trial(record)}",
        )
        self._update(f"{record.world} {record.planner}", progress)

    def ended(self, progress: CampaignProgress) -> None:
        self._bar.stop()

    def _show(self, *parts: Union[str, Tuple[str, str]]) -> None:
        # Text.assemble does not interpret markup in names.
        texts = (escape_text(part) if isinstance(part, str) else part for part in parts)
        self._console.print(Text.assemble(*texts))

    def _update(self, description: str, progress: CampaignProgress) -> None:
        self._bar.update(
            self._task,
            description=escape_text(description),
            completed=progress.done,
            left=time_left(progress),
        )


def print_status(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def announce_stop() -> None:
    # A signal handler can interrupt a write to sys.stderr, which then rejects a further write.
    with contextlib.suppress(OSError):
        os.write(2, b"\nstopping; press Ctrl-C again to stop immediately\n")


def time_left(progress: CampaignProgress) -> str:
    seconds = progress.remaining_s
    return "time left unknown" if seconds is None else f"{duration_text(seconds)} left"
