"""The random obstacles of a world: counts, kinds, regions and sizes.

Defines the keys of ``obstacles.yaml``; ``config/obstacles.yaml`` is an example. The kinds are
classes of :mod:`gz_testauto.sampling.kinds`, registered in :data:`OBSTACLE_KINDS`.
:mod:`gz_testauto.sampling` draws obstacles, and :mod:`gz_testauto.worlds` writes worlds.

The default of a size is that of the saved world when a saved world is multiplied, otherwise that of
``model``, otherwise 1 m as in Gazebo's unit shapes.
"""

from pathlib import Path
from typing import Any, ClassVar, List, Mapping, Optional, Tuple, Type, cast

from pydantic import BeforeValidator, Field, SerializeAsAny, ValidationInfo, model_validator
from pydantic_core import PydanticCustomError, PydanticKnownError
from typing_extensions import Annotated, Literal, Self

from gz_testauto.base.errors import UnknownNameError
from gz_testauto.base.registry import Registry
from gz_testauto.spec.distributions import Distribution, Uniform
from gz_testauto.spec.model import (
    LARGEST,
    Bounded,
    Interval,
    Point,
    Spec,
    SpecPath,
    require_different,
)
from gz_testauto.spec.regions import KeepOut, Regions

MOST_OBSTACLES = 10_000
"""Largest number in one world; the placement takes seconds, and no simulator runs with more."""

OBSTACLE_KINDS = Registry(
    "obstacle_kind",
    {
        "box": "gz_testauto.sampling.kinds:BoxObstacles",
        "cylinder": "gz_testauto.sampling.kinds:CylinderObstacles",
        "sphere": "gz_testauto.sampling.kinds:SphereObstacles",
        "model": "gz_testauto.sampling.kinds:ModelObstacles",
    },
)
"""The kinds by the ``type`` that selects them: subclasses of ``ObstacleKind`` in
:mod:`gz_testauto.sampling.kinds`."""

FULL_TURN = Uniform(min=-3.141592653589793, max=3.141592653589793)


class CountRange(Spec):
    """A random count: any integer from ``min`` to ``max``, with equal probabilities."""

    min: int = Field(ge=0)
    """The smallest count."""
    max: int = Field(ge=0, le=MOST_OBSTACLES)
    """The largest count."""

    @model_validator(mode="after")
    def _ordered(self) -> "CountRange":
        if self.min > self.max:
            raise ValueError(f"min {self.min} is greater than max {self.max}")
        return self

    def quantile(self, probability: float) -> int:
        """Return the count at ``probability``, in [0, 1)."""
        return min(self.min + int(probability * (self.max - self.min + 1)), self.max)


