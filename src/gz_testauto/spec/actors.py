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
import shapely.affinity
from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator
from shapely.geometry.base import BaseGeometry
from typing_extensions import Annotated, Literal

from gz_testauto.spec.distributions import Distribution, Fixed, PositiveDistribution, Uniform
from gz_testauto.spec.model import (
    LARGEST,
    Bounded,
    Interval,
    Point,
    PoseSpec,
    Spec,
    SpecPath,
    as_tuple,
)
from gz_testauto.spec.regions import Regions, union_of
from gz_testauto.spec.stack import NAME

MOST_ACTORS = 200
"""Of one entry; each costs time in every step."""

MOST_ORDER = 9
"""Of a polynomial: DynaBARN's field has 21 columns of points to draw from."""

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
    def names(self) -> Tuple[str, ...]:
        """What its actors are called."""
        if self.count == 1:
            return (self.name,)
        return tuple(f"{self.name}_{index}" for index in range(self.count))

    @property
    def path(self) -> Optional[BaseGeometry]:
        """Where its origin, or of a door all of it, goes, seen from above (m, world frame), as far
        as that is known before a trial; None where it finds its own way."""
        return None

    @property
    def ground(self) -> Optional[BaseGeometry]:
        """Where its origin may come at all (m, world frame), as far as that is known."""
        return self.path

    @property
    def way(self) -> Optional[BaseGeometry]:
        """What its ``body`` or leaf passes over."""
        path = self.path
        return None if path is None else path.buffer(self.body.reach_m)

    @model_validator(mode="after")
    def _one_body(self) -> "ActorSpec":
        if self.model is not None and self.body != BodySpec():
            raise ValueError(f"{self.name} has a model and a body; give one of the two")
        spread = (PatrolSpec, WanderSpec, FlowSpec, PolynomialSpec)
        if self.count > 1 and not isinstance(self, spread):
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

    @property
    def ground(self) -> BaseGeometry:
        """See :class:`ActorSpec`."""
        return union_of(self.region)


class SocialForceSpec(WanderSpec):
    """Goes as ``wander`` does, but makes way for the robot, for others and for what stands, by the
    forces of a crowd."""

    behaviour: Literal["social_force"]  # type: ignore[assignment]
    relax_s: Positive = 0.5
    """How fast it takes on its desired velocity."""
    push_mps2: Annotated[float, Field(ge=0, le=100)] = 3.0
    """Acceleration by somebody who touches it."""
    reach_m: Positive = 0.2
    """The gap at which that is 1/e of it."""
    behind: Annotated[float, Field(ge=0, le=1)] = 0.25
    """The share of it by who is behind."""


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


class ScriptSpec(ActorSpec):
    """Goes by a timetable: where it is, is a function of the time since it began."""

    behaviour: Literal["script"]
    waypoints_m: List[Point] = Field(min_length=1)
    """One way-point: it stands there."""
    speed_mps: PositiveDistribution = Fixed(value=1.0)
    speeds_mps: Optional[List[Positive]] = None
    """Of each leg; overrules ``speed_mps``."""
    times_s: Optional[List[Annotated[float, Field(ge=0, le=LARGEST)]]] = None
    """When it is at each way-point, from 0 on; ``around`` needs one more, when it is back.
    Overrules speeds and ``wait_s``; two way-points in one place are a pause."""
    wait_s: Annotated[float, Field(ge=0, le=LARGEST)] = 0.0
    """At each way-point."""
    repeat: Literal["once", "back", "around"] = "once"
    yaw_rad: Bounded = 0.0
    """How one with a single way-point stands."""
    start_s: Distribution = Fixed(value=0.0)
    """From the beginning, or from when the robot is near, until it goes."""
    within_m: Optional[Positive] = None
    """How near the robot's origin must come to its own; null: it does not wait for it."""
    shift_x_m: Distribution = Fixed(value=0.0)
    shift_y_m: Distribution = Fixed(value=0.0)
    """By how much all way-points lie elsewhere."""

    @property
    def path(self) -> BaseGeometry:
        """See :class:`ActorSpec`; anywhere that shifts may bring it."""
        ends = [*self.waypoints_m, *(self.waypoints_m[:1] if self.repeat == "around" else ())]
        way = shapely.LineString(ends) if len(ends) > 1 else shapely.Point(ends[0])
        shifts = [(x, y) for x in self.shift_x_m.support for y in self.shift_y_m.support]
        ways = [shapely.affinity.translate(way, *shift) for shift in dict.fromkeys(shifts)]
        return ways[0] if len(ways) == 1 else shapely.unary_union(ways).convex_hull

    @model_validator(mode="after")
    def _has_legs(self) -> "ScriptSpec":
        count = len(self.waypoints_m)
        if self.repeat == "around" and count < 3:
            raise ValueError("around needs at least three way-points; give them, or repeat: back")
        legs = count if self.repeat == "around" else count - 1
        if self.times_s is not None:
            if len(self.times_s) != legs + 1:
                raise ValueError(
                    f"times_s has {len(self.times_s)} entries; {legs} legs need {legs + 1}"
                )
            if self.times_s[0] != 0 or any(a >= b for a, b in zip(self.times_s, self.times_s[1:])):
                raise ValueError("times_s must begin with 0 and rise")
            return self
        if any(a == b for a, b in zip(self.waypoints_m, self.waypoints_m[1:])):
            raise ValueError("two way-points that follow one another are in the same place")
        if self.repeat == "around" and self.waypoints_m[0] == self.waypoints_m[-1]:
            raise ValueError("around closes the way itself; leave out the last way-point")
        if self.speeds_mps is not None and len(self.speeds_mps) != legs:
            raise ValueError(
                f"speeds_mps has {len(self.speeds_mps)} entries; {legs} legs need {legs}"
            )
        return self


