"""Obstacle sets from the scenes of a Scenic program, for the obstacle spawner.

All models of a scene, fixed or drawn, have the names of random obstacles, so that they are replaced
and deleted together.
"""

import hashlib
import json
from pathlib import Path
from typing import Any, ClassVar, Dict, Optional, Tuple, Type

from gz_testauto.base import resources
from gz_testauto.base.disk import disk_errors, read_file, replace_file
from gz_testauto.extras.scenic.model_search import cache_directory
from gz_testauto.extras.scenic.spec import ProgramSpec
from gz_testauto.extras.scenic.world_file import expanded_world
from gz_testauto.sampling.models import ObstacleModel
from gz_testauto.sampling.naming import obstacle_name, parse_obstacle_name
from gz_testauto.sampling.placement import Obstacle
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.scene import SceneModel, read_scene
from gz_testauto.spec.loader import parse
from gz_testauto.spec.model import Spec

DESCRIPTOR = "models.yaml"  # model descriptor in the folder of the program


class ScenarioSpec(Spec):
    """An obstacle set from a Scenic program, in the section ``scenic``."""

    scenic: ProgramSpec


class Scenario:
    """A Scenic program whose scenes are obstacle sets. Set *k* has the models of world *k* of
    ``gz_testauto scenic``."""

    spec_type: ClassVar[Type[Spec]] = ScenarioSpec

    @classmethod
    def of_file(cls, path: Path, called: str) -> "Scenario":
        """Return the program in a ``.scenic`` file with ``models.yaml`` in the same folder."""
        data = f"{{scenic: {{file: {json.dumps(str(path))}, models: {DESCRIPTOR}}}}}"
        return cls(parse(data, ScenarioSpec, path, called=called))

    def __init__(self, spec: ScenarioSpec) -> None:
        self._spec = spec.scenic
        self._compiled: Optional[Tuple[int, Any]] = None

    def draw(self, seed: int, number: int) -> Tuple[Obstacle, ...]:
        """Return the obstacles of a scene in the order of the program. Store its files in the
        user's cache."""
        source = self._source(seed)
        world = source.generate(number)
        folder = _cache_files(source, world)
        files = folder / resources.MODELS
        document = expanded_world(world.content, str(self._spec.file), files)
        models = read_scene(document, model_path=(files, *resources.model_path())).models
        placed = [name for name, _ in world.objects if name.text in models]
        counts: Dict[str, int] = {}
        obstacles = []
        for name in placed:
            parsed = parse_obstacle_name(name.text)
            label = name.label if parsed is None else parsed.label
            index = counts[label] = counts.get(label, -1) + 1
            obstacles.append(_obstacle(obstacle_name(label, index), models[name.text], document))
        return tuple(obstacles)

    def _source(self, seed: int) -> Any:
        from gz_testauto.extras.scenic.source import ScenicSource

        if self._compiled is None or self._compiled[0] != seed:
            self._compiled = (seed, ScenicSource.of_spec(self._spec, seed))
        return self._compiled[1]


def _obstacle(name: str, model: SceneModel, document: SdfDocument) -> Obstacle:
    form = ObstacleModel.of("model", model, document)
    return Obstacle(
        name=name,
        type="model",
        pose=model.pose,
        size=form.size,
        mass_kg=form.mass_kg,
        static=model.static,
        outline=form.outline(form.size).moved(*model.pose.planar),
        model=form,
    )


def _cache_files(source: Any, world: Any) -> Path:
    """Copy the files of a scene to the user's cache, and return the folder."""
    # Gazebo can read the files at any later time
    inputs = json.dumps(source.inputs, sort_keys=True).encode()
    folder = cache_directory().parent / "scenes" / hashlib.sha256(inputs).hexdigest()[:16]
    with disk_errors(folder):
        for name, content in {**source.shared_files, **world.files}.items():
            path = folder / name
            if not path.is_file():
                path.parent.mkdir(parents=True, exist_ok=True)
                replace_file(path, content if isinstance(content, bytes) else read_file(content))
    return folder
