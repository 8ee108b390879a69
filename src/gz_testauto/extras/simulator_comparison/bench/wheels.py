"""Wheels of a simulated robot: their depth in the ground, and their speeds.

The depth of a point on a wheel is the radius of the largest ball around it that is entirely inside
the ground. Speeds are those of encoders on the joints: the mean joint rate of a side, times the
radius in the drive plug-in.
"""

import math
from functools import lru_cache
from types import MappingProxyType
from typing import Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from gz_testauto.base.errors import SdfError
from gz_testauto.base.observation import ModelState
from gz_testauto.base.pose import Pose
from gz_testauto.extras.simulator_comparison.maneuvers import PERIOD_S
from gz_testauto.extras.simulator_comparison.recordings.recording import Series
from gz_testauto.extras.simulator_comparison.terrain import Terrain
from gz_testauto.sdf.dynamics import read_joints
from gz_testauto.sdf.robot import RobotModel
from gz_testauto.sdf.scene import placed_model
from gz_testauto.sdf.shapes import Cylinder, Sphere

ANGLES = 48  # tested points around a wheel, 7.5° from each other
SLICES = 5  # tested slices across a cylinder, or between the poles of a sphere
DIRECTIONS = 8
RISES_RAD = (0.0, math.pi / 4)  # elevations of the tested points on the upper half of a ball

MAX_TURN_RAD = 0.8 * math.pi  # per control period; half a turn has no unique direction


@lru_cache(maxsize=8)
def wheel_surfaces(robot: RobotModel) -> Mapping[str, np.ndarray]:
    """Return read-only points (p, 3) on the collision cylinders and spheres of each link, in the
    frame of the link. Keys are scoped names of links."""
    scene = placed_model(robot.sdf, robot.name, Pose())
    points: Dict[str, np.ndarray] = {}
    for shape in scene.collisions:
        if isinstance(shape.geometry, (Cylinder, Sphere)):
            surface = (scene.links[shape.link].inverse() * shape.local_pose).apply(
                _surface_points(shape.geometry)
            )
            link = f"{robot.name}::{shape.link}"
            points[link] = np.concatenate([points[link], surface]) if link in points else surface
    for surface in points.values():
        surface.setflags(write=False)
    return MappingProxyType(points)


def transform_surfaces(
    surfaces: Mapping[str, np.ndarray], links: Mapping[str, ModelState]
) -> Dict[str, np.ndarray]:
    """Return the points of :func:`wheel_surfaces` in the world frame, by link in ``links``."""
    return {
        name: links[name].pose.apply(points) for name, points in surfaces.items() if name in links
    }


def is_inside(terrain: Terrain, points_m: np.ndarray, depth_m: float) -> np.ndarray:
    """Return for each point (..., 3) whether a ball of radius ``depth_m`` around it is inside the
    ground; False beyond the edge of the terrain."""
    # a vertical distance instead would be large next to a vertical side of the ground
    flat = points_m.reshape(-1, 3)
    inside = np.asarray(terrain.height_m(flat[:, 0], flat[:, 1])) - flat[:, 2] >= depth_m
    candidates = np.flatnonzero(inside)
    for rise in RISES_RAD:
        for turn in np.arange(DIRECTIONS) * (2 * math.pi / DIRECTIONS):
            if not len(candidates):
                break
            x_m, y_m, z_m = flat[candidates].T
            aside_m = depth_m * math.cos(rise)
            ground = terrain.height_m(
                x_m + aside_m * math.cos(turn), y_m + aside_m * math.sin(turn)
            )
            is_deep = np.asarray(ground) - z_m >= depth_m * math.sin(rise)
            inside[candidates[~is_deep]] = False
            candidates = candidates[is_deep]
    return inside.reshape(points_m.shape[:-1])


