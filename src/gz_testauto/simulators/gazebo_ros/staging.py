"""What has to be done to a running world so that it becomes a scene.

Owns the comparison, as plain data; does none of it. A model that stands with the SDF text that
the scene has for it is moved, one with another text is replaced. What neither the scene, nor the
one before, nor the world that Gazebo was started with has is somebody else's and stays.
"""

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Collection, Dict, Mapping, Optional, Pattern, Tuple

from gz_testauto.errors import SdfError, SimulatorError
from gz_testauto.pose import Pose
from gz_testauto.sampling.naming import is_obstacle
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.edit import add_model, model_elements, remove_model
from gz_testauto.sdf.scene import read_scene
from gz_testauto.simulators.gazebo.split_world import stage_world
from gz_testauto.simulators.interface import NamedModel, PhysicsSettings

_EVERY = re.compile(".*", re.DOTALL)
_ANY_RATE = 1000.0


@dataclass(frozen=True)
class Swap:
    """Models to delete, to spawn, and to place, in this order."""

    delete: Tuple[str, ...]
    spawn: Tuple[NamedModel, ...]
    place: Mapping[str, Pose]


def read_models(world: Path) -> Tuple[Dict[str, NamedModel], PhysicsSettings]:
    """All models of a world file, by name, each with its SDF text and pose, and its physics.
    Raises ``SimulatorError`` that names what is broken or missing."""
    staged = stage_world(world, _ANY_RATE, _EVERY, most_spawned=math.inf)
    return {model.name: model for model in staged.movables}, staged.physics


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
