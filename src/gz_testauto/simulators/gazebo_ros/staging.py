"""What has to be done to a running world so that it becomes a scene.

Owns the comparison, as plain data; does none of it. A model that stands with the SDF text that
the scene has for it is moved, one with another text is replaced. What neither the scene, nor the
one before, nor the world that Gazebo was started with has is somebody else's and stays.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Collection, Dict, Mapping, Optional, Pattern, Tuple

from gz_testauto.errors import SdfError, SimulatorError
from gz_testauto.pose import Pose
from gz_testauto.sampling.naming import is_obstacle
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.edit import add_model, model_elements, remove_model
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.scene import read_scene
from gz_testauto.simulators.interface import NamedModel, PhysicsSettings
from gz_testauto.simulators.world_models import check_shapes, divide, physics_of


@dataclass(frozen=True)
class Swap:
    """Models to delete, to spawn, and to place, in this order."""

    delete: Tuple[str, ...]
    spawn: Tuple[NamedModel, ...]
    place: Mapping[str, Pose]


def read_models(world: Path) -> Tuple[Dict[str, NamedModel], PhysicsSettings]:
    """All models of a world file, by name, each with its SDF text and pose, and its physics.
    Raises ``SimulatorError`` that names what is broken or missing."""
    try:
        scene = read_scene(world)
        if scene.document.world is None:
            raise SdfError(f"{world}: has no <world>")
        check_shapes(scene)
        document = scene.document.copy()
        physics = physics_of(document)
        _, models = divide(document, scene, ModelLibrary(), spawned=scene.models)
    except SdfError as error:
        raise SimulatorError(f"cannot load the world: {error}") from error
    return {model.name: model for model in models}, physics


def swap(
    wanted: Mapping[str, NamedModel],
    standing: Collection[str],
    known: Mapping[str, str],
    obstacles: Optional[Pattern[str]],
) -> Swap:
    """How ``standing`` models become the ``wanted`` ones.

    ``known`` has the SDF texts of those whose text is known. One of unknown text is taken for
    what the scene has under its name, unless its name is that of a random obstacle, as
    ``obstacles`` says (by default those that the spawner gives).
    """
    delete, spawn, place = [], [], {}
    for name in standing:
        random = is_obstacle(name, obstacles)
        if name not in wanted:
            if random or name in known:
                delete.append(name)
        elif known.get(name, None if random else wanted[name].sdf) == wanted[name].sdf:
            place[name] = wanted[name].pose
        else:
            delete.append(name)
    for name, model in wanted.items():
        if name not in place:
            spawn.append(model)
    return Swap(tuple(delete), tuple(spawn), place)


def write_world(base: Path, models: Mapping[str, NamedModel], path: Path) -> None:
    """Write ``base`` with these models, at their poses, in place of its own."""
    try:
        document: SdfDocument = read_scene(base).document.copy()
        for name in list(model_elements(document)):
            remove_model(document, name)
        for model in models.values():
            add_model(document, model.sdf, model.pose, model.name)
        document.write(path)
    except SdfError as error:
        raise SimulatorError(f"{path} cannot be written: {error}") from error
