"""The random obstacles of a world: counts, regions, sizes and the registry of kinds.

An example is ``config/obstacles.yaml``. Without a distribution, an obstacle has its size in the
saved world or in ``model``, otherwise the default of the key: 1 m for the unit shapes of Gazebo.
"""

from pathlib import Path
from typing import Any, ClassVar, Dict, List, Mapping, Optional, Tuple, Type, Union, cast

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    SerializeAsAny,
    Tag,
    ValidationInfo,
    model_validator,
)
from pydantic_core import PydanticCustomError, PydanticKnownError
from typing_extensions import Annotated, Literal, Self

from gz_testauto.base import resources
from gz_testauto.base.errors import ResourceError, UnknownNameError
from gz_testauto.base.registry import Registry
from gz_testauto.spec.distributions import (
    Distribution,
    NotNegativeUniform,
    ShareDistribution,
    Uniform,
)
from gz_testauto.spec.model import (
    LARGEST,
    Bounded,
    Interval,
    Point,
    Spec,
    SpecPath,
    require_different,
)
from gz_testauto.spec.regions import KeepOut, ObstacleRegions, PathRegion

MOST_OBSTACLES = 10_000  # placing them takes seconds, and simulators cannot simulate more

OBSTACLE_KINDS = Registry(
    "obstacle_kind",
    {
        "box": "gz_testauto.sampling.kinds:BoxObstacles",
        "cylinder": "gz_testauto.sampling.kinds:CylinderObstacles",
        "sphere": "gz_testauto.sampling.kinds:SphereObstacles",
        "model": "gz_testauto.sampling.kinds:ModelObstacles",
        "group": "gz_testauto.sampling.groups:GroupObstacles",
    },
)
"""Subclasses of :class:`gz_testauto.sampling.models.ObstacleKind` by their ``type``."""

FULL_TURN = Uniform(min=-3.141592653589793, max=3.141592653589793)


class CountRange(Spec):
    """A random number of obstacles. All integers from ``min`` to ``max`` have equal probability."""

    min: int = Field(ge=0)
    """Smallest number of obstacles."""
    max: int = Field(ge=0, le=MOST_OBSTACLES)
    """Largest number of obstacles."""

    @model_validator(mode="after")
    def _require_ordered(self) -> "CountRange":
        if self.min > self.max:
            raise ValueError(f"min {self.min} is greater than max {self.max}")
        return self

    def quantile(self, probability: float) -> int:
        """Return the count at ``probability``, a number in [0, 1)."""
        return min(self.min + int(probability * (self.max - self.min + 1)), self.max)


class CountDensity(CountRange):
    """A random number of obstacles in proportion to an area: the part of the region of the centers
    that is outside of the shapes of the base world and of ``keep_out``. All integers between the
    rounded numbers for both ends of ``per_100_m2`` have equal probability.
    """

    per_100_m2: NotNegativeUniform
    """Number of obstacles per 100 m²: a number, or ``[min, max]``."""
    min: int = Field(0, ge=0)
    """Smallest number of obstacles, also in a small area."""
    max: int = Field(MOST_OBSTACLES, ge=0, le=MOST_OBSTACLES)
    """Largest number of obstacles, also in a large area."""

    def in_area(self, area_m2: float) -> CountRange:
        """Return the range of the number of obstacles in an area of ``area_m2``."""
        low, high = (
            min(max(round(density * area_m2 / 100), self.min), self.max)
            for density in self.per_100_m2.support
        )
        return CountRange(min=low, max=high)


