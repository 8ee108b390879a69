"""One loaded world in MuJoCo, from its beginning to the end of the trial.

Owns what is gathered during a step, what a snapshot is made of, and how models come and go: the
world is compiled anew with the others as they stand.
"""

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Dict, FrozenSet, Iterable, List, Mapping, Optional, Sequence, Set, Tuple

import numpy as np

from gz_testauto.errors import SdfError, SimulatorError
from gz_testauto.observation import Contact, LaserScan, ModelState, Snapshot, Twist2D
from gz_testauto.sdf.dynamics import read_gravity
from gz_testauto.sdf.edit import add_model, remove_model, set_model_pose
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.scene import placed_model, read_scene
from gz_testauto.simulators.changes import Change, SetModel
from gz_testauto.simulators.embedded.bodies import StagedModel, stage_model
from gz_testauto.simulators.embedded.changes import TAKEN, Alterations, check
from gz_testauto.simulators.embedded.engine import Engine, LinkStates, actuators
from gz_testauto.simulators.embedded.imu import ImuSamples
from gz_testauto.simulators.embedded.lidar import Lidar
from gz_testauto.simulators.embedded.mjcf import write_mjcf
from gz_testauto.simulators.embedded.robot import StagedRobot
from gz_testauto.simulators.embedded.sdf_support import Coverage
from gz_testauto.simulators.embedded.wheel_drive import Drivetrain
from gz_testauto.simulators.interface import NamedModel, Scene, Simulation

_STANDING = (0.0, 0.0, 0.0)

ROUNDING = 1e-6
"""A sensor's rate times a number of ticks that is this near to a whole number is one."""


@dataclass(frozen=True)
class Settings:
    """The physics step (s), and whether simple scenes have the fast lidar."""

    step_s: float
    fast_lidar: bool


