"""Parameters, topics and actions of the ``campaign`` node."""

from typing import Union

from typing_extensions import Literal

from gz_testauto.campaign.selection import RunOptions
from gz_testauto.ros.campaign_parameters import CampaignParameters
from gz_testauto.ros.interface import Node
from gz_testauto.ros.simulator.interface import LOCKSTEP, RealTimeFactorParameters


class CampaignNodeParameters(RealTimeFactorParameters, RunOptions, CampaignParameters):
    """The parameters of the ``campaign`` node: campaign, trials and real-time factor."""

    real_time_factor: Union[Literal["lockstep"], float] = LOCKSTEP
    """Real-time factor of the simulator nodes of several workers. See the parameter of the
    simulator node."""


NODE = Node("campaign", "Runs a campaign: every planner in every world.", CampaignNodeParameters)

PROGRESS = NODE.publishes(
    "~progress",
    "gz_testauto/CampaignProgress",
    "progress, at the start and end of each trial",
    latched=True,
)
DIAGNOSTICS = NODE.publishes(
    "/diagnostics",
    "diagnostic_msgs/DiagnosticArray",
    "progress as a diagnostic status",
    latched=True,
)
MAP = NODE.publishes(
    "/map", "nav_msgs/OccupancyGrid", "static map of the trial, with one worker", latched=True
)
ROAD = NODE.publishes(
    "/road",
    "gz_testauto/Road",
    "lanes of the trial, with one worker, if the campaign has a road",
    latched=True,
)
SNAPSHOT = NODE.subscribes(
    "/simulator/snapshot",
    "gz_testauto/Snapshot",
    "ground truth of each control period, with one worker",
)
FAILURE = NODE.subscribes(
    "/simulator/failure", "std_msgs/String", "end of the simulation, with one worker"
)
CYCLE_TIME = NODE.subscribes(
    "/PLANNER/planner/cycle_time",
    "gz_testauto/PlannerCycle",
    "cycles of the planner node of each planner",
)
NODE.uses_action("/PLANNER/move_base", "move_base_msgs/MoveBaseAction", "the goals of a trial")
