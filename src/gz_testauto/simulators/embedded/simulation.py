"""One loaded world in MuJoCo, from the start to the end of the trial.

It collects measurements during a step and creates snapshots. To add or remove models it recompiles
the world and copies the state of the others.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Dict, Iterable, Mapping, Sequence, Set

import numpy as np

from gz_testauto.base.errors import SdfError, SimulatorError
from gz_testauto.base.observation import ModelState, Snapshot
from gz_testauto.sdf.dynamics import read_gravity
from gz_testauto.sdf.engine_model.bodies import EngineModel, read_engine_model
from gz_testauto.sdf.engine_model.coverage import SdfCoverage
from gz_testauto.sdf.scene import placed_model, read_scene
from gz_testauto.simulators.changes import Change, SetModel
from gz_testauto.simulators.embedded.changes import SUPPORTED_CHANGES, MujocoPropertyChanges, check
from gz_testauto.simulators.embedded.engine import Engine, MujocoLinkStates
from gz_testauto.simulators.embedded.mjcf import write_mjcf
from gz_testauto.simulators.embedded.robot import DrivenRobot
from gz_testauto.simulators.embedded.simulated_robot import MujocoRobot
from gz_testauto.simulators.interface import NamedModel, Scene
from gz_testauto.simulators.present_world import write_present_world
from gz_testauto.simulators.several_robots import SeveralRobotsSimulation

_AT_REST = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Settings:
    """The physics step (s), whether simple scenes use the fast lidar, and whether bodies slide by
    Coulomb's law."""

    step_s: float
    fast_lidar: bool
    grip: bool = False


