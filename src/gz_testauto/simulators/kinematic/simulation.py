"""One world with an ideal robot in it.

Owns the steps, and the world's document, in which models come and go. The robot's x, y and yaw
follow the command exactly; height, roll and pitch follow the ground.
"""

from pathlib import Path
from typing import Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

import numpy as np
from scipy.spatial.transform import Rotation

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
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.dynamics import read_gravity
from gz_testauto.sdf.edit import add_model, remove_model, set_model_pose
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.scene import read_scene
from gz_testauto.simulators.interface import NamedModel, Scene, Simulation
from gz_testauto.simulators.kinematic.ground import Ground
from gz_testauto.simulators.kinematic.obstacles import Obstacles
from gz_testauto.simulators.kinematic.stance import Stance
from gz_testauto.simulators.kinematic.track import Track, arc, triple

_STILL = (0.0, 0.0, 0.0)


class KinematicSimulation(Simulation):
    """See :class:`~gz_testauto.simulators.interface.Simulation`."""

    def __init__(self, scene: Scene, step_s: float) -> None:
        super().__init__(step_s, scene.robot, scene)
        self._ticks = 0
        self._command = Twist2D()
        self._scan: Optional[LaserScan] = None
        self._imu: List[ImuSample] = []
        self._contacts: List[Contact] = []
        self._stance = None if scene.robot is None else Stance(scene.robot)
        document = SdfDocument.read(scene.world).copy()
        if document.world is None:
            raise SdfError(f"{scene.world}: has no <world>")
        ModelLibrary().absolutize(document, document.world)
        self._gravity = np.array(read_gravity(document, document.world))
        arrivals = list(scene.models)
        if scene.robot is not None:
            arrivals.insert(0, NamedModel(scene.robot.name, scene.robot.sdf, scene.start.to_pose()))
        for model in arrivals:
            add_model(document, model.sdf, model.pose, model.name)
        self._read(document)
        self._place(scene.start)
        if scene.robot is not None and scene.robot.lidar is not None:
            self._scan = self._obstacles.scan(scene.start, scene.robot.lidar, 0.0)

    def ground_m(self, x_m: np.ndarray, y_m: np.ndarray) -> np.ndarray:
        """Heights (m) of the ground above the world's zero at points, all of one shape; NaN where
        there is none."""
        heights = self._ground.height_m(np.asarray(x_m), np.asarray(y_m))
        return np.where(np.isinf(heights), np.nan, heights)

    # the interface

    def _snapshot(self) -> Snapshot:
        models = {name: ModelState(pose, _STILL, _STILL) for name, pose in self._poses.items()}
        if self.robot is not None:
            models[self.robot.name] = self._track.state
        imu, contacts = tuple(self._imu), tuple(self._contacts)
        self._imu.clear()
        self._contacts.clear()
        return Snapshot(self._time_s(self._ticks), models, {}, self._scan, imu, contacts)

    def _drive(self, command: Twist2D) -> None:
        """Move exactly like this from the next step on."""
        self._command = command

    def _step(self, count: int) -> None:
        ticks = np.arange(self._ticks + 1, self._ticks + count + 1)
        if self.robot is not None:
            way = self._obstacles.reach_m(self._command, count * self.step_size_s)
            if self._obstacles.within(self._planar, way):
                self._move_carefully(ticks)
            else:
                self._follow(self._arc(count), ticks)
        self._ticks += count

    def _spawn(self, models: Sequence[NamedModel]) -> None:
        document = self._document.copy()
        try:
            for model in models:
                add_model(document, model.sdf, model.pose, model.name)
            self._read(document)
        except SdfError as error:
            raise SimulatorError(f"cannot spawn: {error}") from error

    def _delete(self, names: Sequence[str]) -> None:
        document = self._document.copy()
        for name in names:
            remove_model(document, name)
        self._read(document)

    def _set_states(self, states: Mapping[str, ModelState]) -> None:
        """Only the robot ever moves, as it is commanded; so twists are ignored, and of a pose that
        it is given counts what is in the plane."""
        document = self._document.copy()
        for name, state in states.items():
            set_model_pose(document, name, state.pose)
        self._read(document)
        if self.robot is not None and self.robot.name in states:
            self._place(states[self.robot.name].pose.planar)

    def _save_world(self, path: Path) -> None:
        document = self._document.copy()
        if self.robot is not None:
            set_model_pose(document, self.robot.name, self._track.pose)
        document.write(path)

    def _model_names(self) -> Iterable[str]:
        return self._poses

    # inside

    def _read(self, document: SdfDocument) -> None:
        """Take over a changed document: poses, ground, what can be met and seen."""
        models = read_scene(document).models
        robot = None if self.robot is None else models.get(self.robot.name)
        rest = [model for model in models.values() if model is not robot]
        self._document = document
        self._poses: Dict[str, Pose] = {name: model.pose for name, model in models.items()}
        self._ground = Ground(shape for model in rest for shape in model.collisions)
        if self.robot is not None and robot is not None:
            body = (*robot.body_shapes, *robot.collisions)[0].scoped_name
            self._obstacles = Obstacles(rest, self.robot, body)

    def _place(self, pose: Pose2D) -> None:
        """Stand there, and have stood there."""
        self._planar = pose
        if self.robot is not None:
            position, attitude = self._standing(np.array([pose]))
            x, y, z, w = attitude.as_quat()[0].tolist()
            standing = Pose(triple(position[0]), (x, y, z, w))
            self._track = Track.at_rest(standing, self.step_size_s)

    def _arc(self, count: int) -> np.ndarray:
        return arc(self._planar, self._command, np.arange(1, count + 1) * self.step_size_s)

    def _move_carefully(self, ticks: np.ndarray) -> None:
        """Along the arc step by step, as far as nothing is in the way: what stops one step stops
        all that follow under the same command."""
        for index, tick in enumerate(ticks):
            wanted = self._arc(1)
            possible, contacts = self._obstacles.meet(
                self._planar, Pose2D(*wanted[0].tolist()), self._time_s(int(tick))
            )
            self._contacts += contacts
            if not possible:
                rest = ticks[index:]
                self._follow(np.tile(self._planar, (len(rest), 1)), rest)
                return
            self._follow(wanted, ticks[index : index + 1])

    def _follow(self, poses: np.ndarray, ticks: np.ndarray) -> None:
        """Be at these poses (n, 3) in the plane at these ticks (n,), and measure."""
        positions, attitudes = self._standing(poses)
        self._track = self._track.followed_by(positions, attitudes)
        x, y, yaw = poses[-1].tolist()
        self._planar = Pose2D(x, y, wrap_angle(yaw))
        robot = self.robot
        if robot is not None and robot.imu is not None:
            due = ticks % self._period(robot.imu.update_rate_hz) == 0
            stamps = np.round(ticks * self.step_size_s, 9)
            self._imu += self._track.felt(robot.imu.mount, self._gravity, stamps, due)
        if robot is not None and robot.lidar is not None:
            due = ticks % self._period(robot.lidar.update_rate_hz) == 0
            if due.any():
                last = int(np.flatnonzero(due)[-1])
                base = Pose2D(*poses[last].tolist())
                self._scan = self._obstacles.scan(base, robot.lidar, self._time_s(int(ticks[last])))

    def _standing(self, poses: np.ndarray) -> Tuple[np.ndarray, Rotation]:
        """Positions (n, 3) and attitudes (n) on the ground at poses (n, 3) in the plane."""
        assert self._stance is not None
        z_m, roll, pitch = self._stance.on(self._ground, *poses.T)
        gone = np.flatnonzero(np.isnan(z_m))
        if len(gone):
            x, y, _ = poses[gone[0]]
            raise SimulatorError(
                f"there is no ground under the robot at ({x:.2f}, {y:.2f}): 'kinematic' knows "
                "planes, height maps and wide flat slabs; keep the robot on them, or take another "
                "simulator"
            )
        attitudes = Rotation.from_euler("ZYX", np.column_stack([poses[:, 2], pitch, roll]))
        return np.column_stack([poses[:, :2], z_m]), attitudes

    def _period(self, rate_hz: float) -> int:
        """Steps from one measurement of a sensor to the next; a rate of 0 is every step."""
        return max(1, round(1.0 / (rate_hz * self.step_size_s))) if rate_hz > 0 else 1

    def _time_s(self, tick: int) -> float:
        return round(tick * self.step_size_s, 9)
