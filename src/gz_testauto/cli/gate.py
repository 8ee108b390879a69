"""Judge a campaign: is a planner not worse than a baseline by more than a margin, and good enough?

The baseline is another planner of the campaign (--baseline-planner), or of a campaign in the same
worlds (--baseline; the planner of the same name unless told). Every answer holds however often it
is looked at: where the gate cannot say, more worlds may be run and judged again. Exit status 0:
passed. 1: worse. 2: cannot say, or something has to be mended.

examples:
  gz_testauto gate results/new --baseline results/main --not-worse-than 0.05 --junit gate.xml
  gz_testauto gate results/new --planner fgm_improved --baseline-planner fgm --metric time_s:2
  gz_testauto gate results/new --min-success 0.9
"""

import argparse
import json
from pathlib import Path

from gz_testauto.analysis.decisions.gate import Rules, overall
from gz_testauto.analysis.decisions.gate_request import (
    MARGIN,
    GateRequest,
    judge_request,
    read_margins,
)
from gz_testauto.printable import printable
from gz_testauto.report.gate import EXIT_STATUS, reason, sorted_by_verdict, to_document, to_junit
from gz_testauto.results.directory import write_atomically


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("directory", type=Path, help="results directory of the campaign")
    parser.add_argument(
        "--baseline", type=Path, metavar="DIR", help="results directory to compare with"
    )
    parser.add_argument("--planner", default="", metavar="NAME", help="which (default: all)")
    parser.add_argument(
        "--baseline-planner",
        default="",
        metavar="NAME",
        help="compare with this planner (default: of the baseline, that of the same name)",
    )
    parser.add_argument(
        "--not-worse-than",
        type=float,
        metavar="MARGIN",
        help=f"by how much less often it may succeed, as a rate (default: {MARGIN:g})",
    )
    parser.add_argument(
        "--min-success", type=float, metavar="RATE", help="how often it has to succeed"
    )
    parser.add_argument(
        "--metric",
        action="append",
        default=[],
        metavar="NAME:MARGIN",
        help="by how much a metric may be worse, in its own unit; repeatable",
    )
    parser.add_argument(
        "--alpha",
        type=float,
        default=0.05,
        metavar="SHARE",
        help="how often the gate may be wrong (default: %(default)s)",
    )
    parser.add_argument(
        "--anyway",
        action="store_true",
        help="compare although the baseline had another robot, goal, limits or simulator",
    )
    parser.add_argument("--junit", metavar="FILE", help="write JUnit XML, a test case per question")
    parser.add_argument(
        "--name", default="gate", help="name of the tests in JUnit XML (default: %(default)s)"
    )
    parser.add_argument(
        "--json", action="store_true", help="print the answers as JSON instead of lines"
    )


def run(arguments: argparse.Namespace) -> int:
    """Judge; 0 passed, 1 worse, 2 cannot say."""
    rules = Rules(
        arguments.not_worse_than,
        arguments.min_success,
        read_margins(arguments.metric),
        arguments.alpha,
    )
    request = GateRequest(
        arguments.directory,
        arguments.baseline,
        arguments.planner,
        arguments.baseline_planner,
        rules,
        arguments.anyway,
    )
    judged = judge_request(request)
    answers = sorted_by_verdict(judged.answers)
    if arguments.junit:
        xml = to_junit(arguments.name, judged.campaign, judged.answers)
        write_atomically(Path(arguments.junit), xml.encode("utf-8"))
    if arguments.json:
        print(json.dumps(to_document(answers), indent=2, ensure_ascii=False))
    else:
        for answer in answers:
            print(printable(reason(answer)))
    return EXIT_STATUS[overall(answers)]
