"""Simulators in this process whose physics engine represents models as trees of bodies.

An adaptor adds its :class:`PhysicsEngine`, its robots, and the conversion of models.
"""

import abc
from collections import ChainMap
from dataclasses import replace
from pathlib import Path
from typing import (
    Any,
    Dict,
    Generic,
    Iterable,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    TypeVar,
)

import numpy as np
from typing_extensions import Protocol

from gz_testauto.base.errors import SdfError, SimulatorError
from gz_testauto.base.observation import ModelState, Snapshot
from gz_testauto.base.pose import Pose
from gz_testauto.base.truncation import join_truncated
from gz_testauto.sdf.engine_model.bodies import EngineModel, read_engine_model
from gz_testauto.sdf.engine_model.coverage import SdfCoverage
from gz_testauto.sdf.engine_model.robots import EngineRobot
from gz_testauto.sdf.robot import RobotModel
from gz_testauto.sdf.scene import placed_model
from gz_testauto.simulators.changes import (
    ALL,
    Change,
    Push,
    SetFriction,
    SetGravity,
    SetJoint,
    SetLink,
    SetMass,
    SetModel,
    Vector,
)
from gz_testauto.simulators.engine_robot import SeveralRobotsSimulation, SimulatedRobot
from gz_testauto.simulators.interface import NamedModel, Scene, Simulation, Simulator
from gz_testauto.simulators.world_file import LoadedWorld

AT_REST: Vector = (0.0, 0.0, 0.0)


class PhysicsEngine(Protocol):
    """One world in a physics engine. All states that it accepts or returns include a twist."""

    def step(self, pushes: Sequence[Push]) -> None:
        """Advance by one physics step, during which the forces of ``pushes`` act."""

    def check(self) -> None:
        """Raise ``SimulatorError`` if the state of the world has diverged."""

    def state(self, model: EngineModel) -> ModelState:
        """Return the pose and twist of a movable model, in the world frame."""

    def place_static(self, model: EngineModel, pose: Pose) -> None: ...

    def place_movable(self, model: EngineModel, state: ModelState) -> None:
        """Set the pose and twist of a model; the joints keep their positions and stop."""

    def set_twist(self, model: EngineModel, state: ModelState) -> None:
        """Set the twist of a model, which must be at the pose of ``state``."""

    def link_state(self, link: str) -> ModelState:
        """Return the pose and twist, in the world frame, of a link without a joint."""

    def place_link(self, link: str, state: ModelState) -> None: ...

    def set_link_twist(self, link: str, state: ModelState) -> None:
        """Set the twist of a link without a joint, which must be at the pose of ``state``."""

    def set_joint(self, joint: str, position: Optional[float], velocity: Optional[float]) -> None:
        """Set the position and speed of a joint with one axis, unless they are None."""

    def set_mass(self, link: str, mass_kg: float) -> None:
        """Set the mass of a link and scale its inertia by the same factor."""

    def set_friction(self, collision: str, coefficient: float) -> None: ...

    def set_gravity(self, gravity_mps2: Vector) -> None: ...


Robot = TypeVar("Robot", bound=SimulatedRobot)


