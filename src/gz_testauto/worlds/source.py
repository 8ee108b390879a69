"""World sources: programs that generate the worlds of a campaign, and the missions in its worlds.

The registry of world sources and their YAML sections are in :mod:`gz_testauto.spec.worlds`.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Dict, Iterator, List, Optional, Sequence, Tuple, Type, Union

from gz_testauto.base.description_files import XACRO
from gz_testauto.base.errors import ResultsError, SpecError
from gz_testauto.base.pose import Pose2D
from gz_testauto.sdf.urdf.xacro import XacroInput
from gz_testauto.spec.campaign import CampaignSpec, GoalSpec
from gz_testauto.spec.model import PoseSpec
from gz_testauto.spec.road import RoadSpec
from gz_testauto.spec.robot import XacroSpec
from gz_testauto.spec.worlds import WORLD_SOURCES, WorldFileSpec, WorldSourceSpec, WorldsSpec
from gz_testauto.worlds.manifest import WorldSet, read_worlds, unused_originals, world_files
from gz_testauto.worlds.mission_file import StoredMission, read_missions
from gz_testauto.worlds.record import listed


class WorldSource(ABC):
    """A generator of the worlds of one campaign.

    ``spec`` is the section of the world source in ``worlds``, and ``count`` is the number of
    worlds. World *i* must depend only on ``spec``, the ``seed`` of the campaign and *i*. A campaign
    calls :meth:`input_files`, then :meth:`generate`, then :meth:`missions`.
    """

    # The class of ``spec``, which validates the section of the world source.
    spec_type: ClassVar[Type[WorldSourceSpec]]

    def __init__(self, spec: Any, count: int, seed: int) -> None:
        self.spec, self.count, self.seed = spec, count, seed

    @abstractmethod
    def generate(self, folder: Path, workers: int) -> WorldSet:
        """Generate all worlds in ``folder``, which might not exist, with up to ``workers``
        processes.

        ``worlds.json`` must be written last (:func:`~gz_testauto.worlds.manifest.manifest_bytes`):
        if it exists, the worlds are complete, and this method is not called again. Raises
        ``GzTestautoError`` if a world cannot be generated.
        """

    @abstractmethod
    def input_files(self) -> Dict[str, str]:
        """Return the SHA-256 hashes, by name, of the files that determine the worlds. Files that
        are listed in ``spec`` can be omitted. Raises ``SpecError`` if a file cannot be read."""

    def missions(self, folder: Path) -> Optional[List[WorldFileSpec]]:
        """Return the start and the goals in each of the worlds in ``folder``, or None if those of
        the campaign apply. Raises ``SpecError`` or ``ResultsError`` if they are invalid."""
        return None

    def programs(self) -> Tuple[Path, ...]:
        """Return the files whose code is executed in trials."""
        return ()

    def sdf_files(self) -> Iterator[Path]:
        """Yield the SDF files of models in the worlds, so that their plug-ins can be listed."""
        return iter(())

    def recorded_numbers(self) -> Tuple[str, ...]:
        """Return the names of the numbers that each trial records for this world source."""
        return ()

    def hook(self, world: Path, index: int, repetition: int, robot: str) -> Any:
        """Return the hook (:class:`~gz_testauto.actors.hook.Hook`) that moves the agents of the
        world source in a trial. Called only if ``spec.has_agents`` is True.

        ``world`` is the file of world ``index``, and ``robot`` is the name of the robot's model.
        Raises ``GzTestautoError`` if the hook cannot be created.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class Mission:
    """The start of a robot in a world, and at least one goal, in the order in which the robot must
    reach them."""

    start: Pose2D
    goals: Tuple[Pose2D, ...]
    road: Optional[RoadSpec] = None


class Missions:
    """The missions of the robot in the worlds of a campaign. ``entries`` are missions of single
    worlds; by default, those in ``worlds.files``. Other worlds have the mission of the campaign."""

    def __init__(
        self, spec: CampaignSpec, entries: Optional[Sequence[WorldFileSpec]] = None
    ) -> None:
        self._spec = spec
        self._entries: Dict[str, WorldFileSpec] = {}
        for entry in (spec.worlds.files if entries is None else entries) or ():
            self._entries.setdefault(entry.world, entry)

    def of(self, world: str) -> Mission:
        entry, spec = self._entries.get(world), self._spec
        start, road = spec.robot.start, spec.road
        goals: List[Union[PoseSpec, GoalSpec]] = [*spec.goal.via, spec.goal]
        if entry is not None:
            start, road = entry.start or start, entry.road or road
            if entry.goal is not None or entry.via:
                goals = [*entry.via, entry.goal or spec.goal]
        assert start is not None, "checked by the campaign, and known after the creation of worlds"
        return Mission(start.pose, tuple(goal.pose for goal in goals), road)


def world_source(spec: CampaignSpec) -> Optional[WorldSource]:
    worlds = spec.worlds
    if worlds.source is None:
        return None
    create = WORLD_SOURCES.get(worlds.source_name)
    source: WorldSource = create(worlds.source, worlds.count, spec.seed)
    return source


def xacro_input(worlds: WorldsSpec, path: Path) -> Optional[XacroInput]:
    """Return the input of xacro for a world and its models, or None if xacro is not run."""
    if worlds.xacro is None and path.suffix != XACRO:
        return None
    return XacroInput.of(worlds.xacro or XacroSpec(), "worlds.xacro")


def specified_files(spec: CampaignSpec) -> Iterator[Path]:
    """Yield the base world, the worlds of the directory, or the models of the world source."""
    worlds = spec.worlds
    source = world_source(spec)
    if worlds.base is not None:
        yield worlds.base
    elif source is not None:
        yield from source.sdf_files()
    elif worlds.directory is not None:
        folder = Path(worlds.directory)
        if worlds.files is not None:
            names = {Path(entry.file).name for entry in worlds.files[: worlds.count]}
            yield from (folder / name for name in sorted(names) if (folder / name).is_file())
        else:
            yield from world_files(folder)[: worlds.count]


def originals_notice(worlds: WorldsSpec) -> str:
    """Return a line that lists the worlds in xacro that are not used, or ""."""
    if worlds.directory is None or worlds.files is not None:
        return ""
    names = [path.name for path in unused_originals(Path(worlds.directory))]
    return listed("not expanded, as the .world file of the same name is used", names)


def missions_of(spec: CampaignSpec, folder: Path) -> Missions:
    """Return the missions of a campaign. Drawn missions and those of a world source are read from
    ``folder``. Raises the errors of :meth:`WorldSource.missions`."""
    if spec.worlds.missions is not None:
        return Missions(spec, [_drawn_entry(mission) for mission in read_missions(folder)[1]])
    source = world_source(spec)
    return Missions(spec, None if source is None else source.missions(folder))


def _drawn_entry(mission: StoredMission) -> WorldFileSpec:
    start, *via, goal = (
        PoseSpec(x_m=x_m, y_m=y_m, yaw_rad=yaw_rad)
        for x_m, y_m, yaw_rad in (mission.start, *mission.goals)
    )
    name = mission.world
    return WorldFileSpec(file=f"{name}.world", name=name, start=start, goal=goal, via=via)


def generated_worlds(folder: Path) -> WorldSet:
    """Return the worlds of a previous run. Raises ``ResultsError`` if they are damaged."""
    try:
        return read_worlds(folder)
    except SpecError as error:
        raise ResultsError(
            f"{folder}: the worlds of the campaign are damaged; remove that folder, so that the "
            f"next run generates the same worlds again ({error})"
        ) from error
