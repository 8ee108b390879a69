"""Run a campaign: every planner in every world.

The simulation runs in lock-step and as fast as possible, with several trials in parallel. Results
are stored in a directory; the same command continues with the first unfinished trial. Ctrl-C stops
the campaign after the current control period, a second Ctrl-C immediately.

With --screen and --confirm, all trials run in the first simulator, with results in DIR/SCREEN.
Selected trials then run in the second simulator, with results in DIR/CONFIRM: trials in which
outcomes of planners differ, with collisions, with the lowest clearances, and a random sample of the
other trials, which measures the reliability of the first simulator.

example:
  gz_testauto run config/campaign.yaml --out results/paper
  gz_testauto run config/campaign.yaml --out results/big --screen embedded --confirm gazebo

  then  gz_testauto report results/paper --csv paper.csv --plots results/paper/plots
"""

import argparse
import sys
from pathlib import Path
from typing import Optional, Sequence, Tuple

from gz_testauto.analysis.screening import CONTROL, choose_trials
from gz_testauto.base.errors import SpecError
from gz_testauto.campaign.signals import StopSignals
from gz_testauto.campaign.simulator import simulator_options, with_simulator
from gz_testauto.cli.campaigns import (
    add_campaign_arguments,
    exit_status,
    load_campaign,
    on_two_simulators,
    run_in_simulator,
    run_trials,
)
from gz_testauto.cli.progress import announce_stop
from gz_testauto.cli.workers import whole_number
from gz_testauto.results.records import CampaignResults
from gz_testauto.spec.campaign import BuiltinCampaignSpec, CampaignSpec
from gz_testauto.trial.plan import TrialSelection


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command-line arguments."""
    parser.add_argument("campaign", type=Path, help="campaign file (YAML)")
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="DIR",
        help="results directory; a campaign in this directory is continued",
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        help="only continue a campaign in DIR; do not start a new campaign",
    )
    parser.add_argument(
        "--simulator",
        metavar="NAME",
        help="simulator that replaces the simulator of the campaign",
    )
    parser.add_argument(
        "--worlds",
        type=int,
        metavar="N",
        help="run only the first N worlds (default: all); the other worlds can run later",
    )
    parser.add_argument(
        "--planners",
        type=_names,
        metavar="A,B",
        help="run only these planners (default: all); the other planners can run later",
    )
    add_campaign_arguments(parser)
    speeds = parser.add_argument_group("fast and slow simulator")
    speeds.add_argument("--screen", metavar="NAME", help="fast simulator, which runs all trials")
    speeds.add_argument(
        "--confirm", metavar="NAME", help="slow simulator, which runs selected trials"
    )
    speeds.add_argument(
        "--closest",
        type=whole_number,
        default=20,
        metavar="N",
        help="number of trials with the lowest clearances to confirm (default: %(default)s)",
    )
    speeds.add_argument(
        "--control",
        type=whole_number,
        default=20,
        metavar="N",
        help="number of other trials to confirm, drawn at random (default: %(default)s)",
    )
    parser.add_argument(
        "--json", action="store_true", help="print the results as JSON instead of a table"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the campaign and print the results; return the exit status."""
    spec = load_campaign(arguments)
    selection = TrialSelection(arguments.worlds, arguments.planners)
    stop = StopSignals(on_first=announce_stop)
    with stop:
        if arguments.screen or arguments.confirm:
            results = _run_at_two_speeds(spec, arguments, selection, stop)
        else:
            results = [_run_at_one_speed(spec, arguments, selection, stop)]
    return exit_status(stop, *results)


def _run_at_one_speed(
    spec: CampaignSpec, arguments: argparse.Namespace, selection: TrialSelection, stop: StopSignals
) -> CampaignResults:
    if arguments.simulator or isinstance(spec, BuiltinCampaignSpec):
        spec = with_simulator(spec, arguments.simulator or "")
        simulator_options(spec)  # raises before worlds are generated
    results = run_trials(spec, arguments.out, arguments, selection, stop, arguments.resume)
    _show(results, arguments, arguments.out)
    if stop():
        print(
            f"stopped after {len(results.trials)} of {results.planned} trials; the same command "
            "continues",
            file=sys.stderr,
        )
    return results


def _run_at_two_speeds(
    spec: CampaignSpec, arguments: argparse.Namespace, selection: TrialSelection, stop: StopSignals
) -> Sequence[CampaignResults]:
    from gz_testauto.analysis.agreement import confirmation
    from gz_testauto.report.agreement import print_confirmation
    from gz_testauto.report.plain import report_console

    if not (arguments.screen and arguments.confirm) or arguments.simulator:
        raise SpecError(
            "--screen and --confirm must be used together, and without --simulator; add the "
            "missing option, or remove --simulator"
        )
    screen, confirm = on_two_simulators(
        spec, arguments.screen, arguments.confirm, "--screen and --confirm"
    )
    screened = run_in_simulator(screen, arguments, selection, stop, arguments.resume)
    _show(screened, arguments, arguments.out / screen.simulator)
    if stop():
        print("stopped while screening; the same command continues", file=sys.stderr)
        return [screened]
    chosen = choose_trials(screened, spec.seed, arguments.closest, arguments.control)
    confirmed = run_in_simulator(confirm, arguments, TrialSelection(trials=chosen.trials), stop)
    print_confirmation(
        confirmation(screened, confirmed, chosen.reasons, CONTROL),
        screen.simulator,
        confirm.simulator,
        report_console(sys.stderr) if arguments.json else None,
    )
    print(f"confirmation: {arguments.out / confirm.simulator}", file=sys.stderr)
    if stop():
        print("stopped while confirming; the same command continues", file=sys.stderr)
    return [screened, confirmed]


def _show(results: CampaignResults, arguments: argparse.Namespace, out: Path) -> None:
    from gz_testauto.analysis.overview import analyze
    from gz_testauto.report.export import to_json
    from gz_testauto.report.table import print_report

    if arguments.json:
        sys.stdout.write(to_json(analyze(results)))
    else:
        print_report(analyze(results))
    print(f"results: {out}", file=sys.stderr)


def _names(text: str) -> Optional[Tuple[str, ...]]:
    return tuple(name.strip() for name in text.split(",") if name.strip()) or None
