"""What moves in a campaign's worlds beside the robot: walkers, doors, and others' behaviours.

Owns the shape of ``actors:`` in a campaign. Each entry is one actor or several alike::

    actors:
      - {name: walker, behaviour: wander, count: 5, region: {...}, speed_mps: [0.6, 1.4]}
      - {name: guard, behaviour: patrol, waypoints_m: [[2, -3], [2, 3]], speed_mps: 1.0}
      - {name: door, behaviour: door, at: {x_m: 4, y_m: 0}, size_m: [1, 0.08, 2], within_m: 2.5}

What is drawn is drawn anew for each world and repetition, the same for all planners. What the
behaviours do is :mod:`gz_testauto.behaviours`'.
"""

import math
from typing import Any, Dict, List, Optional, Tuple, Union

import shapely
from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator
from shapely.geometry.base import BaseGeometry
from typing_extensions import Annotated, Literal

from gz_testauto.spec.distributions import Distribution, Fixed, PositiveDistribution, Uniform
from gz_testauto.spec.model import LARGEST, Bounded, Point, PoseSpec, Spec, SpecPath, as_tuple
from gz_testauto.spec.regions import Regions
from gz_testauto.spec.stack import NAME

MOST_ACTORS = 200
"""Of one entry; each costs time in every step."""

Positive = Annotated[float, Field(gt=0, le=LARGEST)]
Offset = Annotated[Tuple[Bounded, Bounded, Bounded], BeforeValidator(as_tuple)]
"""``[x, y, z]`` in metres."""
Size = Annotated[Tuple[Positive, Positive, Positive], BeforeValidator(as_tuple)]
"""``[length, width, height]`` in metres."""


class BodySpec(Spec):
    """What an actor is made of: an upright cylinder, or a box where it has a size. 0.25 m, 1.7 m
    and 70 kg are a person."""

    radius_m: Positive = 0.25
    height_m: Positive = 1.7
    size_m: Optional[Size] = None
    mass_kg: Positive = 70.0

    @property
    def reach_m(self) -> float:
        """The radius of the circle around it, seen from above."""
        if self.size_m is None:
            return self.radius_m
        return 0.5 * float(self.size_m[0] ** 2 + self.size_m[1] ** 2) ** 0.5


class ActorSpec(Spec):
    """What all actors have in common."""

    name: str = Field(pattern=NAME)
    """Several are called ``name_0``, ``name_1`` and so on."""
    count: int = Field(1, ge=1, le=MOST_ACTORS)
    model: Optional[SpecPath] = None
    """A model of one link, as SDF, URDF or xacro, in place of ``body``. It moves as it is told and
    has no weight, whatever its file says."""
    body: BodySpec = BodySpec()
    height_above_floor_m: float = Field(0.02, ge=0, le=100)
    """Of the lowest point of a ``body``, or of the origin of a ``model``, above z = 0: what glides
    there is not braked by the floor."""
    tags: Annotated[Tuple[str, ...], BeforeValidator(as_tuple)] = ()
    """Words by which behaviours find it."""

    @property
    def path(self) -> Optional[BaseGeometry]:
        """Where its origin, or of a door all of it, goes, seen from above (m, world frame), as far
        as that is known before a trial; None where it finds its own way."""
        return None

    @property
    def way(self) -> Optional[BaseGeometry]:
        """What its ``body`` or leaf passes over."""
        path = self.path
        return None if path is None else path.buffer(self.body.reach_m)

    @model_validator(mode="after")
    def _one_body(self) -> "ActorSpec":
        if self.model is not None and self.body != BodySpec():
            raise ValueError(f"{self.name} has a model and a body; give one of the two")
        if self.count > 1 and not isinstance(self, (PatrolSpec, WanderSpec, FlowSpec)):
            raise ValueError(
                f"{self.name} has a count of {self.count}, and all would begin in the same place; "
                "give each an entry of its own"
            )
        return self


class PatrolSpec(ActorSpec):
    """Goes along way-points, over and over: back the way it came, or around (``closed``)."""

    behaviour: Literal["patrol"]
    waypoints_m: List[Point] = Field(min_length=2)
    closed: bool = False
    speed_mps: PositiveDistribution = Fixed(value=1.0)
    pause_s: Annotated[float, Field(ge=0, le=LARGEST)] = 0.0
    """At each way-point."""

    @property
    def path(self) -> BaseGeometry:
        """See :class:`ActorSpec`."""
        ends = [*self.waypoints_m, *(self.waypoints_m[:1] if self.closed else ())]
        return shapely.LineString(ends)


class WanderSpec(ActorSpec):
    """Goes from one free place to the next, in straight lines that meet nothing that stands."""

    behaviour: Literal["wander"]
    region: Regions
    speed_mps: PositiveDistribution = Fixed(value=1.0)
    pause_s: Annotated[float, Field(ge=0, le=LARGEST)] = 0.0
    keep_from_robot_m: Annotated[float, Field(ge=0, le=LARGEST)] = 1.5
    """How far from the robot's start it begins, from edge to edge."""
    give_way_m: Annotated[float, Field(ge=0, le=LARGEST)] = 0.0
    """It stands while the robot or another actor is nearer than this ahead of it; 0: it does not
    look."""


