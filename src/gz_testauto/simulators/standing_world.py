"""Writes a world as it stands, for simulators that keep no document of it themselves."""

from pathlib import Path
from typing import Iterable, Mapping

from gz_testauto.base.errors import SdfError, SimulatorError
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.edit import add_model, remove_model, set_model_pose
from gz_testauto.sdf.includes import ModelLibrary


def write_standing(
    path: Path,
    document: SdfDocument,
    deleted: Iterable[str],
    added: Mapping[str, str],
    poses: Mapping[str, Pose],
) -> None:
    """Write the ``document`` that was loaded without the models ``deleted``, with those ``added``
    (SDF text by name), and with models at ``poses`` where these are not what is written.

    Joints that have moved are written where their SDF has them. Raises ``SimulatorError``.
    """
    world = document.copy()
    ModelLibrary().absolutize(world, world.world)
    try:
        for name in sorted(deleted):
            remove_model(world, name)
        for name, sdf in added.items():
            add_model(world, sdf, name=name)
        for name, pose in poses.items():
            set_model_pose(world, name, pose)
        world.write(path)
    except SdfError as error:
        raise SimulatorError(f"cannot save the world: {error}") from error
