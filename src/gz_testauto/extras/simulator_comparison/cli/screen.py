"""Screen trials in a fast simulator, confirm some in a slow one.

All trials of the campaign run in the fast simulator, with results in DIR/FAST. Selected trials then
run in the slow simulator, with results in DIR/SLOW: trials in which outcomes of planners differ,
with collisions, with the lowest clearances, and a random sample of the other trials, which measures
the reliability of the fast simulator. The same command continues with the first unfinished trial.

Exit status 0: all trials are valid. 1: some are invalid. 2: an error. 130: stopped by Ctrl-C.

docs/simulator_comparison.md lists the commands that compare simulators, and the question each
answers.

example:
  gz_testauto screen config/campaign.yaml --out results/big --fast embedded --slow gazebo
"""

import argparse
import sys
from pathlib import Path

from gz_testauto.campaign.campaign_files import campaign_path
from gz_testauto.campaign.signals import StopSignals
from gz_testauto.cli.campaigns import (
    add_campaign_arguments,
    add_selection_arguments,
    exit_status,
    load_campaign,
    print_results,
)
from gz_testauto.cli.progress import announce_stop
from gz_testauto.cli.workers import whole_number
from gz_testauto.extras.simulator_comparison.agreement import confirmation
from gz_testauto.extras.simulator_comparison.cli.two_simulators import (
    on_two_simulators,
    run_in_simulator,
)
from gz_testauto.extras.simulator_comparison.report.agreement import print_confirmation
from gz_testauto.extras.simulator_comparison.screening import CONTROL, choose_trials
from gz_testauto.report.plain import report_console
from gz_testauto.trial.plan import TrialSelection


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command-line arguments."""
    parser.add_argument("campaign", type=campaign_path, help="campaign file (YAML)")
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="DIR",
        help="directory for the results of both simulators",
    )
    parser.add_argument(
        "--fast", required=True, metavar="NAME", help="simulator that runs all trials"
    )
    parser.add_argument(
        "--slow", required=True, metavar="NAME", help="simulator that runs the selected trials"
    )
    parser.add_argument(
        "--closest",
        type=whole_number,
        default=20,
        metavar="N",
        help="number of selected trials with the lowest clearances (default: %(default)s)",
    )
    parser.add_argument(
        "--control",
        type=whole_number,
        default=20,
        metavar="N",
        help="number of other trials, which are selected at random (default: %(default)s)",
    )
    add_selection_arguments(parser)
    add_campaign_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the campaign in both simulators and print the results; return the exit status."""
    stop = StopSignals(on_first=announce_stop)
    with stop:
        return _run(arguments, stop)


def _run(arguments: argparse.Namespace, stop: StopSignals) -> int:
    spec = load_campaign(arguments)
    fast, slow = on_two_simulators(spec, arguments.fast, arguments.slow, "--fast and --slow")
    selection = TrialSelection(arguments.worlds, arguments.planners)
    screened = run_in_simulator(fast, arguments, selection, stop, arguments.resume)
    print_results(screened, arguments.out / fast.simulator, arguments.json)
    if stop():
        print("stopped while screening; the same command continues", file=sys.stderr)
        return exit_status(stop, screened)
    chosen = choose_trials(screened, spec.seed, arguments.closest, arguments.control)
    confirmed = run_in_simulator(slow, arguments, TrialSelection(trials=chosen.trials), stop)
    print_confirmation(
        confirmation(screened, confirmed, chosen.reasons, CONTROL),
        fast.simulator,
        slow.simulator,
        report_console(sys.stderr) if arguments.json else None,
    )
    print(f"confirmation: {arguments.out / slow.simulator}", file=sys.stderr)
    if stop():
        print("stopped while confirming; the same command continues", file=sys.stderr)
    return exit_status(stop, screened, confirmed)
