"""The ``gate`` node: evaluates a campaign, as a test that rostest starts.

The planners first run in the worlds of ``~corpus``, if it is set. Then the campaign is run as by
``gz_testauto run``, unless ``~results`` names a finished one, and evaluated as by
``gz_testauto gate``. The exit status is that of this command.
"""

import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import rospy

from gz_testauto.base.errors import SimulatorError, SpecError
from gz_testauto.campaign.runner import run_campaign
from gz_testauto.campaign.signals import StopSignals
from gz_testauto.campaign.simulator import chosen_executor
from gz_testauto.extras.gate.corpus import JudgedCorpus, corpus_bytes, run_corpus
from gz_testauto.extras.gate.interface import GateParameters
from gz_testauto.extras.gate.report import evaluate_with_junit, exit_status, gate_lines
from gz_testauto.extras.gate.request import GateEvaluation, evaluate_gate, evaluate_results
from gz_testauto.results.directory import CampaignDirectory, write_atomically
from gz_testauto.results.judged_corpus import JUDGED_CORPUS
from gz_testauto.ros.node import read_parameters, run_node
from gz_testauto.trial.executor import TrialStopped
from gz_testauto.workers.processes import local_workers

STOPPED = "the campaign was stopped before its end, so the gate was not evaluated"

RESULT_FILE = "--gtest_output=xml:"
"""Prefix of the argument in which rostest passes the path of the result file."""


def start() -> int:
    name = rospy.get_name().strip("/")
    judged = evaluate_with_junit(name, _evaluate, _write_junit)
    print("\n".join(gate_lines(judged)), flush=True)
    return exit_status(judged)


def _evaluate() -> GateEvaluation:
    parameters = read_parameters(GateParameters)
    planners = parameters.planner or parameters.planners or ()
    if parameters.baseline is None:
        base = parameters.baseline_planner
        planners = tuple(planner for planner in planners if planner != base)
    parameters = parameters.model_copy(update={"planner": planners})
    with StopSignals() as stop:
        try:
            if parameters.results is None:
                return _run_campaign(parameters, stop)
            if parameters.campaign is not None:
                names = rospy.resolve_name("~results"), rospy.resolve_name("~campaign")
                raise SpecError(f"parameters {' and '.join(names)} are both set; set one of them")
            return evaluate_results(parameters.results, parameters, rospy.loginfo, stop)
        except TrialStopped as error:
            raise SimulatorError(STOPPED) from error


def _run_campaign(parameters: GateParameters, stop: StopSignals) -> GateEvaluation:
    spec = parameters.load()
    if parameters.out:
        out = parameters.results_directory(spec)
    else:  # a new directory, because planners can change between two runs
        out = Path(tempfile.mkdtemp(prefix=f"gz_testauto_{spec.name}_"))
    rospy.loginfo("campaign %s, results in %s", spec.name, out)
    corpus = JudgedCorpus()
    if parameters.corpus is not None:
        corpus = run_corpus(spec, parameters, (), rospy.loginfo, stop)
    judged = GateEvaluation(spec.name, parameters)
    if parameters.corpus is None or parameters.has_question:
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
        judged = evaluate_gate(out, parameters)
    if corpus.verdicts and CampaignDirectory(out).is_begun:
        write_atomically(out / JUDGED_CORPUS, corpus_bytes(corpus))
    return replace(judged, corpus=corpus)


def _write_junit(xml: str) -> None:
    for argument in sys.argv:
        if argument.startswith(RESULT_FILE):
            path = Path(argument[len(RESULT_FILE) :])
            os.makedirs(path.parent, exist_ok=True)
            write_atomically(path, xml.encode("utf-8"))


def main() -> int:
    return run_node("gate", start, own_signals=True)
