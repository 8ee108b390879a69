"""Executor of trials over ROS for several workers, each with a separate master and simulator node.

The nodes of a worker run in a :mod:`session <gz_testauto.ros.session>`, so this module does not
import rospy.
"""

import os
import sys
from functools import partial
from pathlib import Path
from typing import Mapping, Optional, Union

from gz_testauto.base.errors import MasterError, SimulatorError
from gz_testauto.ros.launched_process import LaunchedProcess
from gz_testauto.ros.master import start_master
from gz_testauto.ros.session import (
    ProgressCallback,
    RequestHandler,
    Session,
    SessionExecutor,
    new_log_directory,
)
from gz_testauto.trial.executor import SimulatorIdentity, StopRequest, TrialResult
from gz_testauto.trial.testbed import BuiltinTestBed, TestBed, require_builtin
from gz_testauto.trial.trial import Trial

MASTER_TIMEOUT_S = 60.0
SIMULATOR = "/simulator"
IDENTITY = "identity"  # request to which a session responds with the simulator's identity

Parameter = Union[str, float, int, bool]


class IsolatedNodesExecutor(SessionExecutor):
    def __init__(
        self,
        bed: TestBed,
        log_directory: Path,
        simulator_parameters: Mapping[str, Parameter],
    ) -> None:
        self._bed = require_builtin(bed)
        self._logs = log_directory
        self._parameters = dict(simulator_parameters)
        self._identity: Optional[SimulatorIdentity] = None

    def open(self) -> None:
        self._identity = self._request(IDENTITY, lambda: False)

    @property
    def identity(self) -> SimulatorIdentity:
        assert self._identity is not None, "call open first"
        return self._identity

    def execute(self, trial: Trial, should_stop: StopRequest) -> TrialResult:
        result: TrialResult = self._request(trial, should_stop)
        return result

    def _start_session(self, request: object) -> Session:
        logs = new_log_directory(self._logs, f"worker_{os.getpid()}")
        start = partial(start_node_session, self._bed, logs, self._parameters)
        return Session(start, logs / "session.log")

    @property
    def _silence_timeout_s(self) -> float:
        return self._bed.spec.limits.hang_timeout_s


def start_node_session(
    bed: BuiltinTestBed,
    logs: Path,
    simulator_parameters: Mapping[str, Parameter],
    report: ProgressCallback,
) -> RequestHandler:
    """Start a ROS master and a simulator node. Return a function that responds to a request: it
    runs a trial, or returns the identity of the simulator for :data:`IDENTITY`."""
    start_master(logs / "ros_home", logs, MASTER_TIMEOUT_S)
    import rospy  # after start_master has set the environment

    from gz_testauto.ros.campaign.executor import RosTrialExecutor

    rospy.set_param("/use_sim_time", True)
    rospy.set_param(SIMULATOR, dict(simulator_parameters))
    rospy.init_node("campaign", disable_signals=True)
    report("starting the simulator node")
    simulator = LaunchedProcess(
        "the simulator node",
        [sys.executable, "-m", "gz_testauto.ros.simulator.node", f"__name:={SIMULATOR[1:]}"],
        logs / "simulator.log",
    )

    def check_simulator() -> bool:
        report("driving")
        failure = simulator.failure()
        if failure:
            raise SimulatorError(failure)
        return False  # the parent process stops a trial by ending this process

    executor = RosTrialExecutor(bed, logs, check_simulator)
    executor.open()

    def handle(request: Union[Trial, str]) -> Union[TrialResult, SimulatorIdentity]:
        try:
            if isinstance(request, Trial):
                return executor.execute(request, check_simulator)
            return executor.identity
        except MasterError as error:  # the next session has another master
            raise SimulatorError(str(error)) from error

    return handle
