"""Publishers of tracked objects, and of the road for a navigation stack."""

from typing import Dict, Iterable, Iterator, Optional

import numpy as np
import rospy
from genpy import Time
from geometry_msgs.msg import Point, Point32
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker

from gz_testauto.actors.tracker import ObjectTracker
from gz_testauto.base.observation import Snapshot, TrackedObject
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.base.ros_messages import (
    WORLD_FRAME,
    header,
    nanoseconds_of,
    pose_message,
    time_message,
    twist_message,
)
from gz_testauto.msg import Road, TrackedObjects
from gz_testauto.ros.graph import advertise
from gz_testauto.ros.interface import Endpoint
from gz_testauto.ros.map_messages import object_messages, road_message
from gz_testauto.ros.simulator import interface
from gz_testauto.ros.simulator.markers import publish
from gz_testauto.ros.simulator.odometry import Odometry
from gz_testauto.trial.actors import TrialActors
from gz_testauto.trial.testbed import StackTestBed
from gz_testauto.trial.trial import Trial

try:
    from costmap_converter.msg import ObstacleArrayMsg, ObstacleMsg
except ImportError:  # installed with teb_local_planner
    ObstacleArrayMsg = None

COLOR = ColorRGBA(0.85, 0.45, 0.1, 0.9)
STACK_MARKERS = "/tracked"
LINE_M, DRAWN_M = 0.05, 0.1  # width of the lines in RViz, and their height above the ground


class TrackedObjectsPublisher:
    """The publisher of tracked objects on three topics.

    ``objects`` is for planners of this package, ``obstacles`` for ``teb_local_planner``, if
    ``costmap_converter`` is installed, and ``markers`` for RViz. The last two are published only
    while they have subscribers.
    """

    def __init__(
        self, objects: Endpoint, obstacles: Endpoint, markers: Endpoint, frame: str = WORLD_FRAME
    ) -> None:
        self._frame = frame
        self._objects = advertise(objects, 100)
        self._obstacles = None if ObstacleArrayMsg is None else advertise(obstacles)
        self._markers = advertise(markers)
        self._tracker: Optional[ObjectTracker] = None
        self._numbers: Dict[str, int] = {}

    def start_scene(self, tracker: Optional[ObjectTracker]) -> None:
        self._tracker = tracker
        self._numbers = {}

    def publish(self, snapshot: Snapshot, stamp: Time, odometry: Optional[Odometry] = None) -> None:
        """Publish the objects at their positions relative to the estimated pose of ``odometry``."""
        tracker = self._tracker
        if tracker is None:
            return
        tracker.observe(snapshot)
        objects = tracker.objects if odometry is None else odometry.as_estimated(tracker.objects)
        message = TrackedObjects(header(stamp, self._frame), object_messages(objects))
        self._objects.publish(message)
        if self._obstacles is not None and self._obstacles.get_num_connections():
            obstacles = [self._obstacle_message(tracked) for tracked in objects]
            self._obstacles.publish(ObstacleArrayMsg(message.header, obstacles))
        if self._markers.get_num_connections():
            markers = [Marker(action=Marker.DELETEALL), *_object_markers(objects)]
            publish(self._markers, markers, stamp, self._frame)

    def _obstacle_message(self, tracked_object: TrackedObject) -> "ObstacleMsg":
        x_m, y_m, yaw_rad = tracked_object.path[0].tolist()
        pose = Pose2D(x_m, y_m, yaw_rad)
        message = ObstacleMsg(id=self._numbers.setdefault(tracked_object.name, len(self._numbers)))
        message.header.frame_id = self._frame
        corners = pose.apply(tracked_object.outline_m).tolist()
        message.polygon.points = [Point32(x, y, 0.0) for x, y in corners]
        message.radius = float(np.hypot(*tracked_object.outline_m.T).max())
        message.orientation = pose_message(pose.to_pose()).orientation
        vx_mps, vy_mps, turn_radps = tracked_object.velocity
        message.velocities.twist = twist_message((vx_mps, vy_mps, 0.0), (0.0, 0.0, turn_radps))
        return message


class TrafficPublisher:
    """The publisher of tracked objects and of the road on the topics of a navigation stack."""

    def __init__(self, bed: StackTestBed) -> None:
        self._bed = bed
        spec = bed.spec
        names, self._frame = spec.stack.names, spec.stack.frames.map
        self._objects: Optional[TrackedObjectsPublisher] = None
        if spec.tracking is not None:
            self._objects = TrackedObjectsPublisher(
                interface.OBJECTS._replace(name=names.objects),
                interface.OBSTACLE_ARRAY._replace(name=names.obstacles),
                interface.TRACKED._replace(name=STACK_MARKERS),
                self._frame,
            )
        self._road: Optional[rospy.Publisher] = None
        if spec.has_road:
            self._road = rospy.Publisher(names.road, Road, queue_size=1, latch=True)

    def begin(self, trial: Trial, actors: TrialActors) -> None:
        if self._objects is not None:
            self._objects.start_scene(self._bed.tracker(trial, actors))
        if self._road is not None:
            self._road.publish(road_message(self._bed.lanes(trial), rospy.Time(), self._frame))

    def publish(self, snapshot: Snapshot) -> None:
        if self._objects is not None:
            stamp = time_message(nanoseconds_of(snapshot.time_s))
            self._objects.publish(snapshot, stamp)


def _object_markers(objects: Iterable[TrackedObject]) -> Iterator[Marker]:
    for number, tracked_object in enumerate(objects):
        outline = Marker(ns="outlines", id=number, type=Marker.LINE_STRIP, color=COLOR)
        outline.pose, outline.scale.x = pose_message(tracked_object.pose.to_pose(DRAWN_M)), LINE_M
        corners = [*tracked_object.outline_m.tolist(), tracked_object.outline_m[0].tolist()]
        outline.points = [Point(x, y, 0.0) for x, y in corners]
        yield outline
        path = Marker(ns="paths", id=number, type=Marker.LINE_STRIP, color=COLOR)
        path.pose, path.scale.x = pose_message(Pose((0.0, 0.0, DRAWN_M))), LINE_M
        path.points = [Point(x, y, 0.0) for x, y, _ in tracked_object.path.tolist()]
        yield path
