"""Trials on the user's own stack, each in a process that has a ROS master of its own.

Owns the life of that process (a *session*): started before the first trial, ended after every
trial of a fresh run, after an invalid one, and when the campaign ends. Speaks no ROS itself, so
that one process may run many sessions, one after the other. A session that dies, or says nothing
for too long, costs one attempt.
"""

import logging
import multiprocessing
import shutil
import sys
import time
from pathlib import Path
from typing import Optional

from gz_testauto import resources
from gz_testauto.errors import MissingDependencyError, SimulatorError, SpecError
from gz_testauto.metrics.interface import METRICS
from gz_testauto.metrics.reported import REPORTED
from gz_testauto.ros.stack.launched_process import LaunchedProcess
from gz_testauto.ros.stack.protocol import BUG, DOING, ERROR, RESULT, CannotSwap, Setting
from gz_testauto.spec.campaign import StackCampaignSpec
from gz_testauto.trial.executor import (
    SimulatorIdentity,
    StopRequest,
    TrialExecutor,
    TrialResult,
    TrialStopped,
)
from gz_testauto.trial.launch_files import check_launches
from gz_testauto.trial.plan import Trial
from gz_testauto.trial.setup import PreparedCampaign, require_stack
from gz_testauto.xml_file import read_xml

LOGGER = logging.getLogger(__name__)
POLL_S = 0.05
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
        self._session: Optional[_Session] = None

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
                    return self._session.execute(trial, should_stop, self._silence_timeout_s())
                except CannotSwap as error:
                    LOGGER.warning("%s: everything is started again: %s", trial.label, error)
                    self.close()
            self._session = _Session(
                Setting(self._campaign, self._log_directory(trial), self._bags)
            )
            return self._session.execute(trial, should_stop, self._silence_timeout_s())
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

    def _log_directory(self, trial: Trial) -> Path:
        """A new one, named for the trial with which its session begins."""
        directory, number = self._logs / trial.label, 1
        while directory.exists():
            number += 1
            directory = self._logs / f"{trial.label}.{number}"
        return directory

    def _silence_timeout_s(self) -> float:
        """Wall time after which a session that says nothing hangs."""
        limits = self._campaign.spec.limits
        return SLACK_S + max(limits.stall_timeout_s, 3 * self._stack.start_timeout_s)


class _Session:
    """A process running :mod:`~gz_testauto.ros.stack.session`, as its owner sees it."""

    def __init__(self, setting: Setting) -> None:
        self._connection, theirs = multiprocessing.Pipe()
        command = [sys.executable, "-m", "gz_testauto.ros.stack.session", str(theirs.fileno())]
        self._part = LaunchedProcess(
            "the trial's process", command, setting.logs / "session.log", pass_fds=[theirs.fileno()]
        )
        theirs.close()
        self._connection.send(setting)

    def execute(
        self, trial: Trial, should_stop: StopRequest, silence_timeout_s: float
    ) -> TrialResult:
        """Have a trial run, and wait for its end."""
        doing, heard_s = "starting", time.monotonic()
        try:
            self._connection.send(trial)
            while True:
                if should_stop():
                    raise TrialStopped
                if not self._connection.poll(POLL_S):
                    if time.monotonic() - heard_s > silence_timeout_s:
                        raise SimulatorError(
                            f"the trial hung for {silence_timeout_s:g} s while {doing}; its logs "
                            f"are in {self._part.log_file.parent}"
                        )
                    continue
                kind, value = self._connection.recv()
                heard_s = time.monotonic()
                if kind == DOING:
                    doing = value
                elif kind == RESULT:
                    return value
                elif kind == ERROR:
                    raise value
                elif kind == BUG:
                    raise RuntimeError(f"in the trial's process:\n{value}")
        except (EOFError, ConnectionError) as error:
            raise SimulatorError(self._died(doing)) from error

    def close(self) -> None:
        """End the process and all that it started."""
        self._connection.close()
        self._part.close()

    def _died(self, doing: str) -> str:
        deadline = time.monotonic() + 5.0
        while not self._part.trouble() and time.monotonic() < deadline:
            time.sleep(POLL_S)
        return f"{self._part.trouble() or 'the trial lost its process'}, while {doing}"


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
