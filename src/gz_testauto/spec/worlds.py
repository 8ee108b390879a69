"""Where a campaign's worlds come from, and what is known of each.

Owns the ``worlds`` part of ``campaign.yaml``: a base world to be multiplied, a scenario in Scenic
with the models that it places, or a directory of ready worlds, all of them or those named, each
with a drive of its own where it has one; the names
of random obstacles; and what a benchmark publishes of its worlds. Reading the files is
:mod:`gz_testauto.campaign.world_source`'s.
"""

import re
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Pattern, Tuple, Union

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError
from typing_extensions import Annotated

from gz_testauto.base.registry import unknown_name
from gz_testauto.spec.descriptor import load_descriptor
from gz_testauto.spec.loader import WITHIN, load
from gz_testauto.spec.model import (
    Point,
    PoseSpec,
    Spec,
    SpecPath,
    ViaSpec,
    repeated,
    resolve_path,
)
from gz_testauto.spec.obstacles import ObstacleSpec
from gz_testauto.spec.road import RoadOrFile
from gz_testauto.spec.stack import NAME

SEEDS = 2**63
"""A campaign's seed is less."""
MOST_TRIALS = 1_000_000
"""In one campaign; each has a row in the results and a file beside them."""

PATH_M = "path_m"
"""Name under which ``published`` has the length of the best way, which the BARN score needs."""


def _obstacles(value: Any, info: ValidationInfo) -> Any:
    """Read the specification that a path names; anything else is one written out in place."""
    if not isinstance(value, (str, Path)):
        return value
    return load(resolve_path(value, info), ObstacleSpec)


def _expression(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"{text!r} is not a regular expression: {error}") from error
    return text


Expression = Annotated[str, AfterValidator(_expression)]
"""A regular expression, as Python reads it."""


class WorldFileSpec(ViaSpec):
    """One ``.world`` file of the directory. ``name`` is what results call it, the file's stem
    unless given; ``start``, ``goal`` and ``road`` are the campaign's unless given, and so is
    ``via`` where neither it nor ``goal`` is. A file may stand several times, under different names,
    for several drives."""

    file: str = Field(pattern=r"\.world$")
    name: str = Field("", pattern=rf"^$|{NAME}")
    start: Optional[PoseSpec] = None
    goal: Optional[PoseSpec] = None
    road: RoadOrFile = None

    @model_validator(mode="before")
    @classmethod
    def _named_alone(cls, data: Any) -> Any:
        return {"file": data} if isinstance(data, str) else data

    @property
    def world(self) -> str:
        """The world's name in results."""
        return self.name or Path(self.file).stem


class PublishedSpec(Spec):
    """Where one published figure of each world stands; exactly one of the three.

    ``points`` is a NumPy file or a text file with two columns, beside the worlds: the points of a
    way, in cells of ``cell_m`` from ``origin_m``. The figure is its length (m) from the start,
    through all points, to the goal. ``{number}`` in it is the number at the end of the name of
    the world's file. ``match`` is a regular expression, the figure its first group where it first
    matches in the world's file. ``table`` is a CSV file in which the column ``world`` names the
    world and ``column`` has the figure.
    """

    points: Optional[str] = None
    cell_m: float = Field(1.0, gt=0)
    origin_m: Point = (0.0, 0.0)
    match: Optional[Expression] = None
    table: Optional[SpecPath] = None
    column: str = ""

    @model_validator(mode="after")
    def _one_source(self) -> "PublishedSpec":
        if sum(given is not None for given in (self.points, self.match, self.table)) != 1:
            raise ValueError("give exactly one of points, match and table")
        if (self.table is not None) != bool(self.column):
            raise ValueError("table and column go together")
        if self.match is not None and re.compile(self.match).groups < 1:
            raise ValueError("match has no group; put what is wanted in parentheses")
        return self


class MissionSpec(Spec):
    """Which mission items of a scenario are the drive, by the names of its models' descriptor:
    the robot starts where the first item ``start`` is, and is to go to all items ``goal`` in the
    scenario's order; where that is a list, to all of its first name, then to all of its second,
    and so on. What is not named is the campaign's, the same in all worlds."""

    start: Optional[str] = None
    goal: Union[str, Annotated[List[str], Field(min_length=1)], None] = None

    @property
    def goals(self) -> Tuple[str, ...]:
        """The names that ``goal`` gives, in order; none where it gives none."""
        return (self.goal,) if isinstance(self.goal, str) else tuple(self.goal or ())

    @property
    def named(self) -> Iterator[Tuple[Tuple[Union[str, int], ...], str]]:
        """Every name that it gives, behind its place: the key, and of a list the index."""
        if self.start is not None:
            yield ("start",), self.start
        for index, goal in enumerate(self.goals):
            yield ("goal",) if isinstance(self.goal, str) else ("goal", index), goal


