"""The worlds that a campaign makes of a scenario written in Scenic, and the drives in them.

Owns the making of ``worlds.scenic`` into the campaign's directory, and which of a world's mission
items are its start and its goals. World *i* depends on the seed and *i* alone. Making a world is
:mod:`gz_testauto.extras.scenic.source`'s, which imports Scenic; worlds that are there need none.
"""

import logging
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, List

from gz_testauto.base.errors import ResultsError, SpecError, UnknownNameError
from gz_testauto.base.escaping import printable
from gz_testauto.base.json_file import shaped
from gz_testauto.results.directory import reporting_disk
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.model import PoseSpec
from gz_testauto.spec.worlds import MissionSpec, WorldFileSpec, WorldsSpec
from gz_testauto.spec.yaml_source import YamlSource, read_yaml_text
from gz_testauto.worlds.manifest import MANIFEST, WorldSet, read_worlds
from gz_testauto.worlds.multiply import world_name

LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True)
class Item:
    """One mission item as the mission has it: metres and radians, ``heading`` ROS's yaw."""

    x: float
    y: float
    z: float
    heading: float


Items = Dict[str, List[Item]]
"""The mission items of a world, by the names of the descriptor."""


def scenic_worlds(spec: CampaignSpec, folder: Path, makers: int = 1) -> WorldSet:
    """The worlds of the campaign's scenario in ``folder``: those that are there, or made now, all
    or none of them, by up to ``makers`` processes. Raises ``SpecError``, ``SdfError``,
    ``ResourceError``, ``PlacementError``, ``MissingDependencyError`` or ``ResultsError``."""
    worlds = spec.worlds
    assert worlds.scenic is not None and worlds.models is not None and worlds.count is not None
    if os.path.isfile(folder / MANIFEST):
        return made_worlds(folder)
    from gz_testauto.extras.scenic.output import write_scenes
    from gz_testauto.extras.scenic.source import ScenicSource

    try:
        source = ScenicSource(
            worlds.scenic,
            worlds.models,
            spec.seed,
            worlds.parameters,
            keep=worlds.keep,
            dynamic=worlds.dynamic,
        )
    except UnknownNameError as error:
        raise SpecError(f"worlds.parameters: {error.full}") from error
    for note in source.notes:
        LOGGER.warning("%s", printable(note))
    with reporting_disk(folder):
        return write_scenes(source, worlds.count, folder, plots=False, makers=makers)


def made_worlds(folder: Path) -> WorldSet:
    """The worlds that an earlier run made. Raises ``ResultsError`` where they are damaged."""
    try:
        return read_worlds(folder)
    except SpecError as error:
        raise ResultsError(
            f"{folder}: the campaign's worlds are damaged; remove that folder, and the next "
            f"run makes the same worlds again ({error})"
        ) from error


def with_missions(spec: CampaignSpec, folder: Path) -> CampaignSpec:
    """The campaign with the start and goals of each of its worlds, as the missions beside the
    worlds in ``folder`` say; a campaign without ``worlds.mission`` as it is. Raises ``SpecError``
    where a world has no such item, ``ResultsError`` where a mission cannot be read."""
    worlds = spec.worlds
    if worlds.mission is None or worlds.count is None:
        return spec
    entries = [
        _entry(worlds.mission, world_name(index), folder, worlds) for index in range(worlds.count)
    ]
    return spec.model_copy(update={"worlds": worlds.model_copy(update={"files": entries})})


def _entry(mission: MissionSpec, name: str, folder: Path, worlds: WorldsSpec) -> WorldFileSpec:
    path = folder / f"{name}.yaml"
    data = YamlSource(read_yaml_text(path), str(path)).data
    items = shaped(Items, data, f"{path}: is damaged", ResultsError)
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
