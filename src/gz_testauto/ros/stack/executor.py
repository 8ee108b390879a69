"""Trials on the user's own stack, each in a process that has a ROS master of its own.

Owns the life of that process, a :mod:`session <gz_testauto.ros.session>`: started before the first
trial, ended after every trial of a fresh run, after an invalid one, and when the campaign ends.
Speaks no ROS itself, so that one process may run many sessions, one after the other. A session
that dies, or says nothing for too long, costs one attempt.
"""

import logging
import shutil
from pathlib import Path
from typing import Optional

from gz_testauto.base import resources
from gz_testauto.base.errors import MissingDependencyError, SpecError
from gz_testauto.base.xml_file import read_xml
from gz_testauto.metrics.interface import METRICS
from gz_testauto.metrics.reported import REPORTED
from gz_testauto.ros.session import Session, new_log_directory
from gz_testauto.ros.stack.protocol import CannotSwap, StackSessionSettings
from gz_testauto.spec.campaign import StackCampaignSpec
from gz_testauto.trial.executor import (
    SimulatorIdentity,
    StopRequest,
    TrialExecutor,
    TrialResult,
)
from gz_testauto.trial.launch_files import check_launches
from gz_testauto.trial.plan import Trial
from gz_testauto.trial.setup import PreparedCampaign, require_stack

LOGGER = logging.getLogger(__name__)
SESSION = "gz_testauto.ros.stack.session"
SLACK_S = 30.0
"""Added to the limits of what a session waits for, before it counts as hanging."""


class StackExecutor(TrialExecutor):
    """Runs trials of a campaign with ``stack``; logs go to ``out/logs``, bags to
    ``out/bags``."""

    def __init__(self, campaign: PreparedCampaign, out: Path) -> None:
        """Start nothing yet. Raises ``SpecError`` for a campaign of this package's planners, and
        for launch files that are not there, or do not take their arguments, and
        ``MissingDependencyError`` without ROS."""
        self._campaign = require_stack(campaign)
        spec = self._campaign.spec
        _require_ros(spec)
        check_launches(spec)
        self._stack = spec.stack
        self._logs, self._bags = out / "logs", out / "bags"
        self._session: Optional[Session] = None

    def open(self) -> None:
        """Nothing runs between trials that a trial could find harmed."""

    @property
    def identity(self) -> SimulatorIdentity:
        """The launch that starts the simulator, and the version of its package."""
        simulator = self._stack.simulator
        return SimulatorIdentity(f"stack {simulator.named}", _package_version(simulator.package))

    def execute(self, trial: Trial, should_stop: StopRequest) -> TrialResult:
        """Run one trial. See the interface."""
        try:
            if self._session is not None:
                try:
                    return self._run(trial, should_stop)
                except CannotSwap as error:
                    LOGGER.warning("%s: everything is started again: %s", trial.label, error)
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
        """The next trial gets a new session."""
        self.close()

    def close(self) -> None:
        """End the session and everything that it started."""
        session, self._session = self._session, None
        if session is not None:
            session.close()

    def _run(self, trial: Trial, should_stop: StopRequest) -> TrialResult:
        assert self._session is not None
        result: TrialResult = self._session.request(trial, should_stop, self._silence_timeout_s())
        return result

    def _silence_timeout_s(self) -> float:
        """Wall time after which a session that says nothing hangs."""
        limits = self._campaign.spec.limits
        return SLACK_S + max(limits.stall_timeout_s, 3 * self._stack.start_timeout_s)


def _require_ros(spec: StackCampaignSpec) -> None:
    """Raise ``MissingDependencyError`` where a command is missing that trials will need, and
    ``SpecError`` for a metric that bears the name of another."""
    for metric in spec.stack.metrics:
        if metric.name in REPORTED or metric.name in METRICS.names():
            raise SpecError(f"stack.metrics: {metric.name} is a metric already; name it otherwise")
    for command in ("roscore", "roslaunch", *(["rosrun", "rosbag"] if spec.stack.bag else [])):
        if shutil.which(command) is None:
            raise MissingDependencyError(
                f"a campaign with stack needs ROS, and there is no {command} on PATH: source the "
                "setup.bash of your workspace, or use ./bootstrap exec gz_testauto run ..."
            )


def _package_version(package: Optional[str]) -> str:
    """What the package's manifest says; empty for a launch file outside of packages."""
    if package is None:
        return ""
    manifest = resources.resolve(f"package://{package}", Path()) / "package.xml"
    return (read_xml(manifest).findtext("version") or "").strip()
