"""The ``campaign`` node: runs a campaign over ROS and exits.

Handles the two signals and prints the final table; runner, store and report are those of
``gz_testauto run``. The exit status is 0 if every trial is done and valid, 1 if some are missing or
invalid, 2 for an error that the user must correct. ``docs/ros.md`` lists every parameter.
"""

import functools
import logging
import os
import sys
from pathlib import Path
from typing import Dict

import rospy

from gz_testauto.analysis.overview import analyze
from gz_testauto.base.errors import GzTestautoError, SpecError
from gz_testauto.base.escaping import escape_text
from gz_testauto.campaign.executors import chosen_executor
from gz_testauto.campaign.runner import run_campaign
from gz_testauto.campaign.signals import StopSignals
from gz_testauto.campaign.world_plugins import plugins_notice
from gz_testauto.report.page.page import write_final_page
from gz_testauto.report.table import print_report
from gz_testauto.ros import parameters
from gz_testauto.ros.campaign.executor import RosTrialExecutor
from gz_testauto.ros.campaign.isolated_executor import IsolatedNodesExecutor
from gz_testauto.ros.campaign.progress import ProgressPublisher
from gz_testauto.ros.campaign.session import Parameter
from gz_testauto.ros.campaign_parameters import output_directory, read_campaign, read_selection
from gz_testauto.ros.node import run_node
from gz_testauto.ros.simulator.pace import HOLD, HOLD_TIMEOUT_S, START_TIMEOUT_S
from gz_testauto.spec.campaign import CampaignSpec, StackCampaignSpec
from gz_testauto.workers.interface import ExecutorFactory
from gz_testauto.workers.processes import local_workers

NODE_LOGS = "logs"
"""Folder in the results directory for the output of the planner nodes."""


def _print_stopping() -> None:
    """Print from a signal handler, in which rospy's logging could deadlock."""
    os.write(sys.stderr.fileno(), b"stopping; run the same command to continue\n")


def start() -> int:
    """Run the campaign of the parameters and return the exit status."""
    logging.getLogger("gz_testauto").setLevel(logging.ERROR)  # the listener reports the same
    spec = read_campaign(on_stack=parameters.read("stack", bool, False))
    out = output_directory(spec)
    listener = ProgressPublisher(spec)
    rospy.loginfo("campaign %s, results in %s", spec.name, out)
    workers = _worker_count()
    notice = plugins_notice(spec)
    if notice:
        rospy.logwarn("%s", notice)
    with StopSignals(_print_stopping) as stop:
        try:
            results = run_campaign(
                spec,
                out,
                _executor(spec, out, stop, workers),
                make_workers=local_workers(workers),
                selection=read_selection(),
                retry_invalid=parameters.read("retry_invalid", bool, False),
                listener=listener,
                should_stop=stop,
            )
        except GzTestautoError as error:
            listener.failed(str(error))
            raise
    print_report(analyze(results))
    if not stop():
        for line in write_final_page(out):
            print(escape_text(line), flush=True)
    print(f"Results: {out}", flush=True)
    return 1 if stop() or results.invalid else 0


def _executor(spec: CampaignSpec, out: Path, stop: StopSignals, workers: int) -> ExecutorFactory:
    """Return the executor: this package's planners use the present master if one trial runs at a
    time, and one master per worker otherwise; a stack always has its own masters."""
    if isinstance(spec, StackCampaignSpec):
        return chosen_executor(spec, out)
    logs = out / NODE_LOGS
    if workers == 1:
        return functools.partial(RosTrialExecutor, log_directory=logs, should_stop=stop)
    return functools.partial(
        IsolatedNodesExecutor,
        log_directory=logs.absolute(),
        simulator_parameters=_simulator_parameters(),
    )


def _simulator_parameters() -> Dict[str, Parameter]:
    """Return the parameters of the workers' simulator nodes, as ``campaign.launch`` sets them."""
    path = parameters.read_path("campaign")
    return {
        "campaign": str(path),
        "simulator": parameters.read("simulator", str, ""),
        "real_time_factor": rospy.get_param("~real_time_factor", HOLD),
        "command_timeout": parameters.read("command_timeout", float, HOLD_TIMEOUT_S),
        "start_timeout": parameters.read("start_timeout", float, START_TIMEOUT_S),
    }


def _worker_count() -> int:
    count = parameters.read("workers", int, 1)
    if count < 1:
        raise SpecError(f"parameter {rospy.resolve_name('~workers')} is {count}; it must be >= 1")
    return count


def main() -> int:
    """Run the node; the entry point of the script."""
    return run_node("campaign", start, own_signals=True)
