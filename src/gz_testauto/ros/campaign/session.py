"""The session of one worker: a master, a simulator node and planner nodes for one trial at a time.

Sets the environment before rospy is imported, and manages the simulator node. It is started by
:mod:`~gz_testauto.ros.campaign.isolated_executor`; :mod:`~gz_testauto.ros.campaign.executor` runs
the trials.
"""

import sys
from pathlib import Path
from typing import Mapping, NamedTuple, Union

from gz_testauto.base.errors import MasterError, SimulatorError
from gz_testauto.ros import session
from gz_testauto.ros.launched_process import LaunchedProcess
from gz_testauto.ros.master import start_master
from gz_testauto.trial.executor import SimulatorIdentity, TrialResult
from gz_testauto.trial.plan import Trial
from gz_testauto.trial.setup import PreparedBuiltin

MASTER_TIMEOUT_S = 60.0
SIMULATOR = "/simulator"
IDENTITY = "identity"
"""The request for the simulator's identity."""

Parameter = Union[str, float, int, bool]


class NodeSessionSettings(NamedTuple):
    """The settings that a session receives first. ``simulator_parameters`` are the private
    parameters of its simulator node."""

    campaign: PreparedBuiltin
    logs: Path
    simulator_parameters: Mapping[str, Parameter]


def start(
    settings: NodeSessionSettings, report: session.ProgressCallback
) -> session.RequestHandler:
    """Start a master and a simulator node, connect to them, and return the handler of requests: a
    trial is answered by its result, :data:`IDENTITY` by the simulator's identity."""
    home = settings.logs / "ros_home"
    home.mkdir(parents=True, exist_ok=True)
    start_master(home, settings.logs, MASTER_TIMEOUT_S)
    import rospy  # after the environment names its master

    from gz_testauto.ros.campaign.executor import RosTrialExecutor

    rospy.set_param("/use_sim_time", True)
    rospy.set_param(SIMULATOR, dict(settings.simulator_parameters))
    rospy.init_node("campaign", disable_signals=True)
    report("starting the simulator node")
    simulator = LaunchedProcess(
        "the simulator node",
        [sys.executable, "-m", "gz_testauto.ros.simulator.node", f"__name:={SIMULATOR[1:]}"],
        settings.logs / "simulator.log",
    )

    def look() -> bool:
        """Check the simulator in every control period; to stop, the parent ends this process."""
        report("driving")
        failure = simulator.failure()
        if failure:
            raise SimulatorError(failure)
        return False

    trials = RosTrialExecutor(settings.campaign, settings.logs, look)
    trials.open()

    def answer(request: Union[Trial, str]) -> Union[TrialResult, SimulatorIdentity]:
        try:
            if isinstance(request, Trial):
                return trials.execute(request, look)
            return trials.identity
        except MasterError as error:  # the next session has another master
            raise SimulatorError(str(error)) from error

    return answer


if __name__ == "__main__":
    session.run(start)
