"""What a trial needs from a simulator, and nothing else.

Two classes. A :class:`Simulator` is the connection: it owns whatever process runs and
outlives many trials. A :class:`Simulation` is one loaded world with one robot in it, from
the moment it stands still at time zero to the end of the trial. A reader who writes an
adaptor subclasses both and runs :mod:`gz_testauto.testing.simulator_conformance` on them.

Call order::

    with open_simulator("gazebo") as simulator:          # starts the process
        simulation = simulator.load(scene)               # paused at time 0
        snapshot = simulation.snapshot()
        while not done:
            simulation.drive(twist)                      # takes effect with the next step
            snapshot = simulation.step(0.1)              # blocks until that time is simulated

Time passes in :meth:`Simulation.step` only. The same scene and the same sequence of calls
give the same snapshots, on a fresh simulator or one that has served others; an adaptor that
cannot promise this says so in ``Simulator.repeatable``.
"""

import abc
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Iterable, Mapping, Optional, Sequence

from gz_testauto.observation import ModelState, Snapshot, Twist2D
from gz_testauto.pose import Pose, Pose2D
from gz_testauto.sdf.robot import RobotModel


@dataclass(frozen=True)
class Scene:
    """One world with one robot, before anything has moved.

    ``world`` is a ``.world`` file that already holds its obstacles. ``robot`` may be None
    (for building worlds). ``seed`` seeds the simulator's own random numbers.
    """

    world: Path
    robot: Optional[RobotModel] = None
    start: Pose2D = Pose2D(0.0, 0.0, 0.0)
    seed: int = 0


@dataclass(frozen=True)
class NamedModel:
    """A model to spawn: its SDF text, the name it shall bear, and its pose in the world.

    The pose is that of the model frame in the world; a ``<pose>`` in the SDF is replaced,
    not composed.
    """

    name: str
    sdf: str
    pose: Pose = Pose()


@dataclass(frozen=True)
class PhysicsSettings:
    """The solver's step (s), update rate (1/s, 0 is unlimited) and gravity (m/s²)."""

    step_size_s: float
    max_update_rate_hz: float
    gravity_mps2: Sequence[float]


class Simulation(abc.ABC):
    """One loaded world, paused between steps.

    Every method blocks until what it did can be seen in :meth:`snapshot`, and raises
    ``SimulatorError`` when the simulator died, stalled or refused; after that the
    simulation is of no more use and the simulator decides whether to start afresh.
    """

    @abc.abstractmethod
    def snapshot(self) -> Snapshot:
        """What the world looks like now. No time passes."""

    @abc.abstractmethod
    def drive(self, command: Twist2D) -> None:
        """Command the robot's drive from the next step on, until commanded again.

        No acceleration limit is applied here; limits belong to the planner's side.
        """

    @abc.abstractmethod
    def step(self, duration_s: float) -> Snapshot:
        """Simulate ``duration_s``, a whole number of physics steps, and look again. Where
        ``Simulator.steps_exactly`` is False it may go further; the snapshot's time says how far.

        Raises ``ValueError`` when the physics step does not divide the duration.
        """

    @abc.abstractmethod
    def spawn(self, models: Sequence[NamedModel]) -> None:
        """Add models in one go. A taken name raises ``SimulatorError``, and nothing stays."""

    @abc.abstractmethod
    def delete(self, names: Iterable[str]) -> None:
        """Remove models in one go; an unknown name raises ``SimulatorError``."""

    @abc.abstractmethod
    def set_states(self, states: Mapping[str, ModelState]) -> None:
        """Place models, in one go. A state without twist leaves the model at rest, where the
        simulator can say so (``Simulator.sets_twist``)."""

    @abc.abstractmethod
    def save_world(self, path: Path) -> None:
        """Write the world as it stands, with all models, to a ``.world`` file."""


class Simulator(abc.ABC):
    """A running simulator that loads one scene after the other.

    Also a context manager: leaving it closes it. ``name`` and ``version`` go into results.
    ``repeatable``, ``sets_twist`` and ``steps_exactly`` say what it cannot promise, and
    ``runs_plugins`` whether it loads and runs the libraries that a world's ``<plugin>`` names.
    """

    name: str
    version: str
    repeatable: bool = True
    sets_twist: bool = True
    steps_exactly: bool = True
    runs_plugins: bool = False

    def turn_limit_radps(self, robot: RobotModel) -> float:
        """The yaw rate that the robot's drive can be commanded is less than this (rad/s)."""
        return math.inf

    @abc.abstractmethod
    def load(self, scene: Scene) -> Simulation:
        """Make ``scene`` the current world, paused at time zero; the previous simulation
        becomes invalid. Raises ``SimulatorError`` when the world cannot be loaded."""

    @abc.abstractmethod
    def close(self) -> None:
        """End every process and close every port that this simulator opened. Idempotent."""

    def __enter__(self) -> "Simulator":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()
