"""Report by exit status whether a planner is good enough.

A planner passes if it is not worse than a baseline by more than a margin.
The baseline is another planner of the campaign (--baseline-planner), or of a campaign in the same
worlds (--baseline; the planner of the same name by default). Verdicts remain valid however often
you evaluate them: if the gate is undecided, run more worlds and evaluate it again. With
--fixed-worlds, the gate is evaluated once, and needs fewer worlds. Planners, worlds and trials that
are expected and missing are an error unless you declare them.

With --corpus, the planners first run in worlds in which a planner failed before, such as the
outputs of `gz_testauto shrink`. Each of these worlds is judged by itself: the planner must reach
the goal. They do not change rates and tests. Without another question, only the corpus is judged.

Exit status 0: passed. 1: failed. 2: expected results were not judged, or an error. 3: undecided,
more worlds are needed.

examples:
  gz_testauto gate results/new --baseline results/main --not-worse-than 0.05 --junit gate.xml
  gz_testauto gate results/new --planner fgm_improved --baseline-planner fgm --metric time_s:2
  gz_testauto gate results/new --min-success 0.9
  gz_testauto gate results/new --planner fgm --corpus failures
  gz_testauto gate results/new --baseline results/main --new-planner sst --max-invalid 0.03
"""

import argparse
import json
import sys
from pathlib import Path

from gz_testauto.base.escaping import escape_text
from gz_testauto.cli.options import add_options, read_options
from gz_testauto.extras.gate.options import GateOptions
from gz_testauto.extras.gate.report import (
    error_message,
    error_to_document,
    evaluate_with_junit,
    exit_status,
    gate_lines,
    to_document,
    worlds_to_junit,
)
from gz_testauto.extras.gate.request import evaluate_results
from gz_testauto.results.directory import write_atomically

GROUP = ("continuous integration", 1)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, help="results directory of the campaign")
    add_options(parser, GateOptions)
    parser.add_argument(
        "--junit",
        metavar="FILE",
        help="write JUnit XML with a test case for each question; until the gate has finished, the "
        "file contains 'not finished'",
    )
    parser.add_argument(
        "--junit-worlds",
        type=Path,
        metavar="FILE",
        help="write JUnit XML with a test case for each planner and world, which fails if the "
        "planner did not reach the goal, whatever the verdict of the gate",
    )
    parser.add_argument(
        "--name",
        default="gate",
        help="name of the test suite in the JUnit XML report (default: %(default)s)",
    )
    parser.add_argument(
        "--json", action="store_true", help="print the result as JSON instead of lines"
    )


def run(arguments: argparse.Namespace) -> int:
    def write_junit(xml: str) -> None:
        if arguments.junit:
            write_atomically(Path(arguments.junit), xml.encode("utf-8"))

    try:
        judged = evaluate_with_junit(
            arguments.name,
            lambda: evaluate_results(
                arguments.directory,
                read_options(arguments, GateOptions),
                _print_progress,
                lambda: False,
            ),
            write_junit,
        )
    except Exception as error:
        if arguments.json:
            document = error_to_document(error_message(error))
            print(json.dumps(document, indent=2))
        raise
    if arguments.junit_worlds:
        xml = worlds_to_junit(arguments.name, judged)
        write_atomically(arguments.junit_worlds, xml.encode("utf-8"))
    if arguments.json:
        document = to_document(judged)
        print(json.dumps(document, indent=2, allow_nan=False))
    else:
        print("\n".join(gate_lines(judged)))
    return exit_status(judged)


def _print_progress(line: str) -> None:
    print(escape_text(line), file=sys.stderr, flush=True)
