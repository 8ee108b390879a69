"""Actors of a scene as RViz markers: their shapes where they are, and what they do.

Owns one topic, ``~actors``: for each actor its collision shapes and its name with what it does
now, of a tree the node that was ticked last. Published with every period while somebody listens.
"""

import itertools
from typing import Iterator, List, Mapping, Tuple

import numpy as np
import rospy
from genpy import Time
from geometry_msgs.msg import Vector3
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from gz_testauto.observation import ModelState
from gz_testauto.pose import Pose
from gz_testauto.ros_messages import WORLD_FRAME, pose_message
from gz_testauto.sdf.scene import CollisionShape, placed_model
from gz_testauto.sdf.shapes import Box, Cylinder, Sphere
from gz_testauto.trial.staging import Staging

COLOR = ColorRGBA(0.25, 0.45, 0.7, 0.8)
TEXT = ColorRGBA(1.0, 1.0, 1.0, 1.0)
TEXT_HEIGHT_M = 0.3


class ActorMarkers:
    """The topic and what is shown on it."""

    def __init__(self) -> None:
        self._topic = rospy.Publisher("~actors", MarkerArray, queue_size=1)
        self._staging = Staging()
        self._shapes: Mapping[str, Tuple[CollisionShape, ...]] = {}
        self._new = True

    def scene_began(self, staging: Staging) -> None:
        """Show the actors of a new scene."""
        self._staging, self._new = staging, True
        self._shapes = {
            model.name: placed_model(model.sdf, model.name, Pose()).collisions
            for model in staging.models
        }

    def show(self, states: Mapping[str, ModelState], stamp: Time) -> None:
        """Publish where they are, if anybody listens."""
        if not self._topic.get_num_connections():
            return
        found: List[Marker] = []
        if self._new:
            found.append(Marker(action=Marker.DELETEALL))
            self._new = False
        numbers = itertools.count()
        for name, doing in self._staging.doing.items():
            state = states.get(name)
            if state is None:
                continue
            found.extend(self._of(name, state.pose, numbers))
            found.append(_label(name, doing, found[-1], next(numbers)))
        for marker in found:
            marker.header.stamp, marker.header.frame_id = stamp, WORLD_FRAME
        self._topic.publish(MarkerArray(found))

    def _of(self, name: str, pose: Pose, numbers: Iterator[int]) -> Iterator[Marker]:
        for shape in self._shapes[name]:
            kind, size, middle = _drawn(shape)
            marker = Marker(ns=name, id=next(numbers), type=kind, color=COLOR)
            marker.pose, marker.scale = pose_message(pose * middle), Vector3(*size)
            yield marker


def _drawn(shape: CollisionShape) -> Tuple[int, Tuple[float, float, float], Pose]:
    """RViz's kind of shape, its size (m) and where it is in the model; the box around what RViz
    does not have."""
    geometry = shape.geometry
    if isinstance(geometry, Box):
        return Marker.CUBE, geometry.size, shape.local_pose
    if isinstance(geometry, Cylinder):
        width = 2 * geometry.radius
        return Marker.CYLINDER, (width, width, geometry.length), shape.local_pose
    if isinstance(geometry, Sphere):
        width = 2 * geometry.radius
        return Marker.SPHERE, (width, width, width), shape.local_pose
    bounds: np.ndarray = geometry.bounds(shape.local_pose)
    x, y, z = bounds.mean(axis=1).tolist()
    length, width, height = (bounds[:, 1] - bounds[:, 0]).tolist()
    return Marker.CUBE, (length, width, height), Pose((x, y, z))


def _label(name: str, doing: str, last: Marker, number: int) -> Marker:
    marker = Marker(ns=name, id=number, type=Marker.TEXT_VIEW_FACING, color=TEXT)
    marker.text = f"{name}: {doing}" if doing else name
    marker.scale.z = TEXT_HEIGHT_M
    at = last.pose.position
    marker.pose = pose_message(Pose((at.x, at.y, at.z + last.scale.z / 2 + TEXT_HEIGHT_M)))
    return marker
