"""The loads on a robot's wheels on level ground, from a simulation of the robot on a plane until it
is at rest."""

from dataclasses import replace
from typing import Sequence, Tuple

from gz_testauto.base.pose import Pose
from gz_testauto.sdf.dynamics import GRAVITY_MPS2, ContactParameters
from gz_testauto.sdf.engine_model.bodies import Body, BodyShape, EngineModel, walk
from gz_testauto.sdf.engine_model.coverage import SdfCoverage
from gz_testauto.sdf.shapes import Plane
from gz_testauto.simulators.embedded.engine import Engine
from gz_testauto.simulators.embedded.mjcf import RobotEquipment, write_mjcf
from gz_testauto.simulators.embedded.wheel_drive import Drivetrain, Wheel

STEP_S = 0.002
SETTLING_STEPS = 500
"""One second: robots start at most some millimeters above the ground."""


def loaded_wheels(
    model: EngineModel, wheels: Sequence[Wheel], coverage: SdfCoverage
) -> Tuple[Wheel, ...]:
    """Return the wheels with the torque that they can transmit to the ground."""
    shapes = {body.name: body.shapes for root in model.roots for body in walk(root)}
    engine = _at_rest(model, wheels, coverage)
    loads = engine.loads_n()
    found = []
    for wheel in wheels:
        own = shapes[wheel.link]
        load = sum(loads.get(shape.name, 0.0) for shape in own)
        mu = min((min(shape.surface.mu, shape.surface.mu2) for shape in own), default=0.0)
        found.append(wheel.with_load(load, mu))
    return tuple(found)


def _at_rest(model: EngineModel, wheels: Sequence[Wheel], coverage: SdfCoverage) -> Engine:
    ground = BodyShape(
        "ground::link::plane", Pose(), Plane(), ContactParameters(mu=100.0, mu2=100.0)
    )
    link = Body("ground::link", Pose(), (ground,), None, True, None)
    floor = EngineModel("ground", True, Pose(), False, (link,), {"ground::link": Pose()})
    models = (floor, replace(model, pose=Pose((0.0, 0.0, model.pose.position[2]))))
    equipment = {model.name: RobotEquipment(Drivetrain(tuple(wheels)))}
    engine = Engine(write_mjcf(models, coverage, STEP_S, GRAVITY_MPS2, equipment), models)
    for _ in range(SETTLING_STEPS):
        engine.tick()
    return engine
