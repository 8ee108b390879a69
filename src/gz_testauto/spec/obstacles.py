"""What the random obstacles of a world are: how many, of what kind, where and how large.

Owns the shape of ``obstacles.yaml``; ``config/obstacles.yaml`` shows it in use. The kinds are
classes of :mod:`gz_testauto.sampling.kinds`, found by :data:`OBSTACLE_KINDS`. Drawing a world from
it is :mod:`gz_testauto.sampling`'s, writing one :mod:`gz_testauto.worlds`'.

A size that is not given stays as the model has it: as the saved world has it when a saved
world is multiplied, else as ``model`` has it, else 1 m as Gazebo's unit shapes have it.
"""

from pathlib import Path
from typing import Any, ClassVar, List, Mapping, Optional, Tuple, Type, cast

from pydantic import BeforeValidator, Field, SerializeAsAny, ValidationInfo, model_validator
from pydantic_core import PydanticCustomError, PydanticKnownError
from typing_extensions import Annotated, Literal, Self

from gz_testauto.base.errors import UnknownNameError
from gz_testauto.base.registry import Registry
from gz_testauto.spec.distributions import Distribution, Uniform
from gz_testauto.spec.model import LARGEST, Bounded, Interval, Point, Spec, SpecPath, repeated
from gz_testauto.spec.regions import KeepOut, Regions

MOST_OBSTACLES = 10_000
"""In one world; placing so many takes seconds, and no simulator runs with more."""

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
    """How many: any whole number from ``min`` to ``max``, all as likely."""

    min: int = Field(ge=0)
    max: int = Field(ge=0, le=MOST_OBSTACLES)

    @model_validator(mode="after")
    def _ordered(self) -> "CountRange":
        if self.min > self.max:
            raise ValueError(f"min {self.min} is greater than max {self.max}")
        return self

    def quantile(self, probability: float) -> int:
        """The count at ``probability``, in [0, 1)."""
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
    """What all kinds of obstacle have in common, as an entry of ``obstacles`` writes it.

    ``name`` goes into the obstacles' names, ``obstacle_<name>_<index>``, and is the type
    unless said. Centers lie in ``region`` (or the specification's), uniformly by area, or are
    drawn from ``x_m`` and ``y_m`` and then kept only where a region allows them.
    """

    size_names: ClassVar[Tuple[str, ...]] = ()
    """The fields that are sizes; an obstacle's ``size`` has its values in this order."""

    name: Optional[str] = Field(None, pattern=r"^[A-Za-z][A-Za-z0-9_]*$")
    count: Annotated[CountRange, BeforeValidator(_count)]
    region: Optional[Regions] = None
    x_m: Optional[Distribution] = None
    y_m: Optional[Distribution] = None
    yaw_rad: Distribution = FULL_TURN
    static: Optional[bool] = None
    """Whether it stays where it is when pushed; as the model has it unless said."""
    type: str
    model: Optional[SpecPath] = None
    """An SDF file with the model to use, instead of the kind's unit model."""

    @model_validator(mode="after")
    def _x_with_y(self) -> "ObstacleGroup":
        if (self.x_m is None) != (self.y_m is None):
            raise ValueError("x_m and y_m go together")
        return self

    @property
    def label(self) -> str:
        """What the obstacles' names say: ``name``, or the type."""
        return self.name or self.type

    @property
    def sizes(self) -> Tuple[Tuple[str, Optional[Distribution]], ...]:  # type: ignore[valid-type]
        """The kind's size parameters by name, in the order in which they are drawn."""
        return tuple((name, getattr(self, name)) for name in self.size_names)

    @classmethod
    def kind_of(cls, data: Mapping[str, Any]) -> Type[Self]:
        """Return the class of :data:`OBSTACLE_KINDS` for ``data``; this one where it is unknown."""
        try:
            return cast(Type[Self], OBSTACLE_KINDS.get(str(data.get("type"))))
        except UnknownNameError:
            return cls


