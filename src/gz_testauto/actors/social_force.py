"""``social_force``: an actor that wanders and avoids others as in a crowd.

Defines the forces: each person accelerates to its desired velocity and is repelled by others and by
obstacles, more by those ahead (Helbing, Molnár 1995; with the circular, exponential forces of
Helbing, Farkas, Molnár, Vicsek 2002). Positions of others are those at the start of the step.
"""

import math
from typing import Iterator, Optional, Tuple

import numpy as np
from pydantic import Field
from shapely.geometry.base import BaseGeometry
from typing_extensions import Annotated, Literal, override

from gz_testauto.actors.actor import turn_rate
from gz_testauto.actors.creation import NewActor
from gz_testauto.actors.hook import OtherActor, StepContext
from gz_testauto.actors.wander import Wander, WanderSpec
from gz_testauto.spec.model import Positive


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

    @override
    def wanderer(
        self, new: NewActor, region: BaseGeometry, reach_m: float, speed_mps: float
    ) -> "SocialForce":
        return SocialForce(new, self, region, reach_m, speed_mps)


FASTEST = 1.3
"""Largest speed, relative to the desired speed."""

ARRIVED_M = 0.3
"""Distance from the target that counts as arrived: in a crowd an exact point is rarely reached."""

SLOWEST_MPS = 0.05
"""Below this speed the heading does not change."""


def driving(desired: np.ndarray, velocity: np.ndarray, spec: SocialForceSpec) -> np.ndarray:
    """Return the acceleration (m/s²) towards the desired velocity, (2,)."""
    return (desired - velocity) / spec.relaxation_time_s


def repulsion(
    away: np.ndarray, touch_m: float, heading: np.ndarray, spec: SocialForceSpec
) -> np.ndarray:
    """Return the acceleration (m/s²) by a neighbor whose center is at -``away`` (2,) and that
    touches at the distance ``touch_m``; ``heading`` (2,) is the desired direction, of length 1 or
    0."""
    distance = float(np.hypot(*away))
    if distance < 1e-9:
        return np.zeros(2)
    normal = away / distance
    ahead = 0.5 * (1.0 - float(normal @ heading))  # 1 straight ahead
    share = spec.anisotropy + (1.0 - spec.anisotropy) * ahead
    strength = spec.repulsion_mps2 * math.exp((touch_m - distance) / spec.repulsion_range_m)
    return np.asarray(share * strength * normal)


class SocialForce(Wander):
    """An actor that moves to points of its region as :class:`~gz_testauto.actors.wander.Wander`
    does, but by forces."""

    def __init__(
        self,
        new: NewActor,
        spec: SocialForceSpec,
        region: BaseGeometry,
        radius_m: float,
        speed_mps: float,
    ) -> None:
        super().__init__(new, spec, region, radius_m, speed_mps)
        self._forces, self._robot_radius_m = spec, new.ground.robot_radius_m

    @property
    def radius_m(self) -> float:
        """Return the radius of the actor for other actors."""
        return self._radius_m

    def go(self, context: StepContext) -> bool:
        """Move by the forces; see :class:`~gz_testauto.actors.wander.Wander`."""
        x, y, _ = self.pose.position
        way = np.array([self._target[0] - x, self._target[1] - y])
        left_m = float(np.hypot(*way))
        if left_m <= ARRIVED_M:
            self.stop()
            return True
        heading = way / left_m
        velocity = np.array(self.linear_mps[:2])
        pushed = driving(self.speed_mps * heading, velocity, self._forces)
        for away, touch_m in self._neighbors(context):
            pushed = pushed + repulsion(away, touch_m, heading, self._forces)
        velocity = velocity + context.duration_s * pushed
        speed = float(np.hypot(*velocity))
        most = FASTEST * self.speed_mps
        if speed > most:
            velocity, speed = velocity * (most / speed), most
        turn = 0.0
        if speed > SLOWEST_MPS:
            yaw_rad = math.atan2(float(velocity[1]), float(velocity[0]))
            turn = turn_rate(self.pose.yaw_rad, yaw_rad, context.duration_s)
        self.set_twist((float(velocity[0]), float(velocity[1]), 0.0), (0.0, 0.0, turn))
        return False

    def _neighbors(self, context: StepContext) -> Iterator[Tuple[np.ndarray, float]]:
        """Yield the offset from each neighbor's center, or an obstacle's nearest point, to this
        actor, and the distance at which they touch."""
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
        """Return the radius of another actor; this one's for an actor without a radius."""
        if other is None:
            return self._robot_radius_m
        return other.radius_m if isinstance(other, SocialForce) else self._radius_m
