"""The ``campaign`` node: runs a campaign over ROS and ends.

Owns the two signals and the final table; the runner, the store and the report
are those of ``gz_testauto run``. The exit status is 0 when every trial is done, 1 when some
remain, 2 for what a user has to mend. ``docs/ros.md`` lists every parameter.
"""

import logging
import os
import sys

import rospy

from gz_testauto.campaign.runner import run_campaign
from gz_testauto.campaign.stopping import StopSignals
from gz_testauto.errors import GzTestautoError
from gz_testauto.report.table import print_report
from gz_testauto.ros.campaign_progress import ProgressPublisher
from gz_testauto.ros.campaign_settings import output_directory, read_campaign, read_selection
from gz_testauto.ros.node import run_node
from gz_testauto.ros.trial_executor import RosTrialExecutor

NODE_LOGS = "logs"
"""Folder in the results directory for what the planner nodes print."""


def _say_stopping() -> None:
    """Told from a signal handler, where rospy's logging could wait for a lock that we hold."""
    os.write(sys.stderr.fileno(), b"stopping; the same command continues\n")


def start() -> int:
    """Run the campaign that the parameters describe to its end."""
    logging.getLogger("gz_testauto").setLevel(logging.ERROR)  # the listener tells the same
    spec = read_campaign()
    out = output_directory(spec)
    listener = ProgressPublisher(spec)
    rospy.loginfo("campaign %s, results in %s", spec.name, out)
    with StopSignals(_say_stopping) as stop:
        try:
            results = run_campaign(
                spec,
                out,
                lambda campaign: RosTrialExecutor(campaign, out / NODE_LOGS, stop),
                selection=read_selection(),
                listener=listener,
                should_stop=stop,
            )
        except GzTestautoError as error:
            listener.failed(str(error))
            raise
    print_report(results)
    print(f"Results: {out}", flush=True)
    return 1 if stop() else 0


def main() -> int:
    """Entry point of the script."""
    return run_node("campaign", start, own_signals=True)
