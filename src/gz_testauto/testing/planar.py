"""A kinematic, two-dimensional simulator: a fake for tests and for authors of adaptors.

Reads real ``.world`` files and real robots, moves the robot exactly as commanded on circular
arcs, casts its scan at the outlines of the obstacles and reports a contact when the robot's
outline meets one. It has no masses, no wheels and no friction: nothing that was measured with
it says how a robot drives. It needs no process and no display, answers in microseconds and
gives the same bits every time, which is what tests of everything around a simulator want.
"""

import math
from pathlib import Path
from typing import Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

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
from gz_testauto.sdf.edit import add_model, remove_model, set_model_pose
from gz_testauto.sdf.floor import ANY_ROBOT, obstructing_heights
from gz_testauto.sdf.robot import RobotModel
from gz_testauto.sdf.scene import read_scene
from gz_testauto.simulators.interface import NamedModel, Scene, Simulation, Simulator
from gz_testauto.simulators.outline_rays import cast_rays, outline_segments

STEP_S = 0.01
"""The kinematic step. It plays the part of the physics step: durations are multiples of it."""

GRAVITY_MPS2 = 9.8


class PlanarSimulator(Simulator):
    """Loads one world after the other; there is no process behind it."""

    name = "planar"
    version = "1"
    repeatable = True
    sets_twist = False
    inertial = "step"

    def _load(self, scene: Scene) -> "PlanarSimulation":
        try:
            return PlanarSimulation(scene)
        except SdfError as error:
            raise SimulatorError(f"cannot load {scene.world}: {error}") from error

    def _close(self) -> None:
        """There is nothing to let go of."""


