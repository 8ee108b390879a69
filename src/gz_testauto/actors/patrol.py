"""Along way-points, over and over."""

from typing import ClassVar, List, Sequence, Tuple

import numpy as np
import shapely
import shapely.affinity
from pydantic import Field
from shapely.geometry.base import BaseGeometry
from typing_extensions import Annotated, Literal

from gz_testauto.actors.actor import Actor
from gz_testauto.actors.creation import NewActor
from gz_testauto.actors.hook import StepContext
from gz_testauto.base.pose import Pose2D
from gz_testauto.spec.actors import ActorSpec
from gz_testauto.spec.distributions import Fixed, PositiveDistribution
from gz_testauto.spec.model import LARGEST, Point


class PatrolSpec(ActorSpec):
    """Goes along way-points, over and over: back the way it came, or around (``closed``)."""

    behavior: Literal["patrol"]
    waypoints_m: List[Point] = Field(min_length=2)
    closed: bool = False
    speed_mps: PositiveDistribution = Fixed(value=1.0)
    pause_s: Annotated[float, Field(ge=0, le=LARGEST)] = 0.0
    """At each way-point."""

    @property
    def path(self) -> BaseGeometry:
        """See :class:`ActorSpec`."""
        ends = [*self.waypoints_m, *(self.waypoints_m[:1] if self.closed else ())]
        return shapely.LineString(ends)

    has_several_starts: ClassVar[bool] = True

    def create(self, new: NewActor) -> Tuple["Patrol", Pose2D]:
        """See :class:`ActorSpec`; several begin spread along the path."""
        speed = new.draw(self.speed_mps)
        ahead_m = length_m(self.waypoints_m, self.closed) * new.index / self.count
        patrol = Patrol(
            new.name, self.tags, self.waypoints_m, speed, self.pause_s, self.closed, ahead_m
        )
        return patrol, Pose2D(*patrol.start_m)


class Patrol(Actor):
    """Goes from one way-point (m, world frame) to the next, and back the way it came, or around
    where it is ``closed``. ``ahead_m`` is how far along its way it begins."""

    def __init__(
        self,
        name: str,
        tags: Sequence[str],
        waypoints_m: Sequence[Tuple[float, float]],
        speed_mps: float,
        pause_s: float = 0.0,
        closed: bool = False,
        ahead_m: float = 0.0,
    ) -> None:
        super().__init__(name, tags)
        self.speed_mps, self.pause_s = speed_mps, pause_s
        self._way = round_trip(waypoints_m, closed)
        self._start_m, self._first = along(self._way, ahead_m)
        self.reset()

    @property
    def start_m(self) -> Tuple[float, float]:
        """Where it begins."""
        return self._start_m

    def reset(self) -> None:
        """Go to the first way-point after the start."""
        self._next = self._first
        self._goes_on_s = 0.0

    def act(self, context: StepContext) -> None:
        """Walk, or wait at a way-point."""
        if context.time_s < self._goes_on_s - 1e-9:
            self.stand()
            return
        x_m, y_m = self._way[self._next]
        if self.go_to(x_m, y_m, self.speed_mps):
            self._next = (self._next + 1) % len(self._way)
            if self.pause_s:
                self._goes_on_s = context.time_s + context.duration_s + self.pause_s


def round_trip(
    waypoints_m: Sequence[Tuple[float, float]], closed: bool
) -> List[Tuple[float, float]]:
    """The way-points of one round, the first of which follows the last."""
    forth = [(float(x), float(y)) for x, y in waypoints_m]
    return forth if closed else forth + forth[-2:0:-1]


def along(way: Sequence[Tuple[float, float]], ahead_m: float) -> Tuple[Tuple[float, float], int]:
    """The point so far along a round from its first way-point, and the way-point after it."""
    points = np.array([*way, way[0]])
    lengths = np.hypot(*np.diff(points, axis=0).T)
    total = float(lengths.sum())
    left = ahead_m % total if total > 0 else 0.0
    for index, length in enumerate(lengths.tolist()):
        if left < length:
            x, y = (points[index] + (points[index + 1] - points[index]) * (left / length)).tolist()
            return (x, y), (index + 1) % len(way)
        left -= length
    return (float(points[0, 0]), float(points[0, 1])), 1 % len(way)


def length_m(waypoints_m: Sequence[Tuple[float, float]], closed: bool) -> float:
    """The length of one round."""
    points = np.array(round_trip(waypoints_m, closed))
    return float(np.hypot(*(np.roll(points, -1, axis=0) - points).T).sum())
