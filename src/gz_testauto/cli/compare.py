"""Compare planners of several campaigns, paired by world.

The campaigns can be from different days, machines or versions of a planner. Trials are paired in
worlds with equal files, start and goal. A campaign with a different robot, goal, limits or
simulator than the first campaign is excluded, and the differences are listed; --ignore-differences
includes it. Planners with equal names are compared with each other, and so are planners of
different campaigns.

example:
  gz_testauto compare results/monday results/tuesday
"""

import argparse
import sys
from pathlib import Path
from typing import Iterator, List, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from gz_testauto.analysis.across import ComparedCampaign, PairedCampaigns, pair_campaigns
from gz_testauto.analysis.overview import Analysis, analyze
from gz_testauto.base.errors import SpecError
from gz_testauto.base.escaping import escape_all_texts, escape_text
from gz_testauto.base.truncation import join_truncated
from gz_testauto.report.export import to_json
from gz_testauto.report.plain import count_text, indented, plain_table, report_console
from gz_testauto.report.table import report
from gz_testauto.results.store import load_campaign

EXIT_LEFT_OUT = 1
SHOWN = 8
"""Largest number of worlds or reasons that a printed list contains."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command-line arguments."""
    parser.add_argument(
        "directories", type=Path, nargs="+", metavar="DIR", help="two or more results directories"
    )
    parser.add_argument(
        "--ignore-differences",
        action="store_true",
        help="compare campaigns even if they have different robots, goals, limits or simulators",
    )
    parser.add_argument(
        "--json", action="store_true", help="print all results as JSON instead of tables"
    )


def run(arguments: argparse.Namespace) -> int:
    """Compare the campaigns; return 1 if a campaign was excluded, otherwise 0."""
    paths: List[Path] = arguments.directories
    if len(paths) < 2:
        raise SpecError("compare requires two or more results directories; add a directory")
    campaigns = [load_campaign(path, label) for path, label in zip(paths, _labels(paths))]
    across = pair_campaigns(campaigns, arguments.ignore_differences, with_trials=True)
    analysis = analyze(across.results, across.pairs)
    if arguments.json:
        text = to_json(analysis, directories=across.sides, only_in=across.only)
        sys.stdout.write(escape_text(text) if sys.stdout.isatty() else text)
    else:
        _print(across, analysis)
    return EXIT_LEFT_OUT if any(side.left_out for side in across.sides) else 0


def _labels(paths: Sequence[Path]) -> List[str]:
    names = [path.absolute().name for path in paths]
    return names if len(set(names)) == len(names) else [str(path) for path in paths]


def _print(across: PairedCampaigns, analysis: Analysis) -> None:
    console = report_console()
    across, analysis = escape_all_texts(across), escape_all_texts(analysis)
    console.print(Group(*_heading(across)))
    if sum(not side.left_out for side in across.sides) > 1:
        console.print(report(analysis))


def _heading(across: PairedCampaigns) -> Iterator[RenderableType]:
    table = plain_table("directory", "campaign", "worlds", "compared", "simulator")
    for side in across.sides:
        common = "left out" if side.left_out else str(side.common)
        table.add_row(side.label, side.campaign, str(side.worlds), common, side.simulator or "-")
    yield table
    for side in across.sides:
        yield from _side_notes(side, across.sides[0])
    for label, worlds in across.only.items():
        if worlds:
            noun = count_text(len(worlds), "world")
            yield Text(f"With trials only in {label}, not compared: {noun}", style="yellow")
            yield indented(join_truncated(worlds, SHOWN))
    yield ""


def _side_notes(side: ComparedCampaign, first: ComparedCampaign) -> Iterator[RenderableType]:
    if side.reasons:
        fault = "is not comparable" if side.left_out else "compared although it differs"
        yield Text(f"{side.label}: {fault} (values of {first.label}, and {side.label}):", "yellow")
        yield from map(indented, side.reasons[:SHOWN])
        if len(side.reasons) > SHOWN:
            yield indented(f"and {len(side.reasons) - SHOWN} more")
    for note in side.notes:
        yield Text(f"{side.label}: {note}." if side is not first else f"{note}.", style="dim")
