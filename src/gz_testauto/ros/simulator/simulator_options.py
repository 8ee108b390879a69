"""The simulator of the node and its options, from parameters and campaign."""

import inspect
import os
from typing import Any, Dict, Optional, Tuple

import rospy

from gz_testauto.base.errors import MissingDependencyError
from gz_testauto.campaign.simulator import simulator_options
from gz_testauto.ros.simulator.interface import SimulatorParameters
from gz_testauto.simulators import AUTOMATIC, SIMULATORS, check_options, chosen_simulator
from gz_testauto.simulators.gazebo.installation import find_gazebo
from gz_testauto.spec.campaign import BuiltinCampaignSpec


def choose_simulator(
    parameters: SimulatorParameters, campaign: Optional[BuiltinCampaignSpec]
) -> Tuple[str, Dict[str, Any]]:
    """Return the simulator of the parameters or the campaign, and its validated options.

    The options of a campaign are completed by its limits and worlds. Raises ``SpecError``.
    """
    if campaign is None:
        name = chosen_simulator(parameters.simulator or AUTOMATIC)
        options = parameters.simulator_options or {}
        check_options(name, options)
        return name, {**options, **_window_options(name, parameters.gui)}
    name = chosen_simulator(campaign.simulator)
    update: Dict[str, Any] = {"simulator": name}
    if parameters.simulator_options is not None:
        update["simulator_options"] = parameters.simulator_options
    spec = campaign.model_copy(update=update)
    return name, simulator_options(spec, **_window_options(name, parameters.gui))


def _window_options(simulator: str, wanted: bool) -> Dict[str, Any]:
    """Return the options with which a simulator opens its window. Without a window it runs too,
    after a warning."""
    if not wanted:
        return {}
    try:
        _require_window(simulator)
    except MissingDependencyError as error:
        rospy.logwarn("no window: %s; the simulator runs without it", error)
        return {}
    return {"gui": True}


def _require_window(simulator: str) -> None:
    if "gui" not in inspect.signature(SIMULATORS.get(simulator)).parameters:
        raise MissingDependencyError(f"the simulator {simulator} has no window")
    if not os.environ.get("DISPLAY"):
        raise MissingDependencyError(
            "gui:=true needs a display and DISPLAY is not set (over ssh, try ssh -X)"
        )
    installation = find_gazebo()
    if installation.client is None:
        raise MissingDependencyError(f"gzclient not found next to {installation.where}")
