"""Obstacles as messages and as RViz markers."""

import dataclasses
import zlib
from typing import Sequence, Tuple

import numpy as np
from genpy import Time
from geometry_msgs.msg import Vector3
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from gz_testauto.base.pose import Pose
from gz_testauto.base.ros_messages import WORLD_FRAME, pose_message
from gz_testauto.msg import Obstacle as ObstacleMessage
from gz_testauto.sampling.placement import Obstacle
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.scene import read_scene

COLOR = ColorRGBA(0.85, 0.45, 0.2, 0.8)


def obstacle_message(obstacle: Obstacle) -> ObstacleMessage:
    """Everything that the list of obstacles tells."""
    return ObstacleMessage(
        name=obstacle.name,
        type=obstacle.type,
        pose=pose_message(obstacle.pose),
        size=Vector3(*extents(obstacle)[1]),
        mass=obstacle.mass_kg,
        is_static=obstacle.static,
    )


def markers(obstacles: Sequence[Obstacle], stamp: Time) -> MarkerArray:
    """One marker per obstacle, after one that deletes all markers of before. A model of the
    user's is shown as the box around it."""
    clear = Marker(action=Marker.DELETEALL)
    clear.header.stamp, clear.header.frame_id = stamp, WORLD_FRAME
    return MarkerArray([clear, *(_marker(obstacle, stamp) for obstacle in obstacles)])


def extents(obstacle: Obstacle) -> Tuple[np.ndarray, np.ndarray]:
    """Centre and size (m), shape (3,) each, of the box around an obstacle's collision shapes,
    in the model's frame."""
    text = dataclasses.replace(obstacle, pose=Pose()).sdf()
    (model,) = read_scene(SdfDocument.parse(text, obstacle.name)).models.values()
    bounds = model.bounds
    assert bounds is not None  # an obstacle has a collision shape
    return bounds.mean(axis=1), bounds[:, 1] - bounds[:, 0]


def _marker(obstacle: Obstacle, stamp: Time) -> Marker:
    center, size = extents(obstacle)
    marker = Marker(ns=obstacle.type, type=getattr(Marker, obstacle.model.kind.marker), color=COLOR)
    marker.header.stamp, marker.header.frame_id = stamp, WORLD_FRAME
    marker.text = obstacle.name
    marker.id = zlib.crc32(obstacle.name.encode()) & 0x7FFFFFFF
    marker.scale = Vector3(*size)
    x, y, z = map(float, center)
    marker.pose = pose_message(obstacle.pose * Pose((x, y, z)))
    return marker
