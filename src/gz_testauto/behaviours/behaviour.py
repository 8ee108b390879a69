"""A tracker that has a model: where it is, where it goes, how it looks, whom it finds.

Owns the life of an actor: :meth:`Behaviour.reset` at the beginning of a trial, then in every period
:meth:`Behaviour.update`, and :meth:`Behaviour.fixed_update` as often as its own rate says. What it
knows of others it finds in its :class:`Cast`; what it draws it draws from the generator that it was
given, so that a seed is the same trial again.
"""

import math
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

import numpy as np

from gz_testauto.base.pose import Pose, Pose2D, wrap_angle
from gz_testauto.behaviours.tracker import Period, Tracker
from gz_testauto.simulators.changes import SetModel, SetVisual
from gz_testauto.simulators.interface import NamedModel

Vector = Tuple[float, float, float]
ROUNDING_S = 1e-9

ARRIVED_M = 1e-3
"""What is left of a way counts as gone: simulators place a body to some micrometres, and none shall
arrive a period later than in another for these."""

FASTEST_TURN_RADPS = 6.0
"""How fast an actor turns to face where it goes."""


def straight(way: np.ndarray, speed_mps: float, duration_s: float) -> Tuple[np.ndarray, bool]:
    """The velocity (m/s) with which to go along ``way`` (m) for a period, no farther than its end,
    and whether that is reached."""
    length = float(np.linalg.norm(way))
    arrives = length <= speed_mps * duration_s + ARRIVED_M
    return (way / duration_s if arrives else way * (speed_mps / length)), arrives


def turning(yaw_rad: float, wanted_rad: float, duration_s: float) -> float:
    """The yaw rate (rad/s) with which to face another way at the end of a period, or nearly."""
    turn = wrap_angle(wanted_rad - yaw_rad) / duration_s
    return max(-FASTEST_TURN_RADPS, min(FASTEST_TURN_RADPS, turn))


class Handle:
    """A model of the world in one period: read where it is, say what it is to do."""

    def __init__(self, name: str, period: Period) -> None:
        self.name = name
        self._period = period
        state = period.state(name)
        self.exists = state is not None
        self.pose = Pose() if state is None else state.pose

    @property
    def planar(self) -> Pose2D:
        """Its pose seen from above."""
        return self.pose.planar

    @property
    def linear_mps(self) -> Vector:
        """Its mean velocity over the last period, in the world frame."""
        return self._period.velocity_mps(self.name)

    @property
    def forward(self) -> np.ndarray:
        """Its x axis in the world frame, shape (3,)."""
        return np.asarray(self.pose.rotation[:, 0])

    @property
    def left(self) -> np.ndarray:
        """Its y axis in the world frame, shape (3,)."""
        return np.asarray(self.pose.rotation[:, 1])

    @property
    def up(self) -> np.ndarray:
        """Its z axis in the world frame, shape (3,)."""
        return np.asarray(self.pose.rotation[:, 2])

    def set_pose(self, pose: Pose) -> None:
        """Put it somewhere, at rest. In Gazebo that takes 0.2 s of wall time: move it instead."""
        self._period.change(SetModel(self.name, pose))

    def set_twist(self, linear_mps: Vector, angular_radps: Vector = (0.0, 0.0, 0.0)) -> None:
        """Have it move like this through the period, in the world frame."""
        self._period.change(SetModel(self.name, None, linear_mps, angular_radps))

    def stand(self) -> None:
        """Have it stay where it is."""
        self.set_twist((0.0, 0.0, 0.0))

    def go_to(
        self,
        x_m: float,
        y_m: float,
        speed_mps: float,
        z_m: Optional[float] = None,
        yaw_rad: Optional[float] = None,
    ) -> bool:
        """Have it go straight towards a point, no farther, facing where it goes, or ``yaw_rad``;
        its height stays unless ``z_m`` is given. Returns whether it will be there at the end of
        the period."""
        duration_s = self._period.duration_s
        x, y, z = self.pose.position
        way = np.array([x_m - x, y_m - y, 0.0 if z_m is None else z_m - z])
        speed, arrives = straight(way, speed_mps, duration_s)
        heading = yaw_rad
        if heading is None and math.hypot(way[0], way[1]) > 1e-3:
            heading = math.atan2(way[1], way[0])
        turn = 0.0 if heading is None else turning(self.pose.yaw_rad, heading, duration_s)
        self.set_twist(tuple(speed.tolist()), (0.0, 0.0, turn))
        return arrives

    def spawn(self, pose: Pose) -> None:
        """Have it come, at rest, with this period; it must be of the reserve. See
        :meth:`~gz_testauto.behaviours.tracker.Period.spawn`."""
        self._period.spawn(self.name, pose)

    def delete(self) -> None:
        """Have it go with this period. One of the reserve may come again."""
        self._period.delete(self.name)

    def look(self, **looks: Any) -> None:
        """Change all its visuals; see :class:`~gz_testauto.simulators.changes.SetVisual`."""
        for visual in self._period.describe().visuals:
            if visual.startswith(f"{self.name}::"):
                self._period.change(SetVisual(visual, **looks))


