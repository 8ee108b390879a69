"""The interface of hooks, which are called before each step of a simulation to request changes, and
after it.

All requests are applied together before the step. Hooks are called by priority, then by name.
"""

import abc
from dataclasses import dataclass, field, replace
from typing import (
    Any,
    Callable,
    Dict,
    FrozenSet,
    List,
    Mapping,
    Optional,
    Protocol,
    Sequence,
    Tuple,
)

import numpy as np

from gz_testauto.base.observation import ModelState, Snapshot
from gz_testauto.base.pose import Pose, wrap_angle
from gz_testauto.simulators.changes import Change, ChangeKind
from gz_testauto.simulators.description import Description
from gz_testauto.simulators.interface import NamedModel

# Priorities, in calling order: hooks on which other hooks depend, behaviors of actors, and hooks
# that depend on behaviors. Effects are called last.
HIGH, NORMAL, LOW = 0, 1, 2


class EffectStarter(Protocol):
    """An object that starts effects, see :class:`~gz_testauto.actors.effects.Effects`."""

    def start(self, effect: Any, target: str, duration_s: Optional[float] = None) -> Any:
        """Start an effect, and return the running effect, which has the method ``stop``."""


class OtherActor(Protocol):
    """The attributes of an :class:`~gz_testauto.actors.actor.Actor` that other hooks can use."""

    name: str
    tags: FrozenSet[str]
    enabled: bool
    pose: Pose


