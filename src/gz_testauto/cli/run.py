"""Drive every planner through every world, measure, and compare.

The simulation runs in lock-step and as fast as the machine allows, several trials side by side.
Results go to a directory; the same command given again continues there with the first unfinished
trial. Ctrl-C ends the campaign after the current control period, twice at once.

example:
  gz_testauto run config/campaign.yaml --out results/paper

  then  gz_testauto report results/paper --csv paper.csv --plots results/paper/plots
"""

import argparse
import functools
import sys
from pathlib import Path
from typing import Optional, Tuple

from gz_testauto.campaign.lockstep import LockstepExecutor
from gz_testauto.campaign.runner import run_campaign
from gz_testauto.campaign.simulator import simulator_options, start_simulator, with_simulator
from gz_testauto.campaign.stopping import StopSignals
from gz_testauto.campaign.trials import Selection
from gz_testauto.cli.progress import announce_stop, progress_listener
from gz_testauto.cli.workers import add_worker_arguments, chosen_workers
from gz_testauto.report.export import to_json
from gz_testauto.report.table import print_report
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("campaign", type=Path, help="campaign file (YAML)")
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="DIR",
        help="directory for the results; a campaign begun there is continued",
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        help="only continue: refuse to begin a new campaign in DIR",
    )
    parser.add_argument(
        "--simulator",
        metavar="NAME",
        help="simulator to use instead of the campaign's",
    )
    parser.add_argument(
        "--worlds",
        type=int,
        metavar="N",
        help="run only the first N worlds now (default: all); the rest can follow later",
    )
    parser.add_argument(
        "--planners",
        type=_names,
        metavar="A,B",
        help="run only these planners now (default: all)",
    )
    add_worker_arguments(parser)
    parser.add_argument(
        "--json", action="store_true", help="print the results as JSON instead of a table"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the campaign; 0 when all selected trials are done, 128 + signal when stopped."""
    spec = with_simulator(load(arguments.campaign, CampaignSpec), arguments.simulator or "")
    simulator_options(spec)  # raises before worlds are made
    stop = StopSignals(on_first=announce_stop)
    with stop:
        results = run_campaign(
            spec,
            arguments.out,
            functools.partial(LockstepExecutor, open_simulator=start_simulator),
            make_workers=chosen_workers(arguments),
            selection=Selection(arguments.worlds, arguments.planners),
            resume=arguments.resume,
            listener=progress_listener(),
            should_stop=stop,
        )
    if arguments.json:
        sys.stdout.write(to_json(results))
    else:
        print_report(results)
    print(f"results: {arguments.out}", file=sys.stderr)
    if stop():
        print(
            f"stopped after {len(results.trials)} of {results.planned} trials; the same command "
            "continues",
            file=sys.stderr,
        )
    return stop.exit_status


def _names(text: str) -> Optional[Tuple[str, ...]]:
    return tuple(name.strip() for name in text.split(",") if name.strip()) or None
