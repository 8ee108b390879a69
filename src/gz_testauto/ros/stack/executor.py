"""Executor of trials on the user's stack, in a :mod:`session <gz_testauto.ros.session>`."""
# No import of rospy at module level: one process runs many sessions in succession.

import shutil
from functools import partial
from pathlib import Path
from typing import Optional, Tuple

from gz_testauto.base import resources
from gz_testauto.base.errors import MissingDependencyError, SpecError
from gz_testauto.base.xml_file import read_xml
from gz_testauto.metrics.interface import METRICS
from gz_testauto.metrics.reported import REPORTED
from gz_testauto.ros.master import start_master
from gz_testauto.ros.session import (
    ProgressCallback,
    RequestHandler,
    Session,
    SessionExecutor,
    new_log_directory,
)
from gz_testauto.spec.campaign import StackCampaignSpec
from gz_testauto.trial.executor import SimulatorIdentity, StopRequest, TrialResult
from gz_testauto.trial.launch_files import check_launches
from gz_testauto.trial.testbed import StackTestBed, TestBed, require_stack
from gz_testauto.trial.trial import Trial

PACKAGES = {"rosrun": "rosbash"}  # Debian packages of ROS commands in packages of another name
BAG_COMMANDS = ("rosrun", "rosbag")
SLACK_S = 30.0  # time that a session can exceed its longest wait before it counts as hung


class StackExecutor(SessionExecutor):
    """An executor of a campaign with ``stack``. Logs are in ``out/logs``, bags in ``out/bags``."""

    def __init__(self, bed: TestBed, out: Path) -> None:
        """Validate the campaign without starting a process.

        Raises ``SpecError`` for invalid launch files, and ``MissingDependencyError`` without ROS.
        """
        self._bed = require_stack(bed)
        spec = self._bed.spec
        _require_ros(spec)
        check_launches(spec)
        self._stack = spec.stack
        self._logs, self._bags = out / "logs", out / "bags"

    def open(self) -> None:
        """Do nothing; the first trial starts the session."""

    @property
    def identity(self) -> SimulatorIdentity:
        simulator = self._stack.simulator
        return SimulatorIdentity(f"stack {simulator.named}", _package_version(simulator.package))

    def execute(self, trial: Trial, should_stop: StopRequest) -> TrialResult:
        try:
            result: TrialResult = self._request(trial, should_stop)
            return result
        finally:
            if self._stack.run == "fresh":
                self.close()

    def _start_session(self, request: Trial) -> Session:
        logs = new_log_directory(self._logs, request.label)
        start = partial(start_stack_session, self._bed, logs, self._bags)
        return Session(start, logs / "session.log")

    @property
    def _silence_timeout_s(self) -> float:
        limits = self._bed.spec.limits
        return SLACK_S + max(limits.stall_timeout_s, 3 * self._stack.start_timeout_s)


def start_stack_session(
    bed: StackTestBed, logs: Path, bags: Path, report: ProgressCallback
) -> RequestHandler:
    """Start a ROS master and a node. Return the function that runs a trial."""
    home = logs / "ros_home"
    core = start_master(home, logs, bed.spec.stack.start_timeout_s)
    import rospy  # after start_master has set the environment

    try:
        from gz_testauto.ros.stack.trial import StackTrialRunner
    except ImportError as error:
        core.close()
        package = (error.name or "").partition(".")[0]
        if not package or package == "gz_testauto":
            raise
        raise MissingDependencyError(
            f"the ROS package {package} for Python is missing, but a campaign with the key 'stack' "
            f"needs it ({error}); install or build it, and source its workspace's setup.bash in "
            "this shell"
        ) from error

    rospy.set_param("/use_sim_time", True)
    rospy.init_node("gz_testauto_trial", disable_signals=True)
    return StackTrialRunner(bed, logs, bags, home, core, report).execute


def _require_ros(spec: StackCampaignSpec) -> None:
    """Raise ``MissingDependencyError`` if a ROS command is missing.

    Raises ``SpecError`` if a metric of the stack has the name of another metric.
    """
    for metric in spec.stack.metrics:
        if metric.name in REPORTED or metric.name in METRICS.names():
            raise SpecError(
                f"stack.metrics: {metric.name} is the name of a built-in metric; use another name"
            )
    for command in commands_of(spec):
        if shutil.which(command) is None:
            key = "stack.bag" if command in BAG_COMMANDS else "stack"
            raise MissingDependencyError(
                f"a campaign with the key {key!r} needs {command} of ROS, which is not on PATH; "
                f"{remedy_for(command)}"
            )


def commands_of(spec: StackCampaignSpec) -> Tuple[str, ...]:
    return ("roscore", "roslaunch", *(BAG_COMMANDS if spec.stack.bag else ()))


def remedy_for(command: str) -> str:
    if shutil.which("roslaunch") is None:
        return (
            "source the setup.bash of your workspace, or use ./bootstrap exec gz_testauto run ..."
        )
    debian = PACKAGES.get(command, f"python3-{command}")
    return f"install {debian} (Debian), or ros-noetic-{debian.replace('python3-', '')} (Noetic)"


def _package_version(package: Optional[str]) -> str:
    if package is None:
        return ""
    manifest = resources.resolve(f"package://{package}", Path()) / "package.xml"
    return (read_xml(manifest).findtext("version") or "").strip()
