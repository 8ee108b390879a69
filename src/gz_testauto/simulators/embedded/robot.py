"""A robot's engine model and its drivetrain: wheels with limited torque, wheels that are held at
their rates, or servos."""

from dataclasses import dataclass

from gz_testauto.sdf.engine_model.coverage import SdfCoverage
from gz_testauto.sdf.engine_model.robots import EngineRobot, read_engine_robot
from gz_testauto.sdf.robot import RobotModel
from gz_testauto.simulators.embedded.wheel_drive import (
    Drivetrain,
    Skid,
    motorized_wheels,
    read_servos,
)
from gz_testauto.simulators.embedded.wheel_loads import loaded_wheels


@dataclass(frozen=True)
class DrivenRobot:
    """A robot at the pose of its SDF, and its drivetrain."""

    engine_robot: EngineRobot
    drive: Drivetrain


def drive_robot(robot: RobotModel, coverage: SdfCoverage, skid: Skid = "servo") -> DrivenRobot:
    """Read a robot, which turns by ``skid`` if it has more than two driven wheels. Raises
    ``SdfError`` for unsupported elements."""
    engine_robot = read_engine_robot(robot, coverage)
    return DrivenRobot(engine_robot, _drivetrain(engine_robot, coverage, skid))


def _drivetrain(engine_robot: EngineRobot, coverage: SdfCoverage, skid: Skid) -> Drivetrain:
    wheels = motorized_wheels(engine_robot.model, engine_robot.wheels)
    if len(wheels) > 2:
        if skid == "wheels":
            return Drivetrain(wheels, held=True)
        return Drivetrain(wheels, read_servos(engine_robot.model, wheels))
    return (
        Drivetrain(loaded_wheels(engine_robot.model, wheels, coverage)) if wheels else Drivetrain()
    )