class Cast:
    """All behaviours of one trial, by name, and what they share: the robot's name."""

    def __init__(self, robot: Optional[str]) -> None:
        self.robot = robot
        self._behaviours: Dict[str, Behaviour] = {}

    def add(self, behaviour: "Behaviour") -> None:
        """Take one in. Raises ``ValueError`` for a name that is taken."""
        if behaviour.name in self._behaviours:
            raise ValueError(f"there is an actor named {behaviour.name!r} already")
        self._behaviours[behaviour.name] = behaviour

    def remove(self, name: str) -> None:
        """Let one go; nothing where there is none."""
        self._behaviours.pop(name, None)

    def find(self, name: str) -> Optional["Behaviour"]:
        """The actor of that name, None where there is none."""
        return self._behaviours.get(name)

    def tagged(self, tag: str) -> List["Behaviour"]:
        """All actors with a tag, in order of their names."""
        return [
            self._behaviours[name] for name in sorted(self._behaviours) if tag in self[name].tags
        ]

    def names_of(self, who: str) -> Sequence[str]:
        """The models that a word stands for: ``robot``, a tag, or a model's own name."""
        if who == "robot":
            return () if self.robot is None else (self.robot,)
        return [behaviour.name for behaviour in self.tagged(who)] or (who,)

    @property
    def everybody(self) -> Sequence[str]:
        """The models of the robot and of all actors."""
        return [*self.names_of("robot"), *(behaviour.name for behaviour in self)]

    def __getitem__(self, name: str) -> "Behaviour":
        return self._behaviours[name]

    def __iter__(self) -> Iterator["Behaviour"]:
        return iter([self._behaviours[name] for name in sorted(self._behaviours)])

    def __len__(self) -> int:
        return len(self._behaviours)


class Behaviour(Tracker):
    """What one actor does. Subclass it and write :meth:`act`.

    ``name`` is that of its model; ``tags`` are words by which others find it; while ``enabled`` is
    False it is not asked and stands still. ``comes_later`` says that its model is not there at the
    beginning, and ``reserve`` what else it may have come. ``fixed_period_s`` is the simulated time
    between two calls of :meth:`fixed_update`, None for none.
    """

    fixed_period_s: Optional[float] = None
    comes_later = False
    reserve: Sequence[NamedModel] = ()

    def __init__(self, name: str, tags: Sequence[str] = ()) -> None:
        self.name = name
        self.tags = frozenset(tags)
        self.enabled = True
        self.cast = Cast(None)
        self.random = np.random.default_rng(0)
        self._fixed_calls = 0
        self._stopped = False

    def join(self, cast: Cast, random: np.random.Generator) -> None:
        """Become part of a trial: whom there is to find, and what to draw from. Then
        :meth:`reset` is called."""
        self.cast, self.random = cast, random
        cast.add(self)
        self._fixed_calls = 0
        self.reset()

    @property
    def doing(self) -> str:
        """What it does, in a few words, for who looks on."""
        return type(self).__name__.lower()

    def reset(self) -> None:
        """Begin anew: draw what is drawn once a trial. Nothing unless written."""

    def expected(self, times_s: np.ndarray) -> Optional[np.ndarray]:
        """Where it will be at these times of the scene (k,), none of them past: x, y (m) and yaw
        (rad), (k, 3); None, unless written, where it does not know."""
        return None

    def act(self, me: Handle, period: Period) -> None:
        """Do what is to be done in this period."""
        raise NotImplementedError

    def absent(self, me: Handle, period: Period) -> None:
        """Called in a period in which its model is not there, in place of :meth:`act`. Nothing
        unless written."""

    def fixed_update(self, me: Handle, period: Period) -> None:
        """Called every ``fixed_period_s``, before :meth:`act`. Nothing unless written."""

    def update(self, period: Period) -> None:
        """See :class:`~gz_testauto.behaviours.tracker.Tracker`. An actor whose model is not
        there is asked by :meth:`absent`."""
        me = self.handle(self.name, period)
        if not me.exists:
            if self.enabled:
                self.absent(me, period)
            return
        if not self.enabled:
            if not self._stopped:
                me.stand()
            self._stopped = True
            return
        self._stopped = False
        if self.fixed_period_s is not None:
            due = math.floor(period.time_s / self.fixed_period_s + ROUNDING_S) + 1
            while self._fixed_calls < due:
                self._fixed_calls += 1
                self.fixed_update(me, period)
        self.act(me, period)

    def handle(self, model: str, period: Period) -> Handle:
        """Another model, to look at or to move."""
        return Handle(model, period)

    def nearest(self, who: str, me: Handle, period: Period) -> float:
        """How far the nearest of them is from me (m), from origin to origin seen from above;
        ``inf`` where there is none. ``who`` is as in :meth:`Cast.names_of`."""
        x_m, y_m = me.pose.position[:2]
        states = (period.state(name) for name in self.cast.names_of(who) if name != self.name)
        away = [
            math.hypot(state.pose.position[0] - x_m, state.pose.position[1] - y_m)
            for state in states
            if state is not None
        ]
        return min(away, default=math.inf)
