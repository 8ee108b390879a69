"""What a trial needs from a simulator, and nothing else.

Two classes. A :class:`Simulator` is the connection: it owns whatever process runs and
outlives many trials. A :class:`Simulation` is one loaded world with one robot in it or
several, from the moment it stands still at time zero to the end of the trial. A reader who writes
an adaptor subclasses both and runs :mod:`gz_testauto.testing.simulator_conformance` on them.

Call order::

    with open_simulator("gazebo") as simulator:          # starts the process
        simulation = simulator.load(scene)               # paused at time 0
        snapshot = simulation.snapshot()
        while not done:
            simulation.drive(twist)                      # takes effect with the next step
            snapshot = simulation.step(0.1)              # blocks until that time is simulated

Time passes in :meth:`Simulation.step` only. The same scene and the same sequence of calls give the
same snapshots, on a fresh simulator or one that has served others; an adaptor that cannot promise
this says so in ``Simulator.repeatable``. The snapshot at time 0 has a scan with stamp 0 of each
robot with a lidar, of the scene as it was loaded, and no IMU sample and no contact.
"""

import abc
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, FrozenSet, Iterable, Mapping, Optional, Sequence, Set, Tuple

from gz_testauto.base.errors import SdfError, SimulatorError
from gz_testauto.base.observation import ModelState, Snapshot, Twist2D
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.sdf.edit import parse_model
from gz_testauto.sdf.robot import RobotModel
from gz_testauto.sdf.scene import read_scene
from gz_testauto.simulators.changes import Change, Kind
from gz_testauto.simulators.description import DescribedWorld, Description


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
class PlacedRobot:
    """A robot and where it starts."""

    robot: RobotModel
    start: Pose2D


@dataclass(frozen=True)
class Scene:
    """One world with its robots, before anything has moved.

    ``world`` is a ``.world`` file that already holds its obstacles. ``robot`` may be None
    (for building worlds). ``seed`` seeds the simulator's own random numbers. ``models`` stand there
    beside those of the file. ``others`` are further robots, where the first is given.
    """

    world: Path
    robot: Optional[RobotModel] = None
    start: Pose2D = Pose2D(0.0, 0.0, 0.0)
    seed: int = 0
    models: Tuple[NamedModel, ...] = ()
    others: Tuple[PlacedRobot, ...] = ()

    @property
    def robots(self) -> Tuple[PlacedRobot, ...]:
        """All robots, the first one first."""
        first = () if self.robot is None else (PlacedRobot(self.robot, self.start),)
        return (*first, *self.others)


@dataclass(frozen=True)
class PhysicsSettings:
    """The solver's step (s), update rate (1/s, 0 is unlimited) and gravity (m/s²)."""

    step_size_s: float
    max_update_rate_hz: float
    gravity_mps2: Sequence[float]


