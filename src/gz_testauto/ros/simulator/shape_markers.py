"""RViz markers of collision shapes and outlines.

The markers are the exact collision geometry; meshes and prisms are lists of triangles. Planes and
terrain, which are the ground, have no marker.
"""

from typing import List, Tuple

import numpy as np
import rospy
from genpy import Time
from geometry_msgs.msg import Point, Vector3
from shapely import get_parts
from shapely.geometry.base import BaseGeometry
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from gz_testauto.base.pose import Pose
from gz_testauto.base.ros_messages import WORLD_FRAME, pose_message
from gz_testauto.sdf.meshes.surfaces import Mesh
from gz_testauto.sdf.shapes import Box, Capsule, Cylinder, Ellipsoid, Geometry, Polyline, Sphere

LINE_WIDTH_M = 0.05
LINE_HEIGHT_M = 0.03
"""Height above the floor, which would otherwise hide the lines."""


def solid_markers(shape: Geometry, pose: Pose, color: ColorRGBA) -> List[Marker]:
    """Return a collision shape at ``pose``: three markers for a capsule, none for the ground."""
    if isinstance(shape, Capsule):
        width = 2 * shape.radius
        rod = _marker(Marker.CYLINDER, pose, (width, width, shape.length), color)
        ends = (pose * Pose((0.0, 0.0, side * shape.length / 2)) for side in (-1.0, 1.0))
        return [rod, *(_marker(Marker.SPHERE, end, (width,) * 3, color) for end in ends)]
    if isinstance(shape, Box):
        return [_marker(Marker.CUBE, pose, shape.size, color)]
    if isinstance(shape, Cylinder):
        width = 2 * shape.radius
        return [_marker(Marker.CYLINDER, pose, (width, width, shape.length), color)]
    if isinstance(shape, Sphere):
        return [_marker(Marker.SPHERE, pose, (2 * shape.radius,) * 3, color)]
    if isinstance(shape, Ellipsoid):
        return [_marker(Marker.SPHERE, pose, tuple(2 * radius for radius in shape.radii), color)]
    if isinstance(shape, Mesh):
        return [_surface(shape.surface.triangles, pose, color)]
    if isinstance(shape, Polyline):
        return [_surface(shape.triangles, pose, color)]
    return []


def line_markers(lines: BaseGeometry, color: ColorRGBA) -> List[Marker]:
    """Return lines, and outlines of areas, on the ground (m, world frame)."""
    found = []
    for part in get_parts(lines).tolist():
        rings = [part.exterior, *part.interiors] if part.geom_type == "Polygon" else [part]
        for ring in rings:
            marker = _marker(Marker.LINE_STRIP, Pose(), (LINE_WIDTH_M, 0.0, 0.0), color)
            marker.points = [Point(x_m, y_m, LINE_HEIGHT_M) for x_m, y_m in ring.coords]
            found.append(marker)
    return found


def publish(
    topic: rospy.Publisher, markers: List[Marker], stamp: Time, frame: str = WORLD_FRAME
) -> None:
    """Publish markers in ``frame``."""
    for marker in markers:
        marker.header.stamp, marker.header.frame_id = stamp, frame
    topic.publish(MarkerArray(markers))


def _surface(triangles: np.ndarray, pose: Pose, color: ColorRGBA) -> Marker:
    marker = _marker(Marker.TRIANGLE_LIST, pose, (1.0, 1.0, 1.0), color)
    marker.points = [Point(*corner) for corner in triangles.reshape(-1, 3).tolist()]
    return marker


def _marker(kind: int, pose: Pose, size: Tuple[float, ...], color: ColorRGBA) -> Marker:
    return Marker(type=kind, pose=pose_message(pose), scale=Vector3(*size), color=color)
