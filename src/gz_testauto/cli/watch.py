"""Follow a campaign while it runs.

Shows progress, success rates with intervals, running trials, the last outcomes, and invalid
attempts with their causes.

Only reads, so any number of terminals may watch. Ends when every trial has ended or the decision
is in, or by Ctrl-C. A runner that is killed is told as such; when it is started again, this goes
on.

example:
  gz_testauto watch results/paper
"""

import argparse
import sys
import time
from pathlib import Path
from typing import Tuple

from rich.console import Console, RenderableType
from rich.live import Live
from rich.text import Text

from gz_testauto.analysis.overview import analyze
from gz_testauto.base.errors import ResultsError
from gz_testauto.base.escaping import escape_text
from gz_testauto.report.plain import report_console
from gz_testauto.report.table import progress_report
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import ResultStore


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("directory", type=Path, help="results directory of a campaign")
    parser.add_argument(
        "--interval",
        type=_seconds,
        default=2.0,
        metavar="S",
        help="seconds between two looks (default: %(default)s)",
    )
    parser.add_argument("--once", action="store_true", help="look once and end")


def run(arguments: argparse.Namespace) -> int:
    """Look until every trial has ended; 0."""
    directory = CampaignDirectory(arguments.directory)
    directory.require_begun()
    console = report_console()
    if arguments.once or not sys.stdout.isatty():
        return _print(directory, console, arguments)
    with Live(console=console, auto_refresh=False, screen=False) as live:
        while True:
            shown, over = look(directory)
            live.update(shown, refresh=True)
            if over:
                return 0
            time.sleep(arguments.interval)


def look(directory: CampaignDirectory) -> Tuple[RenderableType, bool]:
    """What there is to see now, and whether every trial has ended. What cannot be read at this
    moment, as before the first trial has ended, is told and may be there at the next look."""
    try:
        with ResultStore.read(directory) as store:
            results = store.results()
    except ResultsError as error:
        return Text(escape_text(str(error))), False
    analysis = analyze(results)
    end = analysis.early_end
    over = len(results.trials) >= results.planned or (end is not None and end.decided)
    return progress_report(analysis), over


def _print(directory: CampaignDirectory, console: Console, arguments: argparse.Namespace) -> int:
    """One picture under the other, where there is no terminal to draw in."""
    while True:
        shown, over = look(directory)
        console.print(shown)
        if over or arguments.once:
            return 0
        console.print("")
        sys.stdout.flush()
        time.sleep(arguments.interval)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.1 <= seconds <= 3600.0:
        raise argparse.ArgumentTypeError(f"{text!r} is not between 0.1 and 3600 seconds")
    return seconds
