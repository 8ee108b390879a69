"""The ``gate`` node: runs a campaign and judges it, as a test that rostest starts.

Owns the parameters and the file of results; the campaign is run as by ``gz_testauto run`` and
judged as by ``gz_testauto gate``. The exit status is 0 when the gate passes, 1 when the planner is
worse, 2 when that cannot be said. ``docs/ros.md`` lists every parameter.
"""

import os
import sys
import tempfile
from pathlib import Path
from typing import Optional

import rospy

from gz_testauto.analysis.decisions.gate import Rules, overall
from gz_testauto.analysis.decisions.gate_request import (
    GateRequest,
    Judged,
    judge_request,
    read_margins,
)
from gz_testauto.campaign.executors import chosen_executor
from gz_testauto.campaign.runner import run_campaign
from gz_testauto.campaign.signals import StopSignals
from gz_testauto.errors import GzTestautoError, SimulatorError, SpecError
from gz_testauto.printable import printable
from gz_testauto.report.gate import (
    EXIT_STATUS,
    error_to_junit,
    reason,
    sorted_by_verdict,
    to_junit,
)
from gz_testauto.results.directory import write_atomically
from gz_testauto.ros import parameters
from gz_testauto.ros.campaign_parameters import output_directory, read_campaign, read_selection
from gz_testauto.ros.node import run_node
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.workers.processes import local_workers

RESULT_FILE = "--gtest_output=xml:"
"""What rostest puts before the path of the file that a test leaves."""


def start() -> int:
    """Run the campaign and judge it."""
    name = rospy.get_name().strip("/")
    try:
        judged = _judge()
    except GzTestautoError as error:
        _write(error_to_junit(name, error.full))
        raise
    for answer in sorted_by_verdict(judged.answers):
        print(printable(reason(answer)), flush=True)
    _write(to_junit(name, judged.campaign, judged.answers))
    return EXIT_STATUS[overall(judged.answers)]


def _judge() -> Judged:
    spec = read_campaign(on_stack=parameters.read("stack", bool, False))
    out = _output_directory(spec)
    request = _request(out)
    workers = parameters.read("workers", int, 1)
    if workers < 1:
        raise SpecError(f"parameter {rospy.resolve_name('~workers')} is {workers}; give 1 or more")
    rospy.loginfo("campaign %s, results in %s", spec.name, out)
    with StopSignals() as stop:
        run_campaign(
            spec,
            out,
            chosen_executor(spec, out),
            make_workers=local_workers(workers),
            selection=read_selection(),
            should_stop=stop,
        )
        if stop():
            raise SimulatorError("the campaign was stopped before its end; nothing was judged")
    return judge_request(request)


def _output_directory(spec: CampaignSpec) -> Path:
    """``~out``; a new directory each time unless it is set, as planners may change between."""
    if parameters.read("out", str, ""):
        return output_directory(spec)
    return Path(tempfile.mkdtemp(prefix=f"gz_testauto_{spec.name}_"))


def _request(out: Path) -> GateRequest:
    baseline = parameters.read_path("baseline", "")
    return GateRequest(
        out,
        baseline,
        parameters.read("planner", str, ""),
        parameters.read("baseline_planner", str, ""),
        Rules(
            _rate("not_worse_than"),
            _rate("min_success"),
            read_margins(parameters.read("metrics", str, "").replace(",", " ").split()),
            parameters.read("alpha", float, 0.05),
        ),
    )


def _rate(name: str) -> Optional[float]:
    """The parameter, None where it is 0 or not set."""
    return parameters.read(name, float, 0.0) or None


def _write(xml: str) -> None:
    """Leave the results where rostest looks for them."""
    for argument in sys.argv:
        if argument.startswith(RESULT_FILE):
            path = Path(argument[len(RESULT_FILE) :])
            os.makedirs(path.parent, exist_ok=True)
            write_atomically(path, xml.encode("utf-8"))


def main() -> int:
    """Entry point of the script."""
    return run_node("gate", start, own_signals=True)
