"""``script``: an actor that follows way-points by a timetable, so its pose is a function of time.

It ignores obstacles, the robot and other actors.
"""

from typing import List, Optional, Sequence, Tuple

import numpy as np
import shapely
import shapely.affinity
from pydantic import Field, model_validator
from shapely.geometry.base import BaseGeometry
from typing_extensions import Annotated, Literal

from gz_testauto.actors.actor import Actor
from gz_testauto.actors.creation import NewActor
from gz_testauto.actors.hook import StepContext
from gz_testauto.base.pose import Pose2D, wrap_angle
from gz_testauto.spec.actors import ActorSpec, Positive
from gz_testauto.spec.distributions import Distribution, Fixed, PositiveDistribution
from gz_testauto.spec.model import LARGEST, Bounded, Point


class ScriptSpec(ActorSpec):
    """Goes by a timetable: where it is, is a function of the time since it began."""

    behavior: Literal["script"]
    waypoints_m: List[Point] = Field(min_length=1)
    """One way-point: it stands there."""
    speed_mps: PositiveDistribution = Fixed(value=1.0)
    speeds_mps: Optional[List[Positive]] = None
    """Of each leg; overrules ``speed_mps``."""
    times_s: Optional[List[Annotated[float, Field(ge=0, le=LARGEST)]]] = None
    """When it is at each way-point, from 0 on; ``around`` needs one more, when it is back.
    Overrules speeds and ``wait_s``; two way-points in one place are a pause."""
    wait_s: Annotated[float, Field(ge=0, le=LARGEST)] = 0.0
    """At each way-point."""
    repeat: Literal["once", "back", "around"] = "once"
    yaw_rad: Bounded = 0.0
    """How one with a single way-point stands."""
    start_s: Distribution = Fixed(value=0.0)
    """From the beginning, or from when the robot is near, until it goes."""
    trigger_distance_m: Optional[Positive] = None
    """How near the robot's origin must come to its own; null: it does not wait for it."""
    shift_x_m: Distribution = Fixed(value=0.0)
    shift_y_m: Distribution = Fixed(value=0.0)
    """By how much all way-points lie elsewhere."""

    @property
    def path(self) -> BaseGeometry:
        """See :class:`ActorSpec`; anywhere that shifts may bring it."""
        ends = [*self.waypoints_m, *(self.waypoints_m[:1] if self.repeat == "around" else ())]
        way = shapely.LineString(ends) if len(ends) > 1 else shapely.Point(ends[0])
        shifts = [(x, y) for x in self.shift_x_m.support for y in self.shift_y_m.support]
        ways = [shapely.affinity.translate(way, *shift) for shift in dict.fromkeys(shifts)]
        return ways[0] if len(ways) == 1 else shapely.unary_union(ways).convex_hull

    @model_validator(mode="after")
    def _has_legs(self) -> "ScriptSpec":
        count = len(self.waypoints_m)
        if self.repeat == "around" and count < 3:
            raise ValueError("around needs at least three way-points; give them, or repeat: back")
        legs = count if self.repeat == "around" else count - 1
        if self.times_s is not None:
            if len(self.times_s) != legs + 1:
                raise ValueError(
                    f"times_s has {len(self.times_s)} entries; {legs} legs need {legs + 1}"
                )
            if self.times_s[0] != 0 or any(a >= b for a, b in zip(self.times_s, self.times_s[1:])):
                raise ValueError("times_s must begin with 0 and rise")
            return self
        if any(a == b for a, b in zip(self.waypoints_m, self.waypoints_m[1:])):
            raise ValueError("two way-points that follow one another are in the same place")
        if self.repeat == "around" and self.waypoints_m[0] == self.waypoints_m[-1]:
            raise ValueError("around closes the way itself; leave out the last way-point")
        if self.speeds_mps is not None and len(self.speeds_mps) != legs:
            raise ValueError(
                f"speeds_mps has {len(self.speeds_mps)} entries; {legs} legs need {legs}"
            )
        return self

    def create(self, new: NewActor) -> Tuple["Script", Pose2D]:
        """See :class:`ActorSpec`."""
        speed, start_s = new.draw(self.speed_mps), max(0.0, new.draw(self.start_s))
        shift_m = np.array([new.draw(self.shift_x_m), new.draw(self.shift_y_m)])
        points = np.array(self.waypoints_m) + shift_m
        legs = len(points) if self.repeat == "around" else len(points) - 1
        speeds = np.full(legs, speed) if self.speeds_mps is None else np.array(self.speeds_mps)
        if self.times_s is None:
            timetable = Timetable(points, speeds, self.wait_s, self.repeat)
        else:
            timetable = Timetable.of_times(points, np.array(self.times_s), self.repeat)
        script = Script(
            new.name, self.tags, timetable, start_s, self.trigger_distance_m, self.yaw_rad
        )
        return script, Pose2D(*script.start)


