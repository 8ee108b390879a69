"""The simulator ``kinematic``, in which a robot moves exactly as commanded.

The robot's x, y and yaw follow the velocity command, its height, roll and pitch the ground. All
other models keep their poses.
"""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Dict, Iterable, List, Mapping, Optional, Sequence

import numpy as np

from gz_testauto.base.errors import SdfError, SimulatorError
from gz_testauto.base.observation import (
    Contact,
    ImuSample,
    LaserScan,
    ModelState,
    Snapshot,
    Twist2D,
)
from gz_testauto.base.pose import Pose, Pose2D, wrap_angle
from gz_testauto.sdf.scene import SceneModel, placed_model
from gz_testauto.simulators.engine_robot import LazyImuSamples, due_steps
from gz_testauto.simulators.interface import NamedModel, Scene, Simulation, Simulator
from gz_testauto.simulators.kinematic.ground import GroundSurface
from gz_testauto.simulators.kinematic.motion import EARLIER_POSES, PoseHistory, arc
from gz_testauto.simulators.kinematic.obstacles import Obstacles
from gz_testauto.simulators.kinematic.stance import GroundedStance, Stance
from gz_testauto.simulators.world_file import LoadedWorld

_STILL = (0.0, 0.0, 0.0)


class KinematicSimulator(Simulator):
    """A simulator of an ideal robot, which moves as commanded and follows the ground.

    ``step_s`` replaces the physics step of the world file. Bodies have no mass: an obstacle stops
    the robot, and no other model moves.
    """

    name = "kinematic"
    version = "1"
    sets_twist = False

    def __init__(self, step_s: float = 0.001) -> None:
        if not 0.0 < step_s <= 0.02:
            raise ValueError("step_s must be above 0 and at most 0.02")
        self._step_s = step_s

    def _load(self, scene: Scene) -> "KinematicSimulation":
        try:
            return KinematicSimulation(scene, self._step_s)
        except SdfError as error:
            raise SimulatorError(f"cannot load {scene.world}: {error}") from error

    def _close(self) -> None: ...


