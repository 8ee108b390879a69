"""Run planners on the standard set, and print their score cards.

The set has fixed worlds in scenario classes, each with start, goal, limits, robot and metrics. A
planner is a registered name, or a YAML file with the keys name, plugin and parameters of a
campaign's planner. Each class is an ordinary campaign in DIR/PLANNER/CLASS; the same command
continues after a stop. The score card with its experiment ID is written to DIR/PLANNER/card.json.
--against compares stored cards of other planners.

--verify runs the trials of a card again, in DIR/verify. First, the planner, the campaign files, the
worlds and the versions of the software are compared with the card, and each difference is listed.
If worlds or their files differ, no trial runs. Otherwise, the outcomes and trajectories of all
trials are compared, bit by bit. --only and --worlds verify a part of the card in less time.

Exit status 0: all trials are valid, or equal to those of the card. 1: some are invalid, or
something differs from the card. 2: an error; finished trials are stored. 130, 143: stopped by
Ctrl-C, by SIGTERM.

examples:
  gz_testauto benchmark fgm --out results/standard
  gz_testauto benchmark my_planner.yaml --out results/standard --against fgm dwa
  gz_testauto benchmark fgm dwa --only clutter,crowd --worlds 10 --out results/part
  gz_testauto benchmark --verify results/standard/fgm/card.json --out results/again
  gz_testauto benchmark --verify dwa --only clutter,crowd --worlds 3 --out results/part
"""

import argparse
import sys
from pathlib import Path
from typing import List, Optional, Sequence

from gz_testauto.base.errors import ResultsError, SpecError
from gz_testauto.base.escaping import escape_text
from gz_testauto.base.parameters import construct
from gz_testauto.campaign.signals import StopSignals
from gz_testauto.cli.campaigns import status_of_invalid
from gz_testauto.cli.options import comma_separated, worker_count
from gz_testauto.cli.outputs import print_text
from gz_testauto.cli.progress import announce_stop
from gz_testauto.cli.trust import add_trust_argument, require_trust
from gz_testauto.cli.workers import add_worker_arguments
from gz_testauto.extras.standard_set.card import (
    PlannerIdentity,
    ScoreCard,
    read_card,
    write_card,
)
from gz_testauto.extras.standard_set.classes import StandardSet
from gz_testauto.extras.standard_set.pairs import compare_cards, require_comparable, version_note
from gz_testauto.extras.standard_set.report import latex, markdown, print_card, print_pairs, to_json
from gz_testauto.extras.standard_set.runs import SetRunner, available_classes
from gz_testauto.extras.standard_set.verification import (
    differing_class,
    differing_planner,
    differing_trials,
    differing_versions,
    summarized,
)
from gz_testauto.planners import PLANNERS
from gz_testauto.report.plain import report_console
from gz_testauto.results.comparability import SHA256
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.manifest import Manifest
from gz_testauto.spec.campaign import BuiltinPlannerSpec
from gz_testauto.spec.loader import load

GROUP = ("planners", 1)
EXIT_DIFFERENT = 1
VERIFIED = "verify"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "planners",
        nargs="*",
        metavar="PLANNER",
        help="name of a planner, or a YAML file with the keys name, plugin and parameters; with "
        "--verify the file of the card's planner, which is needed if its parameters name files",
    )
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="DIR",
        help="directory of the results; trials in this directory are not repeated",
    )
    parser.add_argument(
        "--verify",
        metavar="CARD",
        help="run the trials of this card.json again, and compare the bits; the name of a planner "
        "of this package selects its installed card",
    )
    add_trust_argument(parser)
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
    output.add_argument("--latex", action="store_true", help="print the tables as LaTeX")
    add_worker_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    stop = StopSignals(on_first=announce_stop)
    with stop:
        status = (_benchmark if arguments.verify is None else _verify)(arguments, stop)
    if status is None:
        print("stopped; the same command continues", file=sys.stderr)
        return stop.exit_status
    return status


def _benchmark(arguments: argparse.Namespace, stop: StopSignals) -> Optional[int]:
    """Run planners on the standard set, and print their score cards.

    Returns the exit status, or None if a stop was requested.
    """
    if not arguments.planners:
        raise SpecError("PLANNER is missing; specify a planner, or a card with --verify")
    standard = StandardSet()
    planners = _read_planners(arguments.planners)
    paths = [standard.card_path(text) for text in arguments.against]
    other_cards = [read_card(path, standard) for path in paths]
    chosen = standard.chosen(arguments.only)
    names, reasons = available_classes(standard, chosen)
    for reason in reasons:
        print(escape_text(f"omitted: {reason}"), file=sys.stderr, flush=True)
    if not names:
        raise SpecError(f"no class can run: {'; '.join(reasons)}")
    runner = SetRunner(standard, arguments, arguments.worlds, stop)
    for planner in planners:
        for name in names:
            runner.campaign(name, planner)  # raises errors before the first trial
    cards: List[ScoreCard] = []
    for planner in planners:
        card = runner.card(planner, names, arguments.out, arguments.confirm)
        if card is None:
            return None
        path = arguments.out / planner.name / "card.json"
        write_card(path, card, standard)
        print(escape_text(f"card: {path}"), file=sys.stderr, flush=True)
        cards.append(card)
    require_comparable([*cards, *other_cards], paths)
    _print_cards(arguments, standard, [*cards, *other_cards])
    results = [result for card in cards for result in card.classes.values()]
    return status_of_invalid(sum(len(result.trials) - len(result.valid) for result in results))


