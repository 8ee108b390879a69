"""The interface between a trial and a simulator.

A :class:`Simulator` is the connection to a simulator: it owns the process, if there is one, and
runs many trials. A :class:`Simulation` is one loaded world with one or more robots. It is paused
at time zero and lasts until the end of the trial. An adaptor subclasses both and must pass the
tests of :mod:`gz_testauto.testing.simulator_conformance`.

Call order::

    with open_simulator("gazebo") as simulator:  # starts the process
        simulation = simulator.load(scene)       # paused at time 0
        snapshot = simulation.snapshot()
        while not done:
            simulation.drive(twist)              # takes effect with the next step
            snapshot = simulation.step(0.1)      # blocks until that time is simulated

Time advances only in :meth:`Simulation.step`. Equal sequences of calls with the same scene give
equal snapshots, even after other trials, unless ``Simulator.repeatable`` is False. The snapshot
at time 0 contains one scan with the stamp 0 for each robot with a lidar, but no IMU sample and no
contact.
"""

import abc
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, FrozenSet, Iterable, Mapping, Optional, Sequence, Set, Tuple

from gz_testauto.base.errors import SdfError, SimulatorError
from gz_testauto.base.observation import ModelState, Snapshot, Twist2D
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.base.sensors import Sensor
from gz_testauto.sdf.robot import RobotModel
from gz_testauto.sdf.scene import read_scene
from gz_testauto.simulators.changes import LIMITS, Change, ChangeKind, SetModel
from gz_testauto.simulators.description import DescribedWorld, Description, check_model


@dataclass(frozen=True)
class NamedModel:
    """A model to spawn: its SDF text, its name in the world, and its pose.

    ``pose`` is the pose of the model frame in the world. It replaces the ``<pose>`` in the SDF.
    """

    name: str
    sdf: str
    pose: Pose = Pose()


@dataclass(frozen=True)
class PlacedRobot:
    """A robot with its start pose, and the simulated sensors in addition to its lidar and IMU."""

    robot: RobotModel
    start: Pose2D
    sensors: Tuple[Sensor, ...] = ()

    @property
    def simulated(self) -> Tuple[Sensor, ...]:
        """The sensors and the parts of a merged lidar."""
        parts = () if self.robot.lidar is None else self.robot.lidar.parts
        return (*self.sensors, *(part for part in parts if part not in self.sensors))


@dataclass(frozen=True)
class Scene:
    """One world with its robots, as a simulator loads it.

    ``world`` is a ``.world`` file that already contains its obstacles. ``robot`` can be None, e.g.
    to generate worlds. ``seed`` seeds the random numbers of the simulator. ``models`` are spawned
    in addition to those of the file. ``others`` are further robots; they require ``robot``.
    ``sensors`` are the sensors of ``robot`` that are simulated in addition to its lidar and IMU.
    """

    world: Path
    robot: Optional[RobotModel] = None
    start: Pose2D = Pose2D(0.0, 0.0, 0.0)
    seed: int = 0
    models: Tuple[NamedModel, ...] = ()
    others: Tuple[PlacedRobot, ...] = ()
    sensors: Tuple[Sensor, ...] = ()

    @property
    def robots(self) -> Tuple[PlacedRobot, ...]:
        """All robots of the scene, starting with ``robot``."""
        if self.robot is None:
            return self.others
        return (PlacedRobot(self.robot, self.start, self.sensors), *self.others)


