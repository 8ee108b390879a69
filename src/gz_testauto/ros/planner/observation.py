"""Joins odometry, transforms and scans into what a local planner observes.

Owns the question which messages belong together. A cycle is planned from the first odometry of
a control period, from the pose that tf has for its stamp, and from the newest scan; where a
scan is due by that stamp, and has not come, it is waited for. Topics have no order among each
other: without the wait, a cycle would now and then be planned from the scan before.

Waiting is bounded in wall time throughout: simulated time may stand still.
"""

import threading
import time
from dataclasses import dataclass
from typing import Dict, Optional, Tuple

import rospy
import tf2_ros
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Odometry
from sensor_msgs.msg import LaserScan

from gz_testauto.base import ros_messages
from gz_testauto.base.errors import NavigatorError
from gz_testauto.base.observation import LaserScan as Scan
from gz_testauto.base.observation import TrackedObject, Twist2D
from gz_testauto.base.pose import Pose
from gz_testauto.msg import TrackedObjects
from gz_testauto.planners.interface import Observation
from gz_testauto.ros.road_messages import objects_of

SCAN_PATIENCE_S = 0.25
OBJECTS_PATIENCE_S = 10.0
FIRST_TRANSFORM_PATIENCE_S = 10.0
TRANSFORM_PATIENCE_S = 1.0
"""Wall time that tf may take: to be heard at all, and later on, with the robot driving."""

POLL_S = 0.0005


@dataclass(frozen=True, eq=False)
class StampedObservation:
    """What was observed at one instant of ROS time, and the stamp of the scan in it, 0 for none;
    ``observation.time_s`` counts from the beginning of the task."""

    stamp: rospy.Time
    observation: Observation
    scan_stamp: rospy.Time