def _print_cards(
    arguments: argparse.Namespace, standard: StandardSet, cards: List[ScoreCard]
) -> None:
    pairs = compare_cards(cards)
    note = version_note(cards)
    if note:
        print(escape_text(note), file=sys.stderr)
    if arguments.json:
        print_text(to_json(cards, pairs, standard))
    elif arguments.markdown:
        print_text(markdown(cards, pairs, standard))
    elif arguments.latex:
        print_text(latex(cards, standard))
    else:
        console = report_console()
        for card in cards:
            print_card(card, standard, console)
            console.print()
        if pairs:
            print_pairs(pairs, console)


def _verify(arguments: argparse.Namespace, stop: StopSignals) -> Optional[int]:
    """Run the trials of a score card again, and compare the results with it.

    Returns the exit status, or None if a stop was requested.
    """
    for option in (
        "confirm",
        "against",
        "retry_invalid",
        "json",
        "markdown",
        "latex",
    ):
        if getattr(arguments, option):
            name = option.replace("_", "-")
            raise SpecError(f"--{name} has no meaning with --verify; omit one of them")
    standard = StandardSet()
    stored = read_card(standard.card_path(arguments.verify), standard)
    card = stored.part(arguments.only, arguments.worlds)
    planner = _planner(arguments, card.planner)
    for reason in map(standard.missing, card.classes):
        if reason:
            raise SpecError(reason)
    out = arguments.out / VERIFIED
    runner = SetRunner(standard, arguments, card.most_worlds if card.is_subset else None, stop)
    differing_worlds: List[str] = []
    differing_inputs: List[str] = []
    for name, result in card.classes.items():
        spec = runner.campaign(name, planner)
        if not arguments.planners:  # the planner of the card
            require_trust([spec], is_trusted=arguments.trust)
        directory = out / planner.name / name
        hashes = runner.prepare(spec, directory)
        manifest = Manifest.read(CampaignDirectory(directory))
        differing_worlds += differing_class(
            name, result, standard.path(name), spec, manifest, hashes
        )
        differing_inputs += differing_planner(card.planner, planner, manifest.inputs)
    _print_lines(differing_worlds)
    if differing_worlds:
        print("different: no trial ran, because worlds or their files have changed")
        return EXIT_DIFFERENT
    repeated = runner.card(planner, list(card.classes), out)
    if repeated is None:
        return None
    differing_inputs += differing_versions(card, repeated)
    trial_lines = differing_trials(card, repeated)
    _print_lines([*dict.fromkeys(differing_inputs), *summarized(trial_lines)])
    compared = sum(len(result.trials) for result in card.classes.values())
    bits = (
        f"{len(trial_lines)} of {compared} trials differ"
        if trial_lines
        else f"all {compared} trials have the same bits"
    )
    if repeated.digest == card.digest:
        print(f"equal: {card.id_of(standard)}, {bits}")
        return 0
    print(f"different: {repeated.id_of(standard)} instead of {card.id_of(standard)}, {bits}")
    return EXIT_DIFFERENT


def _planner(arguments: argparse.Namespace, identity: PlannerIdentity) -> BuiltinPlannerSpec:
    """Return the planner of a card: from the command line, or else from the card itself.

    Raises ``ResultsError`` for a planner of another name, or without a planner on the command line
    if a parameter of the card is a file, which the card does not contain.
    """
    planners = _read_planners(arguments.planners)
    for text, planner in zip(arguments.planners, planners):
        if planner.name != identity.name:
            raise ResultsError(
                f"{text}: the planner has the name {planner.name!r}, but the card has "
                f"{identity.name!r}; specify the file of this planner"
            )
    if planners:
        return planners[0]
    for name, value in identity.parameters.items():
        if isinstance(value, str) and value.startswith(SHA256):
            raise ResultsError(
                f"{arguments.verify}: the parameter {name!r} is a file, which the card does not "
                "contain; specify the YAML file of the planner before --verify"
            )
    return BuiltinPlannerSpec(
        name=identity.name, plugin=identity.plugin, parameters=dict(identity.parameters)
    )


def _print_lines(lines: Sequence[str]) -> None:
    for line in lines:
        print(escape_text(line))


def _read_planners(texts: Sequence[str]) -> List[BuiltinPlannerSpec]:
    """Return planners by names or by paths of YAML files with the keys of a campaign's planner.

    Raises ``UnknownNameError`` for an unknown planner, and ``SpecError`` for invalid parameters and
    for names that appear twice.
    """
    planners = [_read_planner(text) for text in texts]
    names = [planner.name for planner in planners]
    for name in names:
        if names.count(name) > 1:
            raise SpecError(
                f"planner {name!r} appears twice; remove one, or set another 'name' in its file"
            )
    return planners


def _read_planner(text: str) -> BuiltinPlannerSpec:
    is_file = Path(text).suffix in (".yaml", ".yml")
    if is_file:
        planner = load(Path(text), BuiltinPlannerSpec)
    else:
        PLANNERS.get(text)
        planner = BuiltinPlannerSpec(name=text, plugin=text)
    construct(PLANNERS, planner.plugin, planner.parameters)
    return planner