def _as_kind(value: Any, info: ValidationInfo) -> Any:
    """Validate an entry of ``obstacles`` as the kind that its ``type`` names."""
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


class DriveSpec(Spec):
    """The drive that worlds must allow. In a campaign, the campaign says this instead.

    The robot's size is the radius of the circle around ``robot``'s or ``footprint_m``'s
    outline, centerd on its frame: it can then turn wherever it stands. What is above ``height_m``,
    the lowest and the highest point of its body (``robot``'s unless given), does not obstruct it.
    """

    start: Optional[Point] = None
    goal: Optional[Point] = None
    robot: Optional[SpecPath] = None
    footprint_m: Optional[List[Point]] = Field(None, min_length=3)
    height_m: Optional[Interval] = None


class SolvableSpec(Spec):
    """Worlds in which no way leads from start to goal are drawn again.

    A way exists when the circle around the robot's outline, widened by ``margin_m``, can be
    moved from start to goal without touching anything.
    """

    margin_m: float = Field(0.1, ge=0, le=LARGEST)


class SamplingSpec(Spec):
    """How the random numbers of the worlds relate to one another.

    - ``uniform``: every world is drawn independently.
    - ``lhs``: Latin hypercube, in blocks of ``block`` worlds: within worlds 0 to block - 1,
      block to 2 block - 1, ..., each parameter of each obstacle takes every ``block``-th of
      its range exactly once. Blocks are independent, so that world *i* depends on the seed
      and *i* alone; a count of worlds that is a multiple of ``block`` is stratified in full.
    - ``sobol``: world *i* is point *i* of one scrambled Sobol sequence; counts that are powers
      of two cover best.

    What is stratified is the first proposal for each obstacle. One that would overlap or
    leave a gap too small is moved to a place drawn independently; its size and heading stay.
    """

    method: Literal["uniform", "lhs", "sobol"] = "uniform"
    block: int = Field(100, ge=2, le=10_000)


def _method(value: Any) -> Any:
    return {"method": value} if isinstance(value, str) else value


def _solvable(value: Any) -> Any:
    if value is True:
        return {}
    return None if value is False else value


class ObstacleSpec(Spec):
    """The random obstacles of a world, and what makes a world acceptable."""

    obstacles: List[AnyObstacles] = Field(min_length=1)
    region: Optional[Regions] = None
    keep_out: List[KeepOut] = Field(default_factory=list)
    min_gap_m: float = Field(0.0, ge=0, le=LARGEST)
    """Least distance between the outlines of two obstacles."""
    wall_gap_m: Optional[float] = Field(None, ge=0, le=LARGEST)
    """Least distance to what stands in the base world; ``min_gap_m`` unless said."""
    ground_z_m: Bounded = 0.0
    """Height of the ground on which obstacles are put."""
    drive: Optional[DriveSpec] = None
    solvable: Annotated[Optional[SolvableSpec], BeforeValidator(_solvable)] = None
    sampling: Annotated[SamplingSpec, BeforeValidator(_method)] = SamplingSpec()
    max_tries: int = Field(5000, ge=1, le=100_000)
    """How many places are tried for the obstacles of one world before giving up."""

    @model_validator(mode="after")
    def _complete(self) -> "ObstacleSpec":
        twice = repeated([group.label for group in self.obstacles])
        if twice:
            raise ValueError(
                f"obstacles need different names; these appear twice: {', '.join(twice)} "
                "(give each a name)"
            )
        most = sum(group.count.max for group in self.obstacles)
        if most > MOST_OBSTACLES:
            raise ValueError(
                f"the counts of all obstacles add up to {most}; at most {MOST_OBSTACLES} can be "
                "put into a world"
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
        """``wall_gap_m``, or ``min_gap_m`` where that is not given."""
        return self.min_gap_m if self.wall_gap_m is None else self.wall_gap_m

    @property
    def files(self) -> List[Path]:
        """Every file that the specification names, in a fixed order, once each."""
        named = [group.model for group in self.obstacles]
        named.append(self.drive.robot if self.drive else None)
        return sorted({path for path in named if path is not None})