class Simulation(abc.ABC):
    """One loaded world, paused between steps.

    Every method waits until its effect is visible in :meth:`snapshot`, and raises
    ``SimulatorError`` if the simulator died, stalled or rejected the call. The simulation is over
    after a failed step, and after its simulator loads another scene or is closed. Every later call
    raises ``SimulatorError`` with the reason.

    The public methods validate their arguments and call the adaptor's methods of the same name with
    an underscore, which need not validate them again. An adaptor calls
    ``super().__init__(step_size_s, robot, scene)`` with the physics step (s), the first robot (None
    if the scene has no robot), and the loaded scene.

    ``changes`` contains the supported kinds of property changes (:meth:`apply`).
    """

    changes: FrozenSet[ChangeKind] = frozenset()

    def __init__(
        self, step_size_s: float, robot: Optional[RobotModel], scene: Optional[Scene] = None
    ) -> None:
        self.step_size_s = step_size_s
        self.robot = robot
        self._end_reason = ""
        self._scene = scene
        self._added_sdf: Dict[str, str] = {} if robot is None else {robot.name: robot.sdf}
        self._others: Dict[str, RobotModel] = {}
        if scene is not None:
            self._others = {
                placed_robot.robot.name: placed_robot.robot for placed_robot in scene.others
            }
            self._added_sdf.update(
                (name, other_robot.sdf) for name, other_robot in self._others.items()
            )
            self._added_sdf.update((model.name, model.sdf) for model in scene.models)
        self._removed: Set[str] = set()
        self._described: Optional[DescribedWorld] = None

    def snapshot(self) -> Snapshot:
        """Return the current state of the world. The simulated time does not advance."""
        self._check_usable()
        return self._snapshot()

    def drive(self, command: Twist2D, robot: Optional[str] = None) -> None:
        """Set a robot's velocity command, which applies from the next step until the next command.

        ``robot`` is the name of a further robot, by default the first robot. The caller must limit
        the acceleration. Raises ``SimulatorError`` if no robot has this name or this simulator
        cannot drive it, and ``ValueError`` for an invalid command (:func:`check_command`).
        """
        self._check_usable()
        first = None if self.robot is None else self.robot.name
        name = first if robot is None else robot
        if name is None:
            raise SimulatorError("this simulation has no robot to drive")
        if name != first and name not in self._others:
            robots = [*([] if first is None else [first]), *self._others]
            raise SimulatorError(
                f"this simulation has no robot named {name!r}; it has these robots: "
                + (", ".join(robots) or "none")
            )
        check_command(command)
        if name == first:
            self._drive(command)
        else:
            self._drive_other(command, name)

    def step_count(self, duration_s: float) -> int:
        """Return the number of physics steps in a duration. Raises ``ValueError`` unless the
        duration is a whole number of steps, at least 1."""
        count = round(duration_s / self.step_size_s)
        if count < 1 or not math.isclose(
            duration_s, count * self.step_size_s, rel_tol=1e-9, abs_tol=1e-12
        ):
            raise ValueError(
                f"{duration_s} s is not a whole number of physics steps of {self.step_size_s} s"
            )
        return count

    def step(self, duration_s: float) -> Snapshot:
        """Simulate ``duration_s``, a whole number of physics steps, and return a snapshot.

        If ``Simulator.steps_exactly`` is False, more time can pass. Raises ``ValueError`` if the
        duration is not a whole number of physics steps.
        """
        self._check_usable()
        count = self.step_count(duration_s)
        try:
            self._step(count)
            return self._snapshot()
        except SimulatorError as error:
            self.end(f"a step failed: {error}")
            raise

    def spawn(self, models: Sequence[NamedModel]) -> None:
        """Spawn models in one call.

        Raises ``SimulatorError``, and adds no model, for a name that is in use, a pose beyond the
        limits, and an invalid model (:func:`check_model`).
        """
        self._check_usable()
        used_names = set(self._model_names())
        for model in models:
            if model.name in used_names:
                raise SimulatorError(f"a model named {model.name!r} exists already")
            used_names.add(model.name)
            _check_state(model.name, ModelState(model.pose))
            try:
                check_model(model.name, model.sdf)
            except SdfError as error:
                raise SimulatorError(f"cannot spawn {model.name!r}: {error}") from error
        self._spawn(models)
        for model in models:
            self._added_sdf[model.name] = model.sdf
            if self._described is not None:
                self._described.add(model.name, model.sdf)

    def delete(self, names: Iterable[str]) -> None:
        """Delete models in one call.

        Raises ``SimulatorError``, and removes no model, for an unknown name. After the first robot
        was deleted, velocity commands for it are rejected.
        """
        self._check_usable()
        deleted_names = tuple(dict.fromkeys(names))
        self._check_known(deleted_names)
        self._delete(deleted_names)
        for name in deleted_names:
            if self._added_sdf.pop(name, None) is None:
                self._removed.add(name)
            if self._described is not None:
                self._described.remove(name)
            self._others.pop(name, None)
        if self.robot is not None and self.robot.name in deleted_names:
            self.robot = None

    def set_states(self, states: Mapping[str, ModelState]) -> None:
        """Set poses and twists of models in one call.

        A state without a twist leaves the model at rest if ``Simulator.sets_twist``. Raises
        ``SimulatorError`` for an unknown name, and for a state beyond the limits of
        :class:`~gz_testauto.simulators.changes.SetModel`.
        """
        self._check_usable()
        self._check_known(states)
        for name, state in states.items():
            _check_state(name, state)
        self._set_states(states)

    def apply(self, changes: Sequence[Change]) -> None:
        """Apply property changes in order and in one call. The simulated time does not advance.

        Raises ``SimulatorError``, and changes nothing, for an unknown name, for a change whose
        class is not in :attr:`changes`, and for a change that the named part does not support.
        """
        self._check_usable()
        for change in changes:
            kind = type(change)
            if kind not in self.changes:
                raise SimulatorError(
                    f"this simulator does not support {kind.__name__} (of {change.name!r}); it "
                    "supports "
                    + (", ".join(sorted(k.__name__ for k in self.changes)) or "no changes")
                )
        # in one call, since some simulators request the names over a network
        self._check_known([change.name for change in changes if change.part == "model"])
        for change in changes:
            if change.part != "model":
                self._described_world.require(change)
            self._check_change(change)
        for change in changes:
            if change.part != "model":
                self._described_world.note(change)
        try:
            self._apply(changes)
        except SimulatorError as error:
            self.end(f"a change failed: {error}")
            raise

    def describe(self) -> Description:
        """Return the links, joints, collisions, visuals and lights with their current properties.

        Poses and twists of models are part of :meth:`snapshot`.
        """
        self._check_usable()
        return self._described_world.copy()

    @property
    def spawned_sdf(self) -> Mapping[str, str]:
        """The SDF texts, by name, of all models that are not in the world file."""
        return self._added_sdf

    def save_world(self, path: Path) -> None:
        """Write the current world, with all models and property changes, to a ``.world`` file."""
        self._check_usable()
        self._save_world(path)
        if self._described is not None:
            try:
                self._described.write_changes(path)
            except SdfError as error:
                raise SimulatorError(f"cannot save the world: {error}") from error

    def end(self, why: str) -> None:
        """End the simulation: every later call raises ``SimulatorError`` with the first reason."""
        self._end_reason = self._end_reason or why

    # implemented by an adaptor

    @abc.abstractmethod
    def _snapshot(self) -> Snapshot:
        """Return a snapshot, also at the end of a step; see :meth:`snapshot`."""

    @abc.abstractmethod
    def _drive(self, command: Twist2D) -> None:
        """Set the finite velocity command of the first robot, which exists."""

    def _drive_other(self, command: Twist2D, robot: str) -> None:
        """Set the finite velocity command of a further robot, which exists.

        An adaptor with ``Simulator.several_robots`` must implement this method.
        """
        raise NotImplementedError

    @abc.abstractmethod
    def _step(self, count: int) -> None:
        """Simulate ``count`` physics steps; ``count`` is at least 1."""

    @abc.abstractmethod
    def _spawn(self, models: Sequence[NamedModel]) -> None:
        """Spawn models; see :meth:`spawn`. No name is in use, and each SDF contains a model."""

    @abc.abstractmethod
    def _delete(self, names: Sequence[str]) -> None:
        """Delete models; see :meth:`delete`. All names are known and occur once."""

    @abc.abstractmethod
    def _set_states(self, states: Mapping[str, ModelState]) -> None:
        """Set states of models; see :meth:`set_states`. All names are known."""

    @abc.abstractmethod
    def _save_world(self, path: Path) -> None:
        """Write the current models to a world file, to which the caller adds property changes."""

    def _apply(self, changes: Sequence[Change]) -> None:
        """Apply valid property changes; see :meth:`apply`.

        :meth:`describe` already returns the new values. An adaptor that supports property changes
        must implement this method.
        """
        raise NotImplementedError

    def _check_change(self, change: Change) -> None:
        """Raise ``SimulatorError`` for a change that the named part does not support."""
        return None

    @abc.abstractmethod
    def _model_names(self) -> Iterable[str]:
        """Return the names of all models in the simulation, including the robots."""

    @property
    def _described_world(self) -> DescribedWorld:
        """The description of the world, which is read when it is first used."""
        if self._described is None:
            if self._scene is None:
                raise SimulatorError("this simulator has no description of its world")
            try:
                described_world = DescribedWorld(read_scene(self._scene.world))
                for name in self._removed:
                    described_world.remove(name)
                for name, sdf in self._added_sdf.items():
                    described_world.add(name, sdf)
            except SdfError as error:
                raise SimulatorError(f"the world cannot be described: {error}") from error
            self._described = described_world
        return self._described

    # checks, which adaptors also call in their additional methods

    def _check_usable(self) -> None:
        """Raise ``SimulatorError`` if the simulation is over. Called before every method.

        An adaptor whose simulator is another process also checks that the process is alive.
        """
        if self._end_reason:
            raise SimulatorError(f"this simulation is over: {self._end_reason}")

    def _check_known(self, names: Iterable[str]) -> None:
        """Raise ``SimulatorError`` for the first name that no model has."""
        requested_names = list(names)
        model_names = set(self._model_names()) if requested_names else set()
        for name in requested_names:
            if name not in model_names:
                raise SimulatorError(f"there is no model named {name!r}")


