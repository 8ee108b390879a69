"""The behavior ``patrol``: an actor moves along waypoints repeatedly."""

from typing import ClassVar, List, Sequence, Tuple

import numpy as np
import shapely
from pydantic import Field
from shapely.geometry.base import BaseGeometry
from typing_extensions import Literal, override

from gz_testauto.actors.creation import NewActor
from gz_testauto.actors.hook import StepContext
from gz_testauto.actors.prescribed import PrescribedActor
from gz_testauto.base.pose import Pose2D
from gz_testauto.spec.actors import ActorSpec
from gz_testauto.spec.distributions import Fixed, PositiveDistribution
from gz_testauto.spec.model import NotNegative, Point


class PatrolSpec(ActorSpec):
    """An actor that moves along waypoints repeatedly: back and forth, or in a loop."""

    behavior: Literal["patrol"]
    waypoints_m: List[Point] = Field(min_length=2)
    """Waypoints ``[x, y]`` (m, world frame), at least two."""
    closed: bool = False
    """True if the actor moves from the last waypoint directly to the first one. Otherwise, it turns
    back at the last waypoint."""
    speed_mps: PositiveDistribution = Fixed(value=1.0)
    """Speed (m/s), drawn once for each actor."""
    pause_s: NotNegative = 0.0
    """Pause (s) at each waypoint."""

    @property
    @override
    def path(self) -> BaseGeometry:
        points_m = [*self.waypoints_m, *(self.waypoints_m[:1] if self.closed else ())]
        return shapely.LineString(points_m)

    has_several_starts: ClassVar[bool] = True

    def create(self, new: NewActor) -> Tuple["Patrol", Pose2D]:
        # The actors of one entry start at equal distances along the path.
        speed = new.draw(self.speed_mps)
        ahead_m = length_m(self.waypoints_m, self.closed) * new.index / self.count
        patrol = Patrol(
            new.name, self.tags, self.waypoints_m, speed, self.pause_s, self.closed, ahead_m
        )
        return patrol, Pose2D(*patrol.start_m)


class Patrol(PrescribedActor):
    """An actor of :class:`PatrolSpec`. ``ahead_m`` is the distance along the path from the first
    waypoint to the start."""

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
        self._round = round_trip(waypoints_m, closed)
        self._start_m, self._first = point_along(self._round, ahead_m)
        self.reset()

    @property
    def start_m(self) -> Tuple[float, float]:
        return self._start_m

    def reset(self) -> None:
        super().reset()
        self._next_waypoint = self._first
        self._resume_s = 0.0

    def act(self, context: StepContext) -> None:
        self.require_on_course(context, "path")
        if context.time_s < self._resume_s - 1e-9:
            self.stop()
            return
        x_m, y_m = self._round[self._next_waypoint]
        if self.go_to(x_m, y_m, self.speed_mps):
            self._next_waypoint = (self._next_waypoint + 1) % len(self._round)
            if self.pause_s:
                self._resume_s = context.time_s + context.duration_s + self.pause_s


def round_trip(
    waypoints_m: Sequence[Tuple[float, float]], is_closed: bool
) -> List[Tuple[float, float]]:
    """Return the waypoints of a closed round trip, without the first waypoint at its end. If
    ``is_closed`` is false, they contain the return along ``waypoints_m``."""
    forth = [(float(x), float(y)) for x, y in waypoints_m]
    return forth if is_closed else forth + forth[-2:0:-1]


def point_along(
    points_m: Sequence[Tuple[float, float]], ahead_m: float
) -> Tuple[Tuple[float, float], int]:
    """Return the point at the distance ``ahead_m`` along a closed path of waypoints, and the index
    of the next waypoint."""
    points = np.array([*points_m, points_m[0]])
    lengths = np.hypot(*np.diff(points, axis=0).T)
    total = float(lengths.sum())
    remaining_m = ahead_m % total if total > 0 else 0.0
    for index, length in enumerate(lengths.tolist()):
        if remaining_m < length:
            x, y = (
                points[index] + (points[index + 1] - points[index]) * (remaining_m / length)
            ).tolist()
            return (x, y), (index + 1) % len(points_m)
        remaining_m -= length
    return (float(points[0, 0]), float(points[0, 1])), 1 % len(points_m)


def length_m(waypoints_m: Sequence[Tuple[float, float]], closed: bool) -> float:
    points = np.array(round_trip(waypoints_m, closed))
    return float(np.hypot(*(np.roll(points, -1, axis=0) - points).T).sum())
