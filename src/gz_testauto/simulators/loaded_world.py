"""The world file of a scene, for simulators in this process: they read it and write the present
world."""

from pathlib import Path
from typing import Iterable, Mapping

from gz_testauto.base.errors import SdfError, SimulatorError
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.dynamics import read_gravity
from gz_testauto.sdf.edit import add_model, remove_model, set_model_pose
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.scene import read_scene


class LoadedWorld:
    """A world file: its ``document``, its ``models`` by name, and its ``gravity_mps2``."""

    def __init__(self, path: Path, added: Iterable[str]) -> None:
        """Read the file. Raises ``SdfError``, and ``SimulatorError`` if it has a model with one of
        the names in ``added``."""
        read = read_scene(path)
        if read.document.world is None:
            raise SdfError(f"{path}: has no <world>")
        for name in added:
            if name in read.models:
                raise SimulatorError(f"{path} has a model {name!r} already")
        self.document = read.document
        self.models = read.models
        self.gravity_mps2 = read_gravity(read.document, read.document.world)

    def write(
        self,
        path: Path,
        deleted: Iterable[str],
        added: Mapping[str, str],
        poses: Mapping[str, Pose],
    ) -> None:
        """Write the world without the ``deleted`` models of the file, with the ``added`` ones (SDF
        text by name), and with all models at ``poses``.

        Joints are written at the positions of their SDF. Raises ``SimulatorError``.
        """
        world = self.document.copy()
        ModelLibrary().absolutize(world, world.world)
        try:
            for name in sorted(deleted):
                remove_model(world, name)
            for name, sdf in added.items():
                add_model(world, sdf, name=name)
            for name, pose in poses.items():
                if name in added or pose != self.models[name].pose:
                    set_model_pose(world, name, pose)
            world.write(path)
        except SdfError as error:
            raise SimulatorError(f"cannot save the world: {error}") from error