def check_command(command: Twist2D) -> None:
    """Raise ``ValueError`` for a velocity command that is not finite or beyond the limits.

    The limits are :data:`~gz_testauto.simulators.changes.LIMITS`.
    """
    for field, value in command._asdict().items():
        if not math.isfinite(value):
            raise ValueError(f"a velocity command must be finite, not {command}")
        if abs(value) > LIMITS[field]:
            raise ValueError(
                f"a velocity command must be from {-LIMITS[field]:g} to {LIMITS[field]:g}, not "
                f"{command}"
            )


def _check_state(name: str, state: ModelState) -> None:
    try:
        SetModel(name, state.pose, state.linear_mps, state.angular_radps)
    except ValueError as error:
        raise SimulatorError(str(error)) from error


class Simulator(abc.ABC):
    """A running simulator that loads one scene after the other; a context manager that closes it.

    - ``name`` and ``version`` are written to the results.
    - ``repeatable``: equal calls give equal snapshots.
    - ``sets_twist``: twists of models can be set.
    - ``steps_exactly``: a step advances exactly by its duration.
    - ``runs_plugins``: the simulator loads the libraries of a world's ``<plugin>`` elements.
    - ``shared``: the same process serves all callers, so that trials cannot run in parallel.
    - ``several_robots``: scenes can have more than one robot.
    - ``inertial``: the linear acceleration in an IMU sample is that in the physics step in which
      the sample is due (``"step"``), or the mean since the previous sample (``"period"``).
    - ``senses``: the simulator simulates the sensors that a scene selects.
    - ``loads_beside``: a scene is loaded before the previous simulation ends, which then continues
      if the scene is rejected.
    - ``contacts_without_forces``: contacts of a collision with ``<collide_without_contact>`` are
      reported and exert no force.
    - ``changes`` contains the kinds of property changes that the simulations support.

    An adaptor implements :meth:`_load` and :meth:`_close`.
    """

    name: str
    version: str
    repeatable: bool = True
    sets_twist: bool = True
    steps_exactly: bool = True
    runs_plugins: bool = False
    shared: bool = False
    several_robots: bool = False
    inertial: str = "step"
    senses: bool = False
    loads_beside: bool = False
    contacts_without_forces: bool = False
    changes: FrozenSet[ChangeKind] = frozenset()

    _current: Optional[Simulation] = None
    _closed = False

    @property
    def processes(self) -> Tuple[int, ...]:
        """The ids of the processes that this simulator started."""
        return ()

    def turn_limit_radps(self, robot: RobotModel) -> float:
        """Return an upper bound (rad/s) of the absolute yaw rates that the drive accepts."""
        return math.inf

    def load(self, scene: Scene) -> Simulation:
        """Load ``scene`` and return its simulation, paused at time zero.

        The previous simulation ends, even if the scene cannot be loaded. With :attr:`loads_beside`,
        it ends only after the scene is loaded. Raises ``SimulatorError`` if the world cannot be
        loaded or the simulator is closed.
        """
        if self._closed:
            raise SimulatorError("this simulator has been closed")
        if scene.others and (scene.robot is None or not self.several_robots):
            raise SimulatorError(
                "a scene without a first robot cannot have others"
                if scene.robot is None
                else f"the simulator {self.name!r} supports one robot in a scene, and "
                f"{scene.world} has {len(scene.robots)}; use another simulator"
            )
        for placed_robot in scene.robots:
            _check_state(placed_robot.robot.name, ModelState(placed_robot.start.to_pose()))
            self.require_senses(placed_robot.robot, placed_robot.simulated)
        names = [model.name for model in scene.models]
        names += [placed_robot.robot.name for placed_robot in scene.robots]
        for name in names:
            if names.count(name) > 1:
                raise SimulatorError(
                    f"two models of the scene are named {name!r}; rename one of them"
                )
        if not self.loads_beside:
            self._end_current("another scene was loaded")
        simulation = self._load(scene)
        self._end_current("another scene was loaded")
        self._current = simulation
        return simulation

    def require_senses(self, robot: RobotModel, sensors: Iterable[Sensor]) -> None:
        """Raise ``SimulatorError`` if the simulator cannot simulate ``sensors``."""
        sensors = tuple(sensors)
        if sensors and not self.senses:
            names = ", ".join(repr(sensor.name) for sensor in sensors)
            raise SimulatorError(
                f"{robot.path}: the simulator {self.name!r} simulates the lidar and the IMU of a "
                f"robot, and not its sensors {names}; use the simulator embedded or gazebo, or "
                "one lidar and a planner that reads only the scan"
            )

    def close(self) -> None:
        """Stop every process and close every port that this simulator opened. Idempotent.

        After ``KeyboardInterrupt``, the next call finishes the interrupted one.
        """
        if self._closed:
            return
        try:
            self._end_current("its simulator was closed")
            self._close()
        except Exception:
            self._closed = True
            raise
        self._closed = True

    @abc.abstractmethod
    def _load(self, scene: Scene) -> Simulation:
        """Load a scene; see :meth:`load`.

        The names of the scene's models and robots are unique, but the world file can contain a
        model with one of them. The previous simulation is over.
        """

    @abc.abstractmethod
    def _close(self) -> None:
        """Close the simulator. Called again only if ``KeyboardInterrupt`` interrupted it."""

    def _end_current(self, reason: str) -> None:
        if self._current is not None:
            self._current.end(reason)
            self._current = None

    def __enter__(self) -> "Simulator":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()
