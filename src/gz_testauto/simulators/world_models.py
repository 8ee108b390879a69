"""Physics settings of a world file, and the check for shapes on which gzserver aborts."""

from gz_testauto.base.errors import SdfError
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.dynamics import read_gravity, read_physics
from gz_testauto.sdf.scene import WorldScene
from gz_testauto.sdf.shapes import Capsule, Ellipsoid
from gz_testauto.simulators.interface import PhysicsSettings


def physics_of(document: SdfDocument) -> PhysicsSettings:
    """Return the physics settings of a world file, with Gazebo's defaults."""
    world = document.world
    assert world is not None, "checked by the caller"
    step_s = read_physics(document, world, "max_step_size")
    rate_hz = read_physics(document, world, "real_time_update_rate")
    return PhysicsSettings(
        step_size_s=step_s or 0.001,
        max_update_rate_hz=1000.0 if rate_hz is None else rate_hz,
        gravity_mps2=read_gravity(document, world),
    )


def check_shapes(scene: WorldScene) -> None:
    """Raise ``SdfError`` for shapes on which gzserver aborts."""
    for model in scene.models.values():
        for shape in model.collisions:
            if isinstance(shape.geometry, (Capsule, Ellipsoid)):
                raise SdfError(
                    f"{scene.document.source}: {shape.scoped_name} is a "
                    f"{type(shape.geometry).__name__.lower()}, on which Gazebo 11 aborts; replace "
                    "it by boxes, cylinders and spheres, or use the simulator 'embedded'"
                )
