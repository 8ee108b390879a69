"""Scenes as people ask for them: by paths and numbers, in a service call or in parameters."""

from pathlib import Path
from typing import Optional

from gz_testauto.pose import Pose2D
from gz_testauto.ros import parameters
from gz_testauto.sdf.robot import read_robot
from gz_testauto.simulators.interface import Scene


def make_scene(world: str, robot_model: str, robot_name: str, start: Pose2D, seed: int) -> Scene:
    """Build a scene from texts; raises ``SpecError`` for a file that is not there."""
    robot = None
    if robot_model:
        robot = read_robot(parameters.existing_file(robot_model, "robot_model"), robot_name)
    return Scene(parameters.existing_file(world, "world"), robot, start, seed)


def first_scene() -> Optional[Scene]:
    """The scene that the parameters ask for at the start, None where they name no world."""
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
