"""Writes the present world of simulators that keep no document of it."""

from pathlib import Path
from typing import Iterable, Mapping

from gz_testauto.base.errors import SdfError, SimulatorError
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.edit import add_model, remove_model, set_model_pose
from gz_testauto.sdf.includes import ModelLibrary


def write_present_world(
    path: Path,
    document: SdfDocument,
    deleted: Iterable[str],
    added: Mapping[str, str],
    poses: Mapping[str, Pose],
) -> None:
    """Write the loaded ``document`` without the ``deleted`` models, with the ``added`` ones (SDF
    text by name), and with models at ``poses``.

    Joints are written at the positions of their SDF. Raises ``SimulatorError``.
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
