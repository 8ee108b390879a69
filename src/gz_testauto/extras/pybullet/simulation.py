"""One loaded world in Bullet, from the start to the end of the trial.

It collects measurements during a step, creates snapshots, and adds and removes models.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any, Dict, Iterable, List, Mapping, Sequence, Set

import numpy as np

from gz_testauto.base.errors import SdfError, SimulatorError
from gz_testauto.base.observation import ModelState, Snapshot
from gz_testauto.base.pose import Pose
from gz_testauto.extras.pybullet.changes import SUPPORTED_CHANGES, BulletPropertyChanges, check
from gz_testauto.extras.pybullet.motion import (
    AT_REST,
    BulletLinkStates,
    place_movable,
    place_static,
)
from gz_testauto.extras.pybullet.simulated_robot import BulletRobot
from gz_testauto.extras.pybullet.world import BulletWorld
from gz_testauto.sdf.dynamics import read_gravity
from gz_testauto.sdf.engine_model.bodies import EngineModel, read_engine_model
from gz_testauto.sdf.engine_model.coverage import SdfCoverage
from gz_testauto.sdf.engine_model.robots import EngineRobot
from gz_testauto.sdf.scene import placed_model, read_scene
from gz_testauto.simulators.changes import Change, SetModel
from gz_testauto.simulators.interface import NamedModel, Scene
from gz_testauto.simulators.present_world import write_present_world
from gz_testauto.simulators.several_robots import SeveralRobotsSimulation


class PyBulletSimulation(SeveralRobotsSimulation[BulletRobot]):
    """A world in Bullet; see :class:`~gz_testauto.simulators.interface.Simulation`.

    Contacts of a robot's body are those of every physics step. IMU samples and the latest due scan
    are measured in the physics step in which they are due; the first scan is of time 0.
    """

    changes = SUPPORTED_CHANGES

    def __init__(
        self,
        client: Any,
        scene: Scene,
        robots: Sequence[EngineRobot],
        step_s: float,
        coverage: SdfCoverage,
    ) -> None:
        super().__init__(step_s, scene.robot, scene)
        self._coverage = coverage
        self._property_changes = BulletPropertyChanges(step_s)
        self._ticks = 0
        self._spawned: Dict[str, str] = {}
        self._deleted: Set[str] = set()
        read = read_scene(scene.world)
        if read.document.world is None:
            raise SdfError(f"{scene.world}: has no <world>")
        coverage.check_world(read.document)
        self._document = read.document
        models = {name: read_engine_model(model, coverage) for name, model in read.models.items()}
        self._written = {name: model.pose for name, model in models.items()}
        self._add_spawned(models, scene, robots)
        gravity = read_gravity(read.document, read.document.world)
        names = frozenset(engine_robot.robot.name for engine_robot in robots)
        self._world = BulletWorld(client, step_s, gravity, coverage, names)
        self._world.add(models.values())
        self._onboard = {
            engine_robot.robot.name: BulletRobot(
                engine_robot,
                self._world,
                np.random.default_rng([scene.seed, number] if number else scene.seed),
            )
            for number, engine_robot in enumerate(robots)
        }
        for robot in self._onboard.values():
            robot.begin()

    # the interface

    def _snapshot(self) -> Snapshot:
        return self._shown(
            self._time_s,
            {name: self._state(name) for name in self._world.models},
            BulletLinkStates(self._world.client, tuple(self._world.models.values())),
        )

    def _step(self, count: int) -> None:
        end = self._ticks + count
        onboard = tuple(self._onboard.values())
        for robot in onboard:
            robot.begin_step(self._ticks, end)
        while self._ticks < end:
            self._ticks += 1
            self._world.tick(self._property_changes.pushes.tick())
            for robot in onboard:
                robot.measure(self._ticks, self._time_s, self._world.gravity_mps2)
        self._world.check()

    def _spawn(self, models: Sequence[NamedModel]) -> None:
        engine_models: List[EngineModel] = []
        for model in models:
            try:
                engine_models.append(self._engine_model(model))
            except SdfError as error:
                raise SimulatorError(f"cannot spawn {model.name!r}: {error}") from error
        try:
            self._world.add(engine_models)
        except SdfError as error:
            raise SimulatorError(f"cannot spawn: {error}") from error
        self._spawned.update((model.name, model.sdf) for model in models)

    def _delete(self, names: Sequence[str]) -> None:
        self._world.remove(names)
        self._property_changes.pushes.keep(self._world.models)
        for name in names:
            self._onboard.pop(name, None)
            if self._spawned.pop(name, None) is None and name in self._written:
                self._deleted.add(name)

    def _set_states(self, states: Mapping[str, ModelState]) -> None:
        """Set poses and twists; a static model has no twist."""
        for name, state in states.items():
            built = self._world.models[name]
            if built.links:
                place_movable(self._world.client, built, state)
            else:
                place_static(self._world.client, built, state.pose)
            self._note_pose(name, state.pose)
        self._world.correct_overlaps()

    def _apply(self, changes: Sequence[Change]) -> None:
        truth = (
            self._described_world.now if any(change.part != "model" for change in changes) else None
        )
        self._property_changes.apply(self._world, changes, truth)
        for change in changes:
            if change.part == "model" and isinstance(change, SetModel) and change.pose is not None:
                self._note_pose(change.name, change.pose)

    def _check_change(self, change: Change) -> None:
        check(change, self._world.models)

    def _save_world(self, path: Path) -> None:
        robots = {name: robot.engine_robot.robot.sdf for name, robot in self._onboard.items()}
        poses = {name: self._state(name).pose for name in self._world.models}
        changed = {name: pose for name, pose in poses.items() if pose != self._written.get(name)}
        added = {**self._spawned, **robots}
        write_present_world(path, self._document, self._deleted, added, changed)

    def _model_names(self) -> Iterable[str]:
        return self._world.models

    # inside

    def _add_spawned(
        self, models: Dict[str, EngineModel], scene: Scene, robots: Sequence[EngineRobot]
    ) -> None:
        """Add the robots and models of the scene to those of the world file."""
        spawned = {
            engine_robot.robot.name: engine_robot.at(placed.start)
            for engine_robot, placed in zip(robots, scene.robots)
        }
        for extra in scene.models:
            spawned[extra.name] = self._engine_model(extra)
            self._spawned[extra.name] = extra.sdf
        for name, model in spawned.items():
            if name in models:
                raise SimulatorError(f"{scene.world} has a model {name!r} already")
            models[name] = model

    @property
    def _time_s(self) -> float:
        return round(self._ticks * self.step_size_s, 9)

    def _engine_model(self, model: NamedModel) -> EngineModel:
        """Return the engine model of a model to spawn, with its pose and name."""
        return read_engine_model(placed_model(model.sdf, model.name, model.pose), self._coverage)

    def _state(self, name: str) -> ModelState:
        built = self._world.models[name]
        if built.links:
            return self._world.state(name)
        return ModelState(built.model.pose, AT_REST, AT_REST)

    def _note_pose(self, name: str, pose: Pose) -> None:
        """Store the pose of a static model, which Bullet does not return."""
        built = self._world.models[name]
        built.model = replace(built.model, pose=pose)
