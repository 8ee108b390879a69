"""Run the trials of a score card again, and compare the bits.

First, the planner, the campaign files, the worlds and the versions of the software are compared
with the card, and each difference is listed. If worlds or their files differ, no trial runs.
Otherwise all trials of the card run, and their outcomes and trajectories are compared, bit by bit.
The results are stored in DIR/verify; the same command continues after a stop.

Exit status 0: everything is equal. 1: there is a difference. 2: an error. 130, 143: stopped by
Ctrl-C, by SIGTERM.

examples:
  gz_testauto verify results/standard/fgm/card.json --out results/again
  gz_testauto verify my_card.json --planner my_planner.yaml --out results/again
"""

import argparse
import sys
from pathlib import Path
from typing import List, Optional, Sequence

from gz_testauto.base.errors import ResultsError, SpecError
from gz_testauto.base.escaping import escape_text
from gz_testauto.campaign.signals import StopSignals
from gz_testauto.cli.progress import announce_stop
from gz_testauto.cli.trust import add_trust_argument, require_trust
from gz_testauto.cli.workers import add_worker_arguments
from gz_testauto.extras.standard_set.card import PlannerIdentity, ScoreCard, read_card
from gz_testauto.extras.standard_set.classes import StandardSet
from gz_testauto.extras.standard_set.planner_files import read_planners
from gz_testauto.extras.standard_set.runs import SetRunner
from gz_testauto.extras.standard_set.verification import (
    differing_class,
    differing_planner,
    differing_trials,
    differing_versions,
    summarized,
    version_text,
)
from gz_testauto.results.comparability import SHA256
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.manifest import Manifest
from gz_testauto.spec.campaign import BuiltinPlannerSpec

EXIT_DIFFERENT = 1
FOLDER = "verify"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command-line arguments."""
    parser.add_argument(
        "card", type=Path, help="card.json that `gz_testauto benchmark` has written"
    )
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="DIR",
        help="directory of the results, in which no trial of `gz_testauto benchmark` is used",
    )
    parser.add_argument(
        "--planner",
        metavar="FILE",
        help="YAML file of the planner, needed if its parameters name files",
    )
    add_worker_arguments(parser)
    add_trust_argument(parser)
    parser.set_defaults(retry_invalid=False)


def run(arguments: argparse.Namespace) -> int:
    """Compare inputs, run the trials, and compare the results; return the exit status."""
    standard = StandardSet()
    card = read_card(arguments.card, standard)
    planner = _planner(arguments, card.planner)
    for name in card.classes:
        reason = standard.missing(name)
        if reason:
            raise SpecError(reason)
    stop = StopSignals(on_first=announce_stop)
    with stop:
        status = _verify(arguments, standard, card, planner, stop)
    return stop.exit_status if status is None else status


def _verify(
    arguments: argparse.Namespace,
    standard: StandardSet,
    card: ScoreCard,
    planner: BuiltinPlannerSpec,
    stop: StopSignals,
) -> Optional[int]:
    """Return the exit status, or None if a stop was requested."""
    out = arguments.out / FOLDER
    runner = SetRunner(standard, arguments, card.most_worlds if card.is_subset else None, stop)
    worlds: List[str] = []
    inputs: List[str] = []
    for name, result in card.classes.items():
        spec = runner.campaign(name, planner)
        if arguments.planner is None:  # the planner of the card
            require_trust([spec], is_trusted=arguments.trust)
        directory = out / planner.name / name
        hashes = runner.prepare(spec, directory)
        manifest = Manifest.read(CampaignDirectory(directory))
        worlds += differing_class(name, result, standard.path(name), spec, manifest, hashes)
        inputs += differing_versions(card, manifest.content)
        inputs += differing_planner(card.planner, planner, manifest.inputs)
    _print(worlds)
    if worlds:
        print("different: no trial ran, because worlds or their files have changed")
        return EXIT_DIFFERENT
    again = runner.card(planner, list(card.classes), out)
    if again is None:
        print("stopped; the same command continues", file=sys.stderr)
        return None
    inputs += [line for line in _version_lines(card, again) if line not in inputs]
    trials = differing_trials(card, again)
    _print([*dict.fromkeys(inputs), *summarized(trials)])
    compared = sum(len(one.trials) for one in card.classes.values())
    bits = (
        f"{len(trials)} of {compared} trials differ"
        if trials
        else f"all {compared} trials have the same bits"
    )
    if again.digest == card.digest:
        print(f"equal: {card.id_of(standard)}, {bits}")
        return 0
    print(f"different: {again.id_of(standard)} instead of {card.id_of(standard)}, {bits}")
    return EXIT_DIFFERENT


def _version_lines(card: ScoreCard, again: ScoreCard) -> List[str]:
    names = sorted({*card.versions, *again.versions})
    return [
        version_text(name, again.versions, card.versions)
        for name in names
        if card.versions.get(name) != again.versions.get(name)
    ]


def _planner(arguments: argparse.Namespace, identity: PlannerIdentity) -> BuiltinPlannerSpec:
    """Return the planner of the card. Raises ``ResultsError`` if the card does not contain the
    files of its parameters."""
    if arguments.planner:
        (found,) = read_planners([arguments.planner])
        if found.name != identity.name:
            raise ResultsError(
                f"{arguments.planner}: the planner has the name {found.name!r}, but the card has "
                f"{identity.name!r}; specify the file of this planner"
            )
        return found
    for name, value in identity.parameters.items():
        if isinstance(value, str) and value.startswith(SHA256):
            raise ResultsError(
                f"{arguments.card}: the parameter {name!r} is a file, which the card does not "
                "contain; specify the YAML file of the planner with --planner"
            )
    return BuiltinPlannerSpec(
        name=identity.name, plugin=identity.plugin, parameters=dict(identity.parameters)
    )


def _print(lines: Sequence[str]) -> None:
    for line in lines:
        print(escape_text(line))
