"""The ``campaign`` node, which runs a campaign over ROS, prints the final table and exits.

The exit status is 0 if all trials are done and valid, 1 if trials are missing or invalid, and 2 for
an error that the user must correct.
"""

import contextlib
import functools
import logging
import os
import signal
import sys
from pathlib import Path

import rospy

from gz_testauto.analysis.overview import analyze
from gz_testauto.base.errors import GzTestautoError
from gz_testauto.base.escaping import escape_text
from gz_testauto.base.installation import shell_command
from gz_testauto.campaign.runner import run_campaign
from gz_testauto.campaign.selection import load_failed
from gz_testauto.campaign.signals import StopSignals
from gz_testauto.campaign.simulator import chosen_executor
from gz_testauto.campaign.world_plugins import plugins_notice
from gz_testauto.report.page.page import write_final_page
from gz_testauto.report.sections import print_sections
from gz_testauto.report.table import closing_lines, print_report
from gz_testauto.ros.campaign.executor import RosTrialExecutor
from gz_testauto.ros.campaign.interface import CampaignNodeParameters
from gz_testauto.ros.campaign.isolated_executor import IsolatedNodesExecutor
from gz_testauto.ros.campaign.progress import ProgressPublisher
from gz_testauto.ros.node import read_parameters, run_node
from gz_testauto.ros.simulator.interface import RealTimeFactorParameters
from gz_testauto.spec.campaign import CampaignSpec, StackCampaignSpec
from gz_testauto.workers.interface import ExecutorFactory
from gz_testauto.workers.processes import local_workers

NODE_LOGS = "logs"

# wall time in which roslaunch must stop this node after the campaign has succeeded
ROSLAUNCH_STOPS_S = 15.0


def _print_stopping() -> None:
    # Logging by rospy could deadlock in a signal handler.
    os.write(sys.stderr.fileno(), b"stopping; run the same command to continue\n")


def start() -> int:
    logging.getLogger("gz_testauto").setLevel(logging.ERROR)  # the listener logs the same notices
    parameters = read_parameters(CampaignNodeParameters)
    spec = parameters.load()
    out = parameters.results_directory(spec)
    failed_in = None if parameters.failed_of is None else load_failed(parameters.failed_of, out)
    listener = ProgressPublisher(spec)
    rospy.loginfo("campaign %s, results in %s", spec.name, out)
    notice = plugins_notice(spec)
    if notice:
        rospy.logwarn("%s", notice)
    with StopSignals(_print_stopping) as stop:
        try:
            results = run_campaign(
                spec,
                out,
                _make_executor_factory(spec, out, stop, parameters),
                make_workers=local_workers(parameters.workers),
                selection=parameters.selection,
                failed_in=failed_in,
                retry_invalid=parameters.retry_invalid,
                listener=listener,
                should_stop=stop,
            )
        except GzTestautoError as error:
            listener.failed(str(error))
            raise
    print_report(analyze(results))
    print_sections(out, results)
    if not stop():
        for line in write_final_page(out):
            print(escape_text(line), flush=True)
    for line in closing_lines(results, out, shell_command()):
        print(line, flush=True)
    return 1 if stop() or results.invalid else 0


def _make_executor_factory(
    spec: CampaignSpec, out: Path, stop: StopSignals, parameters: CampaignNodeParameters
) -> ExecutorFactory:
    # With several workers, and for stacks, the planners use separate masters.
    if isinstance(spec, StackCampaignSpec):
        return chosen_executor(spec, out)
    logs = out / NODE_LOGS
    if parameters.workers == 1:
        return functools.partial(RosTrialExecutor, log_directory=logs, should_stop=stop)
    return functools.partial(
        IsolatedNodesExecutor,
        log_directory=logs.absolute(),
        simulator_parameters={
            "campaign": str(parameters.campaign),
            **parameters.model_dump(include={"simulator", *RealTimeFactorParameters.model_fields}),
        },
    )


def main() -> int:
    status = run_node("campaign", start, own_signals=True)
    if status == 0:
        _stop_roslaunch()
    return status


def _stop_roslaunch() -> None:
    # If this node exited first, roslaunch would report a success in red, as the death of a required
    # process.
    launcher = os.getppid()
    with contextlib.suppress(OSError):
        command = Path(f"/proc/{launcher}/cmdline").read_bytes().split(b"\0")
        if b"roslaunch" in (os.path.basename(word) for word in command[:2]):
            stops = {signal.SIGINT, signal.SIGTERM}
            signal.pthread_sigmask(signal.SIG_BLOCK, stops)
            os.kill(launcher, signal.SIGINT)
            signal.sigtimedwait(stops, ROSLAUNCH_STOPS_S)