class Timetable:
    """Through ``points_m`` (n, 2), with a speed for each leg and ``wait_s`` at each point: once, or
    there and back (``back``), or around to the first point again (``around``), over and over."""

    def __init__(
        self,
        points_m: np.ndarray,
        speeds_mps: np.ndarray,
        wait_s: float = 0.0,
        repeat: str = "once",
    ) -> None:
        """Raises ``ValueError`` for another number of speeds, and for two points in one place."""
        points = np.asarray(points_m, dtype=float).reshape(-1, 2)
        speeds = np.asarray(speeds_mps, dtype=float)
        if repeat == "back":
            speeds = np.append(speeds, speeds[::-1])
        points = _repeated(points, repeat)
        if len(speeds) != len(points) - 1:
            raise ValueError(
                f"{len(points)} points have {len(points) - 1} legs, and as many speeds"
            )
        lengths = np.hypot(*np.diff(points, axis=0).T)
        if not (lengths > 0.0).all():
            raise ValueError("two way-points that follow one another are in the same place")
        self._lay(points, lengths / speeds, wait_s, repeat != "once")

    @classmethod
    def of_times(
        cls, points_m: np.ndarray, times_s: np.ndarray, repeat: str = "once"
    ) -> "Timetable":
        """At each of ``points_m`` (n, 2) at its time, (n,), from 0 on; with ``around`` one more
        time, when it is back. Raises ``ValueError`` for another number of times."""
        points = np.asarray(points_m, dtype=float).reshape(-1, 2)
        takes = np.diff(np.asarray(times_s, dtype=float))
        if repeat == "back":
            takes = np.append(takes, takes[::-1])
        points = _repeated(points, repeat)
        if len(takes) != len(points) - 1:
            raise ValueError(f"{len(points)} points need as many times")
        table = cls.__new__(cls)
        table._lay(points, takes, 0.0, repeat != "once")
        return table

    def _lay(self, points: np.ndarray, takes: np.ndarray, wait_s: float, repeats: bool) -> None:
        driven = np.cumsum(takes + wait_s)
        self.repeats = repeats
        self.duration_s = float(driven[-1]) if len(driven) else 0.0
        self._points, self._ways = points, np.diff(points, axis=0)
        self._leaves = np.concatenate([[0.0], driven[:-1]])  # of each leg
        self._takes = takes
        self._yaws = _headings(self._ways)

    def at(self, times_s: np.ndarray, standing_yaw_rad: float = 0.0) -> np.ndarray:
        """Where it is at these times, counted from its start: x, y (m) and yaw (rad), (k, 3).
        Before it is where it starts. ``standing_yaw_rad`` is that of one that has one place."""
        times = np.asarray(times_s, dtype=float)
        if not len(self._ways):
            here = np.append(self._points[0], standing_yaw_rad)
            return np.broadcast_to(here, (len(times), 3)).copy()
        if self.repeats:
            times = np.where(times > 0.0, np.mod(times, self.duration_s), times)
        leg = np.searchsorted(self._leaves, times, side="right") - 1
        leg = np.clip(leg, 0, len(self._ways) - 1)
        share = np.clip((times - self._leaves[leg]) / self._takes[leg], 0.0, 1.0)
        places = self._points[leg] + share[:, None] * self._ways[leg]
        return np.column_stack([places, self._yaws[leg]])


def _repeated(points: np.ndarray, repeat: str) -> np.ndarray:
    """The way once over, with what leads back to its beginning."""
    if repeat == "back":
        return np.vstack([points, points[-2::-1]])
    return np.vstack([points, points[:1]]) if repeat == "around" else points


def _headings(ways: np.ndarray) -> np.ndarray:
    """The heading of each leg (n, 2); one that leads nowhere keeps that of the leg before, or the
    next one's where none goes before."""
    moves = np.hypot(*ways.T) > 0.0
    if not moves.any():
        return np.zeros(len(ways))
    last = np.maximum.accumulate(np.where(moves, np.arange(len(ways)), -1))
    taken = ways[np.where(last >= 0, last, int(np.argmax(moves)))]
    return np.asarray(np.arctan2(taken[:, 1], taken[:, 0]))


class Script(Actor):
    """An actor that follows a timetable.

    The timetable starts ``delay_s`` after the start of the trial, or after the robot's origin is
    within ``trigger_distance_m``. With a single way-point the actor stays there at ``yaw_rad``."""

    def __init__(
        self,
        name: str,
        tags: Sequence[str],
        timetable: Timetable,
        delay_s: float = 0.0,
        trigger_distance_m: Optional[float] = None,
        yaw_rad: float = 0.0,
    ) -> None:
        super().__init__(name, tags)
        self.timetable, self.yaw_rad = timetable, yaw_rad
        self.delay_s, self.trigger_distance_m = delay_s, trigger_distance_m
        self.reset()

    @property
    def start(self) -> Tuple[float, float, float]:
        """Where it begins: x, y (m), yaw (rad)."""
        x_m, y_m, yaw_rad = self.timetable.at(np.zeros(1), self.yaw_rad)[0].tolist()
        return x_m, y_m, yaw_rad

    @property
    def activity(self) -> str:
        """See :class:`~gz_testauto.actors.actor.Actor`."""
        return "script, waits for the robot" if self._begins_s is None else "script"

    def reset(self) -> None:
        """Nobody has come yet."""
        self._began_s: Optional[float] = None
        self._begins_s: Optional[float] = None

    def expected(self, times_s: np.ndarray) -> np.ndarray:
        """Where it will be, by its script; see :class:`Actor`."""
        if self._begins_s is None and self.trigger_distance_m is not None:
            return self.timetable.at(np.zeros(len(times_s)), self.yaw_rad)
        begins_s = self.delay_s if self._begins_s is None else self._begins_s
        return self.timetable.at(np.asarray(times_s) - begins_s, self.yaw_rad)

    def act(self, context: StepContext) -> None:
        """Be where the script says at the end of the period."""
        if self._begins_s is None:
            near = (
                self.trigger_distance_m is None or self.nearest("robot") <= self.trigger_distance_m
            )
            if near:
                came_s = 0.0 if self.trigger_distance_m is None else context.time_s
                self._begins_s = came_s + self.delay_s
        ends_s = context.time_s + context.duration_s
        x_m, y_m, yaw_rad = self.expected(np.array([ends_s]))[0].tolist()
        x, y, _ = self.pose.position
        speed = ((x_m - x) / context.duration_s, (y_m - y) / context.duration_s, 0.0)
        turn = wrap_angle(yaw_rad - self.pose.yaw_rad) / context.duration_s
        self.set_twist(speed, (0.0, 0.0, turn))
