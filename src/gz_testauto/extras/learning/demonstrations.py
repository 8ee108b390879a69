"""Recordings of a planner in the worlds of an environment, for imitation learning."""

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

# The hyperbolic tangent of the output layer never reaches 1.
LARGEST = 0.999  # largest absolute value of an action that a cloned policy imitates


@dataclass(frozen=True, eq=False)
class Demonstrations:
    """Data of n control periods in e episodes of a planner.

    ``observations`` have the shape (n, size). ``actions`` (n, 2) result in the planner's commands,
    and ``episodes`` (n,) are indices of episodes. For each episode, ``worlds`` (e,) is the index of
    its world, and ``reached`` (e,) is True if the robot reached its goal.
    """

    observations: np.ndarray
    actions: np.ndarray
    episodes: np.ndarray
    worlds: np.ndarray
    reached: np.ndarray

    def write(self, path: Path) -> None:
        with reporting_disk(path):
            make_directory(path.parent)
            buffer = io.BytesIO()
            np.savez_compressed(buffer, **vars(self))
            replace_file(path, buffer.getvalue())

    @classmethod
    def read(cls, path: Path) -> "Demonstrations":
        """Read a file of :meth:`write`. Raise ``SpecError`` if it cannot be read."""
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
    """Run a planner once in each world, and return its observations and actions.

    ``parameters`` are those of the constructor of ``plugin``, and ``worlds`` are indices from 0.
    ``report`` is called after each episode with the name of its world and its outcome. Raises
    ``SpecError`` for an unknown planner or world, and ``SimulatorError``.
    """
    make_planner(plugin, **parameters)
    trials = [prepared.trial(world) for world in worlds]
    period_s = prepared.bed.spec.control_period_s
    executor = LockstepExecutor(prepared.bed, start_simulator)
    executor.open()
    recorders: List[_CommandRecorder] = []
    reached: List[bool] = []
    try:
        for trial in trials:
            recorder = _CommandRecorder(make_planner(plugin, **parameters), prepared.interface())
            loaded = executor.load_trial(trial, planner=recorder)
            with contextlib.closing(loaded.actors):
                result = run_trial(loaded.simulation, loaded.robots, period_s, lambda: False)
            recorders.append(recorder)
            reached.append(result.outcome.success)
            report(trial.world.name, result.outcome)
    finally:
        executor.close()
    size = prepared.interface().encoder.size
    return Demonstrations(
        observations=np.array(
            [vector for recorder in recorders for vector in recorder.vectors], dtype=np.float32
        ).reshape(-1, size),
        actions=np.array([action for recorder in recorders for action in recorder.actions]).reshape(
            -1, ACTIONS
        ),
        episodes=np.repeat(
            np.arange(len(recorders)), [len(recorder.actions) for recorder in recorders]
        ),
        worlds=np.array(worlds, dtype=np.int64),
        reached=np.array(reached),
    )


class _CommandRecorder(LocalPlanner):
    """A planner that returns the commands of another planner, and records them as a policy's
    actions, with the observation vectors."""

    def __init__(self, planner: LocalPlanner, interface: PolicyInterface) -> None:
        self._planner, self._interface = planner, interface
        self.wants_objects = planner.wants_objects or interface.encoder.wants_objects
        self.vectors: List[np.ndarray] = []
        self.actions: List[List[float]] = []

    def begin(self, task: Task) -> None:
        self._planner.begin(task)
        self._interface.begin(task)

    def plan(self, observation: Observation) -> Twist2D:
        command = self._planner.plan(observation)
        if all(map(math.isfinite, command)):  # otherwise the planner has failed
            self.vectors.append(self._interface.encode(observation))
            self.actions.append(self._interface.action(command))
        return command


def cloned(demonstrations: Demonstrations) -> LinearPolicy:
    """Return a linear policy fitted by least squares to the actions of the successful episodes.

    Raises ``SpecError`` if no episode reached its goal.
    """
    is_successful = demonstrations.reached[demonstrations.episodes]
    vectors = demonstrations.observations[is_successful].astype(float)
    if len(vectors) < 2:
        raise SpecError(
            "no policy can be fitted, since no demonstrated episode reached its goal; record a "
            "planner that reaches its goals"
        )
    table = np.column_stack([vectors, np.ones(len(vectors))])
    targets = np.arctanh(np.clip(demonstrations.actions[is_successful], -LARGEST, LARGEST))
    weights, *_ = np.linalg.lstsq(table, targets, rcond=None)
    return LinearPolicy(weights.T.ravel(), vectors.shape[1])
