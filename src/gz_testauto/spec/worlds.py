"""The worlds of a campaign, and numbers that a benchmark publishes for each world.

:mod:`gz_testauto.campaign.world_source` reads the files.
"""

import re
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Dict, List, Mapping, Optional, Pattern, Set, Tuple, Type, cast

from pydantic import (
    ConfigDict,
    Field,
    ValidationInfo,
    create_model,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError
from typing_extensions import Annotated, Self

from gz_testauto.base.errors import MissingDependencyError, PluginError
from gz_testauto.base.registry import Registry
from gz_testauto.spec.loader import SUBPATH, from_file
from gz_testauto.spec.missions import MissionsSpec
from gz_testauto.spec.model import (
    Bounded,
    Expression,
    Point,
    PoseSpec,
    Spec,
    SpecPath,
    ViaSpec,
    require_different,
)
from gz_testauto.spec.obstacles import ObstacleSpec
from gz_testauto.spec.road import RoadOrFile
from gz_testauto.spec.robot import XacroSpec
from gz_testauto.spec.stack import NAME

SEEDS = 2**63
"""Exclusive upper bound of a seed."""
MOST_TRIALS = 1_000_000  # each trial has a file and a row in the results

MOST_COPIES = 10_000
"""Largest number of worlds with the same file in one entry of ``files``."""

PATH_M = "path_m"
"""Key in ``published`` for the length (m) of the shortest path, which the BARN score needs."""


_SUFFIX = re.compile(r"\.(world|sdf)(\.xacro)?$")


def name_of_world(file: str) -> str:
    """Return the name of a file without the suffixes of worlds."""
    return _SUFFIX.sub("", Path(file).name)


class RandomNumbers(Spec):
    """The identity of the random numbers of a trial: the noise of sensors and planners, actors, and
    values of ``randomize``. A campaign file can name those of another campaign, to use them
    again."""

    model_config = ConfigDict(frozen=True)

    seed: int = Field(ge=0, lt=SEEDS)
    """Seed of the other campaign."""
    world: int = Field(0, ge=0, lt=MOST_TRIALS)
    """Index of the world in the other campaign, from 0."""
    repetition: int = Field(0, ge=0, lt=SEEDS)
    """Index of the repetition in the other campaign, from 0, for the first repetition in this
    one."""


class RecordedEndSpec(Spec):
    """The end of a drive of a real robot in a world that was built from its recording."""

    x_m: Bounded
    """x (m, world frame) of the robot."""
    y_m: Bounded
    """y (m, world frame) of the robot."""
    result: str = Field("", max_length=100)
    """The recorded result of the goal, such as ``aborted``."""


class WorldFileSpec(ViaSpec):
    """A ``.world`` or ``.sdf`` file of the directory, also in xacro (``.world.xacro``): its name,
    or a mapping with these keys. A file can be listed several times with different names, for
    several missions. Without ``goal``, the default of ``via`` is that of the campaign."""

    file: str = Field(pattern=_SUFFIX.pattern)
    """Name of the file in the directory."""
    name: str = Field("", pattern=rf"^$|{NAME}")
    """Name of the world in results; default: the file name without these suffixes."""
    count: int = Field(1, ge=1, le=MOST_COPIES)
    """Number of worlds with this file. Several worlds are named ``name_0``, ``name_1``, …, with
    leading zeros, and have separate draws of actors and ``randomize``."""
    start: Optional[PoseSpec] = None
    """The robot's start in this world; default: that of the campaign."""
    goal: Optional[PoseSpec] = None
    """The goal in this world; default: that of the campaign."""
    road: RoadOrFile = None
    """The road of this world, or the path of its file; default: that of the campaign."""
    random_numbers: Optional[RandomNumbers] = None
    """The trial of another campaign whose random numbers are used in this world, so that a trial is
    repeated bit by bit. By default, they derive from the seed of the campaign and the world's
    position in it."""
    recorded_end: Optional[RecordedEndSpec] = None
    """The failure of a real robot in this world. The report states how many trials fail there."""

    @model_validator(mode="before")
    @classmethod
    def _wrap_bare_name(cls, data: Any) -> Any:
        return {"file": data} if isinstance(data, str) else data

    @property
    def world(self) -> str:
        """Return the name of the world in results."""
        return self.name or name_of_world(self.file)

    @model_validator(mode="after")
    def _require_different_copies(self) -> Self:
        if self.count > 1 and self.random_numbers is not None:
            raise ValueError(
                "'random_numbers' would be the same in each of the 'count' worlds; remove one of "
                "them"
            )
        return self

    @property
    def copies(self) -> List["WorldFileSpec"]:
        """Return an entry for each of the ``count`` worlds."""
        if self.count == 1:
            return [self]
        digits = len(str(self.count - 1))
        names = [f"{self.world}_{index:0{digits}d}" for index in range(self.count)]
        return [self.model_copy(update={"name": name, "count": 1}) for name in names]


class PublishedSpec(Spec):
    """The source of a published number for each world: exactly one of ``points``, ``match`` and
    ``table``."""

    points: Optional[str] = None
    """A file in the directory of the worlds with the points of a path, as a NumPy array or as text
    with two columns. The number is the length (m) of the path from the start through all points to
    the goal. ``{number}`` is the number at the end of the world's file name."""
    cell_m: float = Field(1.0, gt=0)
    """Length (m) of one unit of the coordinates in ``points``."""
    origin_m: Point = (0.0, 0.0)
    """Position ``[x, y]`` (m, world frame) of the coordinates' origin."""
    match: Optional[Expression] = None
    """A regular expression that is searched in the world file. The number is the first group of the
    first match."""
    table: Optional[SpecPath] = None
    """A CSV file with the numbers. Its column ``world`` contains the names of the worlds."""
    column: str = ""
    """Name of the column of ``table`` with the number."""

    @model_validator(mode="after")
    def _require_one_source(self) -> "PublishedSpec":
        if sum(source is not None for source in (self.points, self.match, self.table)) != 1:
            raise ValueError("exactly one of 'points', 'match' and 'table' must be set")
        if (self.table is not None) != bool(self.column):
            raise ValueError("'table' and 'column' must both be set")
        if self.match is not None and re.compile(self.match).groups < 1:
            raise ValueError("'match' contains no group; enclose the number in parentheses")
        return self


class WorldSourceSpec(Spec):
    """The base class of the sections of world sources in ``worlds``."""

    @property
    def sets_start(self) -> bool:
        """Return whether the world source sets the robot's start, in place of ``robot.start``."""
        return False

    @property
    def sets_goal(self) -> bool:
        """Return whether the world source sets the robot's goals, in place of ``goal``."""
        return False

    @property
    def has_agents(self) -> bool:
        """Return whether the source moves models during trials."""
        return False


WORLD_SOURCES = Registry("world source", {})
"""Subclasses of :class:`~gz_testauto.worlds.source.WorldSource`, by their section in ``worlds``."""


class WorldsSpec(Spec):
    """The worlds of a campaign, from one of three sources:

    - ``base`` with an obstacle specification, or the path of its file;
    - a directory of ``.world`` files;
    - the section of a world source, such as ``scenic``.
    """

    source_name: ClassVar[str] = ""
    """Key of the section of the world source, or empty."""

    base: Optional[SpecPath] = None
    """The base world to which random obstacles are added."""
    obstacles: Annotated[Optional[ObstacleSpec], from_file(ObstacleSpec)] = None
    """The obstacle specification for ``base``, or the path of its YAML file."""
    count: Optional[int] = Field(None, ge=1, le=MOST_TRIALS)
    """Number of worlds that are generated."""
    directory: Optional[SpecPath] = None
    """A directory of ``.world`` and ``.world.xacro`` files, with or without ``worlds.json``."""
    xacro: Optional[XacroSpec] = None
    """Arguments and environment variables for worlds in xacro. With this key, also the models that
    a world without macros includes can be in xacro; they are expanded without arguments."""
    files: Optional[List[WorldFileSpec]] = Field(None, min_length=1)
    """The worlds of the directory to use, in this order; default: all, sorted by name."""
    obstacle_names: Optional[Expression] = None
    """A regular expression that matches the full names of the random obstacles, which are not part
    of the static map. The default matches the names that the spawner assigns."""
    repair: bool = False
    """True if malformed XML that Gazebo accepts is repaired in copies of the worlds."""
    allow_missing: List[str] = Field(default_factory=list)
    """Files that are allowed to be missing: URIs of models, meshes and height maps, and file names
    of plug-ins, with the wildcards ``*`` (any text) and ``?`` (any character). Trials use copies of
    the worlds without the elements that name a missing file. The results list these files."""
    plugins: bool = True
    """True if the simulator loads the plug-ins of the worlds. The plug-ins of the robot are always
    loaded."""
    missions: Optional[MissionsSpec] = None
    """A start and goals that are drawn for each world, in place of ``robot.start`` and ``goal``."""
    published: Dict[str, PublishedSpec] = Field(default_factory=dict)
    """Numbers that a benchmark publishes for its worlds, by the column in the results."""

    @classmethod
    def kind_of(cls, data: Mapping[str, Any]) -> Type[Self]:
        """Return the specification class for ``data``, with the section of the world source that
        ``data`` names. Raises ``MissingDependencyError`` or ``PluginError`` if it cannot be
        loaded."""
        name = _named_source(data)
        if name is None:
            return cls
        return cast(Type[Self], _create_class_with_section(name, WORLD_SOURCES.get(name).spec_type))

    @property
    def source(self) -> Optional[WorldSourceSpec]:
        """Return the section of the world source, or None for other worlds."""
        return getattr(self, self.source_name) if self.source_name else None

    @property
    def has_agents(self) -> bool:
        """Return whether the world source moves models during trials."""
        return self.source is not None and self.source.has_agents

    @property
    def missions_per_world(self) -> int:
        """Return the number of worlds of the campaign for each world file."""
        return 1 if self.missions is None else self.missions.count

    @property
    def total_count(self) -> Optional[int]:
        """Return the number of worlds of the campaign, or None for all worlds of a directory."""
        return None if self.count is None else self.count * self.missions_per_world

    def setter_of(self, sets: str) -> str:
        """Return the key in ``worlds`` that sets the start or the goal, or "" if the campaign sets
        it. ``sets`` is the property ``sets_start`` or ``sets_goal`` of :class:`WorldSourceSpec`."""
        if self.missions is not None:
            return "missions"
        return self.source_name if self.source is not None and getattr(self.source, sets) else ""

    def __reduce__(self) -> Tuple[Any, ...]:
        # A class that kind_of creates cannot be imported by another process.
        return _restore, (dict(self), self.model_fields_set)

    @model_validator(mode="wrap")
    @classmethod
    def _validate_as_kind(cls, data: Any, handler: Any, info: ValidationInfo) -> Any:
        if cls is not WorldsSpec or not isinstance(data, Mapping):
            return handler(data)
        try:
            kind = cls.kind_of(data)
        except (MissingDependencyError, PluginError) as error:
            context = {"error": str(error), SUBPATH: (_named_source(data),)}
            raise PydanticCustomError("value_error", "", context) from error
        return handler(data) if kind is cls else kind.model_validate(data, context=info.context)

    @field_validator("files")
    @classmethod
    def _expand_copies(cls, files: Optional[List[WorldFileSpec]]) -> Optional[List[WorldFileSpec]]:
        return None if files is None else [copy for entry in files for copy in entry.copies]

    @model_validator(mode="after")
    def _require_one_source(self) -> "WorldsSpec":
        if sum(source is not None for source in (self.base, self.source, self.directory)) != 1:
            raise ValueError(
                "set exactly one of 'base' (with 'obstacles' and 'count'), 'directory', and a "
                f"world source with 'count' ({', '.join(WORLD_SOURCES.names())})"
            )
        if self.base is not None and (self.obstacles is None or self.count is None):
            raise ValueError("'base' needs 'obstacles' and 'count'; add the missing key")
        if self.source is not None and self.count is None:
            raise ValueError(f"{self.source_name!r} needs 'count'; add the number of worlds")
        self._reject_keys_of_other_sources()
        self._check_missions()
        require_different(
            [entry.world for entry in self.files or ()], "names of worlds", "; set name"
        )
        return self

    def _reject_keys_of_other_sources(self) -> None:
        if self.directory is not None:
            name, keys = "directory", ["obstacles"]
        elif self.base is not None:
            name, keys = "base", ["files", "published"]
        else:
            name, keys = self.source_name, ["obstacles", "files", "published", "repair", "xacro"]
        for key in keys:
            if getattr(self, key):
                raise ValueError(f"{key!r} is not allowed with {name!r}; remove one of them")

    def _check_missions(self) -> None:
        if self.missions is None:
            return
        if self.source is not None and (self.source.sets_start or self.source.sets_goal):
            raise ValueError(
                f"'missions' and 'mission' of {self.source_name!r} both set start and goal; remove "
                "one of them"
            )
        for entry in self.files or ():
            keys = ("start", "goal", "via", "road", "random_numbers")
            key = next((key for key in keys if getattr(entry, key)), None)
            if key is not None:
                raise ValueError(
                    f"'missions' draws start and goal of each file, so {key!r} of {entry.world!r} "
                    "in 'files' is not allowed; remove one of them"
                )
        if self.obstacles is not None and self.obstacles.needs_mission:
            raise ValueError(
                "'missions' draws start and goal after the obstacles; remove 'solvable', "
                "'along_path', and 'keep_out' with the center start or goal from the obstacles"
            )

    @property
    def obstacle_pattern(self) -> Optional[Pattern[str]]:
        """Return ``obstacle_names`` as a compiled pattern, or None for the names that the spawner
        assigns."""
        return None if self.obstacle_names is None else re.compile(self.obstacle_names)


def _named_source(data: Mapping[str, Any]) -> Optional[str]:
    other_keys = [key for key in data if key not in WorldsSpec.model_fields]
    return next((name for name in other_keys if name in WORLD_SOURCES.names()), None)


@lru_cache(maxsize=None)
def _create_class_with_section(name: str, section: Type[WorldSourceSpec]) -> Type[WorldsSpec]:
    fields: Dict[str, Any] = {name: (section, ...)}
    kind = create_model(f"WorldsSpec_{name}", __base__=WorldsSpec, **fields)
    kind.source_name = name
    return kind


def _restore(fields: Dict[str, Any], was_set: Set[str]) -> WorldsSpec:
    return WorldsSpec.kind_of(fields).model_construct(was_set, **fields)
