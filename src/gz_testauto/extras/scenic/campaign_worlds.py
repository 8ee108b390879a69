"""The worlds that a campaign makes of a scenario written in Scenic, and the drives in them.

Owns the making of ``worlds.scenic`` into the campaign's directory, and which of a world's mission
items are its start and its goals. World *i* depends on the seed and *i* alone. Making a world is
:mod:`gz_testauto.extras.scenic.source`'s, which imports Scenic; worlds that are there need none.
"""

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, Iterator, List, Optional, Tuple

from gz_testauto.base.errors import ResourceError, ResultsError, SpecError, UnknownNameError
from gz_testauto.base.escaping import escape_text
from gz_testauto.base.json_file import validate_as
from gz_testauto.extras.scenic.imports import named_files
from gz_testauto.extras.scenic.model_search import sdf_files
from gz_testauto.extras.scenic.packing import packed_models
from gz_testauto.results.comparability import file_sha256
from gz_testauto.results.directory import reporting_disk
from gz_testauto.spec.descriptor import load_descriptor
from gz_testauto.spec.model import PoseSpec
from gz_testauto.spec.worlds import MissionSpec, WorldFileSpec, WorldsSpec
from gz_testauto.spec.yaml_source import YamlSource, read_yaml_text
from gz_testauto.worlds.manifest import WorldSet, sha256_of
from gz_testauto.worlds.multiply import world_name
from gz_testauto.worlds.source import WorldSource

LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True)
class Item:
    """One mission item as the mission has it: meters and radians, ``heading`` ROS's yaw."""

    x: float
    y: float
    z: float
    heading: float


Items = Dict[str, List[Item]]
"""The mission items of a world, by the names of the descriptor."""


class ScenicWorlds(WorldSource):
    """The worlds of the campaign's scenario, with a mission beside each."""

    def make(self, folder: Path, workers: int) -> WorldSet:
        """Make all worlds, or none. Raises ``SpecError``, ``SdfError``, ``ResourceError``,
        ``PlacementError``, ``MissingDependencyError`` or ``ResultsError``."""
        from gz_testauto.extras.scenic.output import write_scenes
        from gz_testauto.extras.scenic.source import ScenicSource

        worlds = self.worlds
        assert worlds.scenic is not None and worlds.models is not None and worlds.count is not None
        try:
            source = ScenicSource(
                worlds.scenic,
                worlds.models,
                self.seed,
                worlds.parameters,
                keep=worlds.keep,
                dynamic=worlds.dynamic,
            )
        except UnknownNameError as error:
            raise SpecError(f"worlds.parameters: {error.full}") from error
        for note in source.notes:
            LOGGER.warning("%s", escape_text(note))
        with reporting_disk(folder):
            return write_scenes(source, worlds.count, folder, plots=False, workers=workers)

    def missions(self, folder: Path) -> Optional[List[WorldFileSpec]]:
        """Read the missions beside the worlds; None for a campaign without ``worlds.mission``.
        Raises ``SpecError`` where a world has no such item, ``ResultsError`` where a mission
        cannot be read."""
        worlds = self.worlds
        if worlds.mission is None or worlds.count is None:
            return None
        names = map(world_name, range(worlds.count))
        return [_entry(worlds.mission, name, folder, worlds) for name in names]

    def input_files(self) -> Dict[str, str]:
        """Hash the models that the scenario can place and all files that it imports or names."""
        models, scenic = self.worlds.models, self.worlds.scenic
        assert models is not None and scenic is not None
        try:
            files = dict(packed_models(models).files)
            base = load_descriptor(models).world
        except ResourceError as error:
            raise SpecError(f"{models}: {error}") from error
        if base is not None:
            files[base.name] = base
        found = {
            f"worlds.models/{name}": sha256_of(held)
            if isinstance(held, bytes)
            else file_sha256(held)
            for name, held in files.items()
        }
        for name, path in named_files(scenic).items():
            found[f"worlds.scenic/{name}"] = file_sha256(path)
        return found

    def sdf_files(self) -> Iterator[Path]:
        """Return the base world and the models of the descriptor."""
        assert self.worlds.models is not None
        return sdf_files(self.worlds.models)

    def recorded_numbers(self) -> Tuple[str, ...]:
        """Return the names of the scenario's ``record`` statements; none where it does not act."""
        if not self.worlds.dynamic:
            return ()
        from gz_testauto.extras.scenic.program import recorded_numbers

        assert self.worlds.scenic is not None
        return recorded_numbers(self.worlds.scenic)


def _entry(mission: MissionSpec, name: str, folder: Path, worlds: WorldsSpec) -> WorldFileSpec:
    path = folder / f"{name}.yaml"
    data = YamlSource(read_yaml_text(path), str(path)).data
    items = validate_as(Items, data, f"{path}: is damaged", ResultsError)
    for place, item in mission.named:
        if not items.get(item):
            raise SpecError(
                f"{worlds.scenic}: places no {item!r} in {name}, which worlds.mission.{place[0]} "
                "names; "
                f"it places: {', '.join(sorted(items)) or 'no mission items'}"
            )
    goals = [_pose(item) for goal in mission.goals for item in items[goal]]
    return WorldFileSpec(
        file=f"{name}.world",
        name=name,
        start=None if mission.start is None else _pose(items[mission.start][0]),
        goal=goals[-1] if goals else None,
        via=goals[:-1],
    )


def _pose(item: Item) -> PoseSpec:
    return PoseSpec(x_m=item.x, y_m=item.y, yaw_rad=item.heading)
