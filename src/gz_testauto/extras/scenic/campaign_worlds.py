"""Worlds and missions of a campaign from a Scenic program: the world source ``scenic``."""

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Dict, Iterator, List, Optional, Tuple, Type

from gz_testauto.base import resources
from gz_testauto.base.errors import ResourceError, ResultsError, SpecError, UnknownNameError
from gz_testauto.base.escaping import escape_text
from gz_testauto.base.json_file import validate_as
from gz_testauto.extras.scenic.descriptor import load_descriptor
from gz_testauto.extras.scenic.imports import named_files
from gz_testauto.extras.scenic.model_search import ModelSearch
from gz_testauto.extras.scenic.packing import packed_models
from gz_testauto.extras.scenic.program import recorded_numbers, require_scenic
from gz_testauto.extras.scenic.spec import ScenicSpec
from gz_testauto.results.comparability import file_sha256
from gz_testauto.results.directory import reporting_disk
from gz_testauto.spec.model import PoseSpec
from gz_testauto.spec.worlds import WorldFileSpec, WorldSourceSpec
from gz_testauto.spec.yaml_source import YamlSource, read_yaml_text
from gz_testauto.worlds.manifest import WorldSet, sha256_of
from gz_testauto.worlds.record import generated_name
from gz_testauto.worlds.source import WorldSource

LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True)
class Item:
    """A mission item in a mission file; ``heading`` is the yaw (rad) as in ROS."""

    x: float
    y: float
    z: float
    heading: float


Items = Dict[str, List[Item]]  # the mission items of each world, by the name of the world


class ScenicWorlds(WorldSource):
    """The world source ``scenic``. Each world has a mission file."""

    spec: ScenicSpec
    spec_type: ClassVar[Type[WorldSourceSpec]] = ScenicSpec

    def generate(self, folder: Path, workers: int) -> WorldSet:
        from gz_testauto.extras.scenic.output import write_scenes
        from gz_testauto.extras.scenic.source import ScenicSource

        spec = self.spec
        try:
            source = ScenicSource.of_spec(spec, self.seed, spec.dynamic)
        except UnknownNameError as error:
            raise SpecError(f"worlds.scenic.parameters: {error.full}") from error
        for note in source.notes:
            LOGGER.warning("%s", escape_text(note))
        with reporting_disk(folder):
            return write_scenes(source, self.count, folder, plots=False, workers=workers)

    def missions(self, folder: Path) -> Optional[List[WorldFileSpec]]:
        if not any(self.spec.mission.named):
            return None
        return [
            _world_file_entry(self.spec, name, folder)
            for name in map(generated_name, range(self.count))
        ]

    def input_files(self) -> Dict[str, str]:
        """Return the hashes of the models that the program can place, of the base world, and of all
        files that the program imports or names."""
        models = self.spec.models
        try:
            files = dict(packed_models(models).files)
            base = load_descriptor(models).world
        except ResourceError as error:
            raise SpecError(f"{models}: {error}") from error
        if base is not None:
            files[base.name] = base
        hashes = {
            f"worlds.scenic.models/{name}": sha256_of(content)
            if isinstance(content, bytes)
            else file_sha256(content)
            for name, content in files.items()
        }
        for name, path in named_files(self.spec.file).items():
            hashes[f"worlds.scenic.file/{name}"] = file_sha256(path)
        return hashes

    def programs(self) -> Tuple[Path, ...]:
        return (Path(self.spec.file),) if self.spec.dynamic else ()

    def sdf_files(self) -> Iterator[Path]:
        descriptor = load_descriptor(self.spec.models)
        search = ModelSearch(descriptor)
        if descriptor.world is not None:
            yield descriptor.world
        for model in descriptor.models:
            if not model.mission_only:
                yield resources.model_file(search.find(model))

    def recorded_numbers(self) -> Tuple[str, ...]:
        return recorded_numbers(self.spec.file) if self.spec.dynamic else ()

    def hook(self, world: Path, index: int, repetition: int, robot: str) -> Any:
        require_scenic()
        from gz_testauto.extras.scenic.dynamic.scenario import scenario_hook

        return scenario_hook(self.spec, self.seed, world, index, repetition, robot)


def _world_file_entry(spec: ScenicSpec, name: str, folder: Path) -> WorldFileSpec:
    mission, path = spec.mission, folder / f"{name}.yaml"
    data = YamlSource(read_yaml_text(path), str(path)).data
    items = validate_as(Items, data, str(path), ResultsError)
    for place, item in mission.named:
        if not items.get(item):
            raise SpecError(
                f"{spec.file}: the program places no {item!r} in {name}, but "
                f"worlds.scenic.mission.{place[0]} needs it; the mission items there are "
                f"{', '.join(sorted(items)) or 'none'}"
            )
    goals = [_pose_spec(item) for goal in mission.goals for item in items[goal]]
    return WorldFileSpec(
        file=f"{name}.world",
        name=name,
        start=None if mission.start is None else _pose_spec(items[mission.start][0]),
        goal=goals[-1] if goals else None,
        via=goals[:-1],
    )


def _pose_spec(item: Item) -> PoseSpec:
    return PoseSpec(x_m=item.x, y_m=item.y, yaw_rad=item.heading)
