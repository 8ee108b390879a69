"""Executor of trials on the user's stack: each runs in a process with its own ROS master.

The process is a :mod:`session <gz_testauto.ros.session>`. It starts before the first trial, and is
closed after each trial of a fresh run, after an invalid trial, and at the end of the campaign. This
module does not use rospy, so one process can run many sessions in succession. A session that exits
or hangs costs one attempt.
"""

import logging
import shutil
from pathlib import Path
from typing import NamedTuple, Optional

from gz_testauto.base import resources
from gz_testauto.base.errors import MissingDependencyError, SimulatorError, SpecError
from gz_testauto.base.xml_file import read_xml
from gz_testauto.metrics.interface import METRICS
from gz_testauto.metrics.reported import REPORTED
from gz_testauto.ros.session import Session, new_log_directory
from gz_testauto.spec.campaign import StackCampaignSpec
from gz_testauto.trial.executor import (
    SimulatorIdentity,
    StopRequest,
    TrialExecutor,
    TrialResult,
)
from gz_testauto.trial.launch_files import check_launches
from gz_testauto.trial.plan import Trial
from gz_testauto.trial.setup import PreparedCampaign, PreparedStack, require_stack

LOGGER = logging.getLogger(__name__)
SESSION = "gz_testauto.ros.stack.session"
SLACK_S = 30.0
"""Added to the longest wait of a session before it counts as hung."""


class WorldUpdateError(SimulatorError):
    """The running stack cannot be prepared for the next trial, but a restarted one can."""


class StackSessionSettings(NamedTuple):
    """The settings that a session receives first."""

    campaign: PreparedStack
    logs: Path
    bags: Path


class StackExecutor(TrialExecutor):
    """Runs trials of a campaign with ``stack``; logs are in ``out/logs``, bags in ``out/bags``."""

    def __init__(self, campaign: PreparedCampaign, out: Path) -> None:
        """Validate the campaign; no process starts. Raises ``SpecError`` for a campaign of this
        package's planners, and for launch files that do not exist or do not declare their
        arguments, and ``MissingDependencyError`` without ROS."""
        self._campaign = require_stack(campaign)
        spec = self._campaign.spec
        _require_ros(spec)
        check_launches(spec)
        self._stack = spec.stack
        self._logs, self._bags = out / "logs", out / "bags"
        self._session: Optional[Session] = None

    def open(self) -> None:
        """Do nothing: the first trial starts the session."""

    @property
    def identity(self) -> SimulatorIdentity:
        """The launch file of the simulator, and the version of its package."""
        simulator = self._stack.simulator
        return SimulatorIdentity(f"stack {simulator.named}", _package_version(simulator.package))

    def execute(self, trial: Trial, should_stop: StopRequest) -> TrialResult:
        """Run one trial, as the interface describes."""
        try:
            if self._session is not None:
                try:
                    return self._run(trial, should_stop)
                except WorldUpdateError as error:
                    LOGGER.warning("%s: the stack is restarted: %s", trial.label, error)
                    self.close()
            logs = new_log_directory(self._logs, trial.label)
            settings = StackSessionSettings(self._campaign, logs, self._bags)
            self._session = Session(SESSION, settings, logs / "session.log")
            return self._run(trial, should_stop)
        except BaseException:
            self.close()
            raise
        finally:
            if self._stack.run == "fresh":
                self.close()

    def recover(self) -> None:
        """Close the session; the next trial starts a new one."""
        self.close()

    def close(self) -> None:
        """End the session and all processes that it started."""
        session, self._session = self._session, None
        if session is not None:
            session.close()

    def _run(self, trial: Trial, should_stop: StopRequest) -> TrialResult:
        assert self._session is not None
        result: TrialResult = self._session.request(trial, should_stop, self._silence_timeout_s())
        return result

    def _silence_timeout_s(self) -> float:
        """Return the wall time without a report after which a session counts as hung."""
        limits = self._campaign.spec.limits
        return SLACK_S + max(limits.stall_timeout_s, 3 * self._stack.start_timeout_s)


def _require_ros(spec: StackCampaignSpec) -> None:
    """Raise ``MissingDependencyError`` if a command that trials need is missing, and ``SpecError``
    if the name of a metric is already used."""
    for metric in spec.stack.metrics:
        if metric.name in REPORTED or metric.name in METRICS.names():
            raise SpecError(f"stack.metrics: the metric {metric.name} exists; use another name")
    for command in ("roscore", "roslaunch", *(["rosrun", "rosbag"] if spec.stack.bag else [])):
        if shutil.which(command) is None:
            raise MissingDependencyError(
                f"a campaign with stack needs ROS, but {command} is not on PATH: source the "
                "setup.bash of your workspace, or use ./bootstrap exec gz_testauto run ..."
            )


def _package_version(package: Optional[str]) -> str:
    """Return the version in the package's manifest; empty for a launch file outside a package."""
    if package is None:
        return ""
    manifest = resources.resolve(f"package://{package}", Path()) / "package.xml"
    return (read_xml(manifest).findtext("version") or "").strip()