class EngineSimulation(SeveralRobotsSimulation[Robot]):
    """A world in a physics engine; see :class:`~gz_testauto.simulators.interface.Simulation`.

    A snapshot contains the contacts of a robot's body in every physics step, and the latest scan.

    An adaptor sets ``_engine`` and ``_onboard`` in its constructor and then calls :meth:`_begin`.
    """

    changes = ALL
    _engine: PhysicsEngine

    def __init__(
        self, scene: Scene, robots: Sequence[EngineRobot], step_s: float, coverage: SdfCoverage
    ) -> None:
        """Read the world and the models of a scene.

        Raises ``SdfError`` for unsupported SDF, and ``SimulatorError`` for a name in use.
        """
        super().__init__(step_s, scene)
        self._coverage = coverage
        self._pushes: List[Tuple[Push, int]] = []
        self._steps = 0
        self._world = LoadedWorld(scene.world, self._added_sdf)
        coverage.check_world(self._world.document)
        self._models: Dict[str, EngineModel] = {
            name: read_engine_model(model, coverage) for name, model in self._world.models.items()
        }
        for robot, placed_robot in zip(robots, scene.robots):
            self._models[robot.robot.name] = robot.at(placed_robot.start)
        for model in scene.models:
            self._models[model.name] = self._read_engine_model(model)
        self._list_models()

    def _begin(self) -> None:
        """Measure the scans at time 0. An adaptor calls it at the end of its constructor."""
        for robot in self._onboard.values():
            robot.measure_scan(0.0)
        self._begin_sensors()

    # implemented for each physics engine

    @abc.abstractmethod
    def _link_states(self) -> Mapping[str, ModelState]: ...

    @abc.abstractmethod
    def _add(self, models: Dict[str, EngineModel]) -> None:
        """Add all models, or none of them and raise ``SdfError`` if one is not supported."""

    @abc.abstractmethod
    def _remove(self, names: Sequence[str]) -> None: ...

    def _update(self) -> None:
        """Recompute dependent quantities, such as contacts, after states or properties were set."""

    # methods of the interface

    def _snapshot(self) -> Snapshot:
        changing_states = {name: self._state(name) for name in self._changing}
        # A copy of all states or models takes longer than a step. The second mapping has all names.
        states = ChainMap(changing_states, self._first_states)
        return self._make_snapshot(self._time_s, states, self._link_states())

    def _step(self, count: int) -> None:
        end = self._steps + count
        engine, onboard = self._engine, tuple(self._onboard.values())
        for robot in onboard:
            robot.begin_step(self._steps, end)
        while self._steps < end:
            self._steps += 1
            engine.step([push for push, last in self._pushes if self._steps <= last])
            time_s = self._time_s
            for robot in onboard:
                robot.measure(self._steps, time_s)
        self._pushes = [(push, last) for push, last in self._pushes if self._steps < last]
        engine.check()

    def _spawn(self, models: Sequence[NamedModel]) -> None:
        try:
            new_models = {model.name: self._read_engine_model(model) for model in models}
            self._add(new_models)
        except SdfError as error:
            names = join_truncated([repr(model.name) for model in models])
            raise SimulatorError(f"cannot spawn {names}: {error}") from error
        self._models.update(new_models)
        self._list_models()

    def _delete(self, names: Sequence[str]) -> None:
        for name in names:
            self._onboard.pop(name, None)
        self._remove(names)
        for name in names:
            del self._models[name]
        self._list_models()
        self._pushes = [
            (push, last) for push, last in self._pushes if push.name.split("::", 1)[0] not in names
        ]

    def _set_states(self, states: Mapping[str, ModelState]) -> None:
        for name, state in states.items():
            self._place(name, state)
        self._update()

    def _apply(self, changes: Sequence[Change]) -> None:
        for change in changes:
            if isinstance(change, Push):
                count = max(1, round(change.duration_s / self.step_size_s))
                self._pushes.append((change, self._steps + count))
            elif isinstance(change, SetLink):
                if change.pose is None:
                    state = change.with_twist(self._engine.link_state(change.name))
                    self._engine.set_link_twist(change.name, state)
                else:
                    self._engine.place_link(change.name, _complete_state(change.pose, change))
            elif isinstance(change, SetModel):
                model = self._models[change.name]
                if change.pose is not None:
                    self._place(change.name, _complete_state(change.pose, change))
                elif change.linear_mps is not None or change.angular_radps is not None:
                    state = change.with_twist(self._engine.state(model))
                    self._engine.set_twist(model, state)
            elif isinstance(change, SetJoint):
                self._engine.set_joint(change.name, change.position, change.velocity)
            else:
                self._set_property(change)
        self._update()

    def _set_property(self, change: Change) -> None:
        description = self._described_world.now
        if isinstance(change, SetMass):
            inertial = description.links[change.name].inertial
            assert inertial is not None, "checked by require()"
            self._engine.set_mass(change.name, inertial.mass_kg)
        elif isinstance(change, SetFriction):
            collision = description.collisions[change.name]
            self._engine.set_friction(change.name, min(collision.mu, collision.mu2))
        elif isinstance(change, SetGravity):
            self._engine.set_gravity(change.mps2)
        # visuals and lights have no effect: the lidar does not detect colors

    def _check_change(self, change: Change) -> None:
        if isinstance(change, SetLink):
            roots = self._models[change.name.split("::", 1)[0]].roots
            if not any(root.name == change.name and root.joint is None for root in roots):
                raise SimulatorError(
                    f"SetLink: {change.name!r} is attached to a joint; use SetJoint or SetModel"
                )
        elif (
            isinstance(change, SetModel)
            and (change.linear_mps or change.angular_radps)
            and _never_moves(self._models[change.name])
        ):
            raise SimulatorError(
                f"SetModel: {change.name!r} is static, so it has no twist; set the pose only"
            )

    def _save_world(self, path: Path) -> None:
        poses = {name: self._state(name).pose for name in self._models}
        self._world.write(path, self._removed, self._added_sdf, poses)

    def _model_names(self) -> Iterable[str]:
        return self._models

    # private methods

    @property
    def _time_s(self) -> float:
        return round(self._steps * self.step_size_s, 9)

    def _read_engine_model(self, model: NamedModel) -> EngineModel:
        return read_engine_model(placed_model(model.sdf, model.name, model.pose), self._coverage)

    def _list_models(self) -> None:
        """List all models with their states, and the names of those that can change in a step."""
        self._first_models = dict(self._models)
        self._first_states = {
            name: ModelState(model.pose, AT_REST, AT_REST) for name, model in self._models.items()
        }
        self._changing = {name for name, model in self._models.items() if not _never_moves(model)}

    @property
    def _present_models(self) -> Mapping[str, EngineModel]:
        """The present models by name. Later changes have no effect on this mapping."""
        changing_models = {name: self._models[name] for name in self._changing}
        return ChainMap(changing_models, self._first_models)

    def _state(self, name: str) -> ModelState:
        model = self._models[name]
        if _never_moves(model):
            return ModelState(model.pose, AT_REST, AT_REST)
        return self._engine.state(model)

    def _place(self, name: str, state: ModelState) -> None:
        model = self._models[name]
        if model.static:
            self._engine.place_static(model, state.pose)
        elif model.roots:
            self._engine.place_movable(model, _complete_state(state.pose, state))
        self._models[name] = replace(model, pose=state.pose)
        self._changing.add(name)