def _surface_points(geometry: Union[Cylinder, Sphere]) -> np.ndarray:
    """Return points (n, 3) on the surface of a shape, in its frame."""
    angles = np.arange(ANGLES) * (2 * math.pi / ANGLES)
    if isinstance(geometry, Cylinder):
        levels = np.linspace(-geometry.length / 2, geometry.length / 2, SLICES)
        radii = np.full(SLICES, geometry.radius)
    else:
        elevations = (np.arange(SLICES) - SLICES // 2) * (math.pi / (SLICES + 1))
        levels, radii = geometry.radius * np.sin(elevations), geometry.radius * np.cos(elevations)
    angle, level = np.meshgrid(angles, levels)
    radius = np.repeat(radii[:, None], ANGLES, axis=1)
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle), level], axis=-1)
    return np.asarray(points.reshape(-1, 3))


class WheelJoint(NamedTuple):
    """Joint of a driven wheel: scoped names of its links, and its axis in the frame of ``link``."""

    link: str
    parent: str
    axis: Tuple[float, float, float]


class DrivenWheels(NamedTuple):
    """Driven wheels of both sides of a robot, empty if they are unknown."""

    left: Tuple[WheelJoint, ...] = ()
    right: Tuple[WheelJoint, ...] = ()
    radius_m: float = 0.0
    separation_m: float = 0.0

    def speeds(
        self, links: Sequence[Mapping[str, ModelState]], commands: np.ndarray
    ) -> Optional[Series]:
        """Return the mean speeds (n, 2) of the left and of the right wheels (m/s) between
        consecutive states ``links`` (n + 1). The result is None if states of wheels are missing, or
        if ``commands`` (n, 2) turn a wheel too fast for a unique angle."""
        names = {name for w in (*self.left, *self.right) for name in (w.link, w.parent)}
        fastest = np.abs(commands) @ np.array([1.0, self.separation_m / 2.0])
        too_fast = fastest.max(initial=0.0) * PERIOD_S > MAX_TURN_RAD * self.radius_m
        if not names or too_fast or not all(name in states for states in links for name in names):
            return None
        # uses poses of links, which more simulators report than twists
        rotations_rad = [
            np.mean([_turns_rad(wheel, links) for wheel in side], axis=0)
            for side in (self.left, self.right)
        ]
        middle_s = (np.arange(len(links) - 1) + 0.5) * PERIOD_S
        return Series(middle_s, np.column_stack(rotations_rad) * self.radius_m / PERIOD_S)


@lru_cache(maxsize=8)
def driven_wheels(robot: RobotModel) -> DrivenWheels:
    drive = robot.drive
    if drive is None:
        return DrivenWheels()
    try:
        joints = read_joints(placed_model(robot.sdf, robot.name, Pose()).node)
    except SdfError:  # a joint that only Gazebo supports
        return DrivenWheels()
    by_name = {joint.name.rsplit("::", 1)[-1]: joint for joint in joints}
    sides: List[Tuple[WheelJoint, ...]] = []
    for names in (drive.left_joints, drive.right_joints):
        side = [by_name[name] for name in names if name in by_name]
        if not side or not all(joint.parent and joint.kind == "revolute" for joint in side):
            return DrivenWheels()
        sides.append(
            tuple(
                WheelJoint(
                    f"{robot.name}::{joint.child}",
                    f"{robot.name}::{joint.parent}",
                    joint.axes[0].direction,
                )
                for joint in side
            )
        )
    left, right = sides
    return DrivenWheels(left, right, drive.wheel_diameter_m / 2.0, drive.wheel_separation_m)


def _turns_rad(wheel: WheelJoint, links: Sequence[Mapping[str, ModelState]]) -> np.ndarray:
    """Return the rotations (n - 1,) of a wheel about its axis between consecutive states ``links``
    (n), in rad from -π to π."""
    poses = [states[wheel.parent].pose.inverse() * states[wheel.link].pose for states in links]
    turns = []
    for first, second in zip(poses, poses[1:]):
        x, y, z, w = (first.inverse() * second).quaternion
        turns.append(2.0 * math.atan2(float(np.dot((x, y, z), wheel.axis)), w))
    return (np.array(turns) + math.pi) % (2.0 * math.pi) - math.pi