def _expand_count(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        if value < 0:
            raise PydanticCustomError("predicate", f"is {value}; it must be >= 0")
        return {"min": value, "max": value}
    if isinstance(value, list) and len(value) == 2:
        return {"min": value[0], "max": value[1]}
    if not isinstance(value, (dict, CountRange)):
        raise PydanticCustomError(
            "must", "must be a whole number, [min, max], {min, max} or {per_100_m2}"
        )
    return value


def _count_tag(value: Any) -> str:
    is_density = isinstance(value, CountDensity) or "per_100_m2" in value
    return "CountDensity" if is_density else "CountRange"


Count = Annotated[
    Union[Annotated[CountRange, Tag("CountRange")], Annotated[CountDensity, Tag("CountDensity")]],
    Discriminator(_count_tag),
    BeforeValidator(_expand_count),
]
"""A number of obstacles, in the forms of the key ``count``."""


class DistanceRange(Spec):
    """The accepted distances (m) between two outlines."""

    min: float = Field(0.0, ge=0, le=LARGEST)
    """Smallest distance (m)."""
    max: Optional[float] = Field(None, ge=0, le=LARGEST)
    """Largest distance (m); default: no limit."""

    @model_validator(mode="after")
    def _require_ordered(self) -> "DistanceRange":
        if self.max is not None and self.min > self.max:
            raise ValueError(f"min {self.min:g} is greater than max {self.max:g}")
        return self


class StepSpec(Spec):
    """The pose by which a repeated part is moved relative to the previous repetition."""

    x_m: Bounded = 0.0
    """Distance (m) along x."""
    y_m: Bounded = 0.0
    """Distance (m) along y."""
    yaw_rad: Bounded = 0.0
    """Rotation (rad) around the origin."""


def _expand_distance(value: Any) -> Any:
    if isinstance(value, list) and len(value) == 2:
        return {"min": value[0], "max": value[1]}
    if not isinstance(value, (dict, DistanceRange)):
        raise PydanticCustomError("must", "must be [min, max], {min} or {min, max}")
    return value


def _resolve_model_file(path: Optional[Path]) -> Optional[Path]:
    try:
        return None if path is None else resources.model_file(path)
    except ResourceError as error:
        raise PydanticCustomError("path", "{reason}", {"reason": str(error)}) from error


def size_key(default: Optional[float] = None, distribution: Any = None) -> Any:
    """Return a field that is a size of an obstacle kind. Sizes are drawn in the order of fields.

    ``default`` is the value in an entry without a distribution, or None if the model determines it.
    ``distribution`` is the default of the field.
    """
    return Field(distribution, json_schema_extra={"size": default})


WALLS = "walls"
"""Name of the shapes of the base world in ``distance_m``."""


class ObstacleGroup(Spec):
    """The keys of all obstacle kinds."""

    size_names: ClassVar[Tuple[str, ...]] = ()
    """Names of the fields that :func:`size_key` declares, in the order of the values in the
    ``size`` of an obstacle."""
    default_size: ClassVar[Tuple[Any, ...]] = ()
    """The size of an entry without distributions. A value is None if the model determines it."""

    name: Optional[str] = Field(None, pattern=r"^[A-Za-z][A-Za-z0-9_]*$")
    """Label in the names of the obstacles, ``obstacle_<name>_<index>``. The default is the type."""
    count: Count
    """Number of obstacles in each world: an integer, ``[min, max]``, or a density
    (``{per_100_m2: [2, 6]}``)."""
    region: Optional[ObstacleRegions] = None
    """The area of the obstacles' centers, uniformly distributed without ``x_m`` and ``y_m``. The
    default is the ``region`` of the whole specification."""
    x_m: Optional[Distribution] = None
    """x coordinate (m, world frame) of the center. A center outside the region is drawn again."""
    y_m: Optional[Distribution] = None
    """y coordinate (m, world frame) of the center."""
    yaw_rad: Distribution = FULL_TURN
    """Heading (rad). By default, all headings have the same probability."""
    static: Optional[bool] = None
    """True if a robot cannot push the obstacle. The default is the value in its model."""
    type: str
    """Name of the obstacle kind, such as ``box``."""
    model: Annotated[Optional[SpecPath], AfterValidator(_resolve_model_file)] = None
    """An SDF file, or the directory of a model, that replaces the unit shape of the obstacle
    kind."""
    distance_m: Dict[str, Annotated[DistanceRange, BeforeValidator(_expand_distance)]] = Field(
        default_factory=dict
    )
    """Accepted distances (m) from the outline of the obstacle to the nearest obstacle of a previous
    entry, by the name of this entry: ``{table: [0.2, 0.6]}`` is next to a table, and ``{table:
    {min: 1.0}}`` at least 1 m away from all tables. ``walls`` is the base world. For its own name,
    an entry can only set a smallest distance."""
    step: Optional[StepSpec] = None
    """Only in the ``parts`` of a group: the pose of each repetition relative to the previous one,
    in the frame of the group. A distance gives a row, and ``yaw_rad`` a ring around the origin of
    the group."""

    @classmethod
    def __pydantic_init_subclass__(cls, **options: Any) -> None:
        super().__pydantic_init_subclass__(**options)
        sizes = {
            name: field.json_schema_extra["size"]
            for name, field in cls.model_fields.items()
            if isinstance(field.json_schema_extra, dict) and "size" in field.json_schema_extra
        }
        cls.size_names, cls.default_size = tuple(sizes), tuple(sizes.values())

    @model_validator(mode="after")
    def _require_x_and_y(self) -> "ObstacleGroup":
        if (self.x_m is None) != (self.y_m is None):
            raise ValueError("'x_m' and 'y_m' must both be set")
        return self

    @property
    def files(self) -> List[Path]:
        """Return the files that this entry names."""
        return [] if self.model is None else [self.model]

    @property
    def label(self) -> str:
        """Return the label in the names of the obstacles: ``name`` or the type."""
        return self.name or self.type

    @property
    def sizes(self) -> Tuple[Tuple[str, Optional[Distribution]], ...]:  # type: ignore[valid-type]
        """Return the sizes' distributions by name, in the order in which they are drawn."""
        return tuple((name, getattr(self, name)) for name in self.size_names)

    @classmethod
    def kind_of(cls, data: Mapping[str, Any]) -> Type[Self]:
        """Return the registered class for the ``type`` in ``data``, or this class for an unknown
        type."""
        try:
            return cast(Type[Self], OBSTACLE_KINDS.get(str(data.get("type"))))
        except UnknownNameError:
            return cls


def as_kind(value: Any, info: ValidationInfo) -> Any:
    """Return an entry of ``obstacles`` as an instance of the class of its ``type``."""
    if not isinstance(value, Mapping):
        return value
    if "type" not in value:
        raise PydanticKnownError("union_tag_not_found", {"discriminator": "'type'"})
    kind = ObstacleGroup.kind_of(value)
    if kind is ObstacleGroup:
        known_kinds = ", ".join(map(repr, OBSTACLE_KINDS.names()))
        tag = {"discriminator": "'type'", "tag": str(value["type"]), "expected_tags": known_kinds}
        raise PydanticKnownError("union_tag_invalid", tag)
    return kind.model_validate(value, context=info.context)


AnyObstacles = SerializeAsAny[Annotated[ObstacleGroup, BeforeValidator(as_kind)]]
"""An entry of ``obstacles``: an instance of a registered class of :data:`OBSTACLE_KINDS`."""


class SolvableMissionSpec(Spec):
    """The mission that must be possible in each world; campaigns use their own. The robot is
    represented by the circle around the origin of its base frame that contains its outline."""

    start: Optional[Point] = None
    """Start position ``[x, y]`` (m, world frame) of the robot."""
    goal: Optional[Point] = None
    """Goal position ``[x, y]`` (m, world frame) of the robot."""
    robot: Optional[SpecPath] = None
    """The SDF file of the robot's model, from which outline and height are read."""
    footprint_m: Optional[List[Point]] = Field(None, min_length=3)
    """Corners ``[x, y]`` (m) of the robot's outline in its base frame, in place of ``robot``."""
    height_m: Optional[Interval] = None
    """Lowest and highest point (m) of the robot's body above its origin. The default is computed
    from ``robot``. Shapes above the highest point do not obstruct the robot."""


class SolvableSpec(Spec):
    """The requirement that each world has a path from the start to the goal: the circle around the
    robot's outline, enlarged by ``margin_m``, reaches the goal without touching an obstacle. Worlds
    without a path are drawn again.
    """

    margin_m: float = Field(0.1, ge=0, le=LARGEST)
    """Distance (m) by which the radius of the robot's circle is enlarged."""


class SamplingSpec(Spec):
    """The dependence between the random numbers of the worlds.

    - ``uniform``: worlds are drawn independently.
    - ``lhs``: worlds are drawn from a Latin hypercube, in independent blocks of ``block`` worlds.
      The range of each parameter of each obstacle is divided into ``block`` equal parts, and each
      world of a block has a value from another part. A number of worlds that is a multiple of
      ``block`` is fully stratified.
    - ``sobol``: worlds are points of a scrambled Sobol sequence. Numbers of worlds that are powers
      of two give the best coverage.

    World *i* depends only on the seed and *i*. If the first proposal for an obstacle does not fit,
    another position is drawn independently; its size and heading do not change.
    """

    method: Literal["uniform", "lhs", "sobol"] = "uniform"
    """The sampling method."""
    block: int = Field(100, ge=2, le=10_000)
    """Number of worlds in a block of the method ``lhs``."""


def _expand_method(value: Any) -> Any:
    return {"method": value} if isinstance(value, str) else value


def _expand_solvable(value: Any) -> Any:
    if value is True:
        return {}
    return None if value is False else value


class ObstacleSpec(Spec):
    """The random obstacles of a world, and the conditions for a valid world."""

    obstacles: List[AnyObstacles] = Field(min_length=1)
    """Groups of obstacles of one obstacle kind each."""
    region: Optional[ObstacleRegions] = None
    """The area of the obstacles' centers in groups without a separate ``region``."""
    keep_out: List[KeepOut] = Field(default_factory=list)
    """Areas in which no part of an obstacle is allowed."""
    min_gap_m: float = Field(0.0, ge=0, le=LARGEST)
    """Smallest distance (m) between the outlines of two obstacles."""
    wall_gap_m: Optional[float] = Field(None, ge=0, le=LARGEST)
    """Smallest distance (m) between an obstacle and a shape of the base world; default:
    ``min_gap_m``."""
    ground_z_m: Bounded = 0.0
    """Height (m) of the ground on which obstacles are placed."""
    mission: Optional[SolvableMissionSpec] = None
    """Start, goal and robot for ``gz_testauto multiply``. Campaigns ignore this key."""
    solvable: Annotated[Optional[SolvableSpec], BeforeValidator(_expand_solvable)] = None
    """True, or parameters, if worlds without a path for the robot are drawn again; default:
    false."""
    sampling: Annotated[SamplingSpec, BeforeValidator(_expand_method)] = SamplingSpec()
    """The sampling method: its name, or a mapping with its parameters."""
    coverage: Optional[ShareDistribution] = None
    """Share of the ground, between 0 and 1, that the obstacles of a world cover (``density`` in
    ``worlds.json``). It determines the numbers of obstacles, within the ``count`` of each
    entry."""
    max_tries: int = Field(5000, ge=1, le=100_000)
    """Number of positions that are tried for the obstacles of one world before placement fails."""

    @model_validator(mode="after")
    def _check_obstacles(self) -> "ObstacleSpec":
        labels = [group.label for group in self.obstacles]
        require_different(labels, "names of obstacles", "; set name")
        self.require_placeable_count()
        _require_known_names(self)
        for index, group in enumerate(self.obstacles):
            if group.step is not None:
                raise ValueError(
                    f"obstacles[{index}].step has no effect; use it in the parts of a group"
                )
            if self.region is None and group.region is None and group.x_m is None:
                raise ValueError(
                    f"obstacles[{index}] has no position; set its region, the region of "
                    "the specification, or x_m and y_m"
                )
        return self

    def require_placeable_count(self) -> None:
        """Raise ``ValueError`` if the sum of the largest counts, except densities, exceeds
        ``MOST_OBSTACLES``."""
        counts = [group.count for group in self.obstacles]
        max_count = sum(count.max for count in counts if not isinstance(count, CountDensity))
        if max_count > MOST_OBSTACLES:
            raise ValueError(
                f"the counts of all obstacles add up to {max_count}; a world can have "
                f"at most {MOST_OBSTACLES}"
            )

    @property
    def gap_to_walls_m(self) -> float:
        """Return ``wall_gap_m``, or ``min_gap_m`` if ``wall_gap_m`` is not set."""
        return self.min_gap_m if self.wall_gap_m is None else self.wall_gap_m

    @property
    def needs_mission(self) -> bool:
        """Return whether the placement of obstacles depends on the start and the goals."""
        regions = [*(self.region or ())]
        for group in self.obstacles:
            regions += group.region or ()
        return (
            self.solvable is not None
            or any(isinstance(region, PathRegion) for region in regions)
            or any(zone.center is not None for zone in self.keep_out)
        )

    @property
    def files(self) -> List[Path]:
        """Return the paths of all files that the specification names, sorted."""
        paths = {path for group in self.obstacles for path in group.files}
        if self.mission is not None and self.mission.robot is not None:
            paths.add(self.mission.robot)
        return sorted(paths)


def _require_known_names(spec: ObstacleSpec) -> None:
    """Raise ``ValueError`` for an unknown name in ``distance_m``, and for a largest distance to an
    obstacle that can be absent. Known names are the entry, previous entries and ``walls``."""
    previous_groups: Dict[str, ObstacleGroup] = {}
    for index, group in enumerate(spec.obstacles):
        for name, distance in group.distance_m.items():
            place = f"obstacles[{index}].distance_m.{name}"
            if name == group.label:
                if distance.max is not None:
                    raise ValueError(
                        f"{place} has a max, but the first obstacle has no other one near it; set "
                        "only min, or use another entry"
                    )
            elif name in previous_groups:
                if distance.max is not None and previous_groups[name].count.min == 0:
                    raise ValueError(
                        f"{place} has a max, but a world can have no {name!r}; set its count to at "
                        "least 1"
                    )
            elif name != WALLS:
                names = ", ".join(map(repr, [*previous_groups, WALLS]))
                raise ValueError(
                    f"{place}: no previous entry has the name {name!r}; names: {names}"
                )
        previous_groups[group.label] = group
