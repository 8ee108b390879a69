"""The base class of actors, which are models with a behavior.

Each actor draws from a separate random generator, so that the same seed reproduces the same trial.
"""

import math
from typing import Any, Dict, Optional, Sequence, Tuple

import numpy as np

from gz_testauto.actors.hook import Hook, StepContext
from gz_testauto.actors.plane import MotionPlane
from gz_testauto.base.pose import Pose, Pose2D, wrap_angle
from gz_testauto.simulators.changes import SetModel, SetVisual

Vector = Tuple[float, float, float]
ROUNDING_S = 1e-9

# Distance from its target at which an actor arrives, above simulators' rounding errors.
ARRIVED_M = 1e-3

LEVEL_REMEDY = "change its path, or increase 'height_above_ground_m' if the ground is uneven"

FASTEST_TURN_RADPS = 6.0


def velocity_towards(
    offset: np.ndarray, speed_mps: float, duration_s: float
) -> Tuple[np.ndarray, bool]:
    """Return the velocity (m/s) for a step of ``duration_s`` along ``offset`` (m), and whether the
    step reaches the end of ``offset``."""
    length = float(np.sqrt(np.square(offset).sum()))
    arrives = length <= speed_mps * duration_s + ARRIVED_M
    return (offset / duration_s if arrives else offset * (speed_mps / length)), arrives


def turn_rate(yaw_rad: float, desired_rad: float, duration_s: float) -> float:
    turn = wrap_angle(desired_rad - yaw_rad) / duration_s
    return max(-FASTEST_TURN_RADPS, min(FASTEST_TURN_RADPS, turn))