class WorldsSpec(Spec):
    """Where the worlds come from: a base world and an obstacle specification (written out, or
    the path of its file); a scenario in Scenic and the descriptor of its models; or a directory of
    ready ``.world`` files (with or without ``worlds.json``)."""

    base: Optional[SpecPath] = None
    obstacles: Annotated[Optional[ObstacleSpec], BeforeValidator(_obstacles)] = None
    count: Optional[int] = Field(None, ge=1, le=MOST_TRIALS)
    scenic: Optional[SpecPath] = None
    """A scenario, as ``gz_testauto scenic`` takes it."""
    models: Optional[SpecPath] = None
    """The descriptor of the models that the scenario may place."""
    parameters: Dict[str, Union[bool, int, float, str]] = Field(default_factory=dict)
    """Global parameters of the scenario, in place of its own."""
    mission: Optional[MissionSpec] = None
    """Which items of the scenario are start and goal."""
    dynamic: bool = False
    """Whether the scenario's behaviors, monitors and requirements act during trials: what has a
    behavior moves, and the robot is the scenario's ego."""
    keep: bool = False
    """Whether what already fits is kept and the rest drawn again (``--keep-placed``)."""
    directory: Optional[SpecPath] = None
    files: Optional[List[WorldFileSpec]] = Field(None, min_length=1)
    """Which worlds of the directory, in this order; all of them, by name, unless given."""
    obstacle_names: Optional[Expression] = None
    """Matches the whole names of the random obstacles: those that the known map does not show
    and that simulators take to differ from world to world. The spawner's names unless given."""
    repair: bool = False
    """Whether what Gazebo accepts and XML parsers do not is mended; trials then run in copies."""
    allow_missing: List[str] = Field(default_factory=list)
    """URIs of models, meshes and height maps, and file names of plugins, that need not be there:
    what names one that is not is left out, trials run in copies without, and results say so.
    ``*`` and ``?`` stand for any text and any character."""
    plugins: bool = True
    """Whether the simulator loads and runs the libraries that ``<plugin>`` elements of the worlds
    name; the robot's own plugins are always run."""
    published: Dict[str, PublishedSpec] = Field(default_factory=dict)
    """Figures that a benchmark publishes of its worlds, by the name of their column."""

    @field_validator("mission")
    @classmethod
    def _are_mission_items(
        cls, mission: Optional[MissionSpec], info: ValidationInfo
    ) -> Optional[MissionSpec]:
        models = info.data.get("models")
        if mission is None or models is None:
            return mission
        known = [model.name for model in load_descriptor(models).models if model.mission_only]
        for place, name in mission.named:
            if name not in known:
                said = unknown_name("mission item (MISSION_ONLY)", name, known)
                raise PydanticCustomError("value_error", "", {"error": said, WITHIN: place})
        return mission

    @model_validator(mode="after")
    def _one_source(self) -> "WorldsSpec":
        if sum(one is not None for one in (self.base, self.scenic, self.directory)) != 1:
            raise ValueError(
                "give one of base (with obstacles and count), scenic (with models and count) and "
                "directory"
            )
        self._check_scenic()
        if self.base is not None and (self.obstacles is None or self.count is None):
            raise ValueError("base needs obstacles and count as well")
        if self.directory is not None and self.obstacles is not None:
            raise ValueError("directory holds ready worlds; it takes no obstacles")
        if self.base is not None and (self.files or self.published):
            raise ValueError("files and published go with directory, not with base")
        twice = repeated([entry.world for entry in self.files or ()])
        if twice:
            raise ValueError(
                f"names of worlds must differ; these appear twice: {', '.join(twice)}; give name"
            )
        return self

    def _check_scenic(self) -> None:
        """Raise ``ValueError`` where what is given does not go with ``scenic``, or without it."""
        if self.scenic is None:
            for key in ("models", "parameters", "mission", "keep", "dynamic"):
                if getattr(self, key):
                    raise ValueError(f"{key} goes with scenic")
            return
        if self.models is None or self.count is None:
            raise ValueError("scenic needs models and count as well")
        if self.dynamic and (self.mission is None or self.mission.start is None):
            raise ValueError(
                "dynamic needs mission.start as well: the mission item that is the scenario's ego, "
                "for which the robot stands"
            )
        for key in ("obstacles", "files", "published", "repair"):
            if getattr(self, key):
                raise ValueError(f"{key} does not go with scenic")

    @property
    def obstacle_pattern(self) -> Optional[Pattern[str]]:
        """``obstacle_names``, compiled; None stands for the spawner's names."""
        return None if self.obstacle_names is None else re.compile(self.obstacle_names)
