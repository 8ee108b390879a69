"""What weighs on a robot's wheels when it stands on level ground.

Owns the weighing: the robot stands on a plane, alone, until it is at rest.
"""

from dataclasses import replace
from typing import Sequence, Tuple

from gz_testauto.base.pose import Pose
from gz_testauto.sdf.dynamics import GRAVITY_MPS2, ContactParameters
from gz_testauto.sdf.engine_model.bodies import Body, BodyShape, EngineModel, walk
from gz_testauto.sdf.engine_model.coverage import SdfCoverage
from gz_testauto.sdf.shapes import Plane
from gz_testauto.simulators.embedded.engine import Engine
from gz_testauto.simulators.embedded.mjcf import Outfit, write_mjcf
from gz_testauto.simulators.embedded.wheel_drive import Drivetrain, Wheel

STEP_S = 0.002
SETTLING_STEPS = 500
"""One second: robots are placed some millimeters above the ground at most."""


def loaded_wheels(
    model: EngineModel, wheels: Sequence[Wheel], coverage: SdfCoverage
) -> Tuple[Wheel, ...]:
    """The wheels with the torque that they can bring to the ground."""
    shapes = {body.name: body.shapes for root in model.roots for body in walk(root)}
    engine = _at_rest(model, wheels, coverage)
    loads = engine.loads_n()
    found = []
    for wheel in wheels:
        own = shapes[wheel.link]
        load = sum(loads.get(shape.name, 0.0) for shape in own)
        mu = min((min(shape.surface.mu, shape.surface.mu2) for shape in own), default=0.0)
        found.append(wheel.under(load, mu))
    return tuple(found)


def _at_rest(model: EngineModel, wheels: Sequence[Wheel], coverage: SdfCoverage) -> Engine:
    ground = BodyShape(
        "ground::link::plane", Pose(), Plane(), ContactParameters(mu=100.0, mu2=100.0)
    )
    link = Body("ground::link", Pose(), (ground,), None, True, None)
    floor = EngineModel("ground", True, Pose(), False, (link,), {"ground::link": Pose()})
    models = (floor, replace(model, pose=Pose((0.0, 0.0, model.pose.position[2]))))
    outfits = {model.name: Outfit(Drivetrain(tuple(wheels)))}
    engine = Engine(write_mjcf(models, coverage, STEP_S, GRAVITY_MPS2, outfits), models)
    for _ in range(SETTLING_STEPS):
        engine.tick()
    return engine
