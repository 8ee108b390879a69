"""The ``gate`` node: evaluates a campaign, as a test that rostest starts.

The planners first run in the worlds of ``~corpus``, if it is set. Then the campaign is run as by
``gz_testauto run``, unless ``~results`` names a finished one, and evaluated as by ``gz_testauto
gate``. The exit status is 0 for passed, 1 for failed, 2 for undecided or if expected results were
not judged. :mod:`~gz_testauto.extras.gate.interface` has the parameters.
"""

import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Tuple

import rospy

from gz_testauto.base.errors import SimulatorError, SpecError
from gz_testauto.campaign.resume import read_campaign
from gz_testauto.campaign.runner import run_campaign
from gz_testauto.campaign.signals import StopSignals
from gz_testauto.campaign.simulator import chosen_executor
from gz_testauto.extras.gate.corpus import (
    JudgedCorpus,
    corpus_bytes,
    corpus_planners,
    judge_corpus,
)
from gz_testauto.extras.gate.coverage import GateAllowances
from gz_testauto.extras.gate.interface import GateParameters
from gz_testauto.extras.gate.questions import GateQuestions
from gz_testauto.extras.gate.report import EXIT_STATUS, evaluate_with_junit, gate_lines
from gz_testauto.extras.gate.request import (
    GateEvaluation,
    GateRequest,
    evaluate_gate,
    read_margins,
)
from gz_testauto.results.directory import CampaignDirectory, write_atomically
from gz_testauto.results.judged_corpus import JUDGED_CORPUS
from gz_testauto.ros.node import read_parameters, run_node
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.trial.executor import TrialStopped
from gz_testauto.workers.processes import local_workers

STOPPED = "the campaign was stopped before its end, so the gate was not evaluated"

RESULT_FILE = "--gtest_output=xml:"
"""Prefix of the argument in which rostest passes the path of the result file."""


def start() -> int:
    """Run the campaign unless ``~results`` specifies its results, and evaluate the gate."""
    name = rospy.get_name().strip("/")
    judged = evaluate_with_junit(name, _evaluate, _write)
    print("\n".join(gate_lines(judged)), flush=True)
    return EXIT_STATUS[judged.verdict]


def _evaluate() -> GateEvaluation:
    parameters = read_parameters(GateParameters)
    if parameters.results is not None:
        if parameters.campaign is not None:
            names = rospy.resolve_name("~results"), rospy.resolve_name("~campaign")
            raise SpecError(f"parameters {' and '.join(names)} are both set; set one of them")
        request = _request(parameters, parameters.results)
        if parameters.corpus is None:
            return evaluate_gate(request)
        spec, _ = read_campaign(CampaignDirectory(request.directory))
        with StopSignals() as stop:
            corpus = _corpus(parameters, request, spec, stop)
        return _judged(request, spec, corpus)
    spec = parameters.load()
    if parameters.out:
        out = parameters.results_directory(spec)
    else:  # a new directory, because planners can change between two runs
        out = Path(tempfile.mkdtemp(prefix=f"gz_testauto_{spec.name}_"))
    request = _request(parameters, out)
    rospy.loginfo("campaign %s, results in %s", spec.name, out)
    with StopSignals() as stop:
        corpus = _corpus(parameters, request, spec, stop)
        if corpus.verdicts and not request.has_question:
            return _judged(request, spec, corpus)
        run_campaign(
            spec,
            out,
            chosen_executor(spec, out),
            make_workers=local_workers(parameters.workers),
            selection=parameters.selection,
            should_stop=stop,
        )
        if stop():
            raise SimulatorError(STOPPED)
    return _judged(request, spec, corpus)


def _corpus(
    parameters: GateParameters, request: GateRequest, spec: CampaignSpec, stop: StopSignals
) -> JudgedCorpus:
    """Run the planners in the worlds of ``~corpus``, if it is set."""
    if parameters.corpus is None:
        return JudgedCorpus()
    base = "" if request.baseline else request.baseline_planner
    planners = corpus_planners(spec, request.planners, base)
    try:
        return judge_corpus(parameters.corpus, planners, rospy.loginfo, stop)
    except TrialStopped as error:
        raise SimulatorError(STOPPED) from error


def _judged(request: GateRequest, spec: CampaignSpec, corpus: JudgedCorpus) -> GateEvaluation:
    """Return the verdicts on the campaign, unless only the corpus is judged, and on the corpus."""
    if corpus.verdicts and CampaignDirectory(request.directory).is_begun:
        write_atomically(request.directory / JUDGED_CORPUS, corpus_bytes(corpus))
    if corpus.verdicts and not request.has_question:
        return GateEvaluation(spec.name, (), corpus=corpus)
    return replace(evaluate_gate(request), corpus=corpus)


def _request(parameters: GateParameters, out: Path) -> GateRequest:
    """Return the request to evaluate the results in ``out``."""
    base, selection = parameters.baseline_planner, parameters.selection
    planners = _words(parameters.planner) or selection.planners or ()
    if parameters.baseline is None:
        planners = tuple(planner for planner in planners if planner != base)
    return GateRequest(
        out,
        parameters.baseline,
        planners,
        base,
        GateQuestions(
            parameters.not_worse_than or None,
            parameters.min_success or None,
            read_margins(_words(parameters.metrics)),
            parameters.alpha,
            parameters.fixed_worlds or None,
        ),
        GateAllowances(
            parameters.allow_missing_worlds,
            parameters.max_invalid,
            _words(parameters.new_planners),
            _words(parameters.removed_planners),
        ),
        selection.worlds,
        parameters.ignore_differences,
        option=_parameter_name,
    )


def _parameter_name(option: str) -> str:
    """Return the name of the ROS parameter for a command-line option, such as ``~max_invalid`` for
    ``max-invalid``."""
    plural = {"new-planner": "~new_planners", "removed-planner": "~removed_planners"}
    return plural.get(option, "~" + option.replace("-", "_"))


def _words(text: str) -> Tuple[str, ...]:
    """Split text at blanks and commas."""
    return tuple(text.replace(",", " ").split())


def _write(xml: str) -> None:
    """Write the results to the file that rostest reads."""
    for argument in sys.argv:
        if argument.startswith(RESULT_FILE):
            path = Path(argument[len(RESULT_FILE) :])
            os.makedirs(path.parent, exist_ok=True)
            write_atomically(path, xml.encode("utf-8"))


def main() -> int:
    """Run the ``gate`` node."""
    return run_node("gate", start, own_signals=True)
