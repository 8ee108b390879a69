"""The simulator and the scenes of service calls and parameters, from names, paths and numbers."""

from pathlib import Path
from typing import Any, Dict, Optional, Tuple

from gz_testauto.base.pose import Pose2D
from gz_testauto.campaign.simulator import simulator_options
from gz_testauto.ros import parameters
from gz_testauto.ros.simulator.gui import window_options
from gz_testauto.sdf.robot import read_robot
from gz_testauto.simulators import AUTOMATIC, check_options, chosen_simulator
from gz_testauto.simulators.interface import Scene
from gz_testauto.spec.campaign import BuiltinCampaignSpec


def read_simulator(campaign: Optional[BuiltinCampaignSpec]) -> Tuple[str, Dict[str, Any]]:
    """Return the simulator of the parameters or the campaign, and its validated options.

    The options are ``~simulator_options`` or else the campaign's, completed by the limits and
    worlds of the campaign. Raises ``SpecError``.
    """
    own = {} if campaign is None else campaign.simulator_options
    given = parameters.read("simulator_options", dict, own)
    wanted = parameters.read("gui", bool, False)
    if campaign is None:
        name = chosen_simulator(parameters.read("simulator", str, AUTOMATIC))
        check_options(name, given)
        return name, {**given, **window_options(name, wanted)}
    name = chosen_simulator(campaign.simulator)
    spec = campaign.model_copy(update={"simulator": name, "simulator_options": given})
    return name, simulator_options(spec, **window_options(name, wanted))


def make_scene(world: str, robot_model: str, robot_name: str, start: Pose2D, seed: int) -> Scene:
    """Return a scene. Raises ``SpecError`` if a file does not exist."""
    robot = None
    if robot_model:
        robot = read_robot(parameters.existing_file(robot_model, "robot_model"), robot_name)
    return Scene(parameters.existing_file(world, "world"), robot, start, seed)


def first_scene() -> Optional[Scene]:
    """Return the scene of the parameters, or None without ``~world``."""
    world: Optional[Path] = parameters.read_path("world", "")
    if world is None:
        return None
    return make_scene(
        str(world),
        parameters.read("robot_model", str, ""),
        parameters.read("robot_name", str, "robot"),
        Pose2D(*parameters.read_numbers("start", 3, (0.0, 0.0, 0.0))),
        parameters.read("seed", int, 0),
    )
