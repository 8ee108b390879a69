"""Declare the options for the files of a report: HTML, CSV, LaTeX, figures and plots."""

import argparse
from pathlib import Path

from gz_testauto.cli.options import processors, worker_count

# The options that name a file or a directory, with their help.
OUTPUTS = {
    "html": "write one HTML page with all results, as a campaign does at its end",
    "csv": "write one row per trial as CSV; - prints the CSV instead of the table",
    "latex": "write the tables with intervals and notes in LaTeX (booktabs)",
    "figures": "plot success rates, their differences, and success over difficulty, sized for one "
    "column of a paper (requires matplotlib)",
    "plots": "plot every world with the trajectories of all planners (requires matplotlib)",
}


def add_output_arguments(parser: argparse.ArgumentParser) -> None:
    for name, text in OUTPUTS.items():
        value = "DIR" if name in ("figures", "plots") else "FILE"
        kind = str if name == "csv" else Path
        parser.add_argument(f"--{name}", type=kind, metavar=value, help=text)
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
    return any(getattr(arguments, name) not in (None, "-") for name in OUTPUTS)
