"""The worlds of a campaign, and published facts about each world.

Defines the keys of ``worlds`` in ``campaign.yaml``. Worlds are generated from a base world or by a
world source, or they are the files of a directory, with optional missions. Further keys describe
names of random obstacles and numbers that a benchmark publishes.
:mod:`gz_testauto.campaign.world_source` reads the files.
"""

import re
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Dict, List, Mapping, Optional, Pattern, Set, Tuple, Type, cast

from pydantic import (
    BeforeValidator,
    Field,
    ValidationInfo,
    create_model,
    model_validator,
)
from pydantic_core import PydanticCustomError
from typing_extensions import Annotated, Self

from gz_testauto.base.errors import MissingDependencyError, PluginError
from gz_testauto.base.registry import Registry
from gz_testauto.spec.loader import SUBPATH, load
from gz_testauto.spec.model import (
    Expression,
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
"""Exclusive upper bound of the seed of a campaign."""
MOST_TRIALS = 1_000_000
"""Largest number of trials in a campaign, since each has a file and a row in the results."""

PATH_M = "path_m"
"""Key in ``published`` for the length (m) of the shortest path, which the BARN score needs."""


def _obstacles(value: Any, info: ValidationInfo) -> Any:
    if not isinstance(value, (str, Path)):
        return value
    return load(resolve_path(value, info), ObstacleSpec)


class WorldFileSpec(ViaSpec):
    """A ``.world`` file of the directory, as a file name or with these keys. A file can occur
    several times with different names, for several missions. Without ``goal``, the default of
    ``via`` is that of the campaign."""

    file: str = Field(pattern=r"\.world$")
    """Name of the file in the directory."""
    name: str = Field("", pattern=rf"^$|{NAME}")
    """Name of the world in results; default: the name of the file without ``.world``."""
    start: Optional[PoseSpec] = None
    """The robot's start in this world; default: that of the campaign."""
    goal: Optional[PoseSpec] = None
    """The goal in this world; default: that of the campaign."""
    road: RoadOrFile = None
    """The road of this world, or the path of its file; default: that of the campaign."""

    @model_validator(mode="before")
    @classmethod
    def _wrap_bare_name(cls, data: Any) -> Any:
        return {"file": data} if isinstance(data, str) else data

    @property
    def world(self) -> str:
        """Return the world's name in results."""
        return self.name or Path(self.file).stem


class PublishedSpec(Spec):
    """The source of a number that is published for each world. Exactly one of ``points``, ``match``
    and ``table`` must be set."""

    points: Optional[str] = None
    """A NumPy file, or a text file with two columns, with the points of a path, in the directory of
    the worlds. The published number is the length (m) of the path from the start through all points
    to the goal. ``{number}`` stands for the number at the end of the world's file name."""
    cell_m: float = Field(1.0, gt=0)
    """Length (m) of one unit of the coordinates in ``points``."""
    origin_m: Point = (0.0, 0.0)
    """Position ``[x, y]`` (m, world frame) of the origin of ``points``."""
    match: Optional[Expression] = None
    """A regular expression that is searched in the world file. The published number is the first
    group of the first match."""
    table: Optional[SpecPath] = None
    """A CSV file whose column ``world`` has the name of the world."""
    column: str = ""
    """Name of the column of ``table`` that has the number."""

    @model_validator(mode="after")
    def _one_source(self) -> "PublishedSpec":
        if sum(given is not None for given in (self.points, self.match, self.table)) != 1:
            raise ValueError("exactly one of points, match and table must be set")
        if (self.table is not None) != bool(self.column):
            raise ValueError("table and column must both be set")
        if self.match is not None and re.compile(self.match).groups < 1:
            raise ValueError("match has no group; put the number in parentheses")
        return self


class WorldSourceSpec(Spec):
    """The section of a world source in ``worlds``. A subclass has the keys of the world source."""

    @property
    def sets_start(self) -> bool:
        """Return whether the source sets the robot's start in each world, in place of
        ``robot.start``."""
        return False

    @property
    def sets_goal(self) -> bool:
        """Return whether the source sets the robot's goals in each world, in place of ``goal``."""
        return False

    @property
    def has_agents(self) -> bool:
        """Return whether the source moves models during trials."""
        return False


WORLD_SOURCES = Registry("world source", {})
"""Registered subclasses of :class:`~gz_testauto.worlds.source.WorldSource`, by the name of their
section in ``worlds``."""


class WorldsSpec(Spec):
    """The source of the worlds: a base world with an obstacle specification (its keys, or the path
    of its file), a directory of ``.world`` files, or the section of a world source, such as
    ``scenic``."""

    source_name: ClassVar[str] = ""
    """Key of the section of the world source; empty without a world source."""

    base: Optional[SpecPath] = None
    """The base world to which random obstacles are added."""
    obstacles: Annotated[Optional[ObstacleSpec], BeforeValidator(_obstacles)] = None
    """The obstacle specification for ``base``, or the path of its file."""
    count: Optional[int] = Field(None, ge=1, le=MOST_TRIALS)
    """Number of worlds that are generated."""
    directory: Optional[SpecPath] = None
    """A directory of ``.world`` files, with or without ``worlds.json``."""
    files: Optional[List[WorldFileSpec]] = Field(None, min_length=1)
    """The worlds of the directory to use, in this order; default: all, sorted by name."""
    obstacle_names: Optional[Expression] = None
    """A regular expression that matches the full names of the random obstacles, which differ
    between worlds and which the static map does not contain. The default matches the names of the
    spawner."""
    repair: bool = False
    """True if malformed XML that Gazebo accepts is repaired. Trials then use copies of the
    worlds."""
    allow_missing: List[str] = Field(default_factory=list)
    """URIs of models, meshes and height maps, and file names of plug-ins, that are allowed to be
    missing; ``*`` and ``?`` match any text and any character. Elements that name a missing file are
    omitted, trials use copies of the worlds, and the results list the missing files."""
    plugins: bool = True
    """True if the simulator loads the libraries in ``<plugin>`` elements of the worlds. The
    plug-ins of the robot are always loaded."""
    published: Dict[str, PublishedSpec] = Field(default_factory=dict)
    """Numbers that a benchmark publishes for its worlds, by the name of their column."""

    @classmethod
    def kind_of(cls, data: Mapping[str, Any]) -> Type[Self]:
        """Return the class that also has the section of the world source that ``data`` names.
        Raises ``MissingDependencyError`` or ``PluginError`` if the source cannot be loaded."""
        name = _named_source(data)
        if name is None:
            return cls
        return cast(Type[Self], _with_section(name, WORLD_SOURCES.get(name).spec_type))

    @property
    def source(self) -> Optional[WorldSourceSpec]:
        """Return the section of the world source, or None for a base world or a directory."""
        return getattr(self, self.source_name) if self.source_name else None

    @property
    def has_agents(self) -> bool:
        """Return whether the world source moves models during trials."""
        return self.source is not None and self.source.has_agents

    def __reduce__(self) -> Tuple[Any, ...]:
        # A class that kind_of creates cannot be imported by another process.
        return _restore, (dict(self), self.model_fields_set)

    @model_validator(mode="wrap")
    @classmethod
    def _as_its_kind(cls, data: Any, handler: Any, info: ValidationInfo) -> Any:
        if cls is not WorldsSpec or not isinstance(data, Mapping):
            return handler(data)
        try:
            kind = cls.kind_of(data)
        except (MissingDependencyError, PluginError) as error:
            context = {"error": str(error), SUBPATH: (_named_source(data),)}
            raise PydanticCustomError("value_error", "", context) from error
        return handler(data) if kind is cls else kind.model_validate(data, context=info.context)

    @model_validator(mode="after")
    def _one_source(self) -> "WorldsSpec":
        if sum(one is not None for one in (self.base, self.source, self.directory)) != 1:
            raise ValueError(
                "set exactly one of base (with obstacles and count), directory, and a world source "
                f"with count ({', '.join(WORLD_SOURCES.names())})"
            )
        if self.base is not None and (self.obstacles is None or self.count is None):
            raise ValueError("base needs obstacles and count; add the missing key")
        if self.source is not None and self.count is None:
            raise ValueError(f"{self.source_name} needs count; add the number of worlds")
        self._reject_keys_of_other_sources()
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
            name, keys = self.source_name, ["obstacles", "files", "published", "repair"]
        for key in keys:
            if getattr(self, key):
                raise ValueError(f"{key} is not allowed with {name}; remove one of them")

    @property
    def obstacle_pattern(self) -> Optional[Pattern[str]]:
        """Return ``obstacle_names`` as a compiled pattern, or None for the names of the spawner."""
        return None if self.obstacle_names is None else re.compile(self.obstacle_names)


def _named_source(data: Mapping[str, Any]) -> Optional[str]:
    further = [key for key in data if key not in WorldsSpec.model_fields]
    return next((name for name in further if name in WORLD_SOURCES.names()), None)


@lru_cache(maxsize=None)
def _with_section(name: str, section: Type[WorldSourceSpec]) -> Type[WorldsSpec]:
    """Return the specification of worlds with the section ``name`` of a world source."""
    fields: Dict[str, Any] = {name: (section, ...)}
    kind = create_model(f"WorldsSpec_{name}", __base__=WorldsSpec, **fields)
    kind.source_name = name
    return kind


def _restore(fields: Dict[str, Any], was_set: Set[str]) -> WorldsSpec:
    return WorldsSpec.kind_of(fields).model_construct(was_set, **fields)
