"""An actor: a model with a behavior.

Defines the life of an actor in a trial: :meth:`Actor.start`, then before each step
:meth:`Actor.act`, and :meth:`Actor.fixed_update` at the actor's own rate. An actor reads other
models from the :class:`~gz_testauto.actors.hook.StepContext` and draws from its own generator, so
the same seed repeats the same trial.
"""

import math
from typing import Any, Dict, Optional, Sequence, Tuple

import numpy as np

from gz_testauto.actors.hook import Hook, StepContext
from gz_testauto.base.pose import Pose, Pose2D, wrap_angle
from gz_testauto.simulators.changes import SetModel, SetVisual

Vector = Tuple[float, float, float]
ROUNDING_S = 1e-9

ARRIVED_M = 1e-3
"""Remaining distance that counts as none: simulators place a body to some micrometers, and an actor
must not arrive one step later in one simulator than in another for these."""

FASTEST_TURN_RADPS = 6.0
"""Largest yaw rate with which an actor turns to its direction of motion."""


def velocity_towards(
    offset: np.ndarray, speed_mps: float, duration_s: float
) -> Tuple[np.ndarray, bool]:
    """Return the velocity (m/s) along ``offset`` (m) for one step, at most to its end, and
    whether it ends there."""
    length = float(np.linalg.norm(offset))
    arrives = length <= speed_mps * duration_s + ARRIVED_M
    return (offset / duration_s if arrives else offset * (speed_mps / length)), arrives


def turn_rate(yaw_rad: float, desired_rad: float, duration_s: float) -> float:
    """Return the yaw rate (rad/s) that turns to another heading by the end of a step, limited."""
    turn = wrap_angle(desired_rad - yaw_rad) / duration_s
    return max(-FASTEST_TURN_RADPS, min(FASTEST_TURN_RADPS, turn))