class PolynomialSpec(ActorSpec):
    """Goes there and back along a random polynomial through a square field, as DynaBARN's obstacles
    do: of that ``order`` through random points, with a random speed for each leg around one of its
    own."""

    behaviour: Literal["polynomial"]
    body: BodySpec = BodySpec(radius_m=0.5, height_m=1.0)
    center_m: Point = (0.0, 0.0)
    half_m: Annotated[float, Field(ge=2, le=1000)] = 10.0
    """Half the side of the field."""
    order: Annotated[Tuple[int, int], BeforeValidator(as_tuple)] = (1, 3)
    """Least and greatest."""
    mean_mps: PositiveDistribution = Uniform(min=0.5, max=1.0)
    """Drawn once for each actor."""
    sigma_mps: Annotated[float, Field(ge=0, le=LARGEST)] = 0.2
    speed_bounds_mps: Interval = (0.1, 3.0)
    """Speeds of legs are drawn again until they are at least the first and below the second."""
    keep_from_robot_m: Annotated[float, Field(ge=0, le=LARGEST)] = 1.5
    """How far from the robot's start it begins, from edge to edge."""

    @property
    def ground(self) -> BaseGeometry:
        """See :class:`ActorSpec`: the field."""
        x_m, y_m = self.center_m
        return shapely.box(
            x_m - self.half_m, y_m - self.half_m, x_m + self.half_m, y_m + self.half_m
        )

    @model_validator(mode="after")
    def _can_be_drawn(self) -> "PolynomialSpec":
        low, high = self.order
        if not 1 <= low <= high <= MOST_ORDER:
            raise ValueError(f"order must be two integers from 1 to {MOST_ORDER}, the lower first")
        columns = 2 * int(self.half_m) + 1
        if high + 1 > columns:
            raise ValueError(
                f"order {high} needs {high + 1} columns of points, and a field of half_m "
                f"{self.half_m:g} has {columns}; lower order or enlarge half_m"
            )
        low_mps, high_mps = self.speed_bounds_mps
        if low_mps <= 0:
            raise ValueError("speed_bounds_mps must be above 0")
        for mean in self.mean_mps.support:
            if not low_mps <= mean < high_mps:
                raise ValueError(
                    f"mean_mps can be {mean:g}, which is outside speed_bounds_mps; widen those"
                )
        return self


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


BUILT_IN = (
    "patrol",
    "wander",
    "social_force",
    "flow",
    "script",
    "polynomial",
    "follow",
    "cross",
    "door",
    "tree",
)


def _kind(value: Any) -> Optional[str]:
    said = value.get("behaviour") if isinstance(value, dict) else getattr(value, "behaviour", None)
    if said is None:
        return None
    return said if said in BUILT_IN else "plugin"


Actor = Annotated[
    Union[
        Annotated[PatrolSpec, Tag("patrol")],
        Annotated[WanderSpec, Tag("wander")],
        Annotated[SocialForceSpec, Tag("social_force")],
        Annotated[FlowSpec, Tag("flow")],
        Annotated[ScriptSpec, Tag("script")],
        Annotated[PolynomialSpec, Tag("polynomial")],
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
