"""Recordings of a planner in the worlds of an environment, for imitation learning.

This module defines the file (``.npz``). For each control period, it contains the vector that a
policy would receive, and the action that results in the planner's command.
"""

import contextlib
import io
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, List, Mapping, Sequence

import numpy as np

from gz_testauto.base.disk import make_directory, replace_file
from gz_testauto.base.errors import SpecError
from gz_testauto.base.observation import Twist2D
from gz_testauto.campaign.simulator import start_simulator
from gz_testauto.extras.learning.episode import PreparedEnvironment
from gz_testauto.extras.learning.policies.planner import PolicyInterface
from gz_testauto.extras.learning.policies.policy import ACTIONS, LinearPolicy
from gz_testauto.planners import make_planner
from gz_testauto.planners.interface import LocalPlanner, Observation, Task
from gz_testauto.results.directory import reporting_disk
from gz_testauto.results.recordings import read_arrays
from gz_testauto.trial.lockstep import LockstepExecutor, run_trial
from gz_testauto.trial.outcome import Outcome

MOST_UNPACKED_BYTES = 1_000_000_000
"""Largest size (bytes) of demonstrations in memory."""

LARGEST = 0.999
"""Largest absolute value of an action that a cloned policy imitates, since the hyperbolic tangent
of its output layer never reaches 1."""


@dataclass(frozen=True, eq=False)
class Demonstrations:
    """The control periods of the recorded episodes of a planner: the observation vectors (n, size),
    the actions (n, 2), and the index of each period's episode (n,). ``worlds`` (e,) are the worlds
    of the episodes. ``reached`` (e,) is True for an episode that reached its goal."""

    observations: np.ndarray
    actions: np.ndarray
    episodes: np.ndarray
    worlds: np.ndarray
    reached: np.ndarray

    def write(self, path: Path) -> None:
        """Write the demonstrations as an ``.npz`` file."""
        with reporting_disk(path):
            make_directory(path.parent)
            buffer = io.BytesIO()
            np.savez_compressed(buffer, **vars(self))
            replace_file(path, buffer.getvalue())

    @classmethod
    def read(cls, path: Path) -> "Demonstrations":
        """Read a file of demonstrations. Raises ``SpecError`` for a file that cannot be read."""
        try:
            arrays = read_arrays(path, MOST_UNPACKED_BYTES)
            return cls(**{name: arrays[name] for name in cls.__dataclass_fields__})
        except Exception as error:  # readers of archives raise errors of many types
            raise SpecError(
                f"{path}: the file contains no demonstrations ({error}); record it again"
            ) from error


def record(
    prepared: PreparedEnvironment,
    plugin: str,
    parameters: Mapping[str, Any],
    worlds: Sequence[int],
    report: Callable[[str, Outcome], None] = lambda world, outcome: None,
) -> Demonstrations:
    """Run a planner in the worlds with the given indices, counted from 0, and return its
    demonstrations. ``report`` is called with the world and the outcome after each trial. Raises
    ``SpecError`` for an unknown planner or world, and ``SimulatorError`` if the simulator fails."""
    make_planner(plugin, **parameters)
    trials = [prepared.trial(world) for world in worlds]
    period_s = prepared.bed.spec.control_period_s
    executor = LockstepExecutor(prepared.bed, start_simulator)
    executor.open()
    drives: List[_Witness] = []
    reached: List[bool] = []
    try:
        for trial in trials:
            witness = _Witness(make_planner(plugin, **parameters), prepared.interface())
            loaded = executor.load_trial(trial, planner=witness)
            with contextlib.closing(loaded.actors):
                result = run_trial(loaded.simulation, loaded.robots, period_s, lambda: False)
            drives.append(witness)
            reached.append(result.outcome.success)
            report(trial.world.name, result.outcome)
    finally:
        executor.close()
    size = prepared.interface().encoder.size
    return Demonstrations(
        observations=np.array(
            [shown for one in drives for shown in one.shown], dtype=np.float32
        ).reshape(-1, size),
        actions=np.array([done for one in drives for done in one.done]).reshape(-1, ACTIONS),
        episodes=np.repeat(np.arange(len(drives)), [len(one.done) for one in drives]),
        worlds=np.array(worlds, dtype=np.int64),
        reached=np.array(reached),
    )


class _Witness(LocalPlanner):
    """A planner that returns the commands of another planner. In each control period, it records
    the vector that a policy would receive (``shown``) and the action of the command (``done``)."""

    def __init__(self, planner: LocalPlanner, interface: PolicyInterface) -> None:
        self._planner, self._interface = planner, interface
        self.wants_objects = planner.wants_objects or interface.encoder.wants_objects
        self.shown: List[np.ndarray] = []
        self.done: List[List[float]] = []

    def begin(self, task: Task) -> None:
        self._planner.begin(task)
        self._interface.begin(task)

    def plan(self, observation: Observation) -> Twist2D:
        command = self._planner.plan(observation)
        if all(map(math.isfinite, command)):  # otherwise the planner has failed
            self.shown.append(self._interface.encode(observation))
            self.done.append(self._interface.action(command))
        return command


def cloned(demonstrations: Demonstrations) -> LinearPolicy:
    """Return the linear policy that fits the actions of the successful episodes with the least
    squared error. Raises ``SpecError`` if no episode reached its goal."""
    kept = demonstrations.reached[demonstrations.episodes]
    shown = demonstrations.observations[kept].astype(float)
    if len(shown) < 2:
        raise SpecError(
            "no policy can be fitted, since no demonstrated episode reached its goal; record a "
            "planner that reaches its goals"
        )
    table = np.column_stack([shown, np.ones(len(shown))])
    wanted = np.arctanh(np.clip(demonstrations.actions[kept], -LARGEST, LARGEST))
    weights, *_ = np.linalg.lstsq(table, wanted, rcond=None)
    return LinearPolicy(weights.T.ravel(), shown.shape[1])
