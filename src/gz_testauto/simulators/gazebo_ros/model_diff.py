"""The changes with which a running world becomes a scene, as plain data.

A model that is neither in the scene, nor in the previous one, nor in the world that Gazebo was
started with belongs to another process and is not changed. :mod:`gz_testauto.sdf.world_diff`
decides which of the other models are moved and which are replaced.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Collection, Dict, Mapping, Optional, Pattern, Tuple

from gz_testauto.base.errors import SdfError, SimulatorError
from gz_testauto.base.pose import Pose
from gz_testauto.sampling.naming import is_obstacle
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.edit import add_model, model_elements, remove_model
from gz_testauto.sdf.scene import read_scene
from gz_testauto.sdf.world_diff import WorldModels, model_changes
from gz_testauto.simulators.interface import NamedModel, PhysicsSettings
from gz_testauto.simulators.world_models import check_shapes, physics_of


@dataclass(frozen=True)
class ModelDiff:
    """Models to delete, to spawn, and to move, in this order."""

    delete: Tuple[str, ...]
    spawn: Tuple[NamedModel, ...]
    place: Mapping[str, Pose]


def read_models(world: Path) -> Tuple[Dict[str, NamedModel], PhysicsSettings]:
    """Return all models of a world file, by name, each with its SDF text and pose, and its physics.
    Raises ``SimulatorError`` for an invalid or missing element."""
    try:
        scene = read_scene(world)
        if scene.document.world is None:
            raise SdfError(f"{world}: has no <world>")
        check_shapes(scene)
        models = WorldModels(scene)
        physics = physics_of(scene.document)
    except SdfError as error:
        raise SimulatorError(f"cannot load the world: {error}") from error
    return {
        name: NamedModel(name, text, models.poses[name]) for name, text in models.texts.items()
    }, physics


def diff_models(
    wanted: Mapping[str, NamedModel],
    present: Collection[str],
    known: Mapping[str, str],
    obstacles: Optional[Pattern[str]],
) -> ModelDiff:
    """Return the changes from the ``present`` models to the ``wanted`` ones.

    ``known`` has the SDF texts that are known. A model with an unknown text is assumed to equal the
    scene's model of its name, unless its name is that of a random obstacle, which ``obstacles``
    matches (by default the names of the spawner).
    """
    texts = {name: model.sdf for name, model in wanted.items()}
    ours: Dict[str, Optional[str]] = {}
    for name in present:
        if name in known or is_obstacle(name, obstacles):
            ours[name] = known.get(name)
        elif name in wanted:
            ours[name] = texts[name]
    changes = model_changes(ours, texts)
    return ModelDiff(
        delete=changes.to_delete,
        spawn=tuple(wanted[name] for name in changes.to_spawn),
        place={name: wanted[name].pose for name in changes.kept},
    )


def write_world(base: Path, models: Mapping[str, NamedModel], path: Path) -> None:
    """Write ``base`` with these models, at their poses, in place of its models."""
    try:
        document: SdfDocument = read_scene(base).document.copy()
        for name in list(model_elements(document)):
            remove_model(document, name)
        for model in models.values():
            add_model(document, model.sdf, model.pose, model.name)
        document.write(path)
    except SdfError as error:
        raise SimulatorError(f"{path} cannot be written: {error}") from error
