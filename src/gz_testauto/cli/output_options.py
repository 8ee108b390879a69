"""Declare the options for the files of a report: HTML, CSV, LaTeX, figures and plots."""

import argparse
from pathlib import Path

from gz_testauto.cli.options import processors, worker_count


def add_output_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--html",
        type=Path,
        metavar="FILE",
        help="write one HTML page with all results, as a campaign does at its end",
    )
    parser.add_argument(
        "--csv",
        metavar="FILE",
        help="write one row per trial as CSV; - prints the CSV instead of the table",
    )
    parser.add_argument(
        "--latex",
        type=Path,
        metavar="FILE",
        help="write the tables with intervals and notes in LaTeX (booktabs)",
    )
    parser.add_argument(
        "--figures",
        type=Path,
        metavar="DIR",
        help="plot success rates, their differences, and success over difficulty, sized for one "
        "column of a paper (requires matplotlib)",
    )
    parser.add_argument(
        "--plots",
        type=Path,
        metavar="DIR",
        help="plot every world with the trajectories of all planners (requires matplotlib)",
    )
    parser.add_argument(
        "--format",
        choices=("png", "svg", "pdf"),
        default="png",
        help="file format of plots and figures (default: %(default)s)",
    )
    parser.add_argument(
        "--workers",
        type=worker_count,
        default=processors(),
        metavar="N",
        help="number of processes for plots (default: number of processors, here %(default)s)",
    )


def requests_outputs(arguments: argparse.Namespace) -> bool:
    names = ("html", "csv", "latex", "figures", "plots")
    return any(getattr(arguments, name) not in (None, "-") for name in names)
