"""What stands in an ideal robot's way, and what its lidar sees: outlines from above.

Owns contacts and scans. A model is met at the heights of the robot's body, and seen where its
outline is at the height of the lidar on level ground.
"""

from typing import Iterable, List, Tuple

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from gz_testauto.base.observation import Contact, LaserScan, Twist2D
from gz_testauto.base.pose import Pose2D
from gz_testauto.sdf.floor import obstructing_heights
from gz_testauto.sdf.robot import LidarDescription, RobotModel
from gz_testauto.sdf.scene import SceneModel
from gz_testauto.simulators.outline_rays import cast_rays, outline_segments

SKIN_M = 1e-3
"""Half the height of what a lidar's plane cuts."""


class Obstacles:
    """All that is no ground, for one robot."""

    def __init__(self, models: Iterable[SceneModel], robot: RobotModel, body: str) -> None:
        """``body`` is what the robot's part is called in contacts."""
        self._corners = np.asarray(robot.footprint_m, dtype=float)
        self._body = body
        self._middle_m = sum(robot.height_m) / 2
        heights = obstructing_heights(robot.height_m)
        shapes = [shape for model in models for shape in model.collisions if not shape.is_ground]
        self._names = [shape.scoped_name for shape in shapes]
        self._tree = shapely.STRtree([shape.footprint(*heights) for shape in shapes])
        seen: List[BaseGeometry] = []
        if robot.lidar is not None:
            level = robot.lidar.mount.position[2]
            seen = [shape.footprint(level - SKIN_M, level + SKIN_M) for shape in shapes]
        self._segments = outline_segments(seen)

    def within(self, pose: Pose2D, way_m: float) -> bool:
        """Whether anything can be met from ``pose`` on a way that no corner exceeds."""
        near = self._tree.query_nearest(self._placed(pose), max_distance=way_m + SKIN_M)
        return len(near) > 0

    def reach_m(self, command: Twist2D, duration_s: float) -> float:
        """The longest way of any corner in that time."""
        radius = float(np.hypot(*self._corners.T).max())
        return (abs(command.linear_mps) + abs(command.angular_radps) * radius) * duration_s

    def meet(self, start: Pose2D, wanted: Pose2D, stamp_s: float) -> Tuple[bool, List[Contact]]:
        """Whether a step is possible, which it is not farther into something that the robot is in
        already, and what is touched at its end."""
        met, depth = self._overlaps(wanted)
        if not met:
            return True, []
        _, depth_now = self._overlaps(start)
        possible = depth_now == 0.0 or depth <= depth_now
        placed = self._placed(wanted if possible else start)
        return possible, [self._contact(placed, index, stamp_s) for index in met]

    def scan(self, base: Pose2D, lidar: LidarDescription, stamp_s: float) -> LaserScan:
        """What the lidar measures of a base in that place."""
        sensor = (base.to_pose() * lidar.mount).planar
        angles = np.linspace(lidar.angle_min_rad, lidar.angle_max_rad, lidar.samples)
        ranges = cast_rays(self._segments, *sensor, angles, lidar.range_max_m)
        ranges[ranges < lidar.range_min_m] = -np.inf
        ranges.setflags(write=False)
        limits = (lidar.angle_min_rad, lidar.angle_max_rad, lidar.range_min_m, lidar.range_max_m)
        return LaserScan(stamp_s, *limits, ranges, lidar.mount)

    def _overlaps(self, pose: Pose2D) -> Tuple[List[int], float]:
        """Which outlines the robot's meets at a pose, and by how much area in all (m²)."""
        outline = self._placed(pose)
        met = sorted(int(index) for index in self._tree.query(outline, predicate="intersects"))
        area = sum(outline.intersection(self._tree.geometries[index]).area for index in met)
        return met, float(area)

    def _placed(self, pose: Pose2D) -> BaseGeometry:
        return shapely.polygons(pose.place(self._corners))

    def _contact(self, placed: BaseGeometry, index: int, stamp_s: float) -> Contact:
        touched = placed.intersection(self._tree.geometries[index])
        point = (touched if not touched.is_empty else placed).centroid
        away = np.array([placed.centroid.x - point.x, placed.centroid.y - point.y])
        away = away / max(1e-9, float(np.hypot(*away)))
        return Contact(
            stamp_s=stamp_s,
            first=self._body,
            second=self._names[index],
            positions_m=((point.x, point.y, self._middle_m),),
            normals=((float(away[0]), float(away[1]), 0.0),),
            depths_m=(0.0,),
        )