class StepContext:
    """The snapshot that a hook reads, and its requests, before one step of ``duration_s``.

    ``before`` is the snapshot at the start of the previous step, or None in the first step.
    ``spare_models`` are the models that can be spawned, and ``actors`` the actors of the trial, by
    name. ``robot`` is the name of the first robot's model. ``effects`` starts effects, which act
    from this step on.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        duration_s: float,
        describe: Callable[[], Description],
        before: Optional[Snapshot] = None,
        spare_models: Optional[Mapping[str, NamedModel]] = None,
        robot: Optional[str] = None,
        actors: Optional[Mapping[str, OtherActor]] = None,
        effects: Optional[EffectStarter] = None,
    ) -> None:
        self.snapshot = snapshot
        self.before = before
        self.duration_s = duration_s
        self.changes: List[Change] = []
        self.to_spawn: List[NamedModel] = []
        self.to_delete: List[str] = []
        self.spare_models = {} if spare_models is None else spare_models
        self.robot = robot
        self.actors: Mapping[str, OtherActor] = {} if actors is None else actors
        self._describe = describe
        self._effects = effects

    @property
    def time_s(self) -> float:
        """The simulated time (s) at which the step starts."""
        return self.snapshot.time_s

    @property
    def effects(self) -> EffectStarter:
        assert self._effects is not None, "set by ActorSimulation"
        return self._effects

    def change(self, *changes: Change) -> None:
        """Request changes. A later change of a property replaces an earlier change of it."""
        self.changes.extend(changes)

    def spawn(self, name: str, pose: Pose) -> None:
        """Request that a spare model is spawned, at rest. Raises ``ValueError`` for an unknown or
        existing model."""
        model = self.spare_models.get(name)
        if model is None:
            raise ValueError(
                f"no spare model is named {name!r}; add it to spare_models of the hook, which has "
                f"{', '.join(self.spare_models) or 'none'}"
            )
        if name in self.snapshot.models or any(other.name == name for other in self.to_spawn):
            raise ValueError(f"the model {name!r} cannot be spawned: it already exists")
        self.to_spawn.append(replace(model, pose=pose))

    def delete(self, name: str) -> None:
        """Request that a model is deleted. Raises ``ValueError`` for a missing model."""
        if name not in self.snapshot.models or name in self.to_delete:
            raise ValueError(f"the model {name!r} cannot be deleted: it does not exist")
        self.to_delete.append(name)

    def state(self, model: str) -> Optional[ModelState]:
        return self.snapshot.models.get(model)

    def velocity_mps(self, model: str) -> Tuple[float, float, float]:
        """Return the mean velocity (m/s) over the last step, in the world frame, or 0 if it is not
        known."""
        # Simulators report velocities in different ways, so it is computed from poses.
        state, previous_snapshot = self.state(model), self.before
        if state is None or previous_snapshot is None or model not in previous_snapshot.models:
            return (0.0, 0.0, 0.0)
        passed_s = self.snapshot.time_s - previous_snapshot.time_s
        previous_m = previous_snapshot.models[model].pose.position
        x, y, z = ((a - b) / passed_s for a, b in zip(state.pose.position, previous_m))
        return (x, y, z)

    def turn_radps(self, model: str) -> float:
        """Return the mean yaw rate (rad/s) over the last step, or 0 if it is not known."""
        state, previous_snapshot = self.state(model), self.before
        if state is None or previous_snapshot is None or model not in previous_snapshot.models:
            return 0.0
        turn_rad = wrap_angle(state.pose.yaw_rad - previous_snapshot.models[model].pose.yaw_rad)
        return turn_rad / (self.snapshot.time_s - previous_snapshot.time_s)

    def describe(self) -> Description:
        """Return the description of the world before the changes of this step."""
        return self._describe()

    def tagged(self, tag: str) -> List[OtherActor]:
        return [self.actors[name] for name in sorted(self.actors) if tag in self.actors[name].tags]

    def names_of(self, selector: str) -> Sequence[str]:
        """Return the names of the models that ``selector`` selects: the first robot for ``robot``,
        all actors with a tag, or the model with another name."""
        if selector == "robot":
            return () if self.robot is None else (self.robot,)
        return [actor.name for actor in self.tagged(selector)] or (selector,)

    @property
    def moving_models(self) -> Sequence[str]:
        return [*self.names_of("robot"), *sorted(self.actors)]


@dataclass(frozen=True)
class HookResults:
    """Numbers and time series that a hook adds to the results of a trial.

    ``numbers`` maps column names to values. ``series`` maps names to arrays of shape (n, 2) or (n,
    4), with the time (s) since the start of the trial, and a number or a position (m).
    """

    numbers: Mapping[str, float] = field(default_factory=dict)
    series: Mapping[str, np.ndarray] = field(default_factory=dict)


class Hook(abc.ABC):
    """An object that is called before and after each step of a trial.

    ``name`` identifies the hook in messages. ``models`` are in the world from the start, and
    ``spare_models`` can be spawned later. ``kinds`` are the kinds of property change that a hook of
    another package requests, and ``numbers`` the names of the numbers in its results.
    """

    name: str = ""
    priority: int = NORMAL
    models: Sequence[NamedModel] = ()
    spare_models: Sequence[NamedModel] = ()
    kinds: FrozenSet[ChangeKind] = frozenset()
    numbers: Sequence[str] = ()

    def __init__(self, name: str = "") -> None:
        self.name = name or self.name

    def start(self, random: np.random.Generator) -> None:
        """Prepare the hook for a trial in which it draws from ``random``."""
        return

    @abc.abstractmethod
    def before_step(self, context: StepContext) -> None:
        """Read the snapshot and request changes. An exception makes the trial invalid."""

    def after_step(self, snapshot: Snapshot) -> None:
        """Read the snapshot at the end of each step. An exception makes the trial invalid."""
        return

    @property
    def activities(self) -> Dict[str, str]:
        """Short texts about the current activity of models, by their names."""
        return {}

    def results(self) -> HookResults:
        """Return the numbers and time series that the hook adds to the results.

        This method is called once, at the end of a complete trial. If ``numbers`` is not empty, the
        simulator node over ROS calls it after each step, and only uses the numbers.
        """
        return HookResults()

    def close(self) -> None:
        """Release all resources. Implementations must be idempotent."""
        return
