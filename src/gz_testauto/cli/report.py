"""Print the results of a campaign, or write HTML, CSV or plots.

The report of a running campaign contains the finished trials.

Exit status 0: finished. 1: with --complete, trials are unfinished or invalid. 2: an error.

example:
  gz_testauto report results/paper --html paper.html
  gz_testauto report results/paper --csv paper.csv --plots plots
"""

import argparse
from pathlib import Path

from gz_testauto.cli.output_options import add_output_arguments

GROUP = ("start", 5)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, help="results directory, or pack, of a campaign")
    add_output_arguments(parser)
    parser.add_argument(
        "--serve",
        action="store_true",
        help="serve the page to browsers on this machine, with live updates, until Ctrl-C",
    )
    parser.add_argument(
        "--port",
        type=int,
        default=8000,
        help="port for --serve; 0 selects a free port (default: %(default)s)",
    )
    parser.add_argument(
        "--animate",
        nargs=2,
        metavar=("WORLD", "FILE"),
        help="write an animation of all trials in a world to a .gif or .mp4 file, for example "
        "--animate world_0003 world_0003.gif",
    )
    parser.add_argument(
        "--json", action="store_true", help="print all results as JSON instead of the table"
    )
    parser.add_argument(
        "--complete",
        action="store_true",
        help="exit with status 1 if trials are unfinished or invalid; trials that an early stop "
        "omitted do not count",
    )


def run(arguments: argparse.Namespace) -> int:
    # Its import takes longer than to print the help.
    from gz_testauto.cli.campaign_report import report_campaign

    return report_campaign(arguments)
