"""The actors of a campaign, and the tracked objects that a planner can request.

The specification of each actor type is in the module of its behavior (:mod:`gz_testauto.actors`).
"""

from typing import Any, ClassVar, Mapping, Optional, Tuple, Type, cast

import shapely
from pydantic import BeforeValidator, Field, ValidationInfo, model_validator
from shapely.geometry.base import BaseGeometry
from typing_extensions import Annotated, Literal, Self

from gz_testauto.base.errors import MissingDependencyError, PluginError, UnknownNameError
from gz_testauto.base.pose import Pose2D
from gz_testauto.base.registry import Registry
from gz_testauto.spec.model import (
    Bounded,
    NotNegative,
    PoseSpec,
    Positive,
    Spec,
    SpecPath,
    as_tuple,
    fault,
)
from gz_testauto.spec.road import RoadSpec
from gz_testauto.spec.stack import NAME

MOST_ACTORS = 200  # each actor needs computing time in every step

BUILT_IN = {
    "patrol": "gz_testauto.actors.patrol:PatrolSpec",
    "wander": "gz_testauto.actors.wander:WanderSpec",
    "social_force": "gz_testauto.actors.social_force:SocialForceSpec",
    "script": "gz_testauto.actors.script:ScriptSpec",
    "follow": "gz_testauto.actors.follow:FollowSpec",
    "cross": "gz_testauto.actors.cross:CrossSpec",
    "door": "gz_testauto.actors.door:DoorSpec",
}

BEHAVIORS = Registry("behavior", BUILT_IN)
"""Subclasses of :class:`ActorSpec`, or of :class:`~gz_testauto.actors.actor.Actor` if the
parameters of its constructor suffice."""

CLASS_SPEC = Registry("behavior", {"class": "gz_testauto.actors.creation:PluginActorSpec"})
"""The specification of an actor whose registered type is a subclass of ``Actor``."""

Offset = Annotated[Tuple[Bounded, Bounded, Bounded], BeforeValidator(as_tuple)]
"""A position as ``[x, y, z]`` (m)."""
Size = Annotated[Tuple[Positive, Positive, Positive], BeforeValidator(as_tuple)]
"""The size of a box as ``[length, width, height]`` (m)."""
Solid = Tuple[Tuple[float, ...], float, Tuple[float, float, float]]


class BodySpec(Spec):
    """The body of an actor, by default of a person's size: an upright cylinder, or a box if
    ``size_m`` is set."""

    radius_m: Positive = 0.25
    """Radius (m) of the cylinder."""
    height_m: Positive = 1.7
    """Height (m) of the cylinder."""
    size_m: Optional[Size] = None
    """Length, width and height (m) of a box that replaces the cylinder."""
    mass_kg: Positive = 70.0
    """Mass (kg) of the body in contacts."""

    @property
    def reach_m(self) -> float:
        """Return the radius (m) of the smallest circle around the origin that contains the body in
        the plane."""
        if self.size_m is None:
            return self.radius_m
        return 0.5 * float(self.size_m[0] ** 2 + self.size_m[1] ** 2) ** 0.5