class EmbeddedSimulation(SeveralRobotsSimulation[MujocoRobot]):
    """A world in MuJoCo; see :class:`~gz_testauto.simulators.interface.Simulation`.

    Contacts of a robot's body are those of every physics step. IMU samples and the latest due scan
    are measured in the physics step in which they are due; the first scan is of time 0.
    """

    changes = SUPPORTED_CHANGES

    def __init__(
        self,
        scene: Scene,
        robots: Sequence[DrivenRobot],
        settings: Settings,
        coverage: SdfCoverage,
    ) -> None:
        super().__init__(settings.step_s, scene.robot, scene)
        self._property_changes = MujocoPropertyChanges(settings.step_s)
        self._settings = settings
        self._coverage = coverage
        self._onboard = {
            driven.engine_robot.robot.name: MujocoRobot(
                driven,
                settings.step_s,
                np.random.default_rng([scene.seed, number] if number else scene.seed),
                settings.fast_lidar,
            )
            for number, driven in enumerate(robots)
        }
        self._ticks = 0
        self._spawned: Dict[str, str] = {}
        self._deleted: Set[str] = set()
        world = read_scene(scene.world)
        if world.document.world is None:
            raise SdfError(f"{scene.world}: has no <world>")
        coverage.check_world(world.document)
        self._document = world.document
        self._gravity = read_gravity(world.document, world.document.world)
        self._models: Dict[str, EngineModel] = {
            name: read_engine_model(model, coverage) for name, model in world.models.items()
        }
        self._written = {name: model.pose for name, model in self._models.items()}
        for driven, placed in zip(robots, scene.robots):
            name = driven.engine_robot.robot.name
            if name in self._models:
                raise SimulatorError(f"{scene.world} has a model {name!r} already")
            self._models[name] = driven.engine_robot.at(placed.start)
        for extra in scene.models:
            if extra.name in self._models:
                raise SimulatorError(f"{scene.world} has a model {extra.name!r} already")
            self._models[extra.name] = self._engine_model(extra)
            self._spawned[extra.name] = extra.sdf
        self._engine = self._compiled(self._models)
        self._still = _still(self._models)
        self._attach_robots()
        for robot in self._onboard.values():
            robot.begin()

    # the interface

    def _snapshot(self) -> Snapshot:
        return self._shown(
            self._time_s,
            {
                name: self._still.get(name) or self._engine.state(model)
                for name, model in self._models.items()
            },
            MujocoLinkStates(self._engine, tuple(self._models.values())),
        )

    def _step(self, count: int) -> None:
        end = self._ticks + count
        onboard = tuple(self._onboard.values())
        for robot in onboard:
            robot.begin_step(self._ticks, end)
        while self._ticks < end:
            self._ticks += 1
            if self._property_changes.pushes:
                self._property_changes.push(self._engine)
                self._engine.tick()
                self._engine.release()
            else:
                self._engine.tick()
            for robot in onboard:
                robot.measure(self._ticks, self._time_s, self._engine.data.sensordata)
        self._engine.check()

    def _spawn(self, models: Sequence[NamedModel]) -> None:
        added = dict(self._models)
        for model in models:
            try:
                added[model.name] = self._engine_model(model)
            except SdfError as error:
                raise SimulatorError(f"cannot spawn {model.name!r}: {error}") from error
        self._build(added)
        self._spawned.update((model.name, model.sdf) for model in models)

    def _delete(self, names: Sequence[str]) -> None:
        for name in names:
            self._onboard.pop(name, None)
        self._build({name: model for name, model in self._models.items() if name not in names})
        for name in names:
            if self._spawned.pop(name, None) is None and name in self._written:
                self._deleted.add(name)

    def _set_states(self, states: Mapping[str, ModelState]) -> None:
        """Set poses and twists; a static model has no twist."""
        for name, state in states.items():
            model = self._models[name]
            if model.static:
                self._engine.place_static(name, state.pose)
            elif model.roots:
                self._engine.place_movable(model, state)
            self._models[name] = replace(model, pose=state.pose)
        self._still = _still(self._models)
        self._engine.refresh()

    def _apply(self, changes: Sequence[Change]) -> None:
        truth = (
            self._described_world.now if any(change.part != "model" for change in changes) else None
        )
        self._property_changes.apply(self._engine, self._models, changes, truth)
        placed = {
            change.name: change.pose
            for change in changes
            if change.part == "model" and isinstance(change, SetModel) and change.pose is not None
        }
        if placed:
            for name, pose in placed.items():
                self._models[name] = replace(self._models[name], pose=pose)
            self._still = _still(self._models)

    def _check_change(self, change: Change) -> None:
        check(change, self._models, [robot.equipment.drive for robot in self._onboard.values()])

    def _save_world(self, path: Path) -> None:
        """Write the world; joints are written at the positions of their SDF."""
        poses = {
            name: model.pose if name in self._still else self._engine.state(model).pose
            for name, model in self._models.items()
        }
        robots = {name: robot.engine_robot.robot.sdf for name, robot in self._onboard.items()}
        changed = {name: pose for name, pose in poses.items() if pose != self._written.get(name)}
        write_present_world(
            path, self._document, self._deleted, {**self._spawned, **robots}, changed
        )

    def _model_names(self) -> Iterable[str]:
        return self._models

    # inside

    @property
    def _time_s(self) -> float:
        return round(self._ticks * self._settings.step_s, 9)

    def _engine_model(self, model: NamedModel) -> EngineModel:
        """Return the engine model of a model to spawn, with its pose and name."""
        return read_engine_model(placed_model(model.sdf, model.name, model.pose), self._coverage)

    def _compiled(self, models: Mapping[str, EngineModel]) -> Engine:
        engine_models = tuple(models.values())
        blueprint = write_mjcf(
            engine_models,
            self._coverage,
            self._settings.step_s,
            self._gravity,
            {name: robot.equipment for name, robot in self._onboard.items()},
            self._settings.grip,
        )
        return Engine(blueprint, engine_models)

    def _build(self, models: Mapping[str, EngineModel]) -> None:
        """Compile a world of these models, and copy the state of those that existed before."""
        engine = self._compiled(models)
        engine.copy_state(self._engine)
        if self._described is not None:
            self._property_changes.reapply(engine, models, self._described.now)
        self._engine, self._models = engine, dict(models)
        self._still = _still(self._models)
        self._attach_robots()

    def _attach_robots(self) -> None:
        """Find the robots' motors and sensors in the compiled world."""
        imus = 0
        for robot in self._onboard.values():
            robot.attach(self._engine, imus)
            imus += robot.equipment.imu is not None


def _still(models: Mapping[str, EngineModel]) -> Dict[str, ModelState]:
    """Return the states of the models that cannot move."""
    return {
        name: ModelState(model.pose, _AT_REST, _AT_REST)
        for name, model in models.items()
        if model.static or not model.roots
    }
