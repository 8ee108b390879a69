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

Exit status 0: passed. 1: failed. 2: undecided, expected results were not judged, or an error.

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
from dataclasses import replace
from pathlib import Path

from gz_testauto.base.escaping import escape_text
from gz_testauto.campaign.resume import read_campaign
from gz_testauto.cli.trust import add_trust_argument, require_trust
from gz_testauto.extras.gate.corpus import (
    corpus_bytes,
    corpus_planners,
    judge_corpus,
    read_corpus,
)
from gz_testauto.extras.gate.coverage import MAX_INVALID, GateAllowances
from gz_testauto.extras.gate.questions import GateQuestions
from gz_testauto.extras.gate.report import (
    EXIT_STATUS,
    error_message,
    error_to_document,
    evaluate_with_junit,
    gate_lines,
    to_document,
)
from gz_testauto.extras.gate.request import (
    MARGIN,
    GateEvaluation,
    GateRequest,
    evaluate_gate,
    read_margins,
)
from gz_testauto.extras.gate.world_cases import worlds_to_junit
from gz_testauto.results.directory import CampaignDirectory, write_atomically
from gz_testauto.results.judged_corpus import JUDGED_CORPUS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command-line arguments of ``gate``."""
    parser.add_argument("directory", type=Path, help="results directory of the campaign")
    parser.add_argument(
        "--baseline", type=Path, metavar="DIR", help="results directory of the baseline"
    )
    parser.add_argument(
        "--planner",
        action="append",
        default=[],
        metavar="NAME",
        help="evaluate only this planner (default: all); repeatable",
    )
    parser.add_argument(
        "--baseline-planner",
        default="",
        metavar="NAME",
        help="compare with this planner (default: the baseline's planner of the same name)",
    )
    parser.add_argument(
        "--corpus",
        type=Path,
        metavar="DIR",
        help="first run the planners in the worlds of DIR, a directory of outputs of `gz_testauto "
        "shrink`; each planner must reach the goal in each of them",
    )
    add_trust_argument(parser)
    _add_rules(parser)
    _add_allowances(parser)
    parser.add_argument(
        "--ignore-differences",
        action="store_true",
        help="compare even if the baseline has a different robot, goal, limits or simulator",
    )
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


def _add_rules(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--not-worse-than",
        type=float,
        metavar="MARGIN",
        help=f"largest allowed decrease of the success rate, between 0 and 1 (default: {MARGIN:g})",
    )
    parser.add_argument(
        "--min-success",
        type=float,
        metavar="RATE",
        help="smallest allowed success rate, between 0 and 1",
    )
    parser.add_argument(
        "--metric",
        action="append",
        default=[],
        metavar="NAME:MARGIN[:LOWEST:HIGHEST]",
        help="allowed deterioration of the mean of a metric, in its unit, with the smallest and "
        "the largest possible value (default: those that the metric declares; of time_s: 0 and "
        "the time limit); repeatable",
    )
    parser.add_argument(
        "--fixed-worlds",
        type=int,
        metavar="N",
        help="number of worlds that you chose before the campaign; the gate then needs fewer "
        "worlds, but is valid only once, after exactly N worlds (default: valid after every world)",
    )
    parser.add_argument(
        "--alpha",
        type=float,
        default=0.05,
        metavar="SHARE",
        help="allowed probability of a wrong verdict (default: %(default)s)",
    )


def _add_allowances(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--worlds",
        type=int,
        metavar="N",
        help="evaluate only the first N worlds of the campaign (default: all)",
    )
    parser.add_argument(
        "--allow-missing-worlds",
        type=int,
        default=0,
        metavar="N",
        help="allowed number of worlds that are unfinished or in only one of the results "
        "(default: 0)",
    )
    parser.add_argument(
        "--max-invalid",
        type=float,
        default=MAX_INVALID,
        metavar="SHARE",
        help="largest allowed share of invalid trials of a planner (default: %(default)s)",
    )
    parser.add_argument(
        "--new-planner",
        action="append",
        default=[],
        metavar="NAME",
        help="do not require this planner in the baseline; repeatable",
    )
    parser.add_argument(
        "--removed-planner",
        action="append",
        default=[],
        metavar="NAME",
        help="do not require this planner of the baseline in the campaign; repeatable",
    )


def run(arguments: argparse.Namespace) -> int:
    """Evaluate a campaign. Return 0 for passed, 1 for failed, 2 for undecided."""

    def write(xml: str) -> None:
        if arguments.junit:
            write_atomically(Path(arguments.junit), xml.encode("utf-8"))

    try:
        judged = evaluate_with_junit(arguments.name, lambda: _evaluate(arguments), write)
    except Exception as error:
        if arguments.json:
            document = error_to_document(error_message(error))
            print(json.dumps(document, indent=2, ensure_ascii=False))
        raise
    if arguments.junit_worlds:
        xml = worlds_to_junit(arguments.name, judged)
        write_atomically(arguments.junit_worlds, xml.encode("utf-8"))
    if arguments.json:
        document = to_document(judged)
        print(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False))
    else:
        print("\n".join(gate_lines(judged)))
    return EXIT_STATUS[judged.verdict]


def _evaluate(arguments: argparse.Namespace) -> GateEvaluation:
    """Evaluate the gate, and the corpus if there is one, which is written to the directory."""
    request = _request(arguments)
    if arguments.corpus is None:
        return evaluate_gate(request)
    directory = CampaignDirectory(arguments.directory)
    directory.require_begun()
    spec, _ = read_campaign(directory)
    base = "" if request.baseline else request.baseline_planner
    planners = corpus_planners(spec, request.planners, base)
    judged = evaluate_gate(request) if request.has_question else GateEvaluation(spec.name, ())
    stored = [spec, *(world.spec for world in read_corpus(arguments.corpus))]
    files = [Path(entry.file) for one in stored for entry in one.worlds.files or ()]
    require_trust(stored, files, arguments.trust)
    corpus = judge_corpus(arguments.corpus, planners, _print_progress)
    write_atomically(directory.path / JUDGED_CORPUS, corpus_bytes(corpus))
    return replace(judged, corpus=corpus)


def _print_progress(line: str) -> None:
    print(escape_text(line), file=sys.stderr, flush=True)


def _request(arguments: argparse.Namespace) -> GateRequest:
    """Return the request that the arguments specify. Raises ``SpecError`` if a value is out of
    range."""
    return GateRequest(
        arguments.directory,
        arguments.baseline,
        tuple(arguments.planner),
        arguments.baseline_planner,
        GateQuestions(
            arguments.not_worse_than,
            arguments.min_success,
            read_margins(arguments.metric),
            arguments.alpha,
            arguments.fixed_worlds,
        ),
        GateAllowances(
            arguments.allow_missing_worlds,
            arguments.max_invalid,
            tuple(arguments.new_planner),
            tuple(arguments.removed_planner),
        ),
        arguments.worlds,
        arguments.ignore_differences,
    )
