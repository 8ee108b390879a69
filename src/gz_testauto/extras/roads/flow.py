"""The behavior ``flow``: an actor repeatedly appears, passes its waypoints, and disappears."""

import math
from typing import ClassVar, List, Tuple

import shapely
from pydantic import Field
from shapely.geometry.base import BaseGeometry
from typing_extensions import Literal, override

from gz_testauto.actors.actor import Actor
from gz_testauto.actors.creation import NewActor
from gz_testauto.actors.hook import StepContext
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.spec.actors import ActorSpec
from gz_testauto.spec.distributions import Distribution, Fixed, PositiveDistribution, Uniform
from gz_testauto.spec.model import NotNegative, Point


class FlowSpec(ActorSpec):
    """An actor that passes through the world repeatedly: it is spawned at the first waypoint, moves
    to the last one, and is deleted. Several actors of one entry do this independently of each
    other."""

    behavior: Literal["flow"]
    waypoints_m: List[Point] = Field(min_length=2)
    """Waypoints ``[x, y]`` (m, world frame), at least two."""
    speed_mps: PositiveDistribution = Fixed(value=1.0)
    """Speed (m/s), drawn for each pass."""
    absence_s: Distribution = Uniform(min=0.0, max=20.0)
    """Time (s) from the end of a pass until the next spawn, drawn for each pass."""
    min_clearance_m: NotNegative = 1.5
    """Smallest distance (m) from the first waypoint to the origins of the robot and of other actors
    at which the actor can be spawned."""

    @property
    @override
    def path(self) -> BaseGeometry:
        return shapely.LineString(self.waypoints_m)

    has_several_starts: ClassVar[bool] = True

    @override
    def create(self, new: NewActor) -> Tuple["Flow", Pose2D]:
        return Flow(new.name, self), Pose2D(*self.waypoints_m[0])


RETRY_S = 0.5


class Flow(Actor):
    """An actor that is spawned as soon as no model is near its first waypoint."""

    spawn_later = True

    def __init__(self, name: str, spec: FlowSpec) -> None:
        super().__init__(name, spec.tags)
        self._spec = spec
        self.speed_mps = self._spawn_s = 0.0
        self.reset()

    @property
    @override
    def activity(self) -> str:
        return f"flow, to waypoint {self._next_waypoint + 1} of {len(self._spec.waypoints_m)}"

    def reset(self) -> None:
        self._draw_next_spawn(0.0)

    def update_before_spawn(self, context: StepContext) -> None:
        if context.time_s < self._spawn_s - 1e-9:
            return
        (x_m, y_m), (to_x_m, to_y_m) = self._spec.waypoints_m[:2]
        if self._is_occupied(x_m, y_m, context):
            self._spawn_s = context.time_s + RETRY_S
            return
        yaw_rad = math.atan2(to_y_m - y_m, to_x_m - x_m)
        self.spawn(Pose.from_rpy(x_m, y_m, self._spec.height_above_ground_m, 0.0, 0.0, yaw_rad))

    def act(self, context: StepContext) -> None:
        if self._next_waypoint == len(self._spec.waypoints_m):
            self.delete()
            self._draw_next_spawn(context.time_s)
        elif self.go_to(*self._spec.waypoints_m[self._next_waypoint], self.speed_mps):
            self._next_waypoint += 1

    def _draw_next_spawn(self, now_s: float) -> None:
        self.speed_mps = float(self._spec.speed_mps.quantile(float(self.random.random())))
        absence_s = float(self._spec.absence_s.quantile(float(self.random.random())))
        self._spawn_s = now_s + max(0.0, absence_s)
        self._next_waypoint = 1

    def _is_occupied(self, x_m: float, y_m: float, context: StepContext) -> bool:
        states = [context.state(name) for name in context.moving_models]
        poses = [state.pose for state in states if state is not None]
        poses.extend(model.pose for model in context.to_spawn)
        return any(
            math.hypot(pose.position[0] - x_m, pose.position[1] - y_m) < self._spec.min_clearance_m
            for pose in poses
        )
