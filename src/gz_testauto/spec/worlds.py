"""The worlds of a campaign, and published facts about each.

Owns ``worlds`` in ``campaign.yaml``: a base world to be multiplied, a scenario in Scenic with the
models that it places, or a directory of worlds, all or a list, each with an optional mission; the
names of random obstacles; and numbers that a benchmark publishes.
:mod:`gz_testauto.campaign.world_source` reads the files.
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
from gz_testauto.spec.loader import SUBPATH, load
from gz_testauto.spec.model import (
    Point,
    PoseSpec,
    Spec,
    SpecPath,
    ViaSpec,
    require_different,
    resolve_path,
)
from gz_testauto.spec.obstacles import ObstacleSpec
from gz_testauto.spec.road import RoadOrFile
from gz_testauto.spec.stack import NAME

SEEDS = 2**63
"""Upper bound of a campaign's seed, exclusive."""
MOST_TRIALS = 1_000_000
"""Largest number of trials in a campaign; each has a row in the results and a file."""

PATH_M = "path_m"
"""Key in ``published`` for the length of the shortest path, which the BARN score needs."""


def _obstacles(value: Any, info: ValidationInfo) -> Any:
    """Read the specification from the file that a path names; other values are specifications."""
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
"""A regular expression of Python."""


class WorldFileSpec(ViaSpec):
    """A ``.world`` file of the directory, as a name or with these keys. A file can appear several
    times, with different names, for several missions. Without ``goal``, ``via`` defaults to the
    campaign's."""

    file: str = Field(pattern=r"\.world$")
    """The file's name in the directory."""
    name: str = Field("", pattern=rf"^$|{NAME}")
    """The world's name in results; default: the file's name without ``.world``."""
    start: Optional[PoseSpec] = None
    """The robot's start in this world; default: the campaign's."""
    goal: Optional[PoseSpec] = None
    """The goal in this world; default: the campaign's."""
    road: RoadOrFile = None
    """The road of this world, or the path of its file; default: the campaign's."""

    @model_validator(mode="before")
    @classmethod
    def _wrap_bare_name(cls, data: Any) -> Any:
        return {"file": data} if isinstance(data, str) else data

    @property
    def world(self) -> str:
        """Return the world's name in results."""
        return self.name or Path(self.file).stem


class PublishedSpec(Spec):
    """The source of one published number of each world: exactly one of ``points``, ``match`` and
    ``table``."""

    points: Optional[str] = None
    """A NumPy file, or a text file with two columns, in the directory of the worlds: the points of
    a path. The number is the length (m) from the start, through all points, to the goal.
    ``{number}`` is replaced by the number at the end of the world file's name."""
    cell_m: float = Field(1.0, gt=0)
    """The unit (m) of ``points``."""
    origin_m: Point = (0.0, 0.0)
    """The origin ``[x, y]`` (m, world frame) of ``points``."""
    match: Optional[Expression] = None
    """A regular expression. The number is its first group at the first match in the world's
    file."""
    table: Optional[SpecPath] = None
    """A CSV file whose column ``world`` names the world."""
    column: str = ""
    """The column of ``table`` that has the number."""

    @model_validator(mode="after")
    def _one_source(self) -> "PublishedSpec":
        if sum(given is not None for given in (self.points, self.match, self.table)) != 1:
            raise ValueError("exactly one of points, match and table is needed")
        if (self.table is not None) != bool(self.column):
            raise ValueError("table and column must both be set")
        if self.match is not None and re.compile(self.match).groups < 1:
            raise ValueError("match has no group; put the number in parentheses")
        return self


class MissionSpec(Spec):
    """The mission items of a scenario that are start and goal, by the names in its models'
    descriptor.

    The robot starts at the first item ``start``. It must reach all items ``goal`` in the scenario's
    order; for a list, all items of its first name, then of its second, and so on. A missing key is
    the campaign's, for all worlds.
    """

    start: Optional[str] = None
    """Name of the item that is the start; default: the campaign's start."""
    goal: Union[str, Annotated[List[str], Field(min_length=1)], None] = None
    """Name of the items that are the goals, or a list of names; default: the campaign's goal."""

    @property
    def goals(self) -> Tuple[str, ...]:
        """Return the names of ``goal``, in order."""
        return (self.goal,) if isinstance(self.goal, str) else tuple(self.goal or ())

    @property
    def named(self) -> Iterator[Tuple[Tuple[Union[str, int], ...], str]]:
        """Yield every name after its path: the key, and the index in a list."""
        if self.start is not None:
            yield ("start",), self.start
        for index, goal in enumerate(self.goals):
            yield ("goal",) if isinstance(self.goal, str) else ("goal", index), goal


