"""Parameters, topics and actions of the ``campaign`` node."""

from dataclasses import replace
from typing import Union

from typing_extensions import Literal

from gz_testauto.ros.campaign_parameters import CampaignParameters, names_in
from gz_testauto.ros.interface import Node, OptionalPath
from gz_testauto.ros.simulator.interface import LOCKSTEP, RealTimeFactorParameters
from gz_testauto.trial.plan import TrialSelection


class CampaignNodeParameters(RealTimeFactorParameters, CampaignParameters):
    """The parameters of the ``campaign`` node. They select the campaign, the trials to run, and the
    real-time factor of the simulator nodes."""

    only: str = ""
    """Names or numbers of the worlds to run, separated by commas or spaces, with the same seeds as
    in the complete campaign. The default is all worlds."""
    failed_of: OptionalPath = None
    """Results directory whose failed trials are run again, with the same seeds."""
    retry_invalid: bool = False
    """Run trials with the outcome ``invalid`` again."""
    real_time_factor: Union[Literal["lockstep"], float] = LOCKSTEP
    """Real-time factor of the simulator nodes of several workers. See the parameter of the
    simulator node."""

    @property
    def selection(self) -> TrialSelection:
        """The selected worlds and planners."""
        return replace(super().selection, only=names_in(self.only))


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
