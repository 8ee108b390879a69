"""The behavior ``wander``: an actor moves between random free points."""

import math
from typing import ClassVar, Tuple

from shapely.geometry.base import BaseGeometry
from typing_extensions import Literal, override

from gz_testauto.actors.actor import Actor
from gz_testauto.actors.creation import TRIES_TO_START, NewActor, draw_point, reach_of
from gz_testauto.actors.hook import StepContext
from gz_testauto.base.errors import PlacementError
from gz_testauto.base.pose import Pose2D
from gz_testauto.spec.actors import ActorSpec
from gz_testauto.spec.distributions import Fixed, PositiveDistribution
from gz_testauto.spec.model import NotNegative
from gz_testauto.spec.regions import Regions, union_of


class WanderSpec(ActorSpec):
    """An actor that moves in straight lines between random points of a region and avoids
    obstacles."""

    behavior: Literal["wander"]
    region: Regions
    """The area in which the start and the points of the path are drawn."""
    speed_mps: PositiveDistribution = Fixed(value=1.0)
    """Speed (m/s), drawn once for each actor."""
    pause_s: NotNegative = 0.0
    """Pause (s) at each point."""
    min_robot_gap_m: NotNegative = 1.5
    """Smallest gap (m) between the outlines of the actor and the robot at the start."""
    yield_distance_m: NotNegative = 0.0
    """Distance (m) ahead of the actor within which it stops for the robot and for other actors. If
    it waits for more than 3 s, it moves to another point. If it is 0, the actor does not stop."""

    @property
    @override
    def ground(self) -> BaseGeometry:
        return union_of(self.region)

    has_several_starts: ClassVar[bool] = True

    def create(self, new: NewActor) -> Tuple["Wander", Pose2D]:
        """Return the actor and its start pose. Raises ``PlacementError`` without a free start."""
        region, reach_m = union_of(self.region), reach_of(self)
        wander = self.wanderer(new, region, reach_m, new.draw(self.speed_mps))
        for _ in range(TRIES_TO_START):
            point = draw_point(region, new.random)
            if point is None:
                break
            if new.is_free(point, reach_m, self.min_robot_gap_m):
                return wander, Pose2D(*point, float(new.random.uniform(-math.pi, math.pi)))
        raise PlacementError(
            f"actor {new.name!r} has no free start after {TRIES_TO_START} tries ({reach_m:g} m "
            f"around it, {self.min_robot_gap_m:g} m from the robot); enlarge the region, or reduce "
            "'count' or 'min_robot_gap_m'"
        )

    def wanderer(
        self, new: NewActor, region: BaseGeometry, reach_m: float, speed_mps: float
    ) -> "Wander":
        return Wander(new, self, region, reach_m, speed_mps)


TRIES = 50  # largest number of draws of a point with a free path before the actor waits
RETRY_S = 1.0

LATE = 1.5  # ratio of elapsed to nominal time from which a path counts as blocked
# Longest wait for another model. Actors, or an actor and the robot, can wait for each other.
PATIENCE_S = 3.0

# Cosine of the angle to the direction of motion within which another model counts as ahead.
AHEAD = 0.3


class Wander(Actor):
    def __init__(
        self,
        new: NewActor,
        spec: WanderSpec,
        region: BaseGeometry,
        radius_m: float,
        speed_mps: float,
    ) -> None:
        super().__init__(new.name, spec.tags)
        self._spec, self._region, self._surroundings = spec, region, new.ground.surroundings
        self._radius_m, self.speed_mps = radius_m, speed_mps
        self._target: Tuple[float, float] = (0.0, 0.0)
        self.reset()

    def reset(self) -> None:
        self._going = False
        self._until_s = self._waited_s = 0.0

    def act(self, context: StepContext) -> None:
        if self._going and context.time_s > self._until_s:
            self._going, self._until_s = False, context.time_s  # the path is blocked
        if not self._going and context.time_s >= self._until_s - 1e-9:
            self._draw_target(context)
        waits = self._going and self._must_give_way(context)
        self._waited_s = self._waited_s + context.duration_s if waits else 0.0
        if self._waited_s > PATIENCE_S:
            self._going, self._until_s = False, context.time_s
        elif waits:
            self._until_s += context.duration_s
        if waits or not self._going:
            self.stop()
        elif self.go(context):
            self._going = False
            self._until_s = context.time_s + context.duration_s + self._spec.pause_s

    def go(self, context: StepContext) -> bool:
        """Move towards the target for one step, and return whether the actor arrives."""
        return self.go_to(*self._target, self.speed_mps)

    def _draw_target(self, context: StepContext) -> None:
        position_m = (self.pose.position[0], self.pose.position[1])
        for _ in range(TRIES):
            point = draw_point(self._region, self.random)
            if point is not None and self._surroundings.is_free_path(
                position_m, point, self._radius_m
            ):
                self._target, self._going = point, True
                length_m = math.hypot(point[0] - position_m[0], point[1] - position_m[1])
                self._until_s = context.time_s + LATE * length_m / self.speed_mps + 1.0
                return
        self._until_s = context.time_s + RETRY_S

    def _must_give_way(self, context: StepContext) -> bool:
        if not self._spec.yield_distance_m:
            return False
        x_m, y_m = self.pose.position[:2]
        offset_m = (self._target[0] - x_m, self._target[1] - y_m)
        length = math.hypot(*offset_m)
        for name in context.moving_models:
            state = context.state(name)
            if state is None or name == self.name:
                continue
            dx, dy = state.pose.position[0] - x_m, state.pose.position[1] - y_m
            distance_m = math.hypot(dx, dy)
            is_ahead = dx * offset_m[0] + dy * offset_m[1] > AHEAD * distance_m * length
            if distance_m - self._radius_m < self._spec.yield_distance_m and is_ahead:
                return True
        return False
