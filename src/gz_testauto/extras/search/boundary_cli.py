"""Find the value of a key from which a planner fails.

The planner runs with different values of one key, such as the speed of the robot or the number of
obstacles. First, 5 trials run at each of 9 values. The others run, 10 at a time, at the values at
which the failure rate can be above or below 50 %, or another share (--rate). If there is none, a
value in the middle of the remaining gap is added. The result is the gap between the values with a
failure rate that is surely below, and surely above. The failure rate must increase only, or
decrease only, with the value; otherwise, the command reports that it does not. The command stops
before the budget if no trial can narrow the gap.

Worlds and random numbers differ at each value, so all trials are independent. DIR contains an
ordinary results directory for each value, boundary.json, and boundary.png if matplotlib is
installed. After a stop or a kill, the same command continues. A larger --budget adds trials.

Exit status 0: finished. 1: some trials are invalid. 2: an error; finished trials are stored. 130,
143: stopped by Ctrl-C, by SIGTERM.

examples:
  gz_testauto boundary campaign.yaml --vary robot.max_linear_mps=0.4:2.0 --budget 200 --out speed
  gz_testauto boundary campaign.yaml --vary 'worlds.obstacles.obstacles[*].count=2:14' \\
      --planner fgm --budget 200 --out density
"""

import argparse
import functools
import json
import sys
import textwrap
from pathlib import Path
from typing import Dict, List, Mapping

from gz_testauto.base.errors import SpecError
from gz_testauto.base.escaping import escape_text
from gz_testauto.campaign.campaign_files import campaign_path
from gz_testauto.campaign.signals import StopSignals
from gz_testauto.campaign.simulator import select_simulator
from gz_testauto.cli.campaigns import (
    add_campaign_arguments,
    add_simulator_argument,
    chosen_planner,
    load_campaign,
    run_trials,
    status_of_invalid,
)
from gz_testauto.cli.options import whole_number
from gz_testauto.cli.progress import announce_stop
from gz_testauto.extras.search.boundary import FIRST, run_adaptively
from gz_testauto.extras.search.boundary_report import SECOND, BoundaryReport
from gz_testauto.extras.search.varied import Level, Number, VariedCampaign, VariedRange
from gz_testauto.report.plain import WIDTH, report_console
from gz_testauto.results.directory import write_atomically
from gz_testauto.trial.plan import TrialSelection

GROUP = ("failures", 4)
RATE = 50.0
WORLDS = 100

RESULT, FIGURE = "boundary.json", "boundary.png"


class _Stopped(Exception):
    """A signal stopped the trials."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "campaign",
        type=campaign_path,
        help="campaign file (YAML) with generated worlds; its numbers of worlds and repetitions "
        "are not used",
    )
    parser.add_argument(
        "--vary",
        type=_parse_range,
        required=True,
        metavar="KEY=LOW:HIGH",
        help="key of the campaign, whose value is a number, with its range, such as "
        "robot.max_linear_mps=0.4:2.0; [0] is the first entry of a list, and [*] are all entries",
    )
    parser.add_argument(
        "--budget",
        type=functools.partial(whole_number, least=1),
        required=True,
        metavar="N",
        help="largest number of trials",
    )
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="DIR",
        help="output directory; a run in this directory is continued",
    )
    parser.add_argument(
        "--planner", metavar="NAME", help="planner to run (default: the campaign's only planner)"
    )
    parser.add_argument(
        "--rate",
        type=_parse_percentage,
        default=RATE,
        metavar="PERCENT",
        help="failure rate of the boundary (default: %(default)g)",
    )
    parser.add_argument(
        "--worlds",
        type=functools.partial(whole_number, least=FIRST),
        default=WORLDS,
        metavar="N",
        help="number of worlds, and so the largest number of trials, at each value "
        "(default: %(default)s)",
    )
    add_simulator_argument(parser)
    parser.add_argument("--json", action="store_true", help=f"print {RESULT} instead of a table")
    add_campaign_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    spec = select_simulator(load_campaign(arguments), arguments.simulator or "")
    spec = spec.model_copy(update={"planners": (chosen_planner(spec, arguments.planner),)})
    varied = VariedCampaign(spec, arguments.vary, arguments.worlds)
    levels = {level.value: level for level in varied.levels}
    least, most = FIRST * len(levels), arguments.worlds * len(levels)
    if not least <= arguments.budget <= most:
        raise SpecError(
            f"--budget is {arguments.budget}; with {len(levels)} values and {arguments.worlds} "
            f"worlds at each of them, it must be from {least} to {most}"
        )
    invalid: Dict[Number, int] = {}
    rate = arguments.rate / 100.0
    with StopSignals(on_first=announce_stop) as stop:

        def run_level(value: Number, number: int) -> List[bool]:
            level = levels.setdefault(value, varied.level(value))
            print(f"{level.name}: {number} trials", file=sys.stderr, flush=True)
            first = TrialSelection(worlds=number) if number else TrialSelection(only=())
            out = arguments.out / level.name
            results = run_trials(level.spec, out, arguments, first, stop, write_page=False)
            if stop():
                raise _Stopped
            trials = [trial for trial in results.trials if trial.world_index < number]
            trials.sort(key=lambda trial: trial.world_index)
            failed = [not trial.outcome.success for trial in trials if trial.outcome.valid]
            invalid[value] = len(trials) - len(failed)
            return failed

        try:
            for value in (min(levels), max(levels)):
                run_level(value, 0)  # worlds that cannot be generated are an error before trials
            outcomes = run_adaptively(
                list(levels),
                arguments.budget,
                arguments.worlds,
                list(dict.fromkeys((rate, SECOND))),
                run_level,
                varied.midpoint,
            )
        except _Stopped:
            print("stopped; the same command continues", file=sys.stderr)
            return stop.exit_status
    report = BoundaryReport(spec.planners[0].name, arguments.vary.key, outcomes, rate)
    _write_and_print(report, levels, invalid, arguments)
    return status_of_invalid(sum(invalid.values()))


def _write_and_print(
    report: BoundaryReport,
    levels: Mapping[Number, Level],
    invalid: Mapping[Number, int],
    arguments: argparse.Namespace,
) -> None:
    data = report.to_json()
    for entry in data["levels"]:
        value = entry["value"]
        entry.update(directory=levels[value].name, invalid=invalid[value])
    text = json.dumps(data, indent=1) + "\n"
    write_atomically(arguments.out / RESULT, text.encode("utf-8"))
    drawn = report.draw(arguments.out / FIGURE)
    if arguments.json:
        sys.stdout.write(text)
        return
    console = report_console()
    console.print(report.table())
    for line in report.sentences:
        print(textwrap.fill(escape_text(line), WIDTH))
    if drawn:
        print(f"figure: {arguments.out / FIGURE}", file=sys.stderr)


def _parse_range(text: str) -> VariedRange:
    try:
        return VariedRange.parse(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} must be KEY=LOW:HIGH with LOW < HIGH, such as robot.max_linear_mps=0.4:2.0"
        ) from None


def _parse_percentage(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 1.0 <= value <= 99.0:
        raise argparse.ArgumentTypeError(f"{text!r} must be a number from 1 to 99")
    return value
