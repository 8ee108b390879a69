"""A robot's engine model and its drivetrain: wheels with limited torque, wheels that are held at
their rates, or servos.

The torque that a wheel can transmit depends on its load on level ground, from a simulation of the
robot on a plane until it is at rest.
"""

from dataclasses import replace
from typing import NamedTuple, Sequence, Tuple

from gz_testauto.base.pose import Pose
from gz_testauto.sdf.dynamics import GRAVITY_MPS2, ContactParameters
from gz_testauto.sdf.engine_model.bodies import Body, BodyShape, EngineModel, walk
from gz_testauto.sdf.engine_model.coverage import SdfCoverage
from gz_testauto.sdf.engine_model.robots import EngineRobot, read_engine_robot
from gz_testauto.sdf.robot import RobotModel
from gz_testauto.sdf.shapes import Plane
from gz_testauto.simulators.embedded.engine import Engine
from gz_testauto.simulators.embedded.mjcf import RobotEquipment, write_mjcf
from gz_testauto.simulators.embedded.wheel_drive import (
    Drivetrain,
    Skid,
    Wheel,
    motorized_wheels,
    read_servos,
)

STEP_S = 0.002
SETTLING_STEPS = 500
"""One second: robots start at most some millimeters above the ground."""


class DrivenRobot(NamedTuple):
    """A robot at the pose of its SDF, and its drivetrain."""

    engine_robot: EngineRobot
    drive: Drivetrain


def drive_robot(robot: RobotModel, coverage: SdfCoverage, skid: Skid) -> DrivenRobot:
    """Read a robot, which turns by ``skid`` if it has more than two driven wheels. Raises
    ``SdfError`` for unsupported elements."""
    engine_robot = read_engine_robot(robot, coverage)
    model = engine_robot.model
    wheels = motorized_wheels(model, engine_robot.wheels)
    if len(wheels) > 2:
        servos = read_servos(model, wheels) if skid == "servo" else ()
        return DrivenRobot(engine_robot, Drivetrain(wheels, servos, held=skid == "wheels"))
    if wheels:
        wheels = _loaded_wheels(model, wheels, coverage)
    return DrivenRobot(engine_robot, Drivetrain(wheels))


def _loaded_wheels(
    model: EngineModel, wheels: Sequence[Wheel], coverage: SdfCoverage
) -> Tuple[Wheel, ...]:
    """Return the wheels with the torque that they can transmit to the ground."""
    shapes = {body.name: body.shapes for root in model.roots for body in walk(root)}
    loads = _at_rest(model, wheels, coverage).loads_n()
    found = []
    for wheel in wheels:
        own = shapes[wheel.link]
        load = sum(loads.get(shape.name, 0.0) for shape in own)
        mu = min((min(shape.surface.mu, shape.surface.mu2) for shape in own), default=0.0)
        found.append(wheel.with_load(load, mu))
    return tuple(found)


def _at_rest(model: EngineModel, wheels: Sequence[Wheel], coverage: SdfCoverage) -> Engine:
    friction = ContactParameters(mu=100.0, mu2=100.0)
    plane = BodyShape("ground::link::plane", Pose(), Plane(), friction)
    link = Body("ground::link", Pose(), (plane,), None, True, None)
    ground = EngineModel("ground", True, Pose(), False, (link,), {"ground::link": Pose()})
    models = (ground, replace(model, pose=Pose((0.0, 0.0, model.pose.position[2]))))
    equipment = {model.name: RobotEquipment(Drivetrain(tuple(wheels)))}
    engine = Engine(write_mjcf(models, coverage, STEP_S, GRAVITY_MPS2, equipment), models)
    for _ in range(SETTLING_STEPS):
        engine.step(())
    return engine
