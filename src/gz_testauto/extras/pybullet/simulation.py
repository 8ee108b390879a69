"""One loaded world in Bullet, from its beginning to the end of the trial.

Owns what is gathered during a step, what a snapshot is made of, and how models come and go.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any, Dict, Iterable, List, Mapping, Sequence, Set

import numpy as np

from gz_testauto.base.errors import SdfError, SimulatorError
from gz_testauto.base.observation import ModelState, Snapshot
from gz_testauto.base.pose import Pose
from gz_testauto.extras.pybullet.changes import SUPPORTED_CHANGES, Alterations, check
from gz_testauto.extras.pybullet.motion import (
    STANDING,
    LinkStates,
    place_movable,
    place_static,
)
from gz_testauto.extras.pybullet.onboard import Onboard
from gz_testauto.extras.pybullet.world import World
from gz_testauto.sdf.dynamics import read_gravity
from gz_testauto.sdf.engine_model.bodies import EngineModel, read_engine_model
from gz_testauto.sdf.engine_model.coverage import SdfCoverage
from gz_testauto.sdf.engine_model.robots import EngineRobot
from gz_testauto.sdf.scene import placed_model, read_scene
from gz_testauto.simulators.changes import Change, SetModel
from gz_testauto.simulators.interface import NamedModel, Scene
from gz_testauto.simulators.present_world import write_present_world
from gz_testauto.simulators.several_robots import SeveralRobotsSimulation


class PyBulletSimulation(SeveralRobotsSimulation[Onboard]):
    """See :class:`~gz_testauto.simulators.interface.Simulation`.

    Contacts of a robot's body are those of every physics step. IMU samples are taken, and the
    latest scan that fell due is measured, in the physics step in which they are due; the first scan
    is of time 0.
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
        self._alterations = Alterations(step_s)
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
        self._add_brought(models, scene, robots)
        gravity = read_gravity(read.document, read.document.world)
        names = frozenset(engine_robot.robot.name for engine_robot in robots)
        self._world = World(client, step_s, gravity, coverage, names)
        self._world.add(models.values())
        self._onboard = {
            engine_robot.robot.name: Onboard(
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
            LinkStates(self._world.client, tuple(self._world.models.values())),
        )

    def _step(self, count: int) -> None:
        end = self._ticks + count
        onboard = tuple(self._onboard.values())
        for robot in onboard:
            robot.begin_step(self._ticks, end)
        while self._ticks < end:
            self._ticks += 1
            self._world.tick(self._alterations.pushes.tick())
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
        self._alterations.pushes.keep(self._world.models)
        for name in names:
            self._onboard.pop(name, None)
            if self._spawned.pop(name, None) is None and name in self._written:
                self._deleted.add(name)

    def _set_states(self, states: Mapping[str, ModelState]) -> None:
        """One that is static has no twist."""
        for name, state in states.items():
            built = self._world.models[name]
            if built.links:
                place_movable(self._world.client, built, state)
            else:
                place_static(self._world.client, built, state.pose)
            self._note_pose(name, state.pose)
        self._world.placed()

    def _apply(self, changes: Sequence[Change]) -> None:
        truth = (
            self._described_world.now if any(change.part != "model" for change in changes) else None
        )
        self._alterations.apply(self._world, changes, truth)
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

    def _add_brought(
        self, models: Dict[str, EngineModel], scene: Scene, robots: Sequence[EngineRobot]
    ) -> None:
        """Add to the models of the world's file those that the scene brings."""
        brought = {
            engine_robot.robot.name: engine_robot.at(placed.start)
            for engine_robot, placed in zip(robots, scene.robots)
        }
        for extra in scene.models:
            brought[extra.name] = self._engine_model(extra)
            self._spawned[extra.name] = extra.sdf
        for name, model in brought.items():
            if name in models:
                raise SimulatorError(f"{scene.world} has a model {name!r} already")
            models[name] = model

    @property
    def _time_s(self) -> float:
        return round(self._ticks * self.step_size_s, 9)

    def _engine_model(self, model: NamedModel) -> EngineModel:
        """A model to spawn, read at the pose and under the name that it shall have."""
        return read_engine_model(placed_model(model.sdf, model.name, model.pose), self._coverage)

    def _state(self, name: str) -> ModelState:
        built = self._world.models[name]
        if built.links:
            return self._world.state(name)
        return ModelState(built.model.pose, STANDING, STANDING)

    def _note_pose(self, name: str, pose: Pose) -> None:
        """Where a model stands that Bullet does not tell of."""
        built = self._world.models[name]
        built.model = replace(built.model, pose=pose)