class Actor(Hook):
    """A model with a behavior. Subclass it and implement :meth:`act`.

    ``name`` is the name of its model. ``tags`` are words by which other actors find it. While
    ``enabled`` is False it does not move and :meth:`act` is not called. With ``spawn_later`` its
    model is not in the world at the start of a trial. ``spare_models`` are further models that it
    can spawn. ``fixed_period_s`` is the simulated time between two calls of :meth:`fixed_update`,
    None for none.
    """

    fixed_period_s: Optional[float] = None
    spawn_later = False
    context: StepContext
    """The context of the current step."""

    def __init__(self, name: str, tags: Sequence[str] = ()) -> None:
        self.name = name
        self.tags = frozenset(tags)
        self.enabled = True
        self.random = np.random.default_rng(0)
        self.pose = Pose()
        self._fixed_calls = 0
        self._stopped = False

    def start(self, random: np.random.Generator) -> None:
        """Start a trial in which the actor draws from ``random``, and call :meth:`reset`."""
        self.random = random
        self._fixed_calls = 0
        self.reset()

    @property
    def activity(self) -> str:
        """Return the current activity in a few words, for display."""
        return type(self).__name__.lower()

    @property
    def activities(self) -> Dict[str, str]:
        """Return :attr:`activity` by the actor's name."""
        return {self.name: self.activity}

    # to implement

    def reset(self) -> None:
        """Draw the values that are drawn once per trial. The default does nothing."""

    def expected(self, times_s: np.ndarray) -> Optional[np.ndarray]:
        """Return the poses at future times of the scene (k,): x, y (m) and yaw (rad), (k, 3). The
        default, None, means that they are not known."""
        return None

    def act(self, context: StepContext) -> None:
        """Request the changes of one step."""
        raise NotImplementedError

    def update_before_spawn(self, context: StepContext) -> None:
        """Request changes in place of :meth:`act` while the model does not exist. The default does
        nothing."""

    def fixed_update(self, context: StepContext) -> None:
        """Run every ``fixed_period_s``, before :meth:`act`. The default does nothing."""

    def before_step(self, context: StepContext) -> None:
        """Call the methods above; see :class:`~gz_testauto.actors.hook.Hook`."""
        self.context = context
        state = context.state(self.name)
        self.pose = Pose() if state is None else state.pose
        if state is None:
            if self.enabled:
                self.update_before_spawn(context)
            return
        if not self.enabled:
            if not self._stopped:
                self.stop()
            self._stopped = True
            return
        self._stopped = False
        if self.fixed_period_s is not None:
            due = math.floor(context.time_s / self.fixed_period_s + ROUNDING_S) + 1
            while self._fixed_calls < due:
                self._fixed_calls += 1
                self.fixed_update(context)
        self.act(context)

    # for behaviors: the state of the model, and requests

    @property
    def planar(self) -> Pose2D:
        """Return its pose seen from above."""
        return self.pose.planar

    @property
    def linear_mps(self) -> Vector:
        """Return its mean velocity over the last step, in the world frame."""
        return self.context.velocity_mps(self.name)

    @property
    def forward(self) -> np.ndarray:
        """Return its x axis in the world frame, shape (3,)."""
        return np.asarray(self.pose.rotation[:, 0])

    @property
    def left(self) -> np.ndarray:
        """Return its y axis in the world frame, shape (3,)."""
        return np.asarray(self.pose.rotation[:, 1])

    @property
    def up(self) -> np.ndarray:
        """Return its z axis in the world frame, shape (3,)."""
        return np.asarray(self.pose.rotation[:, 2])

    def nearest(self, selector: str) -> float:
        """Return the distance (m) to the nearest model that ``selector`` denotes, between origins
        in the plane; ``inf`` if none exists. ``selector`` is as in :meth:`StepContext.names_of`."""
        x_m, y_m = self.pose.position[:2]
        names = self.context.names_of(selector)
        states = (self.context.state(name) for name in names if name != self.name)
        away = [
            math.hypot(state.pose.position[0] - x_m, state.pose.position[1] - y_m)
            for state in states
            if state is not None
        ]
        return min(away, default=math.inf)

    def set_pose(self, pose: Pose) -> None:
        """Place the model at rest. In Gazebo that takes 0.2 s of wall time: prefer a velocity."""
        self.context.change(SetModel(self.name, pose))

    def set_twist(self, linear_mps: Vector, angular_radps: Vector = (0.0, 0.0, 0.0)) -> None:
        """Set its velocity for the step, in the world frame."""
        self.context.change(SetModel(self.name, None, linear_mps, angular_radps))

    def stop(self) -> None:
        """Keep the model at its pose."""
        self.set_twist((0.0, 0.0, 0.0))

    def go_to(
        self,
        x_m: float,
        y_m: float,
        speed_mps: float,
        z_m: Optional[float] = None,
        yaw_rad: Optional[float] = None,
    ) -> bool:
        """Move the model straight to a point, at most. It faces its direction of motion, or
        ``yaw_rad``; its height does not change without ``z_m``. Return whether it arrives by the
        end of the step."""
        duration_s = self.context.duration_s
        x, y, z = self.pose.position
        offset = np.array([x_m - x, y_m - y, 0.0 if z_m is None else z_m - z])
        speed, arrives = velocity_towards(offset, speed_mps, duration_s)
        heading = yaw_rad
        if heading is None and math.hypot(offset[0], offset[1]) > 1e-3:
            heading = math.atan2(offset[1], offset[0])
        turn = 0.0 if heading is None else turn_rate(self.pose.yaw_rad, heading, duration_s)
        self.set_twist(tuple(speed.tolist()), (0.0, 0.0, turn))
        return arrives

    def spawn(self, pose: Pose) -> None:
        """Spawn its model with this step, at rest; see
        :meth:`~gz_testauto.actors.hook.StepContext.spawn`."""
        self.context.spawn(self.name, pose)

    def delete(self) -> None:
        """Delete its model with this step. It can be spawned again if it is a spare model."""
        self.context.delete(self.name)

    def set_visuals(self, **properties: Any) -> None:
        """Change all visuals of the model; see
        :class:`~gz_testauto.simulators.changes.SetVisual`."""
        for visual in self.context.describe().visuals:
            if visual.startswith(f"{self.name}::"):
                self.context.change(SetVisual(visual, **properties))