class WorldsSpec(Spec):
    """The source of the worlds: a base world and an obstacle specification (in place, or the path
    of its file); a scenario in Scenic and the descriptor of its models; or a directory of
    ``.world`` files (with or without ``worlds.json``)."""

    base: Optional[SpecPath] = None
    """The base world, to which random obstacles are added."""
    obstacles: Annotated[Optional[ObstacleSpec], BeforeValidator(_obstacles)] = None
    """The obstacle specification for ``base``, or the path of its file."""
    count: Optional[int] = Field(None, ge=1, le=MOST_TRIALS)
    """Number of worlds that are generated."""
    scenic: Optional[SpecPath] = None
    """A scenario, as for ``gz_testauto scenic``."""
    models: Optional[SpecPath] = None
    """The descriptor of the models that the scenario can place."""
    parameters: Dict[str, Union[bool, int, float, str]] = Field(default_factory=dict)
    """Values of the scenario's global parameters."""
    mission: Optional[MissionSpec] = None
    """The items of the scenario that are start and goal."""
    dynamic: bool = False
    """True if the scenario's behaviors, monitors and requirements are active in trials: objects
    with a behavior move, and the robot is the scenario's ego."""
    keep: bool = False
    """True if objects that already satisfy the scenario are kept and the others drawn again
    (``--keep-placed``)."""
    directory: Optional[SpecPath] = None
    """A directory of ``.world`` files, with or without ``worlds.json``."""
    files: Optional[List[WorldFileSpec]] = Field(None, min_length=1)
    """The worlds of the directory, in this order; default: all, by name."""
    obstacle_names: Optional[Expression] = None
    """Matches the full names of the random obstacles: those that the static map does not contain
    and that differ between worlds. Default: the spawner's names."""
    repair: bool = False
    """True if XML that Gazebo accepts but parsers reject is repaired; trials then use copies."""
    allow_missing: List[str] = Field(default_factory=list)
    """URIs of models, meshes and height maps, and file names of plug-ins, that can be missing.
    Elements that name a missing one are omitted, trials use copies of the worlds, and the results
    list them. ``*`` and ``?`` match any text and any character."""
    plugins: bool = True
    """True if the simulator loads the libraries in ``<plugin>`` elements of the worlds; the robot's
    plug-ins are always loaded."""
    published: Dict[str, PublishedSpec] = Field(default_factory=dict)
    """Numbers that a benchmark publishes for its worlds, by the name of their column."""

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
                message = unknown_name("mission item (MISSION_ONLY)", name, known)
                raise PydanticCustomError("value_error", "", {"error": message, SUBPATH: place})
        return mission

    @model_validator(mode="after")
    def _one_source(self) -> "WorldsSpec":
        if sum(one is not None for one in (self.base, self.scenic, self.directory)) != 1:
            raise ValueError(
                "one of base (with obstacles and count), scenic (with models and count) and "
                "directory is needed"
            )
        self._check_scenic()
        if self.base is not None and (self.obstacles is None or self.count is None):
            raise ValueError("base also needs obstacles and count")
        if self.directory is not None and self.obstacles is not None:
            raise ValueError("obstacles is not valid with directory")
        if self.base is not None and (self.files or self.published):
            raise ValueError("files and published are valid only with directory")
        require_different(
            [entry.world for entry in self.files or ()], "names of worlds", "; set name"
        )
        return self

    def _check_scenic(self) -> None:
        """Raise ``ValueError`` for keys that are invalid with ``scenic``, or without it."""
        if self.scenic is None:
            for key in ("models", "parameters", "mission", "keep", "dynamic"):
                if getattr(self, key):
                    raise ValueError(f"{key} is valid only with scenic")
            return
        if self.models is None or self.count is None:
            raise ValueError("scenic also needs models and count")
        if self.dynamic and (self.mission is None or self.mission.start is None):
            raise ValueError(
                "dynamic also needs mission.start: the mission item that is the scenario's ego, "
                "which the robot represents"
            )
        for key in ("obstacles", "files", "published", "repair"):
            if getattr(self, key):
                raise ValueError(f"{key} is not valid with scenic")

    @property
    def obstacle_pattern(self) -> Optional[Pattern[str]]:
        """Return ``obstacle_names``, compiled; None denotes the spawner's names."""
        return None if self.obstacle_names is None else re.compile(self.obstacle_names)
