"""Run maneuvers and trials in two simulators and compare them.

First, the robot receives the same velocity commands in both simulators on level ground: at rest,
straight, turning, stopping, pushing a box, each three times, in DIR/open_loop. Poses and inertial
measurements are compared as by `gz_testauto simulators compare`. Then every trial of the campaign
runs in both, in DIR/FIRST and DIR/SECOND, which are ordinary results; the same command continues
them. The report has the share of trials with the same outcome, the differences of path length, time
and clearance, whether both find the same significant differences between planners, and the trials
with different outcomes.

Exit status 0: all trials are valid. 1: some are invalid. 2: an error. 130: stopped by Ctrl-C.

docs/simulator_comparison.md lists the commands that compare simulators, and the question each
answers.

example:
  gz_testauto agreement config/campaign.yaml --out results/agreement --worlds 20
  gz_testauto agreement config/campaign.yaml --open-loop
"""

import argparse
import tempfile
from pathlib import Path
from typing import Sequence

from gz_testauto.base.errors import SpecError
from gz_testauto.campaign.campaign_files import campaign_path
from gz_testauto.campaign.signals import StopSignals
from gz_testauto.cli.campaigns import (
    add_campaign_arguments,
    exit_status,
    load_campaign,
)
from gz_testauto.cli.progress import announce_stop, print_status
from gz_testauto.extras.simulator_comparison.agreement import agreement
from gz_testauto.extras.simulator_comparison.bench.runner import run_bench
from gz_testauto.extras.simulator_comparison.bench.simulator_process import SimulatorRunner
from gz_testauto.extras.simulator_comparison.cli.two_simulators import (
    on_two_simulators,
    run_in_simulator,
)
from gz_testauto.extras.simulator_comparison.findings import evaluate_bench
from gz_testauto.extras.simulator_comparison.open_loop import open_loop_bench
from gz_testauto.extras.simulator_comparison.report.agreement import print_agreement
from gz_testauto.extras.simulator_comparison.report.terminal import print_open_loop
from gz_testauto.spec.campaign import BuiltinCampaignSpec
from gz_testauto.trial.plan import TrialSelection


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb ``agreement``."""
    parser.add_argument("campaign", type=campaign_path, help="campaign file (YAML)")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="directory for the results of both simulators"
    )
    parser.add_argument(
        "--open-loop",
        action="store_true",
        help="run only the maneuvers and no trials; --out is then optional",
    )
    parser.add_argument(
        "--simulators",
        nargs=2,
        default=["gazebo", "embedded"],
        metavar=("FIRST", "SECOND"),
        help="the two simulators (default: gazebo embedded)",
    )
    parser.add_argument(
        "--worlds", type=int, metavar="N", help="use only the first N worlds (default: all)"
    )
    add_campaign_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run both simulators and compare them. Return 0 if all trials are valid, 1 if some are
    invalid, and 128 + the signal number after a stop."""
    spec = load_campaign(arguments)
    names = arguments.simulators
    specs = on_two_simulators(spec, names[0], names[1], "--simulators")
    if arguments.out is None and not arguments.open_loop:
        raise SpecError("--out is missing; specify it, or use --open-loop, which does not need it")
    first, second = (one.simulator for one in specs)
    if arguments.open_loop and arguments.out is None:
        with tempfile.TemporaryDirectory() as folder:
            status = _open_loop(specs, Path(folder))
    else:
        status = _open_loop(specs, arguments.out / "open_loop")
    if arguments.open_loop or status:
        return status
    print()
    stop = StopSignals(on_first=announce_stop)
    with stop:
        results = [
            run_in_simulator(one, arguments, TrialSelection(arguments.worlds), stop)
            for one in specs
        ]
    print_agreement(agreement(*results), first, second)
    return exit_status(stop, *results)


def _open_loop(specs: Sequence[BuiltinCampaignSpec], out: Path) -> int:
    """Run the maneuvers in both simulators and print the comparison. Return 0, or 128 + the signal
    number after a stop."""
    bench = open_loop_bench(*specs)
    stop = StopSignals(on_first=announce_stop)
    with stop:
        simulated = run_bench(bench, out, print_status, stop, SimulatorRunner)
    if stop():
        return stop.exit_status
    print_open_loop(evaluate_bench(bench, simulated.recordings, simulated.conditions))
    return 0
