"""Run planners on the standard set, and print their score cards.

The set has fixed worlds in scenario classes, each with start, goal, limits, robot and metrics. A
planner is a registered name, or a YAML file with the keys name, plugin and parameters of a
campaign's planner. Each class is an ordinary campaign in DIR/PLANNER/CLASS; the same command
continues after a stop. The score card with its experiment ID is written to DIR/PLANNER/card.json,
which `gz_testauto verify` runs again. --against compares stored cards of other planners.

Exit status 0: all trials are valid. 1: some are invalid. 2: an error; finished trials are stored.
130, 143: stopped by Ctrl-C, by SIGTERM.

examples:
  gz_testauto benchmark fgm --out results/standard
  gz_testauto benchmark my_planner.yaml --out results/standard --against fgm dwa
  gz_testauto benchmark fgm dwa --only clutter,crowd --worlds 10 --out results/part
"""

import argparse
import sys
from pathlib import Path
from typing import List

from gz_testauto.base.errors import SpecError
from gz_testauto.base.escaping import escape_text
from gz_testauto.campaign.signals import StopSignals
from gz_testauto.cli.campaigns import EXIT_INVALID
from gz_testauto.cli.options import comma_separated
from gz_testauto.cli.outputs import print_text
from gz_testauto.cli.progress import announce_stop
from gz_testauto.cli.workers import add_worker_arguments, worker_count
from gz_testauto.extras.standard_set.card import ScoreCard, read_card, write_card
from gz_testauto.extras.standard_set.classes import StandardSet
from gz_testauto.extras.standard_set.pairs import compare_cards, require_comparable, version_note
from gz_testauto.extras.standard_set.planner_files import read_planners
from gz_testauto.extras.standard_set.report import markdown, print_card, print_pairs, to_json
from gz_testauto.extras.standard_set.runs import SetRunner, available_classes
from gz_testauto.report.plain import report_console


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command-line arguments."""
    parser.add_argument(
        "planners",
        nargs="+",
        metavar="PLANNER",
        help="name of a planner, or a YAML file with the keys name, plugin and parameters",
    )
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="DIR",
        help="directory of the results; trials in this directory are not repeated",
    )
    parser.add_argument(
        "--only",
        type=comma_separated,
        metavar="A,B",
        help="run only these classes (default: all whose worlds are available)",
    )
    parser.add_argument(
        "--worlds",
        type=worker_count,
        metavar="N",
        help="run only the first N worlds of each class; the card is marked as a subset",
    )
    parser.add_argument(
        "--confirm",
        type=worker_count,
        default=0,
        metavar="N",
        help="also run the first N worlds of each class in Gazebo, and state how many outcomes are "
        "equal; the experiment ID does not depend on it",
    )
    parser.add_argument(
        "--against",
        nargs="+",
        default=[],
        metavar="CARD",
        help="cards of other planners, which are compared but not run: files, or the names of "
        "planners of this package, whose cards are installed",
    )
    parser.add_argument(
        "--retry-invalid",
        action="store_true",
        help="repeat the trials that are stored as invalid",
    )
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--json", action="store_true", help="print the summary as JSON")
    output.add_argument("--markdown", action="store_true", help="print the tables as Markdown")
    add_worker_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the planners, write their cards, and print them; return the exit status."""
    standard = StandardSet()
    planners = read_planners(arguments.planners)
    paths = [standard.card_path(text) for text in arguments.against]
    others = [read_card(path, standard) for path in paths]
    chosen = standard.chosen(arguments.only)
    names, reasons = available_classes(standard, chosen)
    for reason in reasons:
        print(escape_text(f"omitted: {reason}"), file=sys.stderr, flush=True)
    if not names:
        raise SpecError(f"no class can run: {'; '.join(reasons)}")
    stop = StopSignals(on_first=announce_stop)
    cards: List[ScoreCard] = []
    with stop:
        runner = SetRunner(standard, arguments, arguments.worlds, stop)
        for planner in planners:
            for name in names:
                runner.campaign(name, planner)  # raises errors before the first trial
        for planner in planners:
            card = runner.card(planner, names, arguments.out, arguments.confirm)
            if card is None:
                print("stopped; the same command continues", file=sys.stderr)
                return stop.exit_status
            path = arguments.out / planner.name / "card.json"
            write_card(path, card, standard)
            print(escape_text(f"card: {path}"), file=sys.stderr, flush=True)
            cards.append(card)
    require_comparable([*cards, *others], paths)
    _print(arguments, standard, cards, others)
    return _status(cards)


def _print(
    arguments: argparse.Namespace,
    standard: StandardSet,
    cards: List[ScoreCard],
    others: List[ScoreCard],
) -> None:
    pairs = compare_cards([*cards, *others])
    note = version_note([*cards, *others])
    if note:
        print(escape_text(note), file=sys.stderr)
    if arguments.json:
        print_text(to_json([*cards, *others], pairs, standard))
    elif arguments.markdown:
        print_text(markdown([*cards, *others], pairs, standard))
    else:
        console = report_console()
        for card in [*cards, *others]:
            print_card(card, standard, console)
            console.print()
        if pairs:
            print_pairs(pairs, console)


def _status(cards: List[ScoreCard]) -> int:
    invalid = sum(
        len(one.trials) - len(one.valid) for card in cards for one in card.classes.values()
    )
    if not invalid:
        return 0
    print(f"{invalid} invalid trials; --retry-invalid repeats them", file=sys.stderr)
    return EXIT_INVALID
