"""Run the same drives in two simulators and say how far they agree.

First the robot is commanded alike in both, whatever it meets: ahead, turning, stopping, pushing a
box; poses and inertial measurements are compared. Then every trial of the campaign is run in both,
in DIR/FIRST and DIR/SECOND, which are results like any other; the same command given again
continues. Then it says how often both end alike, by how much length, time and clearance differ, and
which trials end differently.

example:
  gz_testauto agree config/campaign.yaml --out results/agree --worlds 20
  gz_testauto agree config/campaign.yaml --open-loop
"""

import argparse
import sys
from pathlib import Path
from typing import List

from gz_testauto.analysis.agreement import agreement
from gz_testauto.analysis.open_loop import open_loop_agreement
from gz_testauto.campaign.signals import StopSignals
from gz_testauto.campaign.simulator import simulator_options, with_simulator
from gz_testauto.cli.campaigns import add_campaign_arguments, exit_status, run_trials
from gz_testauto.cli.progress import announce_stop
from gz_testauto.errors import SpecError
from gz_testauto.report.agreement import print_agreement, print_open_loop
from gz_testauto.results.records import CampaignResults
from gz_testauto.simulators import open_simulator
from gz_testauto.spec.campaign import BuiltinCampaignSpec, CampaignSpec
from gz_testauto.spec.loader import load
from gz_testauto.trial.open_loop import SEQUENCES, OpenLoopRun, perform
from gz_testauto.trial.plan import Selection
from gz_testauto.trial.setup import read_body, robot_limits


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("campaign", type=Path, help="campaign file (YAML)")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="directory for both results of the trials"
    )
    parser.add_argument(
        "--open-loop", action="store_true", help="only the open-loop drives, which leave no results"
    )
    parser.add_argument(
        "--simulators",
        nargs=2,
        default=["gazebo", "embedded"],
        metavar=("FIRST", "SECOND"),
        help="which two (default: gazebo embedded)",
    )
    parser.add_argument(
        "--worlds", type=int, metavar="N", help="only the first N worlds (default: all)"
    )
    add_campaign_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run both and compare; 0 when all trials are done and none is invalid, 1 when some are,
    128 + signal when stopped."""
    spec = load(arguments.campaign, CampaignSpec)
    specs = [with_simulator(spec, name) for name in arguments.simulators]
    for one in specs:
        simulator_options(one)  # raises before worlds are made
    if arguments.out is None and not arguments.open_loop:
        raise SpecError("--out is missing; or give --open-loop, which needs none")
    first, second = (one.simulator for one in specs)
    drives = [_drive_open_loop(one) for one in specs]
    print_open_loop(open_loop_agreement(*drives), first, second)
    if arguments.open_loop:
        return 0
    print()
    results: List[CampaignResults] = []
    stop = StopSignals(on_first=announce_stop)
    with stop:
        for one in specs:
            print(f"{one.simulator}:", file=sys.stderr, flush=True)
            results.append(
                run_trials(
                    one, arguments.out / one.simulator, arguments, Selection(arguments.worlds), stop
                )
            )
    print_agreement(agreement(*results), first, second)
    return exit_status(stop, *results)


def _drive_open_loop(spec: BuiltinCampaignSpec) -> List[OpenLoopRun]:
    robot = read_body(spec)
    limits = robot_limits(spec, robot)
    with open_simulator(spec.simulator, **simulator_options(spec)) as simulator:
        return [
            perform(simulator, robot, limits, spec.control_period_s, sequence)
            for sequence in SEQUENCES
        ]
