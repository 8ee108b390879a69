"""Obstacles as messages and as RViz markers."""

import zlib
from typing import Sequence

from genpy import Time
from geometry_msgs.msg import Vector3
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from gz_testauto.base.pose import Pose
from gz_testauto.base.ros_messages import WORLD_FRAME, pose_message
from gz_testauto.msg import Obstacle as ObstacleMessage
from gz_testauto.sampling.placement import Obstacle

COLOR = ColorRGBA(0.85, 0.45, 0.2, 0.8)


def obstacle_message(obstacle: Obstacle) -> ObstacleMessage:
    """Return the message for one obstacle."""
    low, high = obstacle.model.bounds(obstacle.size).T
    return ObstacleMessage(
        name=obstacle.name,
        type=obstacle.type,
        pose=pose_message(obstacle.pose),
        size=Vector3(*(high - low)),
        mass=obstacle.mass_kg,
        is_static=obstacle.static,
    )


def markers(obstacles: Sequence[Obstacle], stamp: Time) -> MarkerArray:
    """Return one marker per obstacle, after a marker that deletes all previous ones. A model of
    the user is drawn as its bounding box."""
    clear = Marker(action=Marker.DELETEALL)
    clear.header.stamp, clear.header.frame_id = stamp, WORLD_FRAME
    return MarkerArray([clear, *(_marker(obstacle, stamp) for obstacle in obstacles)])


def _marker(obstacle: Obstacle, stamp: Time) -> Marker:
    low, high = obstacle.model.bounds(obstacle.size).T
    marker = Marker(ns=obstacle.type, type=getattr(Marker, obstacle.model.kind.marker), color=COLOR)
    marker.header.stamp, marker.header.frame_id = stamp, WORLD_FRAME
    marker.text = obstacle.name
    marker.id = zlib.crc32(obstacle.name.encode()) & 0x7FFFFFFF
    marker.scale = Vector3(*(high - low))
    x, y, z = map(float, (low + high) / 2)
    marker.pose = pose_message(obstacle.pose * Pose((x, y, z)))
    return marker
