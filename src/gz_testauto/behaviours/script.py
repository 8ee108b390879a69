"""Along way-points by a timetable: where it is, is a function of time.

Owns the timetable and the recipe of DynaBARN's obstacles (Nair, Jiang, Hou, Xu, Li, Xiao 2022) that
makes one from a random polynomial. Who goes by a script does not look where it goes.
"""

from typing import Optional, Sequence, Tuple

import numpy as np

from gz_testauto.base.pose import wrap_angle
from gz_testauto.behaviours.actor import Actor
from gz_testauto.behaviours.hook import StepContext


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
    """Goes by a timetable, which begins ``delay_s`` after the trial does, or after the robot's
    origin is ``within_m`` of it. One with a single way-point stands there, facing ``yaw_rad``."""

    def __init__(
        self,
        name: str,
        tags: Sequence[str],
        timetable: Timetable,
        delay_s: float = 0.0,
        within_m: Optional[float] = None,
        yaw_rad: float = 0.0,
    ) -> None:
        super().__init__(name, tags)
        self.timetable, self.yaw_rad = timetable, yaw_rad
        self.delay_s, self.within_m = delay_s, within_m
        self.reset()

    @property
    def start(self) -> Tuple[float, float, float]:
        """Where it begins: x, y (m), yaw (rad)."""
        x_m, y_m, yaw_rad = self.timetable.at(np.zeros(1), self.yaw_rad)[0].tolist()
        return x_m, y_m, yaw_rad

    @property
    def activity(self) -> str:
        """See :class:`~gz_testauto.behaviours.actor.Actor`."""
        return "script, waits for the robot" if self._begins_s is None else "script"

    def reset(self) -> None:
        """Nobody has come yet."""
        self._began_s: Optional[float] = None
        self._begins_s: Optional[float] = None

    def expected(self, times_s: np.ndarray) -> np.ndarray:
        """Where it will be, by its script; see :class:`Actor`."""
        if self._begins_s is None and self.within_m is not None:
            return self.timetable.at(np.zeros(len(times_s)), self.yaw_rad)
        begins_s = self.delay_s if self._begins_s is None else self._begins_s
        return self.timetable.at(np.asarray(times_s) - begins_s, self.yaw_rad)

    def act(self, context: StepContext) -> None:
        """Be where the script says at the end of the period."""
        if self._begins_s is None:
            near = self.within_m is None or self.nearest("robot") <= self.within_m
            if near:
                came_s = 0.0 if self.within_m is None else context.time_s
                self._begins_s = came_s + self.delay_s
        ends_s = context.time_s + context.duration_s
        x_m, y_m, yaw_rad = self.expected(np.array([ends_s]))[0].tolist()
        x, y, _ = self.pose.position
        speed = ((x_m - x) / context.duration_s, (y_m - y) / context.duration_s, 0.0)
        turn = wrap_angle(yaw_rad - self.pose.yaw_rad) / context.duration_s
        self.set_twist(speed, (0.0, 0.0, turn))


HALF_M, LEGS = 10, 10
"""Of DynaBARN's field, and how many way-points its paths have beside their ends."""

TRIES = 1000
"""Draws until another way is taken, so that nobody waits for ever."""

LEAST_SHARE = 0.1
"""Of half the field: a shorter path is drawn again."""


def dynabarn_path(random: np.random.Generator, order: int, half_m: float = HALF_M) -> np.ndarray:
    """Way-points (n, 2) of an obstacle in a square field about the origin: on a polynomial of that
    order through as many random points and one, from where it comes into the field to where it
    leaves it, one way or the other; straight across, should none be found. Raises ``ValueError``
    for a field with too few columns of points."""
    reach = int(half_m)
    low, high, curve = -half_m, half_m, np.polynomial.Polynomial([0.0, 0.0])
    for _ in range(TRIES):
        xs = random.choice(np.arange(-reach, reach + 1), size=order + 1, replace=False)
        ys = random.integers(-reach, reach + 1, size=order + 1)
        drawn = np.polynomial.Polynomial.fit(xs, ys, order).convert()
        ends = _longest_inside(drawn, half_m)
        if ends[1] - ends[0] >= LEAST_SHARE * half_m:
            (low, high), curve = ends, drawn
            break
    even = np.linspace(low, high, LEGS + 2)
    points = np.column_stack([even, np.clip(curve(even), -half_m, half_m)])
    return points[::-1].copy() if random.random() < 0.5 else points


def _longest_inside(curve: np.polynomial.Polynomial, half_m: float) -> Tuple[float, float]:
    """From where to where (m) along x the longest piece of a curve within the field goes."""
    roots = np.concatenate([(curve - edge).roots() for edge in (-half_m, half_m)])
    real = roots.real[np.abs(roots.imag) < 1e-9]
    cuts = np.unique(np.concatenate([[-half_m, half_m], real[np.abs(real) < half_m]]))
    middles = 0.5 * (cuts[:-1] + cuts[1:])
    lengths = np.where(np.abs(curve(middles)) <= half_m, np.diff(cuts), 0.0)
    longest = int(np.argmax(lengths))
    if lengths[longest] == 0.0:
        return 0.0, 0.0
    return float(cuts[longest]), float(cuts[longest + 1])


def dynabarn_speeds(
    random: np.random.Generator,
    legs: int,
    mean_mps: float,
    sigma_mps: float,
    bounds_mps: Sequence[float],
) -> np.ndarray:
    """The speed of each leg (legs,): normal about the obstacle's mean, drawn again where out of
    bounds; even between the bounds where these are too narrow for that."""
    low, high = bounds_mps
    speeds = np.empty(legs)
    for leg in range(legs):
        for _ in range(TRIES):
            speeds[leg] = random.normal(mean_mps, sigma_mps)
            if low <= speeds[leg] < high:
                break
        else:
            speeds[leg] = random.uniform(low, high)
    return speeds