class KinematicSimulation(Simulation):
    def __init__(self, scene: Scene, step_s: float) -> None:
        super().__init__(step_s, scene.robot, scene)
        self._steps = 0
        self._command = Twist2D()
        self._history: PoseHistory
        self._scan: Optional[LaserScan] = None
        self._contacts: List[Contact] = []
        self._world = LoadedWorld(scene.world, self._added_sdf)
        self._models: Dict[str, SceneModel] = dict(self._world.models)
        self._gravity = np.array(self._world.gravity_mps2)
        spawned_models = list(scene.models)
        if scene.robot is not None:
            spawned_models.insert(
                0, NamedModel(scene.robot.name, scene.robot.sdf, scene.start.to_pose())
            )
        self._add(spawned_models)
        if scene.robot is not None:
            body = self._models[scene.robot.name]
            shape_name = (*body.body_shapes, *body.collisions)[0].scoped_name
            self._stance = Stance(scene.robot)
            self._obstacles = Obstacles(scene.robot, shape_name)
        self._imu = LazyImuSamples()
        self._update_models()
        self._place(scene.start)
        self._measure_ranges(scene.start, 0)

    def ground_m(self, x_m: np.ndarray, y_m: np.ndarray) -> np.ndarray:
        """Return the heights (m) of the ground in the world frame at points, NaN without ground."""
        heights = self._ground.height_m(np.asarray(x_m), np.asarray(y_m))
        return np.where(np.isinf(heights), np.nan, heights)

    # methods of the interface

    def _snapshot(self) -> Snapshot:
        models = dict(self._resting_states)
        if self.robot is not None:
            models[self.robot.name] = self._history.state
        imu, contacts = self._imu, tuple(self._contacts)
        self._imu = LazyImuSamples()
        self._contacts.clear()
        return Snapshot(self._time_s(self._steps), models, {}, self._scan, imu, contacts)

    def _drive(self, command: Twist2D) -> None:
        self._command = command

    def _step(self, count: int) -> None:
        end = self._steps + count
        robot = self.robot
        if robot is None:
            self._steps = end
            return
        sample_steps = due_steps(robot.imu, self.step_size_s, self._steps, end)
        scan_steps = due_steps(robot.lidar, self.step_size_s, self._steps, end)
        scan_step = max(scan_steps, default=-1)  # only the latest scan can be read
        while self._steps < end:
            poses = self._next_poses(end - self._steps)
            previous_steps, self._steps = self._steps, self._steps + len(poses)
            self._history = self._history.followed_by(poses, self._grounded_stance)
            x, y, yaw = poses[-1].tolist()
            self._planar = Pose2D(x, y, wrap_angle(yaw))
            due_steps_now = [step for step in sample_steps if previous_steps < step <= self._steps]
            if due_steps_now:
                self._imu.add(
                    len(due_steps_now),
                    partial(self._imu_samples, self._history, previous_steps, due_steps_now),
                )
            if previous_steps < scan_step <= self._steps:
                base = Pose2D(*poses[scan_step - previous_steps - 1].tolist())
                self._measure_ranges(base, scan_step)

    def _spawn(self, models: Sequence[NamedModel]) -> None:
        try:
            self._add(models)
        except SdfError as error:
            raise SimulatorError(f"cannot spawn: {error}") from error
        self._update_models()

    def _delete(self, names: Sequence[str]) -> None:
        for name in names:
            del self._models[name]
        self._update_models()

    def _set_states(self, states: Mapping[str, ModelState]) -> None:
        """Set poses, but only x, y and yaw of the robot's pose. Twists are ignored."""
        for name, state in states.items():
            self._models[name] = _place_model(self._models[name], state.pose)
        self._update_models()
        if self.robot is not None and self.robot.name in states:
            self._place(states[self.robot.name].pose.planar)

    def _save_world(self, path: Path) -> None:
        poses = {name: model.pose for name, model in self._models.items()}
        if self.robot is not None:
            poses[self.robot.name] = self._history.pose
        self._world.write(path, self._removed, self._added_sdf, poses)

    def _model_names(self) -> Iterable[str]:
        return self._models

    # private methods

    def _add(self, models: Sequence[NamedModel]) -> None:
        new_models = {
            model.name: placed_model(model.sdf, model.name, model.pose) for model in models
        }
        self._models.update(new_models)

    def _update_models(self) -> None:
        robot = None if self.robot is None else self._models.get(self.robot.name)
        other_models = [model for model in self._models.values() if model is not robot]
        self._resting_states = {
            name: ModelState(model.pose, _STILL, _STILL) for name, model in self._models.items()
        }
        self._ground = GroundSurface(shape for model in other_models for shape in model.collisions)
        if robot is not None:
            self._grounded_stance = GroundedStance(self._stance, self._ground)
            self._obstacles.update(other_models)

    def _place(self, pose: Pose2D) -> None:
        self._planar = pose
        if self.robot is not None:
            self._history = PoseHistory.at_rest(pose, self._grounded_stance, self.step_size_s)

    def _next_poses(self, count: int) -> np.ndarray:
        """Return the poses (n, 3) of the next 1 to ``count`` steps.

        These are all steps without a possible contact, or a single step near an obstacle. If an
        obstacle blocks the robot, the result is the current pose, ``count`` times.
        """
        step_s, start = self.step_size_s, self._planar
        free_steps = self._obstacles.free_steps(start, self._command, step_s, count)
        target_poses = arc(start, self._command, np.arange(1, max(1, free_steps) + 1) * step_s)
        if free_steps:
            return target_poses
        stamp_s = self._time_s(self._steps + 1)
        is_possible, contacts = self._obstacles.check_step(
            start, Pose2D(*target_poses[0].tolist()), stamp_s
        )
        self._contacts += contacts
        return target_poses if is_possible else np.tile(start, (count, 1))

    def _measure_ranges(self, base: Pose2D, step: int) -> None:
        if self.robot is not None and self.robot.lidar is not None:
            self._scan = self._obstacles.scan(base, self.robot.lidar, self._time_s(step))

    def _imu_samples(
        self, history: PoseHistory, previous_steps: int, steps: Sequence[int]
    ) -> List[ImuSample]:
        """Return the samples at the ends of ``steps``.

        ``history`` starts with the poses of the steps ``previous_steps - 1`` and
        ``previous_steps``.
        """
        assert self.robot is not None and self.robot.imu is not None
        steps = sorted(steps)
        rows = [step - previous_steps + EARLIER_POSES - 1 for step in steps]
        stamps_s = list(map(self._time_s, steps))
        return history.samples(self.robot.imu.mount, self._gravity, rows, stamps_s)

    def _time_s(self, step: int) -> float:
        return round(step * self.step_size_s, 9)


def _place_model(model: SceneModel, pose: Pose) -> SceneModel:
    shapes = tuple(replace(shape, pose=pose * shape.local_pose) for shape in model.collisions)
    return replace(model, pose=pose, collisions=shapes)