class EmbeddedSimulation(Simulation):
    """See :class:`~gz_testauto.simulators.interface.Simulation`.

    Contacts of the robot's body are those of every physics step. IMU samples are taken, and the
    latest scan that fell due is measured, in the physics step in which they are due.
    """

    changes = TAKEN

    def __init__(
        self,
        scene: Scene,
        robot: Optional[StagedRobot],
        settings: Settings,
        coverage: Coverage,
    ) -> None:
        super().__init__(settings.step_s, robot.robot if robot is not None else None, scene)
        self._alterations = Alterations(settings.step_s)
        self._settings = settings
        self._coverage = coverage
        self._robot = robot
        self._ticks = 0
        self._command = Twist2D()
        self._scan: Optional[LaserScan] = None
        self._imu = ImuSamples()
        self._contacts: List[Contact] = []
        self._noise = np.random.default_rng(scene.seed)
        self._spawned: Dict[str, str] = {}
        self._deleted: Set[str] = set()
        world = read_scene(scene.world)
        if world.document.world is None:
            raise SdfError(f"{scene.world}: has no <world>")
        coverage.check_world(world.document)
        self._document = world.document
        self._gravity = read_gravity(world.document, world.document.world)
        self._models: Dict[str, StagedModel] = {
            name: stage_model(model, coverage) for name, model in world.models.items()
        }
        self._written = {name: model.pose for name, model in self._models.items()}
        if robot is not None:
            if robot.robot.name in self._models:
                raise SimulatorError(f"{scene.world} has a model {robot.robot.name!r} already")
            self._models[robot.robot.name] = robot.at(scene.start)
        for extra in scene.models:
            if extra.name in self._models:
                raise SimulatorError(f"{scene.world} has a model {extra.name!r} already")
            self._models[extra.name] = self._staged(extra)
            self._spawned[extra.name] = extra.sdf
        self._engine = self._compiled(self._models)
        self._still = _still(self._models)
        self._fit_robot()

    # the interface

    def _snapshot(self) -> Snapshot:
        snapshot = Snapshot(
            time_s=self._time_s,
            models={
                name: self._still.get(name) or self._engine.state(model)
                for name, model in self._models.items()
            },
            links=LinkStates(self._engine, tuple(self._models.values())),
            scan=self._scan,
            imu=self._imu,
            contacts=tuple(self._contacts),
        )
        self._imu = ImuSamples()
        self._contacts.clear()
        return snapshot

    def _drive(self, command: Twist2D) -> None:
        assert self._robot is not None, "the interface asks before"
        if not self._robot.drive.motors:
            raise SimulatorError(
                f"robot {self._robot.robot.name!r} has no drive that is known: give its SDF "
                "libDiffDrivePlugin.so or libSkidSteerDrivePlugin.so"
            )
        self._command = command
        self._set_motors()

    def _step(self, count: int) -> None:
        end = self._ticks + count
        imu_ticks, scan_ticks = self._due_ticks(end)
        last_scan = max(scan_ticks, default=-1)  # those before it nobody would see
        while self._ticks < end:
            self._ticks += 1
            if self._alterations.pushes:
                self._alterations.push(self._engine)
                self._engine.tick()
                self._engine.release()
            else:
                self._engine.tick()
            if self._body and self._engine.touches(self._body):
                self._contacts += self._engine.contacts(self._body, self._time_s)
            if self._ticks in imu_ticks:
                self._imu.add(self._time_s, self._engine.data.sensordata.tolist())
            if self._ticks == last_scan and self._lidar is not None:
                self._scan = self._lidar.scan(self._time_s)
        self._engine.check()

    def _spawn(self, models: Sequence[NamedModel]) -> None:
        added = dict(self._models)
        for model in models:
            try:
                added[model.name] = self._staged(model)
            except SdfError as error:
                raise SimulatorError(f"cannot spawn {model.name!r}: {error}") from error
        self._build(added)
        self._spawned.update((model.name, model.sdf) for model in models)

    def _delete(self, names: Sequence[str]) -> None:
        if self._robot is not None and self._robot.robot.name in names:
            self._robot = None
        self._build({name: model for name, model in self._models.items() if name not in names})
        for name in names:
            if self._spawned.pop(name, None) is None and name in self._written:
                self._deleted.add(name)

    def _set_states(self, states: Mapping[str, ModelState]) -> None:
        """One that is static has no twist."""
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
        truth = self._truth.now if any(change.part != "model" for change in changes) else None
        self._alterations.apply(self._engine, self._models, changes, truth)
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
        check(change, self._models, self._robot.drive if self._robot is not None else None)

    def _save_world(self, path: Path) -> None:
        """Joints that have moved are written where their SDF has them."""
        document = self._document.copy()
        ModelLibrary().absolutize(document, document.world)
        try:
            for name in sorted(self._deleted):
                remove_model(document, name)
            for name, sdf in self._spawned.items():
                add_model(document, sdf, name=name)
            if self._robot is not None:
                add_model(document, self._robot.robot.sdf, name=self._robot.robot.name)
            for name, model in self._models.items():
                pose = model.pose if name in self._still else self._engine.state(model).pose
                if pose != self._written.get(name):
                    set_model_pose(document, name, pose)
            document.write(path)
        except SdfError as error:
            raise SimulatorError(f"cannot save the world: {error}") from error

    def _model_names(self) -> Iterable[str]:
        return self._models

    # inside

    @property
    def _time_s(self) -> float:
        return round(self._ticks * self._settings.step_s, 9)

    def _staged(self, model: NamedModel) -> StagedModel:
        """A model to spawn, staged at the pose and under the name that it shall have."""
        return stage_model(placed_model(model.sdf, model.name, model.pose), self._coverage)

    def _compiled(self, models: Mapping[str, StagedModel]) -> Engine:
        robot, staged = self._robot, tuple(models.values())
        blueprint = write_mjcf(
            staged,
            self._coverage,
            self._settings.step_s,
            self._gravity,
            robot.drive if robot is not None else Drivetrain(),
            robot.imu if robot is not None else None,
        )
        return Engine(blueprint, staged)

    def _build(self, models: Mapping[str, StagedModel]) -> None:
        """Compile a world of these models, those that were there before as they stand."""
        engine = self._compiled(models)
        engine.take_over(self._engine)
        if self._described is not None:
            self._alterations.redo(engine, models, self._described.now)
        self._engine, self._models = engine, dict(models)
        self._still = _still(self._models)
        self._fit_robot()

    def _fit_robot(self) -> None:
        """Find the robot's motors and sensors in the world that was compiled."""
        robot, engine = self._robot, self._engine
        self._lidar: Optional[Lidar] = None
        self._motors: Optional[np.ndarray] = None
        self._body: FrozenSet[int] = frozenset()
        if robot is None:
            return
        self._body = engine.geoms_of(robot.body_shapes)
        self._motors = actuators(engine, [motor.name for motor in robot.drive.motors])
        self._set_motors()
        if robot.lidar is not None and robot.robot.lidar is not None:
            self._lidar = Lidar(
                engine.model,
                engine.data,
                robot.robot.lidar,
                engine.body(robot.lidar.body),
                robot.lidar.pose,
                robot.lidar_noise_m,
                self._noise,
                None if self._settings.fast_lidar else False,
            )

    def _set_motors(self) -> None:
        if self._robot is not None and self._motors is not None:
            self._engine.data.ctrl[self._motors] = self._robot.drive.speeds(self._command)

    def _due_ticks(self, end: int) -> Tuple[Set[int], Set[int]]:
        """The physics steps up to ``end`` in which the IMU and the lidar measure."""
        robot = self._robot.robot if self._robot is not None else None
        imu, lidar = (robot.imu, robot.lidar) if robot is not None else (None, None)
        step_s = self._settings.step_s
        return (
            due_ticks(self._ticks, end, imu.update_rate_hz * step_s) if imu else set(),
            due_ticks(self._ticks, end, lidar.update_rate_hz * step_s) if lidar else set(),
        )


def due_ticks(start: int, end: int, per_tick: float) -> Set[int]:
    """The ticks after ``start`` and up to ``end`` in which a sensor measures that does so
    ``per_tick`` times in each; in all of them when that is 0, as in SDF, or more than 1."""
    if not 0.0 < per_tick < 1.0:
        return set(range(start + 1, end + 1))
    first = math.floor(start * per_tick + ROUNDING) + 1
    last = math.floor(end * per_tick + ROUNDING)
    return {math.ceil(count / per_tick - ROUNDING) for count in range(first, last + 1)}


def _still(models: Mapping[str, StagedModel]) -> Dict[str, ModelState]:
    """The states of what cannot move."""
    return {
        name: ModelState(model.pose, _STANDING, _STANDING)
        for name, model in models.items()
        if model.static or not model.roots
    }