class FlowSpec(ActorSpec):
    """Passes through, again and again: comes in at the first way-point, goes along to the last and
    is gone; several do so independently of each other."""

    behaviour: Literal["flow"]
    waypoints_m: List[Point] = Field(min_length=2)
    speed_mps: PositiveDistribution = Fixed(value=1.0)
    """Drawn anew each time."""
    away_s: Distribution = Uniform(min=0.0, max=20.0)
    """Before it comes, drawn anew each time."""
    room_m: Annotated[float, Field(ge=0, le=LARGEST)] = 1.5
    """It does not come while the robot or another actor is nearer to the first way-point, from
    origin to origin."""

    @property
    def path(self) -> BaseGeometry:
        """See :class:`ActorSpec`."""
        return shapely.LineString(self.waypoints_m)


class FollowSpec(ActorSpec):
    """Goes after a model at a distance, or stays at an offset from it, as a camera does."""

    behaviour: Literal["follow"]
    start: PoseSpec
    target: str = "robot"
    """The name of a model; ``robot`` is the robot whatever it is called."""
    distance_m: Annotated[float, Field(ge=0, le=LARGEST)] = 1.5
    offset_m: Optional[Offset] = None
    """x forward, y left, z up of the target's own origin and heading; overrules ``distance_m``."""
    speed_mps: PositiveDistribution = Fixed(value=1.0)

    @property
    def path(self) -> BaseGeometry:
        """Where it begins."""
        return shapely.Point(self.start.x_m, self.start.y_m)


class CrossSpec(ActorSpec):
    """Stands until the robot comes near, then crosses to the other side and stays."""

    behaviour: Literal["cross"]
    start: PoseSpec
    to: Point
    within_m: Positive = 4.0
    """How near the robot's origin must come to the actor's."""
    speed_mps: PositiveDistribution = Fixed(value=1.4)
    delay_s: Distribution = Fixed(value=0.0)
    """From when the robot is near until it goes."""

    @property
    def path(self) -> BaseGeometry:
        """See :class:`ActorSpec`."""
        return shapely.LineString([(self.start.x_m, self.start.y_m), self.to])


class DoorSpec(ActorSpec):
    """Opens while somebody is near, and closes after: slides along itself, or swings about the end
    at its origin."""

    behaviour: Literal["door"]
    at: PoseSpec
    """The middle of a sliding door when it is closed, the hinge of a swinging one; along x."""
    kind: Literal["sliding", "swinging"] = "sliding"
    size_m: Size = (1.0, 0.08, 2.0)
    mass_kg: Positive = 40.0
    opens_for: str = "robot"
    """The name of a model, or a tag of actors."""
    within_m: Positive = 2.0
    opening_s: PositiveDistribution = Fixed(value=1.5)
    stays_open_s: Annotated[float, Field(ge=0, le=LARGEST)] = 1.0
    swing_rad: Annotated[float, Field(gt=-3.15, lt=3.15)] = 1.5

    @property
    def path(self) -> BaseGeometry:
        """See :class:`ActorSpec`."""
        length, width, _ = self.size_m
        hinge = shapely.Point(self.at.x_m, self.at.y_m)
        if self.kind == "swinging":
            return hinge.buffer(length + width / 2)
        ahead = (math.cos(self.at.yaw_rad), math.sin(self.at.yaw_rad))
        ends = [
            (self.at.x_m + far * ahead[0], self.at.y_m + far * ahead[1])
            for far in (-length / 2, length * 1.5)
        ]
        return shapely.LineString(ends).buffer(width / 2, cap_style="flat")

    @property
    def way(self) -> BaseGeometry:
        """The same."""
        return self.path


class TreeSpec(ActorSpec):
    """Does what a behaviour tree in BehaviorTree.CPP's XML says."""

    behaviour: Literal["tree"]
    start: PoseSpec
    file: SpecPath

    @property
    def path(self) -> BaseGeometry:
        """Where it begins."""
        return shapely.Point(self.start.x_m, self.start.y_m)


class PluginSpec(ActorSpec):
    """A behaviour that another package brings, by its registered name."""

    behaviour: str
    start: PoseSpec
    parameters: Dict[str, Any] = Field(default_factory=dict)

    @property
    def path(self) -> BaseGeometry:
        """Where it begins."""
        return shapely.Point(self.start.x_m, self.start.y_m)


BUILT_IN = ("patrol", "wander", "flow", "follow", "cross", "door", "tree")


def _kind(value: Any) -> Optional[str]:
    said = value.get("behaviour") if isinstance(value, dict) else getattr(value, "behaviour", None)
    if said is None:
        return None
    return said if said in BUILT_IN else "plugin"


Actor = Annotated[
    Union[
        Annotated[PatrolSpec, Tag("patrol")],
        Annotated[WanderSpec, Tag("wander")],
        Annotated[FlowSpec, Tag("flow")],
        Annotated[FollowSpec, Tag("follow")],
        Annotated[CrossSpec, Tag("cross")],
        Annotated[DoorSpec, Tag("door")],
        Annotated[TreeSpec, Tag("tree")],
        Annotated[PluginSpec, Tag("plugin")],
    ],
    Discriminator(
        _kind,
        custom_error_type="predicate",
        custom_error_message=(f"has no behaviour; give {', '.join(BUILT_IN)} or a plugin's name"),
    ),
]
"""One entry of ``actors:``."""