class PlanarSimulation(Simulation):
    """One world with at most one robot that moves."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(STEP_S, scene.robot, scene)
        self._document = SdfDocument.read(scene.world).copy()
        self._ticks = 0
        self._command = Twist2D()
        self._pose = scene.start
        self._moving = Twist2D()
        self._scan: Optional[LaserScan] = None
        self._imu: List[ImuSample] = []
        self._contacts: List[Contact] = []
        if self.robot is not None:
            add_model(self._document, self.robot.sdf, self._robot_pose(), self.robot.name)
            self._corners = np.asarray(self.robot.footprint_m, dtype=float)
        for model in scene.models:
            add_model(self._document, model.sdf, model.pose, model.name)
        self._read()
        self._measure_ranges()

    def ground_m(self, x_m: np.ndarray, y_m: np.ndarray) -> np.ndarray:
        """Heights (k,) of the ground at points (k,): the plane that it all is in."""
        return np.zeros(np.broadcast(x_m, y_m).shape)

    def _snapshot(self) -> Snapshot:
        still = (0.0, 0.0, 0.0)
        models = {name: ModelState(pose, still, still) for name, pose in self._poses.items()}
        if self.robot is not None:
            speed, yaw = self._moving.linear_mps, self._pose.yaw_rad
            models[self.robot.name] = ModelState(
                self._robot_pose(),
                (speed * math.cos(yaw), speed * math.sin(yaw), 0.0),
                (0.0, 0.0, self._moving.angular_radps),
            )
        imu, contacts = tuple(self._imu), tuple(self._contacts)
        self._imu.clear()
        self._contacts.clear()
        return Snapshot(self._time_s, models, {}, self._scan, imu, contacts)

    def _drive(self, command: Twist2D) -> None:
        """Move exactly like this from the next step on."""
        self._command = command

    def _step(self, count: int) -> None:
        """Move the robot along its arc."""
        alone = self.robot is None or self._out_of_reach(count * STEP_S)
        for _ in range(count):
            self._ticks += 1
            if self.robot is None:
                continue
            if alone:
                self._pose = drive_arc(self._pose, self._command, STEP_S)
                self._moving = self._command
            else:
                self._contacts += self._move()
            self._imu += self._measure_motion()
            self._measure_ranges()

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
        """Only the commanded robot ever moves, so twists are ignored."""
        document = self._document.copy()
        for name, state in states.items():
            set_model_pose(document, name, state.pose)
        if self.robot is not None and self.robot.name in states:
            self._pose = states[self.robot.name].pose.planar
            self._moving = Twist2D()
        self._read(document)

    def _save_world(self, path: Path) -> None:
        document = self._document.copy()
        if self.robot is not None:
            set_model_pose(document, self.robot.name, self._robot_pose())
        document.write(path)

    def _model_names(self) -> Iterable[str]:
        return self._poses

    def _read(self, document: Optional[SdfDocument] = None) -> None:
        """Take over a changed document: poses, outlines to meet, outlines to see."""
        document = self._document if document is None else document
        models = read_scene(document).models
        robot = self.robot
        heights = ANY_ROBOT if robot is None else obstructing_heights(robot.height_m)
        solid: List[Tuple[str, BaseGeometry]] = []
        visible: List[BaseGeometry] = []
        for model in models.values():
            if robot is not None and model.name == robot.name:
                self._robot_part = model.collisions[0].scoped_name
                continue
            for shape in model.collisions:
                if shape.is_ground:
                    continue
                solid.append((shape.scoped_name, shape.footprint(*heights)))
                if robot is not None and robot.lidar is not None:
                    level = robot.lidar.mount.position[2]
                    visible.append(shape.footprint(level - 1e-3, level + 1e-3))
        self._document = document
        self._poses: Dict[str, Pose] = {name: model.pose for name, model in models.items()}
        self._names = [name for name, _ in solid]
        self._tree = shapely.STRtree([outline for _, outline in solid])
        self._segments = outline_segments(visible)

    def _robot_pose(self) -> Pose:
        return self._pose.to_pose()

    @property
    def _time_s(self) -> float:
        return round(self._ticks * STEP_S, 9)

    def _out_of_reach(self, duration_s: float) -> bool:
        """Whether nothing can be met within a duration: then nothing need be looked for."""
        radius = float(np.hypot(*self._corners.T).max())
        speed = abs(self._command.linear_mps) + abs(self._command.angular_radps) * radius
        _, distance = self._tree.query_nearest(
            self._placed(self._pose), max_distance=speed * duration_s + 0.01, return_distance=True
        )
        return len(distance) == 0

    def _move(self) -> List[Contact]:
        """One step along the arc, unless that would push the robot farther into something."""
        wanted = drive_arc(self._pose, self._command, STEP_S)
        met, depth = self._overlaps(wanted)
        if not met:
            self._pose, self._moving = wanted, self._command
            return []
        _, depth_now = self._overlaps(self._pose)
        if depth_now == 0.0 or depth <= depth_now:
            self._pose, self._moving = wanted, self._command
        else:
            self._moving = Twist2D()
        return [self._contact(index) for index in met]

    def _overlaps(self, pose: Pose2D) -> Tuple[List[int], float]:
        """Which obstacles the outline meets at a pose, and by how much area in all (m²)."""
        outline = self._placed(pose)
        met = sorted(int(index) for index in self._tree.query(outline, predicate="intersects"))
        area = sum(outline.intersection(self._tree.geometries[index]).area for index in met)
        return met, float(area)

    def _placed(self, pose: Pose2D) -> BaseGeometry:
        cos, sin = math.cos(pose.yaw_rad), math.sin(pose.yaw_rad)
        corners = self._corners @ np.array([[cos, sin], [-sin, cos]])
        return shapely.polygons(np.add(corners, (pose.x_m, pose.y_m)))

    def _contact(self, index: int) -> Contact:
        touched = self._placed(self._pose).intersection(self._tree.geometries[index])
        point = (touched if not touched.is_empty else self._placed(self._pose)).centroid
        away = np.array([self._pose.x_m - point.x, self._pose.y_m - point.y])
        away = away / max(1e-9, float(np.hypot(*away)))
        height = float(sum(self.robot.height_m) / 2) if self.robot else 0.0
        return Contact(
            stamp_s=self._time_s,
            first=self._robot_part,
            second=self._names[index],
            positions_m=((point.x, point.y, height),),
            normals=((float(away[0]), float(away[1]), 0.0),),
            depths_m=(0.0,),
        )

    def _measure_motion(self) -> List[ImuSample]:
        robot: Optional[RobotModel] = self.robot
        if robot is None or robot.imu is None or not self._due(robot.imu.update_rate_hz):
            return []
        aside = self._moving.linear_mps * self._moving.angular_radps
        return [
            ImuSample(
                self._time_s,
                self._robot_pose().quaternion,
                (0.0, 0.0, self._moving.angular_radps),
                (0.0, aside, GRAVITY_MPS2),
            )
        ]

    def _measure_ranges(self) -> None:
        lidar = self.robot.lidar if self.robot is not None else None
        if lidar is None or not self._due(lidar.update_rate_hz):
            return
        sensor = (self._robot_pose() * lidar.mount).planar
        angles = np.linspace(lidar.angle_min_rad, lidar.angle_max_rad, lidar.samples)
        ranges = cast_rays(self._segments, *sensor, angles, lidar.range_max_m)
        ranges[ranges < lidar.range_min_m] = -np.inf
        ranges.setflags(write=False)
        self._scan = LaserScan(
            self._time_s,
            lidar.angle_min_rad,
            lidar.angle_max_rad,
            lidar.range_min_m,
            lidar.range_max_m,
            ranges,
            lidar.mount,
        )

    def _due(self, rate_hz: float) -> bool:
        """Whether a sensor of this rate (0: every step) measures in the present step."""
        period = max(1, round(1.0 / (rate_hz * STEP_S))) if rate_hz > 0 else 1
        return self._ticks % period == 0


def drive_arc(pose: Pose2D, twist: Twist2D, duration_s: float) -> Pose2D:
    """Where a unicycle is after driving a constant twist, exactly."""
    turned = twist.angular_radps * duration_s
    half = turned / 2
    shortened = math.sin(half) / half if abs(half) > 1e-6 else 1.0  # sin x = x to 16 digits
    chord = twist.linear_mps * duration_s * shortened
    direction = pose.yaw_rad + turned / 2
    return Pose2D(
        pose.x_m + chord * math.cos(direction),
        pose.y_m + chord * math.sin(direction),
        wrap_angle(pose.yaw_rad + turned),
    )
