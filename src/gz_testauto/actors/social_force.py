"""From one place to the next, making way for others as a crowd does.

Owns the forces: each person is driven to its desired velocity and pushed away by others and by what
stands, all the more those ahead (Helbing, Molnár 1995; with the circular, exponential forces of
Helbing, Farkas, Molnár, Vicsek 2002). Others are where they were at the last tick.
"""

import math
from typing import Iterator, NamedTuple, Optional, Sequence, Tuple

import numpy as np
from pydantic import Field
from shapely.geometry.base import BaseGeometry
from typing_extensions import Annotated, Literal

from gz_testauto.actors.actor import turning
from gz_testauto.actors.creation import NewActor
from gz_testauto.actors.hook import OtherActor, StepContext
from gz_testauto.actors.surroundings import Surroundings
from gz_testauto.actors.wander import Wander, WanderSpec
from gz_testauto.spec.actors import Positive


class SocialForceSpec(WanderSpec):
    """An actor that wanders and is repelled by the robot, other actors and obstacles (social force
    model)."""

    behavior: Literal["social_force"]  # type: ignore[assignment]
    relaxation_time_s: Positive = 0.5
    """Time constant with which the velocity approaches the desired one."""
    repulsion_mps2: Annotated[float, Field(ge=0, le=100)] = 3.0
    """Repulsive acceleration at contact."""
    repulsion_range_m: Positive = 0.2
    """Distance over which the repulsion decreases by the factor e."""
    anisotropy: Annotated[float, Field(ge=0, le=1)] = 0.25
    """Repulsion by a model behind the actor, relative to one in front of it."""

    def wanderer(
        self, new: NewActor, region: BaseGeometry, reach_m: float, speed_mps: float
    ) -> "SocialForce":
        """See :class:`~gz_testauto.actors.wander.WanderSpec`."""
        return SocialForce(
            new.name,
            self.tags,
            region,
            new.ground.surroundings,
            reach_m,
            speed_mps,
            self.pause_s,
            self.give_way_m,
            new.ground.robot_radius_m,
            Forces(
                self.relaxation_time_s, self.repulsion_mps2, self.repulsion_range_m, self.anisotropy
            ),
        )


FASTEST = 1.3
"""Nobody is pushed to more than this many times its desired speed."""

ARRIVED_M = 0.3
"""From its place: a crowd seldom lets one stand on a point."""

SLOWEST_MPS = 0.05
"""Slower than this one faces where it faced."""


class Forces(NamedTuple):
    """Parameters of the social force model; see :class:`SocialForceSpec`."""

    relaxation_time_s: float = 0.5
    repulsion_mps2: float = 3.0
    repulsion_range_m: float = 0.2
    anisotropy: float = 0.25


def driving(wanted: np.ndarray, velocity: np.ndarray, forces: Forces) -> np.ndarray:
    """The acceleration (m/s²) towards the desired velocity, (2,)."""
    return (wanted - velocity) / forces.relaxation_time_s


def repulsion(away: np.ndarray, touch_m: float, heading: np.ndarray, forces: Forces) -> np.ndarray:
    """The acceleration (m/s²) by one whose middle is at -``away`` (2,), and who touches at
    ``touch_m``; ``heading`` (2,) is where one wants to go, of length 1 or none."""
    distance = float(np.hypot(*away))
    if distance < 1e-9:
        return np.zeros(2)
    normal = away / distance
    ahead = 0.5 * (1.0 - float(normal @ heading))  # 1 for who is straight ahead
    share = forces.anisotropy + (1.0 - forces.anisotropy) * ahead
    strength = forces.repulsion_mps2 * math.exp((touch_m - distance) / forces.repulsion_range_m)
    return np.asarray(share * strength * normal)


class SocialForce(Wander):
    """Goes to places of its region as :class:`~gz_testauto.actors.wander.Wander` does, but not
    straight: forces move it. ``others_m`` is the radius that the robot counts with."""

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
        others_m: float = 0.3,
        forces: Forces = Forces(),  # noqa: B008 (a NamedTuple)
    ) -> None:
        super().__init__(name, tags, region, surroundings, radius_m, speed_mps, pause_s, give_way_m)
        self._others_m, self._forces = others_m, forces

    @property
    def radius_m(self) -> float:
        """Of the circle that others keep off."""
        return self._radius_m

    def go(self, context: StepContext) -> bool:
        """Move by the forces; see :class:`~gz_testauto.actors.wander.Wander`."""
        x, y, _ = self.pose.position
        way = np.array([self._target[0] - x, self._target[1] - y])
        left_m = float(np.hypot(*way))
        if left_m <= ARRIVED_M:
            self.stand()
            return True
        heading = way / left_m
        velocity = np.array(self.linear_mps[:2])
        pushed = driving(self.speed_mps * heading, velocity, self._forces)
        for away, touch_m in self._around(context):
            pushed = pushed + repulsion(away, touch_m, heading, self._forces)
        velocity = velocity + context.duration_s * pushed
        speed = float(np.hypot(*velocity))
        most = FASTEST * self.speed_mps
        if speed > most:
            velocity, speed = velocity * (most / speed), most
        turn = 0.0
        if speed > SLOWEST_MPS:
            yaw_rad = math.atan2(float(velocity[1]), float(velocity[0]))
            turn = turning(self.pose.yaw_rad, yaw_rad, context.duration_s)
        self.set_twist((float(velocity[0]), float(velocity[1]), 0.0), (0.0, 0.0, turn))
        return False

    def _around(self, context: StepContext) -> Iterator[Tuple[np.ndarray, float]]:
        """Who and what is around: from its middle, or nearest point, to here, and the distance at
        which one touches it."""
        here = np.array(self.pose.position[:2])
        for name in context.moving_models:
            state = context.state(name)
            if state is not None and name != self.name:
                radius_m = self._radius_of(context.actors.get(name))
                yield here - np.array(state.pose.position[:2]), self._radius_m + radius_m
        nearest = self._surroundings.nearest_point(float(here[0]), float(here[1]))
        if nearest is not None:
            yield here - np.array(nearest), self._radius_m

    def _radius_of(self, other: Optional[OtherActor]) -> float:
        """Of the robot what was told; of who has none of its own, one's own."""
        if other is None:
            return self._others_m
        return other.radius_m if isinstance(other, SocialForce) else self._radius_m