def _count(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        if value < 0:
            raise PydanticCustomError("predicate", f"is {value}; it must be >= 0")
        return {"min": value, "max": value}
    if isinstance(value, list) and len(value) == 2:
        return {"min": value[0], "max": value[1]}
    if not isinstance(value, (dict, CountRange)):
        raise PydanticCustomError("must", "must be a whole number, [min, max] or {min, max}")
    return value


class ObstacleGroup(Spec):
    """The keys that all kinds of obstacles have in common, for an entry of ``obstacles``."""

    size_names: ClassVar[Tuple[str, ...]] = ()
    """The fields that are sizes; an obstacle's ``size`` has its values in this order."""

    name: Optional[str] = Field(None, pattern=r"^[A-Za-z][A-Za-z0-9_]*$")
    """The label in the obstacles' names, ``obstacle_<name>_<index>``; default: the type."""
    count: Annotated[CountRange, BeforeValidator(_count)]
    """Number of obstacles in each world: an integer, or ``[min, max]``."""
    region: Optional[Regions] = None
    """The area of their centers, which are uniform in it without ``x_m`` and ``y_m``; default: that
    of the specification."""
    x_m: Optional[Distribution] = None
    """x coordinate (m, world frame) of a center; with ``y_m``, a center outside the region is drawn
    again."""
    y_m: Optional[Distribution] = None
    """y coordinate (m, world frame) of a center."""
    yaw_rad: Distribution = FULL_TURN
    """Heading (rad); default: any."""
    static: Optional[bool] = None
    """True if the obstacle does not move when it is pushed; default: as in the model."""
    type: str
    """Name of the obstacle kind, such as ``box``."""
    model: Optional[SpecPath] = None
    """An SDF file with the model, in place of the kind's unit model."""

    @model_validator(mode="after")
    def _x_with_y(self) -> "ObstacleGroup":
        if (self.x_m is None) != (self.y_m is None):
            raise ValueError("x_m and y_m must both be set")
        return self

    @property
    def label(self) -> str:
        """Return the label in the obstacles' names: ``name``, or the type."""
        return self.name or self.type

    @property
    def sizes(self) -> Tuple[Tuple[str, Optional[Distribution]], ...]:  # type: ignore[valid-type]
        """Return the kind's size parameters by name, in the order in which they are drawn."""
        return tuple((name, getattr(self, name)) for name in self.size_names)

    @classmethod
    def kind_of(cls, data: Mapping[str, Any]) -> Type[Self]:
        """Return the class of :data:`OBSTACLE_KINDS` for ``data``; this class for an unknown
        type."""
        try:
            return cast(Type[Self], OBSTACLE_KINDS.get(str(data.get("type"))))
        except UnknownNameError:
            return cls


def _as_kind(value: Any, info: ValidationInfo) -> Any:
    """Validate an entry of ``obstacles`` as the kind of its ``type``."""
    if not isinstance(value, Mapping):
        return value
    if "type" not in value:
        raise PydanticKnownError("union_tag_not_found", {"discriminator": "'type'"})
    kind = ObstacleGroup.kind_of(value)
    if kind is ObstacleGroup:
        known = ", ".join(map(repr, OBSTACLE_KINDS.names()))
        tag = {"discriminator": "'type'", "tag": str(value["type"]), "expected_tags": known}
        raise PydanticKnownError("union_tag_invalid", tag)
    return kind.model_validate(value, context=info.context)


AnyObstacles = SerializeAsAny[Annotated[ObstacleGroup, BeforeValidator(_as_kind)]]
"""An entry of ``obstacles``: an instance of a class of :data:`OBSTACLE_KINDS`."""


class SolvableMissionSpec(Spec):
    """The mission that must be solvable. In a campaign, the campaign's mission is used instead.

    The robot is the circle about its outline, centered on its frame, so that it can turn anywhere.
    """

    start: Optional[Point] = None
    """Start ``[x, y]`` (m, world frame)."""
    goal: Optional[Point] = None
    """Goal ``[x, y]`` (m, world frame)."""
    robot: Optional[SpecPath] = None
    """The file of the robot's SDF model, which has its outline and height."""
    footprint_m: Optional[List[Point]] = Field(None, min_length=3)
    """Corners ``[x, y]`` (m) of the robot's outline in its base frame, in place of ``robot``."""
    height_m: Optional[Interval] = None
    """Lowest and highest point (m) of the body above its origin; shapes above it do not obstruct
    the robot. Default: those of ``robot``."""


class SolvableSpec(Spec):
    """The condition that a path leads from start to goal; worlds without one are drawn again.

    A path exists if the circle about the robot's outline, enlarged by ``margin_m``, can be moved
    from start to goal without touching an obstacle.
    """

    margin_m: float = Field(0.1, ge=0, le=LARGEST)
    """Distance (m) by which the circle is enlarged."""


class SamplingSpec(Spec):
    """The dependence between the random numbers of the worlds.


    - ``uniform``: worlds are drawn independently.
    - ``lhs``: Latin hypercube, in blocks of ``block`` worlds: within worlds 0 to block - 1,
      block to 2 block - 1, ..., each parameter of each obstacle takes every ``block``-th of
      its range exactly once. Blocks are independent, so world *i* depends only on the seed and
      *i*. A number of worlds that is a multiple of ``block`` is fully stratified.
    - ``sobol``: world *i* is point *i* of a scrambled Sobol sequence; powers of two cover best.

    The first proposal for each obstacle is stratified. If it overlaps or its gap is too small,
    another position is drawn independently; its size and heading do not change.
    """

    method: Literal["uniform", "lhs", "sobol"] = "uniform"
    """The method, as listed above."""
    block: int = Field(100, ge=2, le=10_000)
    """Number of worlds in a block of ``lhs``."""


def _method(value: Any) -> Any:
    return {"method": value} if isinstance(value, str) else value


def _solvable(value: Any) -> Any:
    if value is True:
        return {}
    return None if value is False else value


class ObstacleSpec(Spec):
    """The random obstacles of a world, and the conditions for a valid world."""

    obstacles: List[AnyObstacles] = Field(min_length=1)
    """The groups of obstacles of one kind."""
    region: Optional[Regions] = None
    """The area of the centers of groups without a separate ``region``."""
    keep_out: List[KeepOut] = Field(default_factory=list)
    """Areas in which no part of an obstacle is allowed; default: none."""
    min_gap_m: float = Field(0.0, ge=0, le=LARGEST)
    """Least distance (m) between the outlines of two obstacles."""
    wall_gap_m: Optional[float] = Field(None, ge=0, le=LARGEST)
    """Least distance (m) to shapes of the base world; default: ``min_gap_m``."""
    ground_z_m: Bounded = 0.0
    """Height (m) of the ground on which obstacles are placed."""
    mission: Optional[SolvableMissionSpec] = None
    """Start, goal and robot of ``gz_testauto multiply``; campaigns ignore it."""
    solvable: Annotated[Optional[SolvableSpec], BeforeValidator(_solvable)] = None
    """True, or its parameters: worlds without a path for the robot are drawn again. Default:
    false."""
    sampling: Annotated[SamplingSpec, BeforeValidator(_method)] = SamplingSpec()
    """The name of a method, or the method with its parameters."""
    max_tries: int = Field(5000, ge=1, le=100_000)
    """Number of positions that are tried for the obstacles of one world before an error."""

    @model_validator(mode="after")
    def _complete(self) -> "ObstacleSpec":
        labels = [group.label for group in self.obstacles]
        require_different(labels, "names of obstacles", "; set name")
        most = sum(group.count.max for group in self.obstacles)
        if most > MOST_OBSTACLES:
            raise ValueError(
                f"the counts of all obstacles add up to {most}; a world can have "
                f"at most {MOST_OBSTACLES}"
            )
        for index, group in enumerate(self.obstacles):
            if self.region is None and group.region is None and group.x_m is None:
                raise ValueError(
                    f"obstacles[{index}] needs a region (its own or the specification's) "
                    "or x_m and y_m"
                )
        return self

    @property
    def gap_to_walls_m(self) -> float:
        """Return ``wall_gap_m``, or ``min_gap_m`` if that is not set."""
        return self.min_gap_m if self.wall_gap_m is None else self.wall_gap_m

    @property
    def files(self) -> List[Path]:
        """Return every file that the specification names, sorted and without repetitions."""
        named = [group.model for group in self.obstacles]
        named.append(self.mission.robot if self.mission else None)
        return sorted({path for path in named if path is not None})