class ActorSpec(Spec):
    """The keys of all actors."""

    name: str = Field(pattern=NAME)
    """The name of the actor's model. If ``count`` is greater than 1, the models are named
    ``name_0``, ``name_1``, …"""
    count: int = Field(1, ge=1, le=MOST_ACTORS)
    """Number of actors of this entry."""
    model: Optional[SpecPath] = None
    """An SDF, URDF or xacro file with a model of one link, which replaces ``body``. The model moves
    at the requested velocity, and gravity has no effect on it, regardless of the file."""
    body: BodySpec = BodySpec()
    """The shape and mass of an actor without ``model``."""
    height_above_ground_m: float = Field(0.02, ge=0, le=100)
    """Height (m) above z = 0 of the lowest point of ``body``, or of the origin of ``model``. A
    small gap above the ground avoids friction."""
    tags: Annotated[Tuple[str, ...], BeforeValidator(as_tuple)] = ()
    """Labels by which the behaviors of other actors select this actor."""
    appear_s: NotNegative = 0.0
    """Time (s) since the start of the trial at which the actor appears and its behavior starts. It
    waits until no robot and no other actor is in its place."""
    leave_s: Optional[Positive] = None
    """Time (s) since the start of the trial at which the actor disappears; null: never."""
    behavior: str
    """The registered name of the actor type, such as ``wander``."""

    @property
    def names(self) -> Tuple[str, ...]:
        """Return the names of the actors of this entry."""
        if self.count == 1:
            return (self.name,)
        return tuple(f"{self.name}_{index}" for index in range(self.count))

    @property
    def groups(self) -> Tuple[Tuple[str, ...], ...]:
        """Return the names of the actors of each group of people."""
        return ()

    @property
    def path(self) -> Optional[BaseGeometry]:
        """Return the path of the actor's origin (m, world frame), the area that a door blocks, or
        None if it is not known before the trial."""
        return None

    @property
    def ground(self) -> Optional[BaseGeometry]:
        """Return the area (m, world frame) that the actor's origin can reach, or None if it is
        unknown before the trial."""
        return self.path

    @property
    def swept_area(self) -> Optional[BaseGeometry]:
        """Return the area (m, world frame) that the body, or the leaf of a door, can cover, or None
        if it is unknown before the trial."""
        path = self.path
        return None if path is None else path.buffer(self.body.reach_m)

    # a behavior

    has_several_starts: ClassVar[bool] = False
    """True if each actor of an entry has a separate start; False if all have the same start."""
    needs_free_path: ClassVar[bool] = True
    """True if :attr:`path` must be free of obstacles."""
    has_contact_forces: ClassVar[bool] = True
    """True if contacts push the actor. Otherwise, contacts with robots are only reported."""

    def create(self, new: Any) -> Tuple[Any, Pose2D]:
        """Create an actor (:class:`~gz_testauto.actors.actor.Actor`) from ``new``
        (:class:`~gz_testauto.actors.creation.NewActor`), and return it with its start pose. An
        implementation draws random numbers only from ``new``, always in the same order."""
        raise NotImplementedError

    def check(self) -> None:
        """Raise ``SpecError`` for an invalid parameter of the behavior. Called before the first
        trial."""
        return

    def check_road(self, road: Optional[RoadSpec]) -> None:
        """Raise ``SpecError`` if the behavior names a lane that ``road`` does not contain, or needs
        a road and ``road`` is None."""
        return

    @property
    def solid(self) -> Solid:
        """Return the shape, the mass (kg), and the center (m) of the actor's model. The shape is
        the size (m) of a box, or radius and height (m) of a cylinder."""
        body = self.body
        size = (body.radius_m, body.height_m) if body.size_m is None else body.size_m
        return size, body.mass_kg, (0.0, 0.0, size[-1] / 2)

    # the registry

    @classmethod
    def kind_of(cls, data: Mapping[str, Any]) -> Type[Self]:
        """Return the registered class of specifications for ``behavior``, or the general class for
        a subclass of ``Actor``."""
        if cls is not ActorSpec:
            return cls
        try:
            kind = BEHAVIORS.get(str(data.get("behavior")))
        except (UnknownNameError, MissingDependencyError, PluginError):
            kind = None  # reported when the actor is created
        if not (isinstance(kind, type) and issubclass(kind, ActorSpec)):
            kind = CLASS_SPEC.get("class")
        return cast(Type[Self], kind)

    @model_validator(mode="wrap")
    @classmethod
    def _validate_as_kind(cls, data: Any, handler: Any, info: ValidationInfo) -> Any:
        if cls is not ActorSpec or not isinstance(data, Mapping):
            return handler(data)
        if not isinstance(data.get("behavior"), str):
            raise fault(f"has no behavior; add {', '.join(BUILT_IN)} or the name of a plug-in")
        return cls.kind_of(data).model_validate(data, context=info.context)

    @model_validator(mode="after")
    def _check_body_and_count(self) -> "ActorSpec":
        if self.model is not None and self.body != type(self).model_fields["body"].default:
            raise ValueError(f"{self.name} has both keys 'model' and 'body'; remove one of them")
        if self.count > 1 and not self.has_several_starts:
            raise ValueError(
                f"{self.name} has count {self.count}, but its behavior has only one start; "
                "write a separate entry for each actor"
            )
        if self.leave_s is not None and self.leave_s <= self.appear_s:
            raise ValueError(
                f"{self.name} leaves at {self.leave_s:g} s, but appears at {self.appear_s:g} s; "
                "'leave_s' must be larger than 'appear_s'"
            )
        return self


class PlacedActorSpec(ActorSpec):
    """The keys of an actor with a fixed start pose."""

    start: PoseSpec
    """Pose of the actor at the start of a trial."""

    @property
    def path(self) -> BaseGeometry:
        """Return the start position as the path (m, world frame): such an actor does not move."""
        return shapely.Point(self.start.x_m, self.start.y_m)


class TrackingNoiseSpec(Spec):
    """Standard deviations of the normal noise of a tracked object. The noise is drawn for each
    object and time stamp, and is identical for all planners."""

    position_m: NotNegative = 0.0
    """Standard deviation (m) of the position noise along x and along y."""
    yaw_rad: NotNegative = 0.0
    """Standard deviation (rad) of the heading noise."""
    speed_mps: NotNegative = 0.0
    """Standard deviation (m/s) of the velocity noise along x and along y."""


class TrackingSpec(Spec):
    """The errors of a simulated tracker on the robot, which reports all other moving objects."""

    range_m: Optional[Positive] = None
    """Largest distance (m) between the origins of the robot and a reported object; null: no
    limit."""
    delay_s: Annotated[float, Field(ge=0, le=10)] = 0.0
    """Age (s) of the reported state. It is rounded up to a multiple of the control period."""
    occlusion: bool = False
    """True if an object is not reported while another object occludes it, seen from the robot's
    origin in the plane."""
    hold_last_s: Annotated[float, Field(ge=0, le=60)] = 0.0
    """Time (s) for which an occluded object is still reported at its last visible pose."""
    noise: TrackingNoiseSpec = TrackingNoiseSpec()
    """Noise of the reported state."""
    prediction: Literal["script", "constant_velocity"] = "script"
    """Prediction of an object's path. ``script`` uses its scripted path, if it exists.
    ``constant_velocity`` extrapolates its velocity."""
    horizon_s: Annotated[float, Field(gt=0, le=60)] = 8.0
    """Duration (s) of the predicted path."""
    step_s: Annotated[float, Field(gt=0, le=10)] = 0.1
    """Time (s) between two poses of a predicted path."""