class Simulation(abc.ABC):
    """One loaded world, paused between steps.

    Every method blocks until what it did can be seen in :meth:`snapshot`, and raises
    ``SimulatorError`` when the simulator died, stalled or refused. After a step that failed the
    simulation is over, as it is when another scene is loaded or its simulator is closed: every
    call then raises ``SimulatorError``, which says why.

    The public methods check what they are asked, the same way for all simulators, and hand on
    what is in order to the adaptor's methods of the same name with an underscore, which need not
    check it again. An adaptor calls ``super().__init__(step_size_s, robot, scene)``: the physics
    step (s), the first robot, None where there is none to drive, and the scene that was loaded.

    ``changes`` are the kinds of change that it takes (:meth:`apply`).
    """

    changes: FrozenSet[Kind] = frozenset()

    def __init__(
        self, step_size_s: float, robot: Optional[RobotModel], scene: Optional[Scene] = None
    ) -> None:
        self.step_size_s = step_size_s
        self.robot = robot
        self._over = ""
        self._scene = scene
        self._come: Dict[str, str] = {} if robot is None else {robot.name: robot.sdf}
        self._others: Dict[str, RobotModel] = {}
        if scene is not None:
            self._others = {placed.robot.name: placed.robot for placed in scene.others}
            self._come.update((name, one.sdf) for name, one in self._others.items())
            self._come.update((model.name, model.sdf) for model in scene.models)
        self._gone: Set[str] = set()
        self._described: Optional[DescribedWorld] = None

    def snapshot(self) -> Snapshot:
        """What the world looks like now. No time passes."""
        self._check_usable()
        return self._snapshot()

    def drive(self, command: Twist2D, robot: Optional[str] = None) -> None:
        """Command a robot's drive from the next step on, until commanded again: that of the first
        unless ``robot`` names a further one.

        No acceleration limit is applied here; limits belong to the planner's side. Raises
        ``SimulatorError`` when there is no such robot, or one that this simulator cannot drive, and
        ``ValueError`` for a command that is not finite.
        """
        self._check_usable()
        first = None if self.robot is None else self.robot.name
        named = first if robot is None else robot
        if named is None:
            raise SimulatorError("there is no robot in this scene to drive")
        if named != first and named not in self._others:
            there = [*([] if first is None else [first]), *self._others]
            raise SimulatorError(
                f"there is no robot named {named!r} in this scene to drive; there are: "
                + (", ".join(there) or "none")
            )
        if not (math.isfinite(command.linear_mps) and math.isfinite(command.angular_radps)):
            raise ValueError(f"a command must be finite, not {command}")
        if named == first:
            self._drive(command)
        else:
            self._drive_other(command, named)

    def step(self, duration_s: float) -> Snapshot:
        """Simulate ``duration_s``, a whole number of physics steps, and look again. Where
        ``Simulator.steps_exactly`` is False it may go further; the snapshot's time says how far.

        Raises ``ValueError`` when the physics step does not divide the duration.
        """
        self._check_usable()
        count = round(duration_s / self.step_size_s)
        if count < 1 or not math.isclose(
            duration_s, count * self.step_size_s, rel_tol=1e-9, abs_tol=1e-12
        ):
            raise ValueError(
                f"{duration_s} s is not a whole number of physics steps of {self.step_size_s} s"
            )
        try:
            self._step(count)
            return self._snapshot()
        except SimulatorError as error:
            self.end(f"a step failed: {error}")
            raise

    def spawn(self, models: Sequence[NamedModel]) -> None:
        """Add models in one go. A taken name, or SDF text without a model, raises
        ``SimulatorError``, and nothing stays."""
        self._check_usable()
        taken = set(self._model_names())
        for model in models:
            if model.name in taken:
                raise SimulatorError(f"a model named {model.name!r} exists already")
            taken.add(model.name)
            try:
                parse_model(model.sdf)
            except SdfError as error:
                raise SimulatorError(f"cannot spawn {model.name!r}: {error}") from error
        self._spawn(models)
        for model in models:
            self._come[model.name] = model.sdf
            if self._described is not None:
                self._described.add(model.name, model.sdf)

    def delete(self, names: Iterable[str]) -> None:
        """Remove models in one go; an unknown name raises ``SimulatorError``, and nothing is
        removed. Without its robot, the scene is one without a robot."""
        self._check_usable()
        wanted = tuple(dict.fromkeys(names))
        self._check_known(wanted)
        self._delete(wanted)
        for name in wanted:
            if self._come.pop(name, None) is None:
                self._gone.add(name)
            if self._described is not None:
                self._described.remove(name)
            self._others.pop(name, None)
        if self.robot is not None and self.robot.name in wanted:
            self.robot = None

    def set_states(self, states: Mapping[str, ModelState]) -> None:
        """Place models, in one go; an unknown name raises ``SimulatorError``. A state without
        twist leaves the model at rest, where the simulator can say so
        (``Simulator.sets_twist``)."""
        self._check_usable()
        self._check_known(states)
        self._set_states(states)

    def apply(self, changes: Sequence[Change]) -> None:
        """Make changes, in order and in one go, without time passing.

        All are looked at first: an unknown name, a kind that this simulator does not take
        (:attr:`changes`), or what cannot be done to the thing of that name raises
        ``SimulatorError``, and nothing is changed.
        """
        self._check_usable()
        moved = any(change.part == "model" for change in changes)
        there = set(self._model_names()) if moved else set()  # asked once: of some over a network
        for change in changes:
            kind = type(change)
            if kind not in self.changes:
                raise SimulatorError(
                    f"this simulator takes no {kind.__name__} (of {change.name!r}); it takes "
                    + (", ".join(sorted(taken.__name__ for taken in self.changes)) or "no changes")
                )
            if change.part == "model":
                _require_known([change.name], there)
            else:
                self._truth.require(change)
            self._check_change(change)
        for change in changes:
            if change.part != "model":
                self._truth.note(change)
        try:
            self._apply(changes)
        except SimulatorError as error:
            self.end(f"a change failed: {error}")
            raise

    def describe(self) -> Description:
        """Links, joints, collisions, visuals and lights with their properties as they are now,
        changed or not. What is only told by a simulator is in :meth:`snapshot`."""
        self._check_usable()
        return self._truth.copy()

    @property
    def brought(self) -> Mapping[str, str]:
        """The SDF of the models that came beside those of the world's file, by name."""
        return self._come

    def save_world(self, path: Path) -> None:
        """Write the world as it stands, with all models and what was changed of them, to a
        ``.world`` file."""
        self._check_usable()
        self._save_world(path)
        if self._described is not None:
            try:
                self._described.write_changes(path)
            except SdfError as error:
                raise SimulatorError(f"cannot save the world: {error}") from error

    def end(self, why: str) -> None:
        """Refuse every call from here on. Called by the simulator, and by itself when a step
        fails; of several reasons the first is told."""
        self._over = self._over or why

    # what an adaptor writes

    @abc.abstractmethod
    def _snapshot(self) -> Snapshot:
        """See :meth:`snapshot`; also what a step ends with."""

    @abc.abstractmethod
    def _drive(self, command: Twist2D) -> None:
        """See :meth:`drive`. There is a first robot, and the command is finite."""

    def _drive_other(self, command: Twist2D, robot: str) -> None:
        """See :meth:`drive`. There is a further robot of that name, and the command is finite.
        Written by an adaptor that has several (``Simulator.several_robots``)."""
        raise NotImplementedError

    @abc.abstractmethod
    def _step(self, count: int) -> None:
        """Simulate so many physics steps, one or more."""

    @abc.abstractmethod
    def _spawn(self, models: Sequence[NamedModel]) -> None:
        """See :meth:`spawn`. All names are free, and each text has a ``<model>``."""

    @abc.abstractmethod
    def _delete(self, names: Sequence[str]) -> None:
        """See :meth:`delete`. All names are known, and each comes once."""

    @abc.abstractmethod
    def _set_states(self, states: Mapping[str, ModelState]) -> None:
        """See :meth:`set_states`. All names are known."""

    @abc.abstractmethod
    def _save_world(self, path: Path) -> None:
        """See :meth:`save_world`. Properties of what is in it are written by that method."""

    def _apply(self, changes: Sequence[Change]) -> None:
        """See :meth:`apply`. All are of a kind that is in ``changes``, of things that are there,
        and noted in what :meth:`describe` tells. Written by an adaptor that takes any."""
        raise NotImplementedError

    def _check_change(self, change: Change) -> None:
        """Raise ``SimulatorError`` for what this simulator cannot do to the thing that is to be
        changed, although it takes the kind."""
        return None

    @abc.abstractmethod
    def _model_names(self) -> Iterable[str]:
        """The names of all models that stand now, the robot's included."""

    @property
    def _truth(self) -> DescribedWorld:
        """What the world consists of, read when it is first asked for."""
        if self._described is None:
            if self._scene is None:
                raise SimulatorError("this simulator does not know what its world consists of")
            try:
                described = DescribedWorld(read_scene(self._scene.world))
                for name in self._gone:
                    described.remove(name)
                for name, sdf in self._come.items():
                    described.add(name, sdf)
            except SdfError as error:
                raise SimulatorError(f"the world cannot be described: {error}") from error
            self._described = described
        return self._described

    # the checks, for what an adaptor offers beside the interface too

    def _check_usable(self) -> None:
        """Raise ``SimulatorError`` when the simulation is over. Asked before every call; an
        adaptor whose simulator is another process adds whether that is alive."""
        if self._over:
            raise SimulatorError(f"this simulation is over: {self._over}")

    def _check_known(self, names: Iterable[str]) -> None:
        """Raise ``SimulatorError`` for a name that no model bears."""
        _require_known(names, set(self._model_names()))


