"""The behavior ``script``: an actor follows waypoints by a timetable, without reactions."""

from typing import List, Optional, Sequence, Tuple

import numpy as np
import shapely
import shapely.affinity
from pydantic import Field, model_validator
from shapely.geometry.base import BaseGeometry
from typing_extensions import Literal, override

from gz_testauto.actors.creation import NewActor
from gz_testauto.actors.hook import StepContext
from gz_testauto.actors.prescribed import PrescribedActor
from gz_testauto.base.elementary import arctan2
from gz_testauto.base.pose import Pose2D, wrap_angle
from gz_testauto.spec.actors import ActorSpec
from gz_testauto.spec.distributions import Distribution, Fixed, PositiveDistribution
from gz_testauto.spec.model import Bounded, NotNegative, Point, Positive


class ScriptSpec(ActorSpec):
    """An actor that follows a timetable: its pose is a function of the time since its start."""

    behavior: Literal["script"]
    waypoints_m: List[Point] = Field(min_length=1)
    """Waypoints ``[x, y]`` (m, world frame). An actor with one waypoint stays there."""
    speed_mps: PositiveDistribution = Fixed(value=1.0)
    """Speed (m/s), drawn once for each actor."""
    speeds_mps: Optional[List[Positive]] = None
    """Speed (m/s) on each leg, which replaces ``speed_mps``."""
    times_s: Optional[List[NotNegative]] = None
    """Time (s) at which the actor is at each waypoint; the first is 0. ``loop`` needs an additional
    time for the return to the first waypoint. These times replace the speeds and ``wait_s``. Two
    consecutive waypoints at the same position are a pause."""
    wait_s: NotNegative = 0.0
    """Pause (s) at each waypoint."""
    repeat: Literal["once", "back_and_forth", "loop"] = "once"
    """Motion after the last waypoint: the actor stays there, moves back along the path, or moves to
    the first waypoint."""
    yaw_rad: Bounded = 0.0
    """Heading (rad) of an actor with one waypoint."""
    start_s: Distribution = Fixed(value=0.0)
    """Time (s) from ``appear_s``, or from the trigger, until the actor starts to move."""
    trigger_distance_m: Optional[Positive] = None
    """Distance (m) between the origins of the robot and the actor at which the actor starts. If it
    is null, the actor does not wait for the robot."""
    shift_x_m: Distribution = Fixed(value=0.0)
    """Shift (m) of all waypoints along x. It is drawn once for each actor."""
    shift_y_m: Distribution = Fixed(value=0.0)
    """Shift (m) of all waypoints along y. It is drawn once for each actor."""

    @property
    def path(self) -> BaseGeometry:
        """The path of the actor, or the area of all possible paths with random shifts."""
        points_m = [*self.waypoints_m, *(self.waypoints_m[:1] if self.repeat == "loop" else ())]
        path = shapely.LineString(points_m) if len(points_m) > 1 else shapely.Point(points_m[0])
        shifts = [(x, y) for x in self.shift_x_m.support for y in self.shift_y_m.support]
        paths = [shapely.affinity.translate(path, *shift) for shift in dict.fromkeys(shifts)]
        return paths[0] if len(paths) == 1 else shapely.unary_union(paths).convex_hull

    @model_validator(mode="after")
    def _check_legs(self) -> "ScriptSpec":
        waypoint_count = len(self.waypoints_m)
        if self.repeat == "loop" and waypoint_count < 3:
            raise ValueError(
                "'repeat: loop' needs at least three waypoints; add waypoints, or use 'repeat: "
                "back_and_forth'"
            )
        legs = waypoint_count if self.repeat == "loop" else waypoint_count - 1
        if self.times_s is not None:
            if len(self.times_s) != legs + 1:
                raise ValueError(
                    f"'times_s' has {len(self.times_s)} times, but {legs} legs need {legs + 1}"
                )
            if self.times_s[0] != 0 or any(a >= b for a, b in zip(self.times_s, self.times_s[1:])):
                raise ValueError(
                    "'times_s' must start with 0, and each time must be larger than the previous"
                )
            return self
        if any(a == b for a, b in zip(self.waypoints_m, self.waypoints_m[1:])):
            raise ValueError(
                "'waypoints_m' has two consecutive points with the same position; remove one"
            )
        if self.repeat == "loop" and self.waypoints_m[0] == self.waypoints_m[-1]:
            raise ValueError(
                "the first and the last waypoint are equal, but 'repeat: loop' closes the path; "
                "remove the last waypoint"
            )
        if self.speeds_mps is not None and len(self.speeds_mps) != legs:
            raise ValueError(
                f"'speeds_mps' has {len(self.speeds_mps)} speeds, but {legs} legs need {legs}"
            )
        return self

    @override
    def create(self, new: NewActor) -> Tuple["Script", Pose2D]:
        speed, start_s = new.draw(self.speed_mps), max(0.0, new.draw(self.start_s))
        shift_m = np.array([new.draw(self.shift_x_m), new.draw(self.shift_y_m)])
        points = np.array(self.waypoints_m) + shift_m
        legs = len(points) if self.repeat == "loop" else len(points) - 1
        speeds = np.full(legs, speed) if self.speeds_mps is None else np.array(self.speeds_mps)
        if self.times_s is None:
            timetable = Timetable(points, speeds, self.wait_s, self.repeat)
        else:
            timetable = Timetable.of_times(points, np.array(self.times_s), self.repeat)
        script = Script(
            new.name, self.tags, timetable, start_s, self.trigger_distance_m, self.yaw_rad
        )
        return script, Pose2D(*script.start_pose)


