"""Explain failures by features of worlds (needs scikit-learn).

A logistic regression estimates how failures depend on the length of the shortest path, the density
of the obstacles and the mean clearance, or on other --features. Trials in one world count as
correlated. A small decision tree states the rates in groups of worlds. The results directory then
contains explain.json, and the page and `gz_testauto report` a section with it.

Exit status 0: finished. 2: an error, for example too few failures.

examples:
  gz_testauto explain results/paper
  gz_testauto explain results/paper fgm --features shortest_path_m,obstacles
"""

import argparse
import sys
from pathlib import Path
from typing import List, Optional

from gz_testauto.base.errors import ResultsError
from gz_testauto.base.escaping import escape_text
from gz_testauto.campaign.resume import read_campaign
from gz_testauto.cli.options import comma_separated
from gz_testauto.cli.outputs import print_text
from gz_testauto.extras.explain.features import DEFAULT, KnownFeatures
from gz_testauto.extras.explain.model import PER_FEATURE, explain
from gz_testauto.extras.explain.stored import EXPLANATION, ExplanationFile, section_of
from gz_testauto.report.notes import copies_notes
from gz_testauto.report.page.page import write_final_page
from gz_testauto.report.sections import print_section
from gz_testauto.results.directory import CampaignDirectory, write_atomically
from gz_testauto.results.manifest import Manifest
from gz_testauto.results.opened import OpenedResults, open_results
from gz_testauto.results.records import CampaignResults
from gz_testauto.results.store import ResultStore

GROUP = ("failures", 5)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, help="results directory, or pack, of a campaign")
    parser.add_argument(
        "planners",
        nargs="*",
        metavar="PLANNER",
        help="planners whose failures are explained together (default: all)",
    )
    parser.add_argument(
        "--features",
        type=comma_separated,
        metavar="A,B",
        help=f"features of the model, each of which needs {PER_FEATURE} worlds with a failure; an "
        f"unknown name lists all features (default: {','.join(DEFAULT)})",
    )
    parser.add_argument(
        "--csv",
        metavar="FILE",
        help="write one row per feature as CSV; - prints the CSV instead of the tables",
    )
    parser.add_argument(
        "--json", action="store_true", help=f"print {EXPLANATION} instead of the tables"
    )


def run(arguments: argparse.Namespace) -> int:
    with open_results(arguments.directory) as opened:
        return _explain(opened, arguments)


def _explain(opened: OpenedResults, arguments: argparse.Namespace) -> int:
    from gz_testauto.extras.explain.tree import failure_tree  # which imports scikit-learn

    directory = CampaignDirectory(opened.path)
    with ResultStore.read(directory) as store:
        results = store.results().without_copies
    notes = _restrictions(results)
    problems: List[str] = []
    spec = None
    if not Manifest.read(directory).is_imported:
        spec, _ = read_campaign(directory)
    known = KnownFeatures(directory, spec, results, problems)
    for line in problems:
        print(escape_text(line), file=sys.stderr)
    explanation, fitted = explain(known.table(arguments.features, arguments.planners))
    stored = ExplanationFile.of(explanation, failure_tree(fitted), notes, results)
    if arguments.json:
        print_text(stored.json_text)
    elif arguments.csv == "-":
        print_text(stored.csv_text)
    else:
        print_section(section_of(stored))
    if arguments.csv and arguments.csv != "-":
        write_atomically(Path(arguments.csv), stored.csv_text.encode("utf-8"))
    if opened.pack is None:
        write_atomically(directory.path / EXPLANATION, stored.json_text.encode("utf-8"))
        for line in write_final_page(directory.path):
            print(escape_text(line), file=sys.stderr)
    return 0


def _restrictions(results: CampaignResults) -> List[str]:
    """Return notes on restrictions by which the trials do not represent all worlds.

    Raises ``ResultsError`` if the trials were selected by their failures.
    """
    selection: Optional[str] = results.selection
    if selection and "--failed-of" in selection:
        raise ResultsError(
            f"the results contain only {selection}, so failures cannot be compared with successes; "
            "explain the campaign from which they were selected"
        )
    notes = []
    if selection:
        notes.append(
            f"The results contain only {selection}. Odds ratios are valid only if the outcomes did "
            "not affect the selection."
        )
    if results.is_sequential:
        notes.append(
            "The number of worlds depends on their outcomes, since the campaign has an early stop. "
            "The intervals assume a fixed number of worlds."
        )
    return [*notes, *map(str, copies_notes(results))]
