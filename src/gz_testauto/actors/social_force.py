"""The behavior ``social_force``: an actor wanders, and avoids other actors as people do in a crowd.

The robot, other actors and obstacles repel a person, more strongly if they are ahead (Helbing,
Molnár 1995; with the circular, exponential forces of Helbing, Farkas, Molnár, Vicsek 2002).
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
    """Time constant (s) with which the velocity approaches the desired velocity."""
    repulsion_mps2: Annotated[float, Field(ge=0, le=100)] = 3.0
    """Repulsive acceleration (m/s²) at the distance at which two outlines touch."""
    repulsion_range_m: Positive = 0.2
    """Distance (m) over which the repulsion decreases by the factor e."""
    anisotropy: Annotated[float, Field(ge=0, le=1)] = 0.25
    """Ratio of the repulsion by a model behind the actor to the repulsion by a model in front of
    the actor."""

    @override
    def wanderer(
        self, new: NewActor, region: BaseGeometry, reach_m: float, speed_mps: float
    ) -> "SocialForce":
        return SocialForce(new, self, region, reach_m, speed_mps)


FASTEST = 1.3  # largest speed of an actor, as a factor of its desired speed

# Distance from the target at which an actor arrives: in a crowd, it rarely reaches a point.
ARRIVED_M = 0.3

SLOWEST_MPS = 0.05  # speed below which the heading remains constant


def driving(desired: np.ndarray, velocity: np.ndarray, spec: SocialForceSpec) -> np.ndarray:
    """Return the acceleration (m/s²) towards the desired velocity (m/s), each of shape (2,)."""
    return (desired - velocity) / spec.relaxation_time_s


def repulsion(
    separations_m: np.ndarray, touch_m: np.ndarray, heading: np.ndarray, spec: SocialForceSpec
) -> np.ndarray:
    """Return the acceleration (m/s²) by each of n neighbors, shape (n, 2).

    ``separations_m`` (n, 2) are the offsets (m) from the neighbors to the actor. ``touch_m`` (n,)
    are the distances (m) at which both touch. ``heading`` (2,) is the direction to the target, of
    length 1 or 0.
    """
    distances = np.hypot(*separations_m.T)
    is_apart = distances >= 1e-9
    normals = separations_m / np.where(is_apart, distances, 1.0)[:, None]
    alignments = 0.5 * (1.0 - (normals * heading).sum(axis=1))  # 1 straight ahead
    shares = spec.anisotropy + (1.0 - spec.anisotropy) * alignments
    exponents = (touch_m - distances) / spec.repulsion_range_m
    strengths = spec.repulsion_mps2 * np.array([math.exp(value) for value in exponents.tolist()])
    return np.where(is_apart[:, None], (shares * strengths)[:, None] * normals, 0.0)


class SocialForce(Wander):
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
        return self._radius_m

    def go(self, context: StepContext) -> bool:
        x, y, _ = self.pose.position
        offset_m = np.array([self._target[0] - x, self._target[1] - y])
        remaining_m = float(np.hypot(*offset_m))
        if remaining_m <= ARRIVED_M:
            self.stop()
            return True
        heading = offset_m / remaining_m
        velocity, speed = self.pushed(context, self.speed_mps * heading, heading, self.speed_mps)
        turn = 0.0
        if speed > SLOWEST_MPS:
            yaw_rad = math.atan2(float(velocity[1]), float(velocity[0]))
            turn = turn_rate(self.pose.yaw_rad, yaw_rad, context.duration_s)
        self.set_twist((float(velocity[0]), float(velocity[1]), 0.0), (0.0, 0.0, turn))
        return False

    def pushed(
        self,
        context: StepContext,
        desired: np.ndarray,
        heading: np.ndarray,
        speed_mps: float,
        extra: Optional[np.ndarray] = None,
    ) -> Tuple[np.ndarray, float]:
        """Return the velocity (m/s), shape (2,), and the speed after one step under social forces.
        The speed is at most :data:`FASTEST` times ``speed_mps``. ``desired`` (2,) is a velocity,
        ``heading`` (2,) a direction, and ``extra`` (2,) an additional acceleration (m/s²)."""
        velocity = np.array(self.linear_mps[:2])
        acceleration = driving(desired, velocity, self._forces)
        if extra is not None:
            acceleration = acceleration + extra
        neighbors = np.array(list(self._neighbors(context))).reshape(-1, 3)
        terms = repulsion(neighbors[:, :2], neighbors[:, 2], heading, self._forces)
        acceleration = np.add.accumulate(np.vstack([acceleration, terms]))[-1]  # in this order
        velocity = velocity + context.duration_s * acceleration
        speed = float(np.hypot(*velocity))
        max_mps = FASTEST * speed_mps
        if speed > max_mps:
            velocity, speed = velocity * (max_mps / speed), max_mps
        return velocity, speed

    def ignores(self, name: str, context: StepContext) -> bool:
        return name == self.name

    def _neighbors(self, context: StepContext) -> Iterator[Tuple[float, float, float]]:
        """Yield the offset x, y (m) of this actor from each neighbor and from the nearest obstacle,
        and the distance (m) at which both touch."""
        x, y, _ = self.pose.position
        for name in context.moving_models:
            state = context.state(name)
            if state is not None and not self.ignores(name, context):
                other_x, other_y, _ = state.pose.position
                radius_m = self._radius_of(context.actors.get(name))
                yield x - other_x, y - other_y, self._radius_m + radius_m
        nearest_m = self._surroundings.nearest_point(x, y)
        if nearest_m is not None:
            yield x - nearest_m[0], y - nearest_m[1], self._radius_m

    def _radius_of(self, other_actor: Optional[OtherActor]) -> float:
        if other_actor is None:
            return self._robot_radius_m
        return other_actor.radius_m if isinstance(other_actor, SocialForce) else self._radius_m