class Timetable:
    """A path through ``points_m`` (n, 2), with a speed for each leg and a pause of ``wait_s`` at
    each point. ``repeat`` is ``once``, ``back_and_forth`` or ``loop``."""

    def __init__(
        self,
        points_m: np.ndarray,
        speeds_mps: np.ndarray,
        wait_s: float = 0.0,
        repeat: str = "once",
    ) -> None:
        points = _closed(points_m, repeat)
        lengths = np.hypot(*np.diff(points, axis=0).T)
        if not (lengths > 0.0).all():
            raise ValueError("two consecutive waypoints have the same position")
        self._set_legs(points, lengths / np.asarray(speeds_mps, dtype=float), wait_s, repeat)

    @classmethod
    def of_times(
        cls, points_m: np.ndarray, times_s: np.ndarray, repeat: str = "once"
    ) -> "Timetable":
        """Return a timetable from the time (s) at each of ``points_m`` (n, 2). The first time is 0.
        With ``loop``, the last time is that of the return to the first point."""
        table = cls.__new__(cls)
        durations = np.diff(np.asarray(times_s, dtype=float))
        table._set_legs(_closed(points_m, repeat), durations, 0.0, repeat)
        return table

    def _set_legs(
        self, points: np.ndarray, durations: np.ndarray, wait_s: float, repeat: str
    ) -> None:
        if repeat == "back_and_forth":
            points = np.vstack([points, points[-2::-1]])
            durations = np.append(durations, durations[::-1])
        elapsed_s = np.cumsum(durations + wait_s)
        self.repeats = repeat != "once"
        self.duration_s = float(elapsed_s[-1]) if len(elapsed_s) else 0.0
        self._points, self._offsets = points, np.diff(points, axis=0)
        self._starts_s = np.concatenate([[0.0], elapsed_s[:-1]])  # of each leg
        self._durations = durations
        self._yaws = _headings(self._offsets)

    def at(self, times_s: np.ndarray, standing_yaw_rad: float = 0.0) -> np.ndarray:
        """Return the poses at times (k,) since the start, shape (k, 3): x, y (m) and yaw (rad).
        Before the start, the result is the first pose; without repetition, the last after the end.

        ``standing_yaw_rad`` is the yaw of an actor with a single point.
        """
        times = np.asarray(times_s, dtype=float)
        if not len(self._offsets):
            pose = np.append(self._points[0], standing_yaw_rad)
            return np.broadcast_to(pose, (len(times), 3)).copy()
        if self.repeats:
            times = np.where(times > 0.0, np.mod(times, self.duration_s), times)
        leg = np.searchsorted(self._starts_s, times, side="right") - 1
        leg = np.clip(leg, 0, len(self._offsets) - 1)
        share = np.clip((times - self._starts_s[leg]) / self._durations[leg], 0.0, 1.0)
        positions = self._points[leg] + share[:, None] * self._offsets[leg]
        return np.column_stack([positions, self._yaws[leg]])


def _closed(points_m: np.ndarray, repeat: str) -> np.ndarray:
    points = np.asarray(points_m, dtype=float).reshape(-1, 2)
    return np.vstack([points, points[:1]]) if repeat == "loop" else points


def _headings(offsets: np.ndarray) -> np.ndarray:
    """Return the heading (rad) of each leg, shape (n,), from its vector, shape (n, 2). A leg of
    length 0 has the heading of the previous leg, or of the next leg if it is the first."""
    moves = np.hypot(*offsets.T) > 0.0
    if not moves.any():
        return np.zeros(len(offsets))
    last_moves = np.maximum.accumulate(np.where(moves, np.arange(len(offsets)), -1))
    used_offsets = offsets[np.where(last_moves >= 0, last_moves, int(np.argmax(moves)))]
    return np.asarray(arctan2(used_offsets[:, 1], used_offsets[:, 0]))


class Script(PrescribedActor):
    """An actor that follows a timetable, ``delay_s`` after it appears, or after the robot is first
    within ``trigger_distance_m``."""

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
    def start_pose(self) -> Tuple[float, float, float]:
        """The pose at the start: x, y (m), yaw (rad)."""
        x_m, y_m, yaw_rad = self.timetable.at(np.zeros(1), self.yaw_rad)[0].tolist()
        return x_m, y_m, yaw_rad

    @property
    @override
    def activity(self) -> str:
        return "script, waits for the robot" if self._start_s is None else "script"

    def reset(self) -> None:
        super().reset()
        self._start_s: Optional[float] = None

    def expected(self, times_s: np.ndarray) -> np.ndarray:
        if self._start_s is None and self.trigger_distance_m is not None:
            return self.timetable.at(np.zeros(len(times_s)), self.yaw_rad)
        start_s = self.started_s + self.delay_s if self._start_s is None else self._start_s
        return self.timetable.at(np.asarray(times_s) - start_s, self.yaw_rad)

    def act(self, context: StepContext) -> None:
        self.require_on_course(context, "timetable")
        if self._start_s is None:
            is_near = (
                self.trigger_distance_m is None or self.nearest("robot") <= self.trigger_distance_m
            )
            if is_near:
                waits = self.trigger_distance_m is not None
                triggered_s = context.time_s if waits else self.started_s
                self._start_s = triggered_s + self.delay_s
        step_end_s = context.time_s + context.duration_s
        x_m, y_m, yaw_rad = self.expected(np.array([step_end_s]))[0].tolist()
        x, y, _ = self.pose.position
        speed = ((x_m - x) / context.duration_s, (y_m - y) / context.duration_s, 0.0)
        turn = wrap_angle(yaw_rad - self.pose.yaw_rad) / context.duration_s
        self.set_twist(speed, (0.0, 0.0, turn))
