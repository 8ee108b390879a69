"""Run a campaign: every planner in every world.

The simulation runs in lock-step and as fast as possible, with several trials in parallel. Results
are stored in a directory; the same command continues with the first unfinished trial. Ctrl-C stops
the campaign after the current control period, a second Ctrl-C immediately.

Exit status 0: all stored trials are valid. 1: some are invalid. 2: an error; finished trials are
stored. 130, 143: stopped by Ctrl-C, by SIGTERM.

examples:
  gz_testauto run example
  gz_testauto run config/campaign.yaml --out results/paper
  gz_testauto run config/campaign.yaml --out results/again --failed-of results/paper

  then  gz_testauto report results/paper --csv paper.csv --plots results/paper/plots
"""

import argparse
import sys
from pathlib import Path

from gz_testauto.campaign.campaign_files import campaign_path
from gz_testauto.campaign.selection import RunOptions, load_failed
from gz_testauto.campaign.signals import StopSignals
from gz_testauto.campaign.simulator import select_simulator
from gz_testauto.cli.campaigns import (
    add_campaign_arguments,
    add_selection_arguments,
    add_simulator_argument,
    exit_status,
    load_campaign,
    print_results,
    run_trials,
)
from gz_testauto.cli.options import add_options, read_options
from gz_testauto.cli.progress import announce_stop

GROUP = ("start", 2)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "campaign",
        type=campaign_path,
        help="campaign file (YAML), a package:// URI, or the name of an installed example: "
        "example, smoke, study, walkers",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="results directory; a campaign in this directory is continued (default: results/NAME, "
        "with the name of the campaign)",
    )
    add_simulator_argument(parser)
    add_selection_arguments(parser)
    add_options(parser, RunOptions, "only", "failed_of")
    add_campaign_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    spec, options = load_campaign(arguments), read_options(arguments, RunOptions)
    arguments.out = arguments.out or Path("results", spec.name)
    failed = options.failed_of
    failed_in = None if failed is None else load_failed(failed, arguments.out)
    with StopSignals(on_first=announce_stop) as stop:
        spec = select_simulator(spec, options.simulator)
        results = run_trials(
            spec, arguments.out, arguments, options.selection, stop, arguments.resume, failed_in
        )
        print_results(results, arguments.out, arguments.json)
        if stop():
            print(
                f"stopped after {len(results.trials)} of {results.planned} trials of the campaign; "
                "the same command continues",
                file=sys.stderr,
            )
    return exit_status(stop, results)
