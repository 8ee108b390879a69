"""Creation of a local planner's observations from odometry, transforms, scans and sensors.

An observation contains the first odometry of a control period, the pose in tf at its time stamp,
and the newest scan and readings. All waits have a timeout in wall time, since simulated time can
stop.
"""

import threading
import time
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

import rospy
import tf2_ros
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Odometry
from sensor_msgs.msg import LaserScan

from gz_testauto.base import ros_messages
from gz_testauto.base.errors import NavigatorError
from gz_testauto.base.observation import LaserScan as Scan
from gz_testauto.base.observation import SensorReading, TrackedObject, Twist2D
from gz_testauto.base.pose import Pose
from gz_testauto.base.ros_messages import WORLD_FRAME
from gz_testauto.base.sensors import Sensor
from gz_testauto.planners.interface import Observation
from gz_testauto.ros.graph import subscribe
from gz_testauto.ros.map_messages import objects_of
from gz_testauto.ros.planner import interface
from gz_testauto.ros.planner.sensors import (
    NewestMessage,
    SensorSubscriber,
    is_newer_due,
    reading_of,
)

SCAN_TIMEOUT_S = 0.25
OBJECTS_TIMEOUT_S = 10.0
# wall time to wait for the first transform, and for each later transform
FIRST_TRANSFORM_TIMEOUT_S = 10.0
TRANSFORM_TIMEOUT_S = 1.0

POLL_S = 0.0005


@dataclass(frozen=True, eq=False)
class StampedObservation:
    """An observation with its ROS time and the time stamps of its scan and readings.

    ``scan_stamp`` is 0 without a scan. ``observation.time_s`` is the time since the start of the
    task.
    """

    stamp: rospy.Time
    observation: Observation
    scan_stamp: rospy.Time
    sensor_stamps: Mapping[str, rospy.Time]


