"""The behavior ``door``: a door opens while a model is near."""

import math
from typing import ClassVar, Tuple

import shapely
from pydantic import Field
from shapely.geometry.base import BaseGeometry
from typing_extensions import Annotated, Literal, override

from gz_testauto.actors.actor import Actor
from gz_testauto.actors.creation import NewActor
from gz_testauto.actors.hook import StepContext
from gz_testauto.base.pose import Pose2D, wrap_angle
from gz_testauto.spec.actors import ActorSpec, Size, Solid
from gz_testauto.spec.distributions import Fixed, PositiveDistribution
from gz_testauto.spec.model import NotNegative, PoseSpec, Positive


class DoorSpec(ActorSpec):
    """A door that opens while a model is near and closes later. The leaf slides along its x axis,
    or swings about the end at its origin."""

    behavior: Literal["door"]
    pose: PoseSpec
    """Pose of the door, which extends along the x axis of the pose. The origin is the center of a
    closed sliding door, or the hinge of a swinging door."""
    kind: Literal["sliding", "swinging"] = "sliding"
    """The motion of the leaf: sliding along the x axis of ``pose``, or swinging about the hinge."""
    size_m: Size = (1.0, 0.08, 2.0)
    """Width, thickness and height (m) of the leaf."""
    mass_kg: Positive = 40.0
    """Mass (kg) of the leaf."""
    trigger: str = "robot"
    """The name of the model that opens the door, or a tag of the actors that open it."""
    trigger_distance_m: Positive = 2.0
    """Distance (m) between ``pose`` and a model of ``trigger`` at which the door opens."""
    opening_time_s: PositiveDistribution = Fixed(value=1.5)
    """Time (s) in which the door opens or closes completely."""
    hold_open_s: NotNegative = 1.0
    """Time (s) for which the door remains open after the last model of ``trigger`` has left."""
    swing_rad: Annotated[float, Field(gt=-3.15, lt=3.15)] = 1.5
    """Angle (rad) by which a swinging door opens, counter-clockwise."""
    # A leaf touches the obstacles on both sides of its doorway.
    needs_free_path: ClassVar[bool] = False

    @property
    @override
    def path(self) -> BaseGeometry:
        width_m, thickness_m, _ = self.size_m
        hinge = shapely.Point(self.pose.x_m, self.pose.y_m)
        if self.kind == "swinging":
            return hinge.buffer(width_m + thickness_m / 2)
        direction = (math.cos(self.pose.yaw_rad), math.sin(self.pose.yaw_rad))
        ends = [
            (self.pose.x_m + along_m * direction[0], self.pose.y_m + along_m * direction[1])
            for along_m in (-width_m / 2, width_m * 1.5)
        ]
        return shapely.LineString(ends).buffer(thickness_m / 2, cap_style="flat")

    @property
    def swept_area(self) -> BaseGeometry:
        return self.path

    @override
    def create(self, new: NewActor) -> Tuple["Door", Pose2D]:
        return Door(new.name, self, new.draw(self.opening_time_s)), self.pose.pose

    @property
    def solid(self) -> Solid:
        width_m, _, height_m = self.size_m
        shift_m = width_m / 2 if self.kind == "swinging" else 0.0
        return self.size_m, self.mass_kg, (shift_m, 0.0, height_m / 2)


class Door(Actor):
    def __init__(self, name: str, spec: DoorSpec, opening_time_s: float) -> None:
        super().__init__(name, spec.tags)
        slides = spec.kind == "sliding"
        self._spec, self._opening_time_s = spec, opening_time_s
        self._closed_pose = spec.pose.pose
        self._travel_m = spec.size_m[0] if slides else 0.0
        self._swing_rad = 0.0 if slides else spec.swing_rad
        self._center_m = spec.solid[2][0]  # of mass, along the leaf's x axis
        self.reset()

    def reset(self) -> None:
        self.open_share = 0.0  # 1 while the door is open
        self._closes_s = -math.inf

    def act(self, context: StepContext) -> None:
        if self._is_triggered(context):
            self._closes_s = context.time_s + self._spec.hold_open_s
        opens = context.time_s <= self._closes_s
        step = context.duration_s / self._opening_time_s
        self.open_share = min(1.0, max(0.0, self.open_share + (step if opens else -step)))
        slid_m = self.open_share * self._travel_m
        x_m = self._closed_pose.x_m + slid_m * math.cos(self._closed_pose.yaw_rad)
        y_m = self._closed_pose.y_m + slid_m * math.sin(self._closed_pose.yaw_rad)
        yaw_rad = self._closed_pose.yaw_rad + self.open_share * self._swing_rad
        # A free body turns about its center of mass, which moves in a straight line. The center's
        # position at the end of the step gives its velocity, and with that the velocity of the
        # origin at the start.
        x, y, _ = self.pose.position
        previous_rad, turn = self.pose.yaw_rad, wrap_angle(yaw_rad - self.pose.yaw_rad)
        rate = turn / context.duration_s
        center = (
            self._center_m * (math.cos(previous_rad + turn) - math.cos(previous_rad)),
            self._center_m * (math.sin(previous_rad + turn) - math.sin(previous_rad)),
        )
        self.set_twist(
            (
                (x_m - x + center[0]) / context.duration_s
                + rate * self._center_m * math.sin(previous_rad),
                (y_m - y + center[1]) / context.duration_s
                - rate * self._center_m * math.cos(previous_rad),
                0.0,
            ),
            (0.0, 0.0, rate),
        )

    def _is_triggered(self, context: StepContext) -> bool:
        for name in context.names_of(self._spec.trigger):
            state = context.state(name)
            if state is not None and name != self.name:
                x_m, y_m = state.pose.position[:2]
                if self._closed_pose.distance_to(x_m, y_m) <= self._spec.trigger_distance_m:
                    return True
        return False
