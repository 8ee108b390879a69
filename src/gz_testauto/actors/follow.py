"""The behavior ``follow``: an actor follows another model at a distance or at a fixed offset."""

import math
from typing import Optional, Tuple

from typing_extensions import Literal, override

from gz_testauto.actors.actor import Actor
from gz_testauto.actors.creation import NewActor
from gz_testauto.actors.hook import StepContext
from gz_testauto.base.pose import Pose2D
from gz_testauto.spec.actors import Offset, PlacedActorSpec
from gz_testauto.spec.distributions import Fixed, PositiveDistribution
from gz_testauto.spec.model import NotNegative


class FollowSpec(PlacedActorSpec):
    """An actor that follows another model at a distance, or at a fixed offset like an onboard
    camera."""

    behavior: Literal["follow"]
    target: str = "robot"
    """The name of the model to follow; ``robot`` denotes the robot."""
    distance_m: NotNegative = 1.5
    """Distance (m) from the origin of the target at which the actor stops."""
    offset_m: Optional[Offset] = None
    """Fixed offset (m) from the target, which replaces ``distance_m``. Its components are x
    forward, y left and z up in the frame with the target's origin and heading."""
    speed_mps: PositiveDistribution = Fixed(value=1.0)
    """Largest speed (m/s) of the actor."""

    @override
    def create(self, new: NewActor) -> Tuple["Follow", Pose2D]:
        return Follow(new.name, self, new.draw(self.speed_mps)), self.start.pose


class Follow(Actor):
    def __init__(self, name: str, spec: FollowSpec, speed_mps: float) -> None:
        super().__init__(name, spec.tags)
        self._spec, self.speed_mps = spec, speed_mps

    def act(self, context: StepContext) -> None:
        names = context.names_of(self._spec.target)
        state = context.state(names[0]) if names else None
        if state is None:
            self.stop()
            return
        pose = state.pose
        if self._spec.offset_m is not None:
            ahead_m, left_m, up_m = self._spec.offset_m
            cos, sin = math.cos(pose.yaw_rad), math.sin(pose.yaw_rad)
            x_m = pose.position[0] + cos * ahead_m - sin * left_m
            y_m = pose.position[1] + sin * ahead_m + cos * left_m
            self.go_to(x_m, y_m, self.speed_mps, pose.position[2] + up_m, pose.yaw_rad)
            return
        dx, dy = pose.position[0] - self.pose.position[0], pose.position[1] - self.pose.position[1]
        away_m = math.hypot(dx, dy)
        if away_m <= self._spec.distance_m:
            self.stop()
            return
        share = (away_m - self._spec.distance_m) / away_m
        self.go_to(
            self.pose.position[0] + share * dx, self.pose.position[1] + share * dy, self.speed_mps
        )
