"""Subcommands of ``simulators`` that run the trials of a campaign in two simulators."""

import argparse
import sys
from pathlib import Path
from typing import Sequence, Tuple

from gz_testauto.base.errors import SpecError
from gz_testauto.base.scratch import scratch_directory
from gz_testauto.campaign.campaign_files import campaign_path
from gz_testauto.campaign.signals import StopSignals
from gz_testauto.campaign.simulator import simulator_options, with_simulator
from gz_testauto.cli.campaigns import (
    add_campaign_arguments,
    add_selection_arguments,
    exit_status,
    load_campaign,
    print_results,
    run_trials,
)
from gz_testauto.cli.options import whole_number
from gz_testauto.cli.progress import announce_stop, print_status
from gz_testauto.extras.simulator_comparison.agreement import (
    agreement,
    choose_trials,
    confirmation,
)
from gz_testauto.extras.simulator_comparison.findings import evaluate_bench
from gz_testauto.extras.simulator_comparison.open_loop import open_loop_bench
from gz_testauto.extras.simulator_comparison.report.agreement import (
    print_agreement,
    print_confirmation,
)
from gz_testauto.extras.simulator_comparison.report.terminal import print_open_loop
from gz_testauto.report.plain import report_console
from gz_testauto.results.records import CampaignResults
from gz_testauto.spec.campaign import BuiltinCampaignSpec
from gz_testauto.trial.executor import StopRequest
from gz_testauto.trial.plan import TrialSelection


def add_agreement_arguments(parser: argparse.ArgumentParser) -> None:
    _add_common_arguments(parser, required=False)
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


def run_agreement(arguments: argparse.Namespace) -> int:
    """Run maneuvers and trials in two simulators and compare them.

    First, the robot receives the same velocity commands in both simulators on level ground: at
    rest, straight, turning, stopping, pushing a box, each three times, in DIR/open_loop. Poses and
    inertial measurements are compared as by `gz_testauto simulators compare`. Then every trial of
    the campaign runs in both, in DIR/FIRST and DIR/SECOND, which are ordinary results; the same
    command continues them. The report has the share of trials with the same outcome, the
    differences of path length, time and clearance, whether both find the same significant
    differences between planners, and the trials with different outcomes.

    Exit status 0: all trials are valid. 1: some are invalid. 2: an error. 130: stopped by Ctrl-C.

    example:
      gz_testauto simulators agreement config/campaign.yaml --out results/agreement --worlds 20
      gz_testauto simulators agreement config/campaign.yaml --open-loop
    """
    from gz_testauto.extras.simulator_comparison.bench import runner, simulator_process

    specs = _on_two_simulators(arguments, arguments.simulators, "--simulators")
    if arguments.out is None and not arguments.open_loop:
        raise SpecError("--out is missing; specify it, or use --open-loop, which does not need it")
    bench, handle = open_loop_bench(*specs), simulator_process.SimulatorRunner
    stop = StopSignals(on_first=announce_stop)
    with stop, scratch_directory() as folder:
        out = (arguments.out or folder) / "open_loop"
        simulated = runner.run_bench(bench, out, print_status, stop, handle)
        if not stop():
            print_open_loop(evaluate_bench(bench, simulated.recordings, simulated.conditions))
        if stop() or arguments.open_loop:
            return exit_status(stop)
        print()
        results = [
            _run_trials(spec, arguments, TrialSelection(arguments.worlds), stop) for spec in specs
        ]
    print_agreement(agreement(*results), specs[0].simulator, specs[1].simulator)
    return exit_status(stop, *results)


def add_screen_arguments(parser: argparse.ArgumentParser) -> None:
    _add_common_arguments(parser, required=True)
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


def run_screening(arguments: argparse.Namespace) -> int:
    """Screen trials in a fast simulator, confirm some in a slow one.

    All trials of the campaign run in the fast simulator, with results in DIR/FAST. Selected trials
    then run in the slow simulator, with results in DIR/SLOW: trials in which outcomes of planners
    differ, with collisions, with the lowest clearances, and a random sample of the other trials,
    which measures the reliability of the fast simulator. The same command continues with the first
    unfinished trial.

    Exit status 0: all trials are valid. 1: some are invalid. 2: an error. 130: stopped by Ctrl-C.

    example:
      gz_testauto simulators screen campaign.yaml --out results/big --fast embedded --slow gazebo
    """
    names = (arguments.fast, arguments.slow)
    fast, slow = _on_two_simulators(arguments, names, "--fast and --slow")
    selection = TrialSelection(arguments.worlds, arguments.planners)
    stop = StopSignals(on_first=announce_stop)
    with stop:
        screened = _run_trials(fast, arguments, selection, stop, arguments.resume)
        print_results(screened, arguments.out / fast.simulator, arguments.json)
        if stop():
            print("stopped while screening; the same command continues", file=sys.stderr)
            return exit_status(stop, screened)
        reasons = choose_trials(screened, fast.seed, arguments.closest, arguments.control)
        confirmed = _run_trials(slow, arguments, TrialSelection(trials=frozenset(reasons)), stop)
        print_confirmation(
            confirmation(screened, confirmed, reasons),
            fast.simulator,
            slow.simulator,
            report_console(sys.stderr) if arguments.json else None,
        )
    print(f"confirmation: {arguments.out / slow.simulator}", file=sys.stderr)
    if stop():
        print("stopped while confirming; the same command continues", file=sys.stderr)
    return exit_status(stop, screened, confirmed)


def _add_common_arguments(parser: argparse.ArgumentParser, required: bool) -> None:
    parser.add_argument("campaign", type=campaign_path, help="campaign file (YAML)")
    parser.add_argument(
        "--out",
        type=Path,
        required=required,
        metavar="DIR",
        help="directory for the results of both simulators",
    )


def _on_two_simulators(
    arguments: argparse.Namespace, names: Sequence[str], options: str
) -> Tuple[BuiltinCampaignSpec, BuiltinCampaignSpec]:
    """Return two copies of the campaign, with the first and the second simulator in ``names``.

    Raises ``SpecError`` if the simulators are equal, or reject ``simulator_options``. ``options``
    names the command-line options in the error message.
    """
    spec = load_campaign(arguments)
    specs = with_simulator(spec, names[0]), with_simulator(spec, names[1])
    if specs[0].simulator == specs[1].simulator:
        raise SpecError(f"{options} are both {specs[0].simulator}; use two different simulators")
    for spec in specs:
        simulator_options(spec)
    return specs


def _run_trials(
    spec: BuiltinCampaignSpec,
    arguments: argparse.Namespace,
    selection: TrialSelection,
    should_stop: StopRequest,
    resume: bool = False,
) -> CampaignResults:
    print(f"{spec.simulator}:", file=sys.stderr, flush=True)
    return run_trials(
        spec, arguments.out / spec.simulator, arguments, selection, should_stop, resume
    )
