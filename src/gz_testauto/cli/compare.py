"""Compare planners of several campaigns, paired by world.

The campaigns can be from different days, machines or versions of a planner. Trials are paired in
worlds with equal files, start and goal. A campaign with a different robot, goal, limits or
simulator than the first campaign is excluded, and the differences are listed; --ignore-differences
includes it. Planners with equal names are compared with each other, and so are planners of
different campaigns.

Exit status 0: all campaigns were compared. 1: a campaign was excluded. 2: an error.

examples:
  gz_testauto compare results/monday results/tuesday
  gz_testauto compare results/monday results/tuesday --html both.html
"""

import argparse
import contextlib
import sys
from functools import partial
from pathlib import Path
from typing import Iterable, List, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from gz_testauto.analysis.across import PairedCampaigns, pair_campaigns
from gz_testauto.analysis.overview import Analysis, analyze
from gz_testauto.base.errors import SpecError
from gz_testauto.base.escaping import escape_all_texts
from gz_testauto.cli.output_options import add_output_arguments, requests_outputs
from gz_testauto.cli.outputs import print_text, write_outputs
from gz_testauto.report.compared import compared_campaigns
from gz_testauto.report.export import to_csv, to_json
from gz_testauto.report.plain import indented, plain_table, report_console
from gz_testauto.report.sources import Source, compared_sources
from gz_testauto.report.table import report
from gz_testauto.results.opened import OpenedResults, open_results
from gz_testauto.results.store import load_campaign

GROUP = ("start", 6)
EXIT_LEFT_OUT = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "directories",
        type=Path,
        nargs="+",
        metavar="DIR",
        help="two or more results directories, or packs",
    )
    parser.add_argument(
        "--ignore-differences",
        action="store_true",
        help="compare campaigns even if they have different robots, goals, limits or simulators",
    )
    add_output_arguments(parser)
    parser.add_argument(
        "--json", action="store_true", help="print all results as JSON instead of tables"
    )


def run(arguments: argparse.Namespace) -> int:
    paths: List[Path] = arguments.directories
    if len(paths) < 2:
        raise SpecError("compare requires two or more results directories; add a directory")
    with contextlib.ExitStack() as stack:
        return _compare([stack.enter_context(open_results(path)) for path in paths], arguments)


def _compare(opened: Sequence[OpenedResults], arguments: argparse.Namespace) -> int:
    labels = _labels([results.typed for results in opened])
    campaigns = [load_campaign(results.path, label) for results, label in zip(opened, labels)]
    across = pair_campaigns(campaigns, arguments.ignore_differences, with_trials=True)
    analysis = analyze(across.results, across.pairs)
    campaign_labels = {shown_name: label for (label, _), shown_name in across.names.items()}
    if arguments.csv == "-":
        print_text(to_csv(across.results, campaign_labels))
    elif arguments.json:
        print_text(to_json(analysis, across))
    else:
        _print_comparison(across, analysis)
    sources = compared_sources(opened, across)
    if len(sources) > 1:
        write_page = partial(_write_page, sources, across)
        write_outputs(arguments, sources, analysis, write_page, campaign_labels)
    elif requests_outputs(arguments):
        print("no file was written, since no campaign remains to compare", file=sys.stderr)
    return EXIT_LEFT_OUT if any(side.left_out for side in across.sides) else 0


def _labels(paths: Sequence[Path]) -> List[str]:
    names = [path.absolute().name for path in paths]
    return names if len(set(names)) == len(names) else [str(path) for path in paths]


def _write_page(sources: Sequence[Source], across: PairedCampaigns, out: Path) -> Iterable[str]:
    from gz_testauto.report.page.page import write_comparison_page

    return write_comparison_page(sources, across, out)


def _print_comparison(across: PairedCampaigns, analysis: Analysis) -> None:
    console = report_console()
    across, analysis = escape_all_texts(across), escape_all_texts(analysis)
    comparison = compared_campaigns(across)
    table = plain_table(*comparison.columns)
    for row in comparison.rows:
        table.add_row(*row)
    lines: List[RenderableType] = [table]
    for note in comparison.notes:
        lines += [Text(note.text, "yellow" if note.items else "dim"), *map(indented, note.items)]
    console.print(Group(*lines, ""))
    if sum(not side.left_out for side in across.sides) > 1:
        console.print(report(analysis))
