"""The process that runs trials on this package's nodes beside others of its kind: one master, one
simulator node, its planner nodes, one trial at a time.

Owns the order *environment first, then rospy*, and the life of the simulator node. Started by
:mod:`~gz_testauto.ros.campaign.isolated_executor`; what a trial is, is
:mod:`~gz_testauto.ros.campaign.executor`'s.
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


class Setting(NamedTuple):
    """What a session is told first. ``simulator_parameters``: the private parameters of its
    simulator node."""

    campaign: PreparedBuiltin
    logs: Path
    simulator_parameters: Mapping[str, Parameter]


def start(setting: Setting, say: session.Say) -> session.Answer:
    """Start a master and a simulator node, join them, and return what answers a trial with its
    result, and :data:`IDENTITY` with the simulator's identity."""
    home = setting.logs / "ros_home"
    home.mkdir(parents=True, exist_ok=True)
    start_master(home, setting.logs, MASTER_TIMEOUT_S)
    import rospy  # now that the environment names its master

    from gz_testauto.ros.campaign.executor import RosTrialExecutor

    rospy.set_param("/use_sim_time", True)
    rospy.set_param(SIMULATOR, dict(setting.simulator_parameters))
    rospy.init_node("campaign", disable_signals=True)
    say("starting the simulator node")
    simulator = LaunchedProcess(
        "the simulator node",
        [sys.executable, "-m", "gz_testauto.ros.simulator.node", f"__name:={SIMULATOR[1:]}"],
        setting.logs / "simulator.log",
    )

    def look() -> bool:
        """Asked in every control period whether to stop: to do so, the owner ends this process."""
        say("driving")
        trouble = simulator.trouble()
        if trouble:
            raise SimulatorError(trouble)
        return False

    trials = RosTrialExecutor(setting.campaign, setting.logs, look, SIMULATOR)
    trials.open()

    def answer(request: Union[Trial, str]) -> Union[TrialResult, SimulatorIdentity]:
        try:
            if isinstance(request, Trial):
                return trials.execute(request, look)
            return trials.identity
        except MasterError as error:  # it is this session's: the next one has another
            raise SimulatorError(str(error)) from error

    return answer


if __name__ == "__main__":
    session.run(start)
