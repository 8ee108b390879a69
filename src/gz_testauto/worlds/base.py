"""A base world, divided into a fixed part and random obstacles.

Elements are written to new worlds as they were read, except that a ``<state>`` is applied and
removed. :mod:`gz_testauto.sampling` draws obstacles.
"""

from collections import Counter
from pathlib import Path
from typing import Iterable, List, Optional, Pattern, Sequence, Tuple

from lxml import etree

from gz_testauto.base.errors import SdfError, SpecError
from gz_testauto.sampling.draws import ObstacleSampler, Slot
from gz_testauto.sampling.models import ObstacleModel, type_of
from gz_testauto.sampling.naming import is_obstacle, parse_obstacle_name
from gz_testauto.sampling.placement import Obstacle
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.includes import ModelLibrary, read_world
from gz_testauto.sdf.plugins import without_plugins
from gz_testauto.sdf.scene import SceneModel, WorldScene, read_scene
from gz_testauto.sdf.values import insert_child
from gz_testauto.spec.obstacles import AnyObstacles, ObstacleSpec

_MARK = "gz_testauto obstacle"


class BaseWorld:
    """A world file from which worlds with other random obstacles are generated.

    ``obstacles`` are the models in the file whose full name matches ``pattern``, by default the
    names that the spawner assigns. ``scene`` is without excluded plug-ins and ``missing`` files.
    Raises ``SdfError`` for a file that cannot be read, and ``SpecError`` for a pattern that matches
    no model.
    """

    def __init__(
        self,
        path: Path,
        pattern: Optional[Pattern[str]] = None,
        repair: bool = False,
        plugins: bool = True,
        allow_missing: Sequence[str] = (),
    ) -> None:
        self.path = Path(path)
        self._library = ModelLibrary(repair=repair)
        document = read_world(self.path, repair)
        if not plugins:
            document = without_plugins(document, self._library)
        self.scene: WorldScene = read_scene(document, repair=repair, allow_missing=allow_missing)
        self.missing = self.scene.missing
        if self._library.expand_changed(self.scene.document):
            self.scene = read_scene(self.scene.document)
        self.scene.document.require_world()
        names = [name for name in self.scene.models if is_obstacle(name, pattern)]
        if pattern is not None and not names:
            raise SpecError(
                f"{path}: no full name of a model matches {pattern.pattern!r}. Models: "
                f"{', '.join(self.scene.models) or 'none'}"
            )
        self._names = tuple(names)

    @property
    def obstacles(self) -> Tuple[SceneModel, ...]:
        """The random obstacles, in file order."""
        return tuple(self.scene.models[name] for name in self._names)

    @property
    def summary(self) -> str:
        """Return the number of obstacles by type, such as ``8 box, 8 cylinder``."""
        types = Counter(type_of(model) for model in self.obstacles)
        return ", ".join(f"{count} {type_}" for type_, count in sorted(types.items()))

    def sampler(self, spec: ObstacleSpec) -> ObstacleSampler:
        """Return a sampler for the random obstacles of the world or, if the world has none, of the
        specification. Raises ``SpecError`` for an obstacle without an entry."""
        if not self._names:
            return ObstacleSampler.of_spec(spec)
        groups = [_find_group(model, spec, str(self.path)) for model in self.obstacles]
        self._expand_includes(
            [
                model
                for model, group in zip(self.obstacles, groups)
                if any(distribution is not None for _, distribution in group.sizes)
            ]
        )
        slots = []
        for model, group in zip(self.obstacles, groups):
            if model.bounds is None:
                raise SdfError(f"{self.path}: obstacle {model.name!r} has no collision shape")
            ground_z_m = round(float(model.bounds[2, 0]), 4)
            obstacle_model = ObstacleModel.of(group.type, model, self.scene.document)
            slots.append(Slot(model.name, group, obstacle_model, ground_z_m))
        return ObstacleSampler(spec, slots, draws_counts=False)

    def template(self) -> "WorldTemplate":
        document = self.scene.document.copy()
        self._library.make_paths_absolute(document)
        world = document.require_world()
        if self._names:
            xml_paths = [
                self.scene.document.root.getroottree().getpath(m.element) for m in self.obstacles
            ]
            elements = [document.root.getroottree().xpath(path)[0] for path in xml_paths]
            for index, element in enumerate(elements):
                mark = etree.Comment(f"{_MARK} {index}")
                mark.tail = element.tail
                element.getparent().replace(element, mark)
            return WorldTemplate(document, len(elements))
        models = [child for child in world if child.tag in ("model", "include", "light")]
        position = world.index(models[-1]) + 1 if models else len(world)
        insert_child(world, etree.Comment(f"{_MARK} 0"), position)
        return WorldTemplate(document, 1)

    def _expand_includes(self, models: Iterable[SceneModel]) -> None:
        document = self.scene.document
        includes = [include for model in models for include in model.element.iter("include")]
        for include in includes:
            self._library.expand(document, include)
        if includes:
            self.scene = read_scene(document)


class WorldTemplate:
    """The bytes of a world file with gaps for obstacles: one per random obstacle of the world, or a
    single gap for all obstacles if the world has none."""

    def __init__(self, document: SdfDocument, gaps: int) -> None:
        self._encoding = document.root.getroottree().docinfo.encoding or "UTF-8"
        remaining = document.to_bytes()
        self._pieces: List[bytes] = []
        for index in range(gaps):
            piece, remaining = remaining.split(f"<!--{_MARK} {index}-->".encode(self._encoding), 1)
            self._pieces.append(piece)
        self._pieces.append(remaining)

    def fill(self, obstacles: Tuple[Obstacle, ...]) -> bytes:
        texts = [obstacle.element_text().encode(self._encoding) for obstacle in obstacles]
        if len(self._pieces) == 2:
            texts = [b"\n    ".join(texts)]
        parts = [part for pair in zip(self._pieces, texts) for part in pair]
        return b"".join([*parts, self._pieces[-1]])


def _find_group(model: SceneModel, spec: ObstacleSpec, source: str) -> AnyObstacles:
    name_parts = parse_obstacle_name(model.name)
    if name_parts is not None:
        for group in spec.obstacles:
            if group.label == name_parts.label:
                return group
    type_ = type_of(model)
    groups = [group for group in spec.obstacles if group.type == type_]
    groups = groups or [group for group in spec.obstacles if group.type == "model"]
    if len(groups) == 1:
        return groups[0]
    problem = "has no entry for" if not groups else "has several entries for"
    raise SpecError(
        f"{source}: obstacle {model.name!r} is a {type_}, and the specification {problem} "
        f"obstacles of type {type_}: "
        + ("add an entry" if not groups else "name it obstacle_<name>_<index> after one")
    )
