"""Find parameters with which a planner succeeds more often.

Candidates are drawn from the ranges in SPACE.yaml. They race in training worlds: all run in the
same few worlds, and the better half continues in more worlds. The best one is then compared with
the planner of the campaign in held-out worlds, which are the worlds of the campaign. Only this
paired difference, with its interval, is a valid result. The output directory contains the tuned
planner (planner.yaml), a campaign that repeats the comparison (campaign.yaml), and all figures
(result.json).

If the command is interrupted or killed, the same command continues and has the same result.

Exit status 0: finished. 1: some trials are invalid. 2: an error; finished trials are stored. 130,
143: stopped by Ctrl-C, by SIGTERM.

SPACE.yaml, for example:
  parameters:
    reach_m: [1.5, 6.0]
    clearance_weight: {min: 0.05, max: 1.5, log: true}
    linear_samples: {choice: [3, 5, 9]}
    margin_m:                            # the limits that the planner declares

example:
  gz_testauto tune campaign.yaml --planner dwa_fox --parameters SPACE.yaml --budget 300
  gz_testauto run campaign_tuned/campaign.yaml --simulator gazebo --worlds 40 --out results/gazebo
"""

import argparse
import functools
import json
import sys
import textwrap
from pathlib import Path

from gz_testauto.analysis.overview import analyze
from gz_testauto.base.escaping import escape_text
from gz_testauto.campaign.campaign_files import campaign_path, input_path
from gz_testauto.campaign.signals import StopSignals
from gz_testauto.campaign.simulator import select_simulator
from gz_testauto.cli.campaigns import (
    add_campaign_arguments,
    add_simulator_argument,
    chosen_planner,
    exit_status,
    load_campaign,
    run_trials,
)
from gz_testauto.cli.options import processors, whole_number
from gz_testauto.cli.progress import announce_stop
from gz_testauto.extras.tune.outcome import (
    CAMPAIGN,
    PLANNER,
    TuningResult,
    figures_of,
    held_out_lines,
    write_files,
)
from gz_testauto.extras.tune.race import FIRST_WORLDS
from gz_testauto.extras.tune.space import SpaceSpec, parameters_to_tune
from gz_testauto.extras.tune.tuning import (
    TRAINING,
    TuningDirectory,
    TuningStopped,
    divided,
    open_tuning,
    plan_of,
    require_separate_worlds,
    run_held_out,
    run_race,
)
from gz_testauto.report.plain import WIDTH, report_console
from gz_testauto.report.table import print_report
from gz_testauto.results.records import CampaignResults
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load
from gz_testauto.trial.plan import TrialSelection

GROUP = ("planners", 2)
TRAINING_WORLDS = 30


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "campaign",
        type=campaign_path,
        help="campaign file (YAML), a package:// URI, or the name of an installed example",
    )
    parser.add_argument(
        "--parameters",
        type=input_path,
        required=True,
        metavar="SPACE.yaml",
        help="parameters to tune, with their ranges",
    )
    parser.add_argument(
        "--budget",
        type=functools.partial(whole_number, least=1),
        required=True,
        metavar="N",
        help="largest number of training trials; the trials in held-out worlds are additional, two "
        "in each world",
    )
    parser.add_argument(
        "--planner", metavar="NAME", help="planner to tune (default: the campaign's only planner)"
    )
    parser.add_argument(
        "--training-worlds",
        type=functools.partial(whole_number, least=FIRST_WORLDS),
        default=TRAINING_WORLDS,
        metavar="N",
        help="number of training worlds (default: %(default)s); they are generated with other "
        "random numbers, or taken from the worlds that the campaign lists",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="output directory (default: NAME_tuned with the campaign's name); a tuning in this "
        "directory is continued",
    )
    add_simulator_argument(parser)
    parser.add_argument(
        "--json", action="store_true", help="print the result as JSON instead of tables"
    )
    add_campaign_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    spec = load_campaign(arguments)
    entry = chosen_planner(spec, arguments.planner)
    parameters = parameters_to_tune(load(arguments.parameters, SpaceSpec), entry, spec)
    plan_of(spec, arguments.budget, arguments.training_worlds)
    spec = select_simulator(spec, arguments.simulator or "")
    training, held_out = divided(spec, arguments.training_worlds)
    out = arguments.out or Path(f"{spec.name}_tuned")
    directory = TuningDirectory(out)
    directory.require_fresh_or_begun()
    stop = StopSignals(on_first=announce_stop)

    def run_part(part: CampaignSpec, folder: Path, selection: TrialSelection) -> CampaignResults:
        # The page of the training would compare all pairs of candidates.
        write_page = folder.name != TRAINING
        results = run_trials(part, folder, arguments, selection, stop, write_page=write_page)
        if stop():
            raise TuningStopped
        return results

    with directory.locked():
        directory.remove_unfinished()
        require_separate_worlds(training, held_out, arguments.workers or processors())
        tuning = open_tuning(
            directory, spec, entry, parameters, arguments.budget, arguments.training_worlds
        )
        try:
            with stop:
                ranked, trained = run_race(tuning, training, out, run_part)
                best = next(number for number in ranked if number)
                compared = run_held_out(tuning, best, held_out, out, run_part)
        except TuningStopped:
            print("stopped; the same command continues", file=sys.stderr)
            return stop.exit_status
        finalists = figures_of(trained, [tuning.name(number) for number in ranked])
        result = TuningResult(tuning, parameters, best, tuple(finalists), trained, compared)
        write_files(result, held_out, out)
    if arguments.json:
        print(json.dumps(result.to_json(), indent=1))
    else:
        report_console().print(result.table())
        print_report(analyze(compared))
        print("\n" + textwrap.fill(escape_text(result.verdict), WIDTH))
        for line in held_out_lines(result):
            print(textwrap.fill(escape_text(line), WIDTH, subsequent_indent="  "))
    print(
        f"tuned planner: {out / PLANNER}\nrepeat: gz_testauto run {out / CAMPAIGN} --out DIR",
        file=sys.stderr,
    )
    return exit_status(stop, trained, compared)
