"""The ``campaign`` node: runs a campaign over ROS and ends.

Owns the two signals and the final table; the runner, the store and the report
are those of ``gz_testauto run``. The exit status is 0 when every trial is done and valid, 1 when
some remain or are invalid, 2 for what a user has to mend. ``docs/ros.md`` lists every parameter.
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
"""Folder in the results directory for what the planner nodes print."""


def _say_stopping() -> None:
    """Told from a signal handler, where rospy's logging could wait for a lock that we hold."""
    os.write(sys.stderr.fileno(), b"stopping; the same command continues\n")


def start() -> int:
    """Run the campaign that the parameters describe to its end."""
    logging.getLogger("gz_testauto").setLevel(logging.ERROR)  # the listener tells the same
    spec = read_campaign(on_stack=parameters.read("stack", bool, False))
    out = output_directory(spec)
    listener = ProgressPublisher(spec)
    rospy.loginfo("campaign %s, results in %s", spec.name, out)
    workers = _worker_count()
    notice = plugins_notice(spec)
    if notice:
        rospy.logwarn("%s", notice)
    with StopSignals(_say_stopping) as stop:
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
    """This package's planners drive on this master where one trial runs at a time, otherwise each
    worker on a master of its own; a stack has masters of its own anyway."""
    if isinstance(spec, StackCampaignSpec):
        return chosen_executor(spec, out)
    logs = out / NODE_LOGS
    if workers == 1:
        return functools.partial(RosTrialExecutor, log_directory=logs, should_stop=stop)
    return functools.partial(
        IsolatedNodesExecutor, log_directory=logs.absolute(), simulator_parameters=_for_simulators()
    )


def _for_simulators() -> Dict[str, Parameter]:
    """What the simulator nodes of workers are to be told, as ``campaign.launch`` tells its one."""
    path = parameters.read_path("campaign")
    return {
        "campaign": str(path),
        "simulator": parameters.read("simulator", str, ""),
        "pace": rospy.get_param("~pace", HOLD),
        "hold_timeout": parameters.read("hold_timeout", float, HOLD_TIMEOUT_S),
        "start_timeout": parameters.read("start_timeout", float, START_TIMEOUT_S),
    }


def _worker_count() -> int:
    count = parameters.read("workers", int, 1)
    if count < 1:
        raise SpecError(f"parameter {rospy.resolve_name('~workers')} is {count}; give 1 or more")
    return count


def main() -> int:
    """Entry point of the script."""
    return run_node("campaign", start, own_signals=True)
