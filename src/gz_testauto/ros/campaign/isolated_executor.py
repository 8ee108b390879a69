"""Runs trials over ROS beside others of their kind: on a master and a simulator node of its own.

Owns the life of the process that has them, a :mod:`session <gz_testauto.ros.session>`: started
when the executor is opened, ended after an invalid trial, after one that was stopped, and when the
campaign ends. Speaks no ROS itself.
"""

import os
from pathlib import Path
from typing import Mapping, Optional

from gz_testauto.ros.campaign.session import IDENTITY, Parameter, Setting
from gz_testauto.ros.session import Session, new_log_directory
from gz_testauto.trial.executor import (
    SimulatorIdentity,
    StopRequest,
    TrialExecutor,
    TrialResult,
)
from gz_testauto.trial.plan import Trial
from gz_testauto.trial.setup import PreparedCampaign, require_builtin

SESSION = "gz_testauto.ros.campaign.session"


class IsolatedNodesExecutor(TrialExecutor):
    """Trials of one campaign, this package's planners in nodes of a ROS graph of their own."""

    def __init__(
        self,
        campaign: PreparedCampaign,
        log_directory: Path,
        simulator_parameters: Mapping[str, Parameter],
    ) -> None:
        """Start nothing yet. ``simulator_parameters`` are those of the simulator node, by their
        private names. Raises ``SpecError`` for a campaign on a stack of the user's own."""
        self._campaign = require_builtin(campaign)
        self._logs = log_directory
        self._parameters = dict(simulator_parameters)
        self._session: Optional[Session] = None
        self._identity: Optional[SimulatorIdentity] = None

    def open(self) -> None:
        """Start master and simulator node, and wait for them."""
        try:
            self._identity = self._required().ask(IDENTITY, lambda: False, self._silence_timeout_s)
        except BaseException:
            self.close()
            raise

    @property
    def identity(self) -> SimulatorIdentity:
        """What the simulator node says of its simulator."""
        assert self._identity is not None, "open comes first"
        return self._identity

    def execute(self, trial: Trial, should_stop: StopRequest) -> TrialResult:
        """Run one trial. See the interface."""
        try:
            result: TrialResult = self._required().ask(trial, should_stop, self._silence_timeout_s)
            return result
        except BaseException:
            self.close()
            raise

    def recover(self) -> None:
        """The next trial gets a new session."""
        self.close()

    def close(self) -> None:
        """End the session and everything that it started."""
        running, self._session = self._session, None
        if running is not None:
            running.close()

    def _required(self) -> Session:
        """The session that runs, or a new one."""
        if self._session is None:
            logs = new_log_directory(self._logs, f"worker_{os.getpid()}")
            setting = Setting(self._campaign, logs, self._parameters)
            self._session = Session(SESSION, setting, logs / "session.log")
        return self._session

    @property
    def _silence_timeout_s(self) -> float:
        """Wall time after which a session that comes to no end of a control period hangs."""
        return self._campaign.spec.limits.hang_timeout_s
