"""Actors of a scene as RViz markers on ``~actors``.

An actor has its collision shapes and a label with its name and present activity; for a behavior
tree, this is the node that was ticked last. Published in every control period if there are
subscribers.
"""

import itertools
from typing import Iterator, List, Mapping, Optional, Tuple

from genpy import Time
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker

from gz_testauto.base.observation import ModelState
from gz_testauto.base.pose import Pose
from gz_testauto.base.ros_messages import pose_message
from gz_testauto.ros.graph import advertise
from gz_testauto.ros.simulator import interface
from gz_testauto.ros.simulator.shape_markers import publish, solid_markers
from gz_testauto.sdf.scene import CollisionShape, placed_model
from gz_testauto.trial.actors import TrialActors

COLOR = ColorRGBA(0.25, 0.45, 0.7, 0.8)
TEXT = ColorRGBA(1.0, 1.0, 1.0, 1.0)
TEXT_HEIGHT_M = 0.3


class ActorMarkers:
    """Publisher of the topic ``~actors``."""

    def __init__(self) -> None:
        self._topic = advertise(interface.ACTORS)
        self._actors = TrialActors()
        self._shapes: Mapping[str, Tuple[CollisionShape, ...]] = {}
        self._shown: Optional[Tuple[str, ...]] = None

    def start_scene(self, actors: TrialActors) -> None:
        """Use the actors of a new scene."""
        self._actors, self._shown = actors, None
        self._shapes = {
            model.name: placed_model(model.sdf, model.name, Pose()).collisions
            for model in actors.all_models
        }

    def publish(self, states: Mapping[str, ModelState], stamp: Time) -> None:
        """Publish the actors at their present poses if there are subscribers."""
        if not self._topic.get_num_connections():
            return
        found: List[Marker] = []
        activities = self._actors.activities
        there = tuple(name for name in activities if name in states)
        if there != self._shown:  # a new scene, or an actor was deleted
            found.append(Marker(action=Marker.DELETEALL))
            self._shown = there
        numbers = itertools.count()
        for name in there:
            found.extend(self._of(name, states[name].pose, numbers))
            found.append(_label(name, activities[name], found[-1], next(numbers)))
        publish(self._topic, found, stamp)

    def _of(self, name: str, pose: Pose, numbers: Iterator[int]) -> Iterator[Marker]:
        for shape in self._shapes[name]:
            for marker in solid_markers(shape.geometry, pose * shape.local_pose, COLOR):
                marker.ns, marker.id = name, next(numbers)
                yield marker


def _label(name: str, activity: str, last: Marker, number: int) -> Marker:
    marker = Marker(ns=name, id=number, type=Marker.TEXT_VIEW_FACING, color=TEXT)
    marker.text = f"{name}: {activity}" if activity else name
    marker.scale.z = TEXT_HEIGHT_M
    at = last.pose.position
    marker.pose = pose_message(Pose((at.x, at.y, at.z + last.scale.z / 2 + TEXT_HEIGHT_M)))
    return marker
