"""Follow a campaign while it runs.

Shows progress, success rates with intervals, running trials, the last outcomes, and invalid
attempts with their causes.

The command only reads results, so that it can run in several terminals. It ends after the last
trial, after an early stop, or by Ctrl-C. It reports a killed campaign, and continues when the
campaign is resumed.

example:
  gz_testauto watch results/paper
"""

import argparse
import contextlib
import sys
import time
from pathlib import Path
from typing import Tuple

from rich.console import RenderableType
from rich.live import Live
from rich.text import Text

from gz_testauto.analysis.overview import analyze
from gz_testauto.base.errors import ResultsError
from gz_testauto.base.escaping import escape_text
from gz_testauto.report.plain import report_console
from gz_testauto.report.table import progress_report
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import ResultStore

GROUP = ("start", 3)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, help="results directory of a campaign")
    parser.add_argument(
        "--interval",
        type=_parse_interval_s,
        default=2.0,
        metavar="S",
        help="seconds between two updates (default: %(default)s)",
    )
    parser.add_argument("--once", action="store_true", help="print the current state and exit")


def run(arguments: argparse.Namespace) -> int:
    directory = CampaignDirectory(arguments.directory)
    directory.require_begun()
    console = report_console()
    is_live = sys.stdout.isatty() and not arguments.once
    live = Live(console=console, auto_refresh=False, screen=False)
    with live if is_live else contextlib.nullcontext():
        while True:
            state, is_over = present_state(directory)
            if is_live:
                live.update(state, refresh=True)
            else:
                console.print(state)
                sys.stdout.flush()
            if is_over or arguments.once:
                return 0
            if not is_live:
                console.print("")
            time.sleep(arguments.interval)


def present_state(directory: CampaignDirectory) -> Tuple[RenderableType, bool]:
    """Return the current state of a campaign, and whether its last trial has ended. The state is
    the text of an error if the results cannot be read, for example before the first trial ends."""
    try:
        with ResultStore.read(directory) as store:
            results = store.results()
    except ResultsError as error:
        return Text(escape_text(str(error))), False
    analysis = analyze(results)
    end = analysis.early_stop
    is_over = len(results.trials) >= results.planned or (end is not None and end.decided)
    return progress_report(analysis), is_over


def _parse_interval_s(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.1 <= seconds <= 3600.0:
        raise argparse.ArgumentTypeError(
            f"{text!r} is invalid; it must be between 0.1 and 3600 seconds"
        )
    return seconds
