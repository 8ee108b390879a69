"""Read world files and their physics settings, and write the current world to a file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Iterable, Mapping, Sequence

from gz_testauto.base.errors import SdfError, SimulatorError
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.dynamics import read_gravity, read_physics
from gz_testauto.sdf.edit import add_model, remove_model, set_model_pose
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.scene import WorldScene, read_scene
from gz_testauto.sdf.shapes import Capsule, Ellipsoid


@dataclass(frozen=True)
class PhysicsSettings:
    """The physics step, the update rate (0 is unlimited) and gravity."""

    step_size_s: float
    max_update_rate_hz: float
    gravity_mps2: Sequence[float]


class LoadedWorld:
    def __init__(self, path: Path, added_texts: Iterable[str]) -> None:
        """Raise ``SimulatorError`` if a model in the file has a name in ``added_texts``."""
        scene = read_scene(path)
        world = scene.document.require_world()
        for name in added_texts:
            if name in scene.models:
                raise SimulatorError(f"{path} has a model {name!r} already")
        self.document = scene.document
        self.models = scene.models
        self.gravity_mps2 = read_gravity(scene.document, world)

    def write(
        self,
        path: Path,
        deleted_names: Iterable[str],
        added_texts: Mapping[str, str],
        poses: Mapping[str, Pose],
    ) -> None:
        """Write the world without ``deleted_names`` and with ``added_texts`` (SDF by name).

        The models are at ``poses``. Joints are written with the positions in their SDF.
        """
        world = self.document.copy()
        ModelLibrary().absolutize(world, world.world)
        try:
            for name in sorted(deleted_names):
                remove_model(world, name)
            for name, sdf in added_texts.items():
                add_model(world, sdf, name=name)
            for name, pose in poses.items():
                if name in added_texts or pose != self.models[name].pose:
                    set_model_pose(world, name, pose)
            world.write(path)
        except SdfError as error:
            raise SimulatorError(f"cannot save the world: {error}") from error


def physics_of(document: SdfDocument) -> PhysicsSettings:
    """Return the physics settings of a world file, with Gazebo's defaults."""
    world = document.require_world()
    step_s = read_physics(document, world, "max_step_size")
    rate_hz = read_physics(document, world, "real_time_update_rate")
    return PhysicsSettings(
        step_size_s=step_s or 0.001,
        max_update_rate_hz=1000.0 if rate_hz is None else rate_hz,
        gravity_mps2=read_gravity(document, world),
    )


def check_shapes(scene: WorldScene) -> None:
    """Raise ``SdfError`` if the world contains a shape on which gzserver aborts."""
    for model in scene.models.values():
        for shape in model.collisions:
            if isinstance(shape.geometry, (Capsule, Ellipsoid)):
                raise SdfError(
                    f"{scene.document.source}: {shape.scoped_name} is a "
                    f"{type(shape.geometry).__name__.lower()}, on which Gazebo 11 aborts; replace "
                    "it by boxes, cylinders and spheres, or use the simulator 'embedded'"
                )
