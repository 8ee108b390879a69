"""Executor of trials over ROS for several workers: each has its own master and simulator node.

Both run in a :mod:`session <gz_testauto.ros.session>`. It starts when the executor is opened, and
is closed after an invalid trial, after a stopped trial, and at the end of the campaign. This module
does not use rospy.
"""

import os
from pathlib import Path
from typing import Mapping, Optional

from gz_testauto.ros.campaign.session import IDENTITY, NodeSessionSettings, Parameter
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
    """Runs trials of one campaign, with this package's planners as nodes in a separate graph."""

    def __init__(
        self,
        campaign: PreparedCampaign,
        log_directory: Path,
        simulator_parameters: Mapping[str, Parameter],
    ) -> None:
        """Store the arguments; no process starts. ``simulator_parameters`` are the simulator
        node's private parameters. Raises ``SpecError`` for a campaign on a navigation stack."""
        self._campaign = require_builtin(campaign)
        self._logs = log_directory
        self._parameters = dict(simulator_parameters)
        self._session: Optional[Session] = None
        self._identity: Optional[SimulatorIdentity] = None

    def open(self) -> None:
        """Start the master and the simulator node, and wait until they are ready."""
        try:
            self._identity = self._running_session().request(
                IDENTITY, lambda: False, self._silence_timeout_s
            )
        except BaseException:
            self.close()
            raise

    @property
    def identity(self) -> SimulatorIdentity:
        """The simulator's name and version, as reported by the simulator node."""
        assert self._identity is not None, "call open first"
        return self._identity

    def execute(self, trial: Trial, should_stop: StopRequest) -> TrialResult:
        """Run one trial, as the interface describes."""
        try:
            result: TrialResult = self._running_session().request(
                trial, should_stop, self._silence_timeout_s
            )
            return result
        except BaseException:
            self.close()
            raise

    def recover(self) -> None:
        """Close the session; the next trial starts a new one."""
        self.close()

    def close(self) -> None:
        """End the session and all processes that it started."""
        running, self._session = self._session, None
        if running is not None:
            running.close()

    def _running_session(self) -> Session:
        """Return the running session, or start one."""
        if self._session is None:
            logs = new_log_directory(self._logs, f"worker_{os.getpid()}")
            settings = NodeSessionSettings(self._campaign, logs, self._parameters)
            self._session = Session(SESSION, settings, logs / "session.log")
        return self._session

    @property
    def _silence_timeout_s(self) -> float:
        """Wall time without a finished control period after which the session counts as hung."""
        return self._campaign.spec.limits.hang_timeout_s