def _never_moves(model: EngineModel) -> bool:
    return model.static or not model.roots


def _complete_state(pose: Pose, twist: Any) -> ModelState:
    """Return a state with the velocities of ``twist``, in which zero replaces None."""
    return ModelState(pose, twist.linear_mps or AT_REST, twist.angular_radps or AT_REST)


def velocity_at(linear: Vector, angular: Vector, point: Vector, origin: Vector) -> Vector:
    """Return the linear velocity (m/s) of a rigid body at ``point``.

    ``linear`` is the velocity at ``origin``. ``angular`` is in rad/s. All vectors have one frame.
    """
    x, y, z = point[0] - origin[0], point[1] - origin[1], point[2] - origin[2]
    return (
        linear[0] + (angular[1] * z - angular[2] * y),
        linear[1] + (angular[2] * x - angular[0] * z),
        linear[2] + (angular[0] * y - angular[1] * x),
    )


def noise_generators(scene: Scene) -> List[np.random.Generator]:
    seeds = [[scene.seed, number] if number else scene.seed for number in range(len(scene.robots))]
    return [np.random.default_rng(seed) for seed in seeds]


ReadRobot = TypeVar("ReadRobot")


class EngineSimulator(Simulator, Generic[ReadRobot]):
    """A simulator whose physics engine is a library in this process.

    Only the parsed robots and the set of logged warnings are kept between scenes.
    """

    several_robots = True
    senses = True
    changes = ALL

    def __init__(self, step_s: float) -> None:
        if not 0.0 < step_s <= 0.02:
            raise ValueError("step_s must be above 0 and at most 0.02")
        self._step_s = step_s
        self._coverage = SdfCoverage(self.name)
        self._robots: Dict[RobotModel, ReadRobot] = {}

    @abc.abstractmethod
    def _read_robot(self, robot: RobotModel) -> ReadRobot:
        """Convert a robot for the engine. Raises ``SdfError`` if it is not supported."""

    @abc.abstractmethod
    def _simulation(self, scene: Scene, robots: Sequence[ReadRobot]) -> Simulation:
        """Load a scene with the results of :meth:`_read_robot`.

        Raises ``SdfError`` for unsupported SDF, and ``SimulatorError`` for another cause.
        """

    def _load(self, scene: Scene) -> Simulation:
        try:
            for placed_robot in scene.robots:
                if placed_robot.robot not in self._robots:
                    self._robots[placed_robot.robot] = self._read_robot(placed_robot.robot)
            return self._simulation(
                scene, [self._robots[placed_robot.robot] for placed_robot in scene.robots]
            )
        except SdfError as error:
            raise SimulatorError(f"cannot load {scene.world}: {error}") from error

    def _close(self) -> None:
        self._robots.clear()
