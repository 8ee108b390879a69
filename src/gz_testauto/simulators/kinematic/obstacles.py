"""Contacts and scans of an ideal robot, from the outlines of all shapes that are not ground.

A shape obstructs the robot if it overlaps the range of heights of the robot's body. The lidar
detects the outline of a shape at the lidar's height above level ground.
"""

import math
from dataclasses import dataclass
from typing import Iterable, List, Mapping, Optional, Tuple

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from gz_testauto.base.observation import Contact, LaserScan, Twist2D
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.sdf.floor import Heights, obstructing_heights
from gz_testauto.sdf.robot import RobotModel
from gz_testauto.sdf.robot_sensors import LidarDescription
from gz_testauto.sdf.scene import CollisionShape, SceneModel
from gz_testauto.simulators.kinematic.outlines import Outlines, edges_of

# Distance to an obstacle below which each step is checked for contact, and half the height of the
# slice of a shape that a lidar detects.
SKIN_M = 1e-3

# largest change of height (m), roll or pitch in a motion that counts as planar
LEVEL = 1e-12


@dataclass(frozen=True)
class _ObstacleShape:
    name: str
    solid: BaseGeometry
    solid_edges: np.ndarray
    seen_edges: np.ndarray

    def moved(self, motion: Pose2D) -> "_ObstacleShape":
        return _ObstacleShape(
            self.name,
            shapely.transform(self.solid, motion.apply),
            motion.apply(self.solid_edges.reshape(-1, 2)).reshape(-1, 4),
            motion.apply(self.seen_edges.reshape(-1, 2)).reshape(-1, 4),
        )


@dataclass(frozen=True)
class _Model:
    """A model with its shapes at the pose at which they were read, and at the current pose."""

    scene_model: SceneModel
    read_shapes: Tuple[_ObstacleShape, ...]
    pose: Pose
    shapes: Tuple[_ObstacleShape, ...]


