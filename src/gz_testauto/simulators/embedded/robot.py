"""A staged robot and what moves it here.

Owns the choice between wheels that push, wheels that are held to their rates and servos.
"""

from dataclasses import dataclass

from gz_testauto.sdf.robot import RobotModel
from gz_testauto.sdf.staging.coverage import Coverage
from gz_testauto.sdf.staging.robots import StagedRobot, stage_robot
from gz_testauto.simulators.embedded.wheel_drive import (
    Drivetrain,
    Skid,
    motorised_wheels,
    read_servos,
)
from gz_testauto.simulators.embedded.wheel_loads import loaded_wheels


@dataclass(frozen=True)
class DrivenRobot:
    """A robot at its own pose and its drivetrain."""

    staged: StagedRobot
    drive: Drivetrain


def drive_robot(robot: RobotModel, coverage: Coverage, skid: Skid = "servo") -> DrivenRobot:
    """Stage a robot, which turns by ``skid`` if it has more than two driven wheels. Raises
    ``SdfError`` for what cannot be represented."""
    staged = stage_robot(robot, coverage)
    return DrivenRobot(staged, _drivetrain(staged, coverage, skid))


def _drivetrain(staged: StagedRobot, coverage: Coverage, skid: Skid) -> Drivetrain:
    wheels = motorised_wheels(staged.model, staged.wheels)
    if len(wheels) > 2:
        if skid == "wheels":
            return Drivetrain(wheels, held=True)
        return Drivetrain(wheels, read_servos(staged.model, wheels))
    return Drivetrain(loaded_wheels(staged.model, wheels, coverage)) if wheels else Drivetrain()