def _require_known(names: Iterable[str], there: Set[str]) -> None:
    for name in names:
        if name not in there:
            raise SimulatorError(f"there is no model named {name!r}")


class Simulator(abc.ABC):
    """A running simulator that loads one scene after the other.

    Also a context manager: leaving it closes it. ``name`` and ``version`` go into results.
    ``repeatable``, ``sets_twist`` and ``steps_exactly`` say what it cannot promise, and
    ``runs_plugins`` whether it loads and runs the libraries that a world's ``<plugin>`` names.
    ``shared`` says that it is one that runs already, the same for all who open it, so that no two
    trials can run side by side. ``changes`` are the kinds of change that its simulations take,
    ``several_robots`` says whether scenes may have more than one robot.
    ``inertial`` says what an inertial sample's linear acceleration is: ``"step"``, that of the
    physics step in which it falls due; ``"period"``, the mean since the previous sample.

    An adaptor writes :meth:`_load` and :meth:`_close`.
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
    changes: FrozenSet[Kind] = frozenset()

    _current: Optional[Simulation] = None
    _closed = False

    @property
    def processes(self) -> Tuple[int, ...]:
        """Ids of the processes of ours that simulate now; none where this one does it."""
        return ()

    def turn_limit_radps(self, robot: RobotModel) -> float:
        """The yaw rate that the robot's drive can be commanded is less than this (rad/s)."""
        return math.inf

    def load(self, scene: Scene) -> Simulation:
        """Make ``scene`` the current world, paused at time zero; the previous simulation is over,
        even when this fails. Raises ``SimulatorError`` when the world cannot be loaded, or the
        simulator has been closed."""
        if self._closed:
            raise SimulatorError("this simulator has been closed")
        self._end_current("another scene was loaded")
        if scene.others and (scene.robot is None or not self.several_robots):
            raise SimulatorError(
                "a scene without a first robot has no others"
                if scene.robot is None
                else f"the simulator {self.name!r} has one robot in a scene, and {scene.world} "
                f"is to have {len(scene.robots)}; take another simulator"
            )
        names = [model.name for model in scene.models]
        names += [placed.robot.name for placed in scene.robots]
        for name in names:
            if names.count(name) > 1:
                raise SimulatorError(f"the scene has two models named {name!r}")
        simulation = self._load(scene)
        self._current = simulation
        return simulation

    def close(self) -> None:
        """End every process and close every port that this simulator opened. Idempotent."""
        if not self._closed:
            self._closed = True
            self._end_current("its simulator was closed")
            self._close()

    @abc.abstractmethod
    def _load(self, scene: Scene) -> Simulation:
        """See :meth:`load`. The simulator is open, the previous simulation over, and no two models
        of the scene have the same name but where the world's file has one of them."""

    @abc.abstractmethod
    def _close(self) -> None:
        """See :meth:`close`. Called once at most."""

    def _end_current(self, why: str) -> None:
        if self._current is not None:
            self._current.end(why)
            self._current = None

    def __enter__(self) -> "Simulator":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()