class Obstacles:
    """The shapes of a world that one robot can touch and detect."""

    def __init__(self, robot: RobotModel, body_name: str) -> None:
        """``body_name`` is the name of the robot's shape in contacts."""
        self._corners = np.asarray(robot.footprint_m, dtype=float)
        self._radius_m = float(np.hypot(*self._corners.T).max())
        self._body_name, self._middle_m = body_name, sum(robot.height_m) / 2
        self._heights = obstructing_heights(robot.height_m)
        self._lidar = robot.lidar
        if robot.lidar is not None:
            self._angles_rad = robot.lidar.angles_rad
        self._models: Mapping[str, _Model] = {}

    def update(self, models: Iterable[SceneModel]) -> None:
        previous_models = self._models
        # transforming a model that moved in the plane is faster than computing its outlines
        self._models = {
            model.name: self._read_or_move(model, previous_models.get(model.name))
            for model in models
        }
        self._shapes = [shape for model in self._models.values() for shape in model.shapes]
        self._solids = np.array([shape.solid for shape in self._shapes], dtype=object)
        self.solid = Outlines(shape.solid_edges for shape in self._shapes)
        self.seen = Outlines(shape.seen_edges for shape in self._shapes)

    def free_steps(self, pose: Pose2D, command: Twist2D, step_s: float, max_steps: int) -> int:
        """Return the number of next steps, at most ``max_steps``, without a possible contact."""
        speed_mps = abs(command.linear_mps) + abs(command.angular_radps) * self._radius_m
        # the largest distance that a corner can move, with a margin
        limit_m = speed_mps * step_s * max_steps + SKIN_M
        clear_m = self.solid.clearance_m(pose.apply(self._corners), limit_m)
        if clear_m >= limit_m:
            return max_steps
        return max(0, math.floor((clear_m - SKIN_M) / (speed_mps * step_s))) if speed_mps else 0

    def check_step(
        self, start: Pose2D, target: Pose2D, stamp_s: float
    ) -> Tuple[bool, List[Contact]]:
        """Return whether a step is possible, and the contacts at its end.

        A step that would increase the overlap with an obstacle is not possible.
        """
        overlap_indices, depth = self._overlaps(target)
        if not overlap_indices:
            return True, []
        _, depth_now = self._overlaps(start)
        is_possible = depth_now == 0.0 or depth <= depth_now
        end = target if is_possible else start
        return is_possible, [self.contact(end, index, stamp_s) for index in overlap_indices]

    def contact(self, pose: Pose2D, index: int, stamp_s: float) -> Contact:
        """Return the robot's contact with shape ``index``, at the centroid of the overlap."""
        outline = self._robot_outline(pose)
        overlap = outline.intersection(self._solids[index])
        point = (overlap if not overlap.is_empty else outline).centroid
        direction = np.array([outline.centroid.x - point.x, outline.centroid.y - point.y])
        direction = direction / max(1e-9, float(np.hypot(*direction)))
        return Contact(
            stamp_s=stamp_s,
            first=self._body_name,
            second=self._shapes[index].name,
            positions_m=((point.x, point.y, self._middle_m),),
            normals=((float(direction[0]), float(direction[1]), 0.0),),
            depths_m=(0.0,),
        )

    def scan(self, base: Pose2D, lidar: LidarDescription, stamp_s: float) -> LaserScan:
        mount_x, mount_y, _ = lidar.mount.position
        ((x, y),) = base.apply(np.array([[mount_x, mount_y]])).tolist()
        yaw_rad = base.yaw_rad + lidar.mount.yaw_rad
        ranges = self.seen.cast(x, y, yaw_rad, self._angles_rad, *lidar.range_m)
        return lidar.scan(stamp_s, ranges)

    def _read_or_move(self, model: SceneModel, previous_model: Optional[_Model]) -> _Model:
        """Move the previous outlines of a model if it moved in the plane; else compute them."""
        if previous_model is not None and previous_model.scene_model.node is model.node:
            if model.pose == previous_model.pose:
                return previous_model
            motion = _planar_motion(previous_model.scene_model.pose, model.pose)
            if motion is not None:
                shapes = tuple(shape.moved(motion) for shape in previous_model.read_shapes)
                return _Model(
                    previous_model.scene_model, previous_model.read_shapes, model.pose, shapes
                )
        lidar_m = None if self._lidar is None else self._lidar.mount.position[2]
        shapes = tuple(
            _read_shape(shape, self._heights, lidar_m)
            for shape in model.collisions
            if not shape.is_ground
        )
        return _Model(model, shapes, model.pose, shapes)

    def _overlaps(self, pose: Pose2D) -> Tuple[List[int], float]:
        """Return the indices of the shapes that the robot touches, and the area (m²) of overlap."""
        outline = self._robot_outline(pose)
        overlap_indices = np.flatnonzero(shapely.intersects(outline, self._solids)).tolist()
        area = sum(outline.intersection(self._solids[index]).area for index in overlap_indices)
        return overlap_indices, float(area)

    def _robot_outline(self, pose: Pose2D) -> BaseGeometry:
        return shapely.polygons(pose.apply(self._corners))


def _read_shape(
    shape: CollisionShape, heights: Heights, lidar_m: Optional[float]
) -> _ObstacleShape:
    solid = shape.footprint(*heights)
    visible_edges = np.empty((0, 4))
    if lidar_m is not None:
        visible_edges = edges_of(shape.footprint(lidar_m - SKIN_M, lidar_m + SKIN_M))
    return _ObstacleShape(shape.scoped_name, solid, edges_of(solid), visible_edges)


def _planar_motion(start: Pose, end: Pose) -> Optional[Pose2D]:
    """Return the transform in the world frame from ``start`` to ``end``, None if not planar."""
    motion = end * start.inverse()
    x, y, _, _ = motion.quaternion
    if max(abs(x), abs(y), abs(motion.position[2])) > LEVEL:
        return None
    return motion.planar