class ObservationSubscriber:
    """A subscriber of the topics ``odom``, ``scan``, ``objects`` and of sensors."""

    def __init__(
        self,
        period_s: float,
        tracking: bool,
        max_object_age_s: float,
        sensors: Sequence[Sensor] = (),
        scan_delay_s: float = 0.0,
    ) -> None:
        """Subscribe to the topics.

        With ``tracking``, observations contain objects, at most ``max_object_age_s`` older than the
        odometry. A scan is available ``scan_delay_s`` after its time.
        """
        self._objects_age_ns = ros_messages.nanoseconds_of(max_object_age_s)
        # A stamp that is early by rounding or by one physics step also starts the next period.
        self._period_ns = ros_messages.nanoseconds_of(0.95 * period_s)
        self._control_period_ns = ros_messages.nanoseconds_of(period_s)
        self._scan_delay_ns = ros_messages.nanoseconds_of(scan_delay_s)
        self._condition = threading.Condition()
        self._odom: Optional[Odometry] = None
        self._moved_back = False
        self._mounts: Dict[str, Pose] = {}
        self._origin_ns = 0
        self._next_ns = 0
        self._since_ns = 0
        self._last_ns = 0
        self._scene_ns: Optional[int] = None
        self._transform_timeout_s = FIRST_TRANSFORM_TIMEOUT_S
        self._buffer = tf2_ros.Buffer()
        self._listener = tf2_ros.TransformListener(self._buffer, tcp_nodelay=True)
        self._scan = NewestMessage(interface.SCAN, self._condition)
        self._objects = NewestMessage(interface.OBJECTS, self._condition) if tracking else None
        self._sensors = [SensorSubscriber(sensor, self._condition) for sensor in sensors]
        subscribe(interface.ODOM, self._on_odom)

    def begin(self, start_time: rospy.Time) -> None:
        """Start a task. Messages older than ``start_time`` are ignored. With 0, all are used."""
        self._since_ns = self._next_ns = start_time.to_nsec()
        self._origin_ns = 0
        self._moved_back = False
        if not 0 <= self._since_ns - self._last_ns <= 2 * self._control_period_ns:
            self._scene_ns = None  # the goal does not continue the scene of the previous one
        self._mounts.clear()

    def next(self, timeout_s: float) -> Optional[StampedObservation]:
        """Return the next observation, or None after ``timeout_s`` of wall time without odometry.

        The first one of a task requires recent readings of all sensors. Raises ``NavigatorError``
        if tf has no pose of the robot, or if ROS time has moved back.
        """
        odom = self._await_odom(timeout_s)
        if odom is None:
            return None
        stamp = odom.header.stamp
        if stamp.to_nsec() == self._since_ns:
            self._scene_ns = self._since_ns
        is_first = not self._origin_ns
        if not self._await_sensors(stamp, timeout_s if is_first else SCAN_TIMEOUT_S) and is_first:
            return None
        if is_first:
            self._origin_ns = stamp.to_nsec()
        self._last_ns = stamp.to_nsec()
        self._next_ns = self._last_ns + self._period_ns
        scan = self._await_scan(stamp)
        messages: Dict[str, Tuple[Sensor, Any]] = {
            subscriber.sensor.name: (subscriber.sensor, subscriber.message)
            for subscriber in self._sensors
        }
        return StampedObservation(
            stamp,
            Observation(
                time_s=self._scene_time_s(stamp),
                pose=self._transform(WORLD_FRAME, odom.child_frame_id, stamp).planar,
                twist=Twist2D(odom.twist.twist.linear.x, odom.twist.twist.angular.z),
                scan=None if scan is None else self._convert_scan(scan, odom.child_frame_id),
                objects=self._await_objects(stamp),
                sensors={
                    name: self._convert_reading(message, sensor, odom.child_frame_id)
                    for name, (sensor, message) in messages.items()
                },
            ),
            rospy.Time() if scan is None else scan.header.stamp,
            {name: message.header.stamp for name, (_, message) in messages.items()},
        )

    def missing(self) -> str:
        """Return a message about the missing input of the first observation."""
        if self._odom is not None and self._odom.header.stamp.to_nsec() >= self._next_ns:
            for subscriber in self._sensors:
                if not self._is_up_to_date(subscriber, self._odom.header.stamp.to_nsec()):
                    return (
                        f"no recent message of the sensor {subscriber.sensor.name!r} was received "
                        f"on {subscriber.topic}"
                    )
        return f"no odometry newer than the goal was received on {rospy.resolve_name('odom')}"

    def in_map(self, pose: PoseStamped) -> Pose:
        """Return a pose in the map frame; raise ``NavigatorError`` without the transform."""
        local_pose = ros_messages.pose_of(pose.pose)
        if pose.header.frame_id in (WORLD_FRAME, "/" + WORLD_FRAME, ""):
            return local_pose
        return self._transform(WORLD_FRAME, pose.header.frame_id, rospy.Time(0)) * local_pose

    def _on_odom(self, message: Odometry) -> None:
        with self._condition:
            stamp = message.header.stamp
            if self._odom is not None and stamp < self._odom.header.stamp:
                self._moved_back = True
                for newest in (self._scan, self._objects, *self._sensors):
                    if newest is not None:
                        newest.forget_after(stamp)
            self._odom = message
            self._condition.notify_all()

    def _await_objects(self, stamp: rospy.Time) -> Tuple[TrackedObject, ...]:
        newest, oldest_ns = self._objects, stamp.to_nsec() - self._objects_age_ns
        if newest is None:
            return ()

        def is_recent() -> bool:
            message = newest.message
            return message is not None and message.header.stamp.to_nsec() >= oldest_ns

        with self._condition:
            is_received = self._condition.wait_for(is_recent, OBJECTS_TIMEOUT_S)
            objects = newest.message
        if not is_received:  # with old objects, the planner could collide
            raise NavigatorError(
                f"no message on {rospy.resolve_name('objects')} for the stamp of the odometry "
                f"within {OBJECTS_TIMEOUT_S:g} s; publish tracked objects in every control period, "
                "or set ~tracking to false"
            )
        return objects_of(objects.objects)

    def _await_odom(self, timeout_s: float) -> Optional[Odometry]:
        def is_due() -> bool:
            if self._odom is None:
                return False
            return self._moved_back or self._odom.header.stamp.to_nsec() >= self._next_ns

        with self._condition:
            odom = self._odom if self._condition.wait_for(is_due, timeout_s) else None
            if self._moved_back:
                raise NavigatorError(
                    "ROS time has moved back, as after /gazebo/reset_simulation; send the goal "
                    "again"
                )
            return odom

    def _await_sensors(self, stamp: rospy.Time, timeout_s: float) -> bool:
        now_ns = stamp.to_nsec()

        def late_topics() -> List[str]:
            return [
                subscriber.topic
                for subscriber in self._sensors
                if not self._is_up_to_date(subscriber, now_ns)
            ]

        with self._condition:
            is_received: bool = self._condition.wait_for(lambda: not late_topics(), timeout_s)
            if not is_received and self._origin_ns:
                rospy.logwarn_throttle(
                    5.0,
                    f"no new message on {', '.join(late_topics())} was received in time; the "
                    "planner continues with the previous one",
                )
        return is_received

    def _is_up_to_date(self, subscriber: SensorSubscriber, now_ns: int) -> bool:
        return subscriber.is_up_to_date(now_ns, self._control_period_ns, self._scene_ns)

    def _await_scan(self, stamp: rospy.Time) -> Optional[LaserScan]:
        now_ns = stamp.to_nsec() - self._scan_delay_ns
        oldest_ns = self._origin_ns if self._scene_ns is None else self._scene_ns

        def is_complete() -> bool:
            scan = self._scan.message
            if scan is None or scan.header.stamp.to_nsec() < oldest_ns:
                return False
            if not scan.scan_time:
                return True
            rate_hz = float(f"{1.0 / scan.scan_time:.6g}")  # the time has single precision
            stamp_ns, period_ns = scan.header.stamp.to_nsec(), self._control_period_ns
            return not is_newer_due(stamp_ns, now_ns, rate_hz, period_ns, self._scene_ns)

        with self._condition:
            is_received = self._condition.wait_for(is_complete, SCAN_TIMEOUT_S)
            if not is_received and stamp.to_nsec() > self._origin_ns:
                rospy.logwarn_throttle(
                    5.0, "no scan was received in time; the planner continues without a new scan"
                )
            scan: Optional[LaserScan] = self._scan.message
        if scan is None or scan.header.stamp.to_nsec() < oldest_ns:
            return None
        return scan

    def _convert_scan(self, message: LaserScan, base_frame: str) -> Scan:
        stamp_s = self._scene_time_s(message.header.stamp)
        mount = self._mount(base_frame, message.header.frame_id)
        return ros_messages.scan_of(message, stamp_s, mount)

    def _convert_reading(self, message: Any, sensor: Sensor, base_frame: str) -> SensorReading:
        stamp_s = self._scene_time_s(message.header.stamp)
        if sensor.kind == "contact":  # contacts are in the world frame
            return reading_of(message, sensor, stamp_s, sensor.mount)
        mount = self._mount(base_frame, message.header.frame_id)
        return reading_of(message, sensor, stamp_s, mount)

    def _mount(self, base_frame: str, frame: str) -> Pose:
        if frame not in self._mounts:
            self._mounts[frame] = self._transform(base_frame, frame, rospy.Time(0))
        return self._mounts[frame]

    def _scene_time_s(self, stamp: rospy.Time) -> float:
        return (stamp.to_nsec() - self._origin_ns) / ros_messages.NANOSECONDS

    def _transform(self, parent: str, child: str, stamp: rospy.Time) -> Pose:
        # tf itself would wait in simulated time
        deadline = time.monotonic() + self._transform_timeout_s
        while True:
            try:
                transform = self._buffer.lookup_transform(parent, child, stamp)
                self._transform_timeout_s = TRANSFORM_TIMEOUT_S
                return ros_messages.pose_of_transform(transform.transform)
            except tf2_ros.TransformException as error:
                if time.monotonic() > deadline or rospy.is_shutdown():
                    raise NavigatorError(
                        f"tf has no transform from {child!r} to {parent!r}: {error}"
                    ) from error
            time.sleep(POLL_S)
