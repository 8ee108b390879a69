"""The ``gate`` node: evaluates a campaign, as a test that rostest starts.

The campaign is run as by ``gz_testauto run``, unless ``~results`` names a finished one, and
evaluated as by ``gz_testauto gate``. The exit status is 0 for passed, 1 for failed, 2 for undecided
or if expected results were not judged. ``docs/gate.md`` lists every parameter.
"""

import os
import sys
import tempfile
from pathlib import Path
from typing import Optional, Tuple

import rospy

from gz_testauto.base.errors import SimulatorError, SpecError
from gz_testauto.campaign.executors import chosen_executor
from gz_testauto.campaign.runner import run_campaign
from gz_testauto.campaign.signals import StopSignals
from gz_testauto.extras.gate.coverage import MAX_INVALID, GateAllowances
from gz_testauto.extras.gate.questions import GateQuestions
from gz_testauto.extras.gate.report import EXIT_STATUS, evaluate_with_junit, gate_lines
from gz_testauto.extras.gate.request import (
    GateEvaluation,
    GateRequest,
    evaluate_gate,
    read_margins,
)
from gz_testauto.results.directory import write_atomically
from gz_testauto.ros import parameters
from gz_testauto.ros.campaign_parameters import output_directory, read_campaign, read_selection
from gz_testauto.ros.node import run_node
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.trial.plan import TrialSelection
from gz_testauto.workers.processes import local_workers

RESULT_FILE = "--gtest_output=xml:"
"""Prefix of the argument with which rostest passes the path of the result file."""


def start() -> int:
    """Run the campaign unless it has results, and evaluate the gate."""
    name = rospy.get_name().strip("/")
    judged = evaluate_with_junit(name, _evaluate, _write)
    print("\n".join(gate_lines(judged)), flush=True)
    return EXIT_STATUS[judged.verdict]


def _evaluate() -> GateEvaluation:
    results = parameters.read_path("results", "")
    if results is not None:
        if parameters.read("campaign", str, ""):
            names = rospy.resolve_name("~results"), rospy.resolve_name("~campaign")
            raise SpecError(f"parameters {' and '.join(names)} are both set; set one of them")
        return evaluate_gate(_request(results, read_selection()))
    spec = read_campaign(on_stack=parameters.read("stack", bool, False))
    out, selection = _output_directory(spec), read_selection()
    request = _request(out, selection)
    workers = parameters.read("workers", int, 1)
    if workers < 1:
        raise SpecError(f"parameter {rospy.resolve_name('~workers')} is {workers}; it must be >= 1")
    rospy.loginfo("campaign %s, results in %s", spec.name, out)
    with StopSignals() as stop:
        run_campaign(
            spec,
            out,
            chosen_executor(spec, out),
            make_workers=local_workers(workers),
            selection=selection,
            should_stop=stop,
        )
        if stop():
            raise SimulatorError("the campaign was stopped before its end; nothing was evaluated")
    return evaluate_gate(request)


def _output_directory(spec: CampaignSpec) -> Path:
    """Return ``~out``, or a new directory, because planners can change between two runs."""
    if parameters.read("out", str, ""):
        return output_directory(spec)
    return Path(tempfile.mkdtemp(prefix=f"gz_testauto_{spec.name}_"))


def _request(out: Path, selection: TrialSelection) -> GateRequest:
    """Return the request; ``selection`` is the part of the campaign that is expected."""
    base = parameters.read("baseline_planner", str, "")
    baseline = parameters.read_path("baseline", "")
    planners = _names("planner") or selection.planners or ()
    if baseline is None:
        planners = tuple(planner for planner in planners if planner != base)
    return GateRequest(
        out,
        baseline,
        planners,
        base,
        GateQuestions(
            _rate("not_worse_than"),
            _rate("min_success"),
            read_margins(_names("metrics")),
            parameters.read("alpha", float, 0.05),
        ),
        GateAllowances(
            parameters.read("allow_missing_worlds", int, 0),
            parameters.read("max_invalid", float, MAX_INVALID),
            _names("new_planners"),
            _names("removed_planners"),
        ),
        selection.worlds,
        parameters.read("ignore_differences", bool, False),
        option=_parameter_name,
    )


def _parameter_name(option: str) -> str:
    """Return ``~max_invalid`` for the command line's ``max-invalid``."""
    plural = {"new-planner": "~new_planners", "removed-planner": "~removed_planners"}
    return plural.get(option, "~" + option.replace("-", "_"))


def _names(name: str) -> Tuple[str, ...]:
    """Return the words of a parameter, separated by blanks or commas."""
    return tuple(parameters.read(name, str, "").replace(",", " ").split())


def _rate(name: str) -> Optional[float]:
    """Return the parameter; None if it is 0 or not set."""
    return parameters.read(name, float, 0.0) or None


def _write(xml: str) -> None:
    """Write the results to the file that rostest reads."""
    for argument in sys.argv:
        if argument.startswith(RESULT_FILE):
            path = Path(argument[len(RESULT_FILE) :])
            os.makedirs(path.parent, exist_ok=True)
            write_atomically(path, xml.encode("utf-8"))


def main() -> int:
    """Run the node."""
    return run_node("gate", start, own_signals=True)
