"""The behavior ``cross``: an actor moves to a point when the robot is near."""

from typing import Optional, Tuple

import shapely
from shapely.geometry.base import BaseGeometry
from typing_extensions import Literal, override

from gz_testauto.actors.actor import Actor
from gz_testauto.actors.creation import NewActor
from gz_testauto.actors.hook import StepContext
from gz_testauto.base.pose import Pose2D
from gz_testauto.spec.actors import PlacedActorSpec
from gz_testauto.spec.distributions import Distribution, Fixed, PositiveDistribution
from gz_testauto.spec.model import Point, Positive


class CrossSpec(PlacedActorSpec):
    """An actor that waits until the robot is near, then crosses to another point and stays
    there."""

    behavior: Literal["cross"]
    goal_m: Point
    """The point ``[x, y]`` (m, world frame) to which the actor crosses."""
    trigger_distance_m: Positive = 4.0
    """Distance (m) between the origins of the robot and the actor at which the delay starts."""
    speed_mps: PositiveDistribution = Fixed(value=1.4)
    """Speed (m/s) of the actor while it crosses."""
    delay_s: Distribution = Fixed(value=0.0)
    """Time (s) between the trigger and the start of the motion."""

    @property
    @override
    def path(self) -> BaseGeometry:
        return shapely.LineString([(self.start.x_m, self.start.y_m), self.goal_m])

    @override
    def create(self, new: NewActor) -> Tuple["Cross", Pose2D]:
        speed_mps, delay_s = new.draw(self.speed_mps), max(0.0, new.draw(self.delay_s))
        return Cross(new.name, self, speed_mps, delay_s), self.start.pose


class Cross(Actor):
    def __init__(self, name: str, spec: CrossSpec, speed_mps: float, delay_s: float) -> None:
        super().__init__(name, spec.tags)
        self._spec, self.speed_mps, self._delay_s = spec, speed_mps, delay_s
        self.reset()

    @override
    def reset(self) -> None:
        self._start_s: Optional[float] = None

    def act(self, context: StepContext) -> None:
        if self._start_s is None and self.nearest("robot") <= self._spec.trigger_distance_m:
            self._start_s = context.time_s + self._delay_s
        if self._start_s is None or context.time_s < self._start_s - 1e-9:
            self.stop()
        else:
            self.go_to(*self._spec.goal_m, self.speed_mps)
