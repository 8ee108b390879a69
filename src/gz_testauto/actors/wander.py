"""From one free place to the next."""

import math
from typing import ClassVar, Sequence, Tuple

from pydantic import Field
from shapely.geometry.base import BaseGeometry
from typing_extensions import Annotated, Literal

from gz_testauto.actors.actor import Actor
from gz_testauto.actors.creation import NewActor, reach_of
from gz_testauto.actors.hook import StepContext
from gz_testauto.actors.surroundings import TRIES as TRIES_TO_START
from gz_testauto.actors.surroundings import Surroundings, draw_point
from gz_testauto.base.errors import PlacementError
from gz_testauto.base.pose import Pose2D
from gz_testauto.spec.actors import ActorSpec
from gz_testauto.spec.distributions import Fixed, PositiveDistribution
from gz_testauto.spec.model import LARGEST
from gz_testauto.spec.regions import Regions, union_of


class WanderSpec(ActorSpec):
    """Goes from one free place to the next, in straight lines that meet nothing that stands."""

    behavior: Literal["wander"]
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

    has_several_starts: ClassVar[bool] = True

    def create(self, new: NewActor) -> Tuple["Wander", Pose2D]:
        """See :class:`ActorSpec`; the start is drawn."""
        region, reach_m = union_of(self.region), reach_of(self)
        wander = self.wanderer(new, region, reach_m, new.draw(self.speed_mps))
        for _ in range(TRIES_TO_START):
            point = draw_point(region, new.random)
            if point is None:
                break
            if new.is_free(point, reach_m, self.keep_from_robot_m):
                return wander, Pose2D(*point, float(new.random.uniform(-math.pi, math.pi)))
        raise PlacementError(
            f"actor {new.name!r} finds no place to begin after {TRIES_TO_START} tries "
            f"({reach_m:g} m around it, {self.keep_from_robot_m:g} m from the robot): enlarge the "
            "region, lower count or keep_from_robot_m"
        )

    def wanderer(
        self, new: NewActor, region: BaseGeometry, reach_m: float, speed_mps: float
    ) -> "Wander":
        """Return the actor without its start."""
        where = (region, new.ground.surroundings, reach_m)
        return Wander(new.name, self.tags, *where, speed_mps, self.pause_s, self.give_way_m)


TRIES = 50
"""Places that are drawn until there is a straight free way to one; then it stands for a while."""

RETRY_S = 1.0

LATE = 1.5
"""Where a way takes this many times as long as it should, something is in it: another is drawn."""

AHEAD = 0.3
"""Cosine of the angle from its heading within which somebody counts as ahead."""


class Wander(Actor):
    """Goes straight to a place of ``region`` that it draws, waits there, and draws the next, such
    that on its way it touches nothing of what stands."""

    def __init__(
        self,
        name: str,
        tags: Sequence[str],
        region: BaseGeometry,
        surroundings: Surroundings,
        radius_m: float,
        speed_mps: float,
        pause_s: float = 0.0,
        give_way_m: float = 0.0,
    ) -> None:
        super().__init__(name, tags)
        self.speed_mps, self.pause_s, self.give_way_m = speed_mps, pause_s, give_way_m
        self._region, self._surroundings, self._radius_m = region, surroundings, radius_m
        self._target: Tuple[float, float] = (0.0, 0.0)
        self.reset()

    def reset(self) -> None:
        """Draw a place with the first period."""
        self._going = False
        self._until_s = 0.0

    def act(self, context: StepContext) -> None:
        """Walk, wait, or draw where to go."""
        if self._going and context.time_s > self._until_s:
            self._going, self._until_s = False, context.time_s  # somebody is in the way
        if not self._going and context.time_s >= self._until_s - 1e-9:
            self._draw(context)
        if not self._going or self._must_give_way(context):
            self.stand()
        elif self.go(context):
            self._going = False
            self._until_s = context.time_s + context.duration_s + self.pause_s

    def go(self, context: StepContext) -> bool:
        """Move on towards the place; whether it is reached at the end of the period."""
        return self.go_to(*self._target, self.speed_mps)

    def _draw(self, context: StepContext) -> None:
        here = (self.pose.position[0], self.pose.position[1])
        for _ in range(TRIES):
            point = draw_point(self._region, self.random)
            if point is not None and self._surroundings.is_free_way(here, point, self._radius_m):
                self._target, self._going = point, True
                way_m = math.hypot(point[0] - here[0], point[1] - here[1])
                self._until_s = context.time_s + LATE * way_m / self.speed_mps + 1.0
                return
        self._until_s = context.time_s + RETRY_S

    def _must_give_way(self, context: StepContext) -> bool:
        if not self.give_way_m:
            return False
        x_m, y_m = self.pose.position[:2]
        way = (self._target[0] - x_m, self._target[1] - y_m)
        length = math.hypot(*way)
        for name in context.moving_models:
            state = context.state(name)
            if state is None or name == self.name:
                continue
            dx, dy = state.pose.position[0] - x_m, state.pose.position[1] - y_m
            away = math.hypot(dx, dy)
            ahead = dx * way[0] + dy * way[1] > AHEAD * away * length
            if away - self._radius_m < self.give_way_m and ahead:
                self._until_s += context.duration_s
                return True
        return False
