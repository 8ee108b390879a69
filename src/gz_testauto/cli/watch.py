"""Follow a campaign while it runs.

Shows progress, success rates with intervals, running trials, the last outcomes, and invalid
attempts with their causes.

The command only reads, so any number of terminals can watch. It ends when every trial has ended or
the campaign has stopped early, or by Ctrl-C. It reports a killed runner, and continues when the
runner is restarted.

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
        help="seconds between two updates (default: %(default)s)",
    )
    parser.add_argument("--once", action="store_true", help="print the state once and exit")


def run(arguments: argparse.Namespace) -> int:
    """Show the campaign until every trial has ended; return 0."""
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
    """Return the present state, and whether every trial has ended. A file that cannot be read now,
    as before the first trial has ended, is reported and may exist at the next update."""
    try:
        with ResultStore.read(directory) as store:
            results = store.results()
    except ResultsError as error:
        return Text(escape_text(str(error))), False
    analysis = analyze(results)
    end = analysis.early_stop
    over = len(results.trials) >= results.planned or (end is not None and end.decided)
    return progress_report(analysis), over


def _print(directory: CampaignDirectory, console: Console, arguments: argparse.Namespace) -> int:
    """Print one state after another, without a terminal."""
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
