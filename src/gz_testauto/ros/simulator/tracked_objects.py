"""Who is tracked, for planners' nodes and for RViz."""

from typing import Iterable, Iterator, Optional

import rospy
from genpy import Time
from geometry_msgs.msg import Point
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from gz_testauto.msg import TrackedObjects
from gz_testauto.observation import Snapshot, TrackedObject
from gz_testauto.pose import Pose
from gz_testauto.ros.road_messages import object_messages
from gz_testauto.ros.simulator.shape_markers import publish
from gz_testauto.ros_messages import WORLD_FRAME, pose_message
from gz_testauto.tracking.tracker import ObjectTracker

COLOR = ColorRGBA(0.85, 0.45, 0.1, 0.9)
LINE_M, DRAWN_M = 0.05, 0.1
"""Width of lines, and their height above the ground."""


class TrackedObjectsPublisher:
    """Publishes ``~objects`` and, while somebody looks, ``~tracked``. Called from the loop's
    thread."""

    def __init__(self) -> None:
        self._topic = rospy.Publisher("~objects", TrackedObjects, queue_size=100)
        self._markers = rospy.Publisher("~tracked", MarkerArray, queue_size=1)
        self._tracker: Optional[ObjectTracker] = None

    def scene_began(self, tracker: Optional[ObjectTracker]) -> None:
        """Tell of a new scene; nothing without a tracker."""
        self._tracker = tracker

    def show(self, snapshot: Snapshot, stamp: Time) -> None:
        """Tell of the end of a period."""
        tracker = self._tracker
        if tracker is None:
            return
        tracker.observe(snapshot)
        message = TrackedObjects(objects=object_messages(tracker.objects))
        message.header.stamp, message.header.frame_id = stamp, WORLD_FRAME
        self._topic.publish(message)
        if self._markers.get_num_connections():
            found = [Marker(action=Marker.DELETEALL), *_drawn(tracker.objects)]
            publish(self._markers, found, stamp)


def _drawn(objects: Iterable[TrackedObject]) -> Iterator[Marker]:
    """The outline of each, and its path."""
    for number, one in enumerate(objects):
        body = Marker(ns="outlines", id=number, type=Marker.LINE_STRIP, color=COLOR)
        body.pose, body.scale.x = pose_message(one.pose.to_pose(DRAWN_M)), LINE_M
        corners = [*one.outline_m.tolist(), one.outline_m[0].tolist()]
        body.points = [Point(x, y, 0.0) for x, y in corners]
        yield body
        path = Marker(ns="paths", id=number, type=Marker.LINE_STRIP, color=COLOR)
        path.pose, path.scale.x = pose_message(Pose((0.0, 0.0, DRAWN_M))), LINE_M
        path.points = [Point(x, y, 0.0) for x, y, _ in one.path.tolist()]
        yield path