class ObservationSubscriber:
    """What a robot's topics tell. ``odom`` and ``scan`` are subscribed by these names."""

    def __init__(
        self,
        period_s: float,
        tracking: bool = False,
        max_object_age_s: float = 0.0,
        map_frame: str = ros_messages.WORLD_FRAME,
    ) -> None:
        """Subscribe; with ``tracking`` also to ``objects``, whose messages can be older than the
        odometry by up to ``max_object_age_s``."""
        self._objects_age = rospy.Duration.from_sec(max_object_age_s)
        self._map_frame = map_frame
        self._objects: Optional[TrackedObjects] = None
        # A period that the stamps miss by rounding, or by a physics step, is one all the same.
        self._period_ns = ros_messages.nanoseconds_of(0.95 * period_s)
        self._news = threading.Condition()
        self._odom: Optional[Odometry] = None
        self._scan: Optional[LaserScan] = None
        self._mounts: Dict[str, Pose] = {}
        self._origin_ns = 0
        self._next_ns = 0
        self._transform_patience_s = FIRST_TRANSFORM_PATIENCE_S
        self._buffer = tf2_ros.Buffer()
        self._listener = tf2_ros.TransformListener(self._buffer, tcp_nodelay=True)
        self._subscribers = [
            rospy.Subscriber("odom", Odometry, self._take_odom, tcp_nodelay=True),
            rospy.Subscriber("scan", LaserScan, self._take_scan, tcp_nodelay=True),
        ]
        self._tracking = tracking
        if tracking:
            self._subscribers.append(
                rospy.Subscriber("objects", TrackedObjects, self._take_objects, tcp_nodelay=True)
            )

    def begin(self, since: rospy.Time) -> None:
        """Begin a task: nothing older than ``since`` counts; zero takes what there is."""
        self._next_ns = since.to_nsec()
        self._origin_ns = 0
        self._mounts.clear()

    def next(self, timeout_s: float) -> Optional[StampedObservation]:
        """The next observation to plan from; None when none came within ``timeout_s`` of wall time.

        Raises ``NavigatorError`` when the robot's pose cannot be had from tf.
        """
        odom = self._await_odom(timeout_s)
        if odom is None:
            return None
        stamp = odom.header.stamp
        if not self._origin_ns:
            self._origin_ns = stamp.to_nsec()
        self._next_ns = stamp.to_nsec() + self._period_ns
        scan = self._await_scan(stamp)
        return StampedObservation(
            stamp,
            Observation(
                time_s=self._since_origin(stamp),
                pose=self._transform(self._map_frame, odom.child_frame_id, stamp).planar,
                twist=Twist2D(odom.twist.twist.linear.x, odom.twist.twist.angular.z),
                scan=None if scan is None else self._scan_seen(scan, odom.child_frame_id),
                objects=self._await_objects(stamp) if self._tracking else (),
            ),
            rospy.Time() if scan is None else scan.header.stamp,
        )

    def in_map(self, pose: PoseStamped) -> Pose:
        """A pose in the map frame; raises ``NavigatorError`` where tf does not know its frame."""
        given = ros_messages.pose_of(pose.pose)
        if pose.header.frame_id in (self._map_frame, "/" + self._map_frame, ""):
            return given
        return self._transform(self._map_frame, pose.header.frame_id, rospy.Time(0)) * given

    def _take_odom(self, message: Odometry) -> None:
        with self._news:
            self._odom = message
            self._news.notify_all()

    def _take_scan(self, message: LaserScan) -> None:
        with self._news:
            self._scan = message
            self._news.notify_all()

    def _take_objects(self, message: TrackedObjects) -> None:
        with self._news:
            self._objects = message
            self._news.notify_all()

    def _await_objects(self, stamp: rospy.Time) -> Tuple[TrackedObject, ...]:
        """Who is tracked at ``stamp``, once that has come. Raises ``NavigatorError`` where it does
        not come: without it a planner would drive as if nobody were there."""
        oldest = (
            rospy.Time()
            if stamp.to_nsec() < self._objects_age.to_nsec()
            else (stamp - self._objects_age)
        )
        with self._news:
            came = self._news.wait_for(
                lambda: self._objects is not None and self._objects.header.stamp >= oldest,
                OBJECTS_PATIENCE_S,
            )
            objects = self._objects
        if not came or objects is None:
            raise NavigatorError(
                f"nothing on {rospy.resolve_name('objects')} for the stamp of the odometry within "
                f"{OBJECTS_PATIENCE_S:g} s; who tracks must publish it every period, or set "
                "~tracking to false"
            )
        return objects_of(objects.objects)

    def _await_odom(self, timeout_s: float) -> Optional[Odometry]:
        def due() -> bool:
            return self._odom is not None and self._odom.header.stamp.to_nsec() >= self._next_ns

        with self._news:
            return self._odom if self._news.wait_for(due, timeout_s) else None

    def _await_scan(self, stamp: rospy.Time) -> Optional[LaserScan]:
        """The newest scan up to ``stamp``, once every scan due by then has come."""
        now_ns = stamp.to_nsec()

        def complete() -> bool:
            scan = self._scan
            if scan is None or scan.header.stamp.to_nsec() < self._origin_ns:
                return False
            interval_ns = ros_messages.nanoseconds_of(ros_messages.from_float32(scan.scan_time))
            return not interval_ns or scan.header.stamp.to_nsec() + interval_ns > now_ns

        with self._news:
            if not self._news.wait_for(complete, SCAN_PATIENCE_S) and now_ns > self._origin_ns:
                rospy.logwarn_throttle(5.0, "a scan is due and has not come; planning without it")
            scan = self._scan
        if scan is None or scan.header.stamp.to_nsec() < self._origin_ns:
            return None
        return scan

    def _scan_seen(self, message: LaserScan, base_frame: str) -> Scan:
        frame = message.header.frame_id
        if frame not in self._mounts:
            self._mounts[frame] = self._transform(base_frame, frame, rospy.Time(0))
        stamp_s = self._since_origin(message.header.stamp)
        return ros_messages.scan_of(message, stamp_s, self._mounts[frame])

    def _since_origin(self, stamp: rospy.Time) -> float:
        return (stamp.to_nsec() - self._origin_ns) / ros_messages.NANOSECONDS

    def _transform(self, parent: str, child: str, stamp: rospy.Time) -> Pose:
        """The pose of ``child`` in ``parent``. tf's own waiting counts simulated time."""
        deadline = time.monotonic() + self._transform_patience_s
        while True:
            try:
                found = self._buffer.lookup_transform(parent, child, stamp)
                self._transform_patience_s = TRANSFORM_PATIENCE_S
                return ros_messages.pose_of_transform(found.transform)
            except tf2_ros.TransformException as error:
                if time.monotonic() > deadline or rospy.is_shutdown():
                    raise NavigatorError(
                        f"tf has no transform from {child!r} to {parent!r}: {error}"
                    ) from error
            time.sleep(POLL_S)