class Actor(Hook):
    """A model with a behavior. Subclasses implement :meth:`act`.

    :meth:`start` is called once in a trial. ``name`` is the name of the actor's model. ``tags`` are
    words by which other actors find the actor. While ``enabled`` is False, the model does not move
    and :meth:`act` is not called. With ``spawn_later``, the model is not in the world at the start
    of a trial. ``spare_models`` are further models that the actor can spawn. ``touchable`` maps the
    names of actors that this actor can touch to the largest distance (m) of the origins in contact.

    The actor is absent before ``appear_s`` and after ``leave_s``, times (s) since the start of the
    trial. With ``entrance``, it is spawned at this pose when the distance (m) to each robot is at
    least ``robot_gaps_m[name]``. The trial and the behavior start at the simulated times
    ``trial_start_s`` and ``started_s``, which are above 0 on a running stack.
    """

    fixed_period_s: Optional[float] = None
    spawn_later = False
    appear_s, leave_s = 0.0, math.inf
    trial_start_s: Optional[float] = None
    started_s = 0.0
    entrance: Optional[Pose] = None
    context: StepContext

    def __init__(self, name: str, tags: Sequence[str] = ()) -> None:
        self.name = name
        self.tags = frozenset(tags)
        self.enabled = True
        self.touchable: Dict[str, float] = {}
        self.robot_gaps_m: Dict[str, float] = {}
        self.random = np.random.default_rng(0)
        self.pose = Pose()
        self._plane = MotionPlane()
        self._fixed_calls = 0
        self._was_stopped = False

    def start(self, random: np.random.Generator) -> None:
        """Prepare the actor for a trial, and call :meth:`reset`."""
        self.random = random
        self._fixed_calls = 0
        self.trial_start_s = None
        self.reset()

    @property
    def activity(self) -> str:
        """A short text for display."""
        return type(self).__name__.lower()

    @property
    def activities(self) -> Dict[str, str]:
        return {self.name: self.activity}

    # to implement

    def reset(self) -> None:
        """Draw the random values of the actor for a whole trial."""

    def expected(self, times_s: np.ndarray) -> Optional[np.ndarray]:
        """Return the poses at future simulated times (k,), shape (k, 3): x, y (m) and yaw (rad), or
        None if they are not known."""
        return None

    def act(self, context: StepContext) -> None:
        """Request the changes of a step by ``context.change`` or methods such as
        :meth:`set_pose`."""
        raise NotImplementedError

    def update_before_spawn(self, context: StepContext) -> None:
        """Request changes instead of :meth:`act` while the actor's model does not exist."""

    def fixed_update(self, context: StepContext) -> None:
        """Update the actor every ``fixed_period_s`` of simulated time, before :meth:`act`."""

    def before_step(self, context: StepContext) -> None:
        self.context = context
        if self.trial_start_s is None:
            self.trial_start_s = self.started_s = context.time_s
        state = context.state(self.name)
        self.pose = Pose() if state is None else state.pose
        if not self._is_due(context.time_s - self.trial_start_s, context.duration_s):
            if state is not None:
                self.delete()
            return
        if state is None:
            self._plane.leave()
            if self.entrance is not None:
                self.appear(self.entrance, context)
            elif self.enabled:
                self.update_before_spawn(context)
            return
        self._plane.require(self.pose, context.time_s, f"actor {self.name!r}", LEVEL_REMEDY)
        if not self.enabled:
            if not self._was_stopped:
                self.stop()
            self._was_stopped = True
            return
        self._was_stopped = False
        if self.fixed_period_s is not None:
            due_period = math.floor(context.time_s / self.fixed_period_s + ROUNDING_S) + 1
            while self._fixed_calls < due_period:
                self._fixed_calls += 1
                self.fixed_update(context)
        self.act(context)

    def _is_due(self, time_s: float, duration_s: float) -> bool:
        """Return whether the actor is in the world during the whole step."""
        is_late = time_s + duration_s > self.leave_s + ROUNDING_S
        return time_s >= self.appear_s - ROUNDING_S and not is_late

    def appear(self, entrance: Pose, context: StepContext) -> None:
        """Spawn the actor at ``entrance``, unless a robot or an actor in ``touchable`` is too near.
        After the spawn, the attribute ``entrance`` is None."""
        poses = {model.name: model.pose for model in context.to_spawn}
        for name, gap_m in (*self.robot_gaps_m.items(), *self.touchable.items()):
            state = context.state(name)
            pose = poses.get(name) if state is None else state.pose
            if pose is not None and entrance.planar.distance_to(*pose.position[:2]) < gap_m:
                return
        self.spawn(entrance)
        self.started_s, self.entrance = context.time_s + context.duration_s, None

    # for behaviors: the state of the model, and requests

    @property
    def planar(self) -> Pose2D:
        return self.pose.planar

    @property
    def linear_mps(self) -> Vector:
        """The model's mean velocity (m/s) over the last step, in the world frame."""
        return self.context.velocity_mps(self.name)

    @property
    def forward(self) -> np.ndarray:
        """The x axis of the model in the world frame, shape (3,)."""
        return np.asarray(self.pose.rotation[:, 0])

    @property
    def left(self) -> np.ndarray:
        """The y axis of the model in the world frame, shape (3,)."""
        return np.asarray(self.pose.rotation[:, 1])

    @property
    def up(self) -> np.ndarray:
        """The z axis of the model in the world frame, shape (3,)."""
        return np.asarray(self.pose.rotation[:, 2])

    def nearest(self, selector: str) -> float:
        """Return the horizontal distance (m) from this model to the nearest model that ``selector``
        selects (:meth:`StepContext.names_of`), or ``inf``."""
        x_m, y_m = self.pose.position[:2]
        names = self.context.names_of(selector)
        states = (self.context.state(name) for name in names if name != self.name)
        distances = [
            math.hypot(state.pose.position[0] - x_m, state.pose.position[1] - y_m)
            for state in states
            if state is not None
        ]
        return min(distances, default=math.inf)

    def set_pose(self, pose: Pose) -> None:
        """Set the pose of the model, which is then at rest. In Gazebo, this takes 0.2 s of wall
        time."""
        self._plane.leave()
        self.context.change(SetModel(self.name, pose))

    def set_twist(self, linear_mps: Vector, angular_radps: Vector = (0.0, 0.0, 0.0)) -> None:
        """Set the model's velocity (m/s and rad/s, world frame) for the current step. If it is
        horizontal, the model also returns to the height from which a contact has lifted it."""
        x_mps, y_mps, z_mps = linear_mps
        if any((z_mps, *angular_radps[:2])):
            self._plane.leave()
        else:
            z_mps = self._plane.return_mps(self.pose, self.context.duration_s)
        self.context.change(SetModel(self.name, None, (x_mps, y_mps, z_mps), angular_radps))

    def stop(self) -> None:
        self.set_twist((0.0, 0.0, 0.0))

    def go_to(
        self,
        x_m: float,
        y_m: float,
        speed_mps: float,
        z_m: Optional[float] = None,
        yaw_rad: Optional[float] = None,
    ) -> bool:
        """Move the model straight towards a point for one step, and return whether it arrives.

        The model turns to its direction of motion, or to ``yaw_rad``. Without ``z_m``, its height
        does not change.
        """
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
        """Spawn the actor's model in the current step, at rest."""
        self.context.spawn(self.name, pose)

    def delete(self) -> None:
        """Delete the actor's model in the current step. A spare model can be spawned again."""
        self.context.delete(self.name)

    def set_visuals(self, **properties: Any) -> None:
        """Change properties of all visuals of the model, which are fields of
        :class:`~gz_testauto.simulators.changes.SetVisual`."""
        for visual in self.context.describe().visuals:
            if visual.startswith(f"{self.name}::"):
                self.context.change(SetVisual(visual, **properties))
