"""Publication of the selected sensors of a robot on the topics and in the frames that the plug-ins
of its model name.

The types are those of gazebo_ros: ``LaserScan`` for planar lidars, ``PointCloud2`` for 3-D lidars
and depth cameras, ``Range`` for sonars and infrared sensors, ``ContactsState`` for bumpers.
"""

from typing import Any, Callable, Dict, List, Mapping, Sequence, Set, Tuple

import rospy
from roslib.message import get_message_class

from gz_testauto.base import ros_messages
from gz_testauto.base.observation import SensorReading
from gz_testauto.base.pose import Pose
from gz_testauto.base.sensors import Sensor
from gz_testauto.ros.simulator.interface import SENSOR_TYPES, sensor_topic

QUEUE_SIZE = 10


class SensorPublisher:
    """The publisher of the sensors of the robot, for all scenes of a node."""

    def __init__(self, period_s: float) -> None:
        self._period_s = period_s
        self._publishers: Dict[Tuple[str, str], rospy.Publisher] = {}
        self._outputs: Dict[str, rospy.Publisher] = {}
        self._published_s: Dict[str, float] = {}

    def start_scene(self, sensors: Sequence[Sensor]) -> None:
        """Create the publishers of the sensors of a new scene."""
        self._published_s.clear()
        self._outputs = {}
        for sensor in sensors:
            topic = sensor_topic(sensor)
            if topic == sensor.scoped_topic:
                rospy.logwarn(
                    "sensor %s: its topic is used already, so it is published on %s",
                    sensor.name,
                    topic,
                )
            key = (topic, sensor.kind)
            if key not in self._publishers:
                # Latched, since a node can subscribe while time is held.
                self._publishers[key] = rospy.Publisher(
                    topic,
                    get_message_class(SENSOR_TYPES[sensor.kind]),
                    latch=True,
                    queue_size=QUEUE_SIZE,
                )
            self._outputs[sensor.name] = self._publishers[key]

    def publish(
        self, readings: Mapping[str, SensorReading], time_of: Callable[[float], rospy.Time]
    ) -> None:
        """Publish the readings that are new. ``time_of`` converts the time of the scene (s) to ROS
        time."""
        for name, reading in readings.items():
            if reading.stamp_s > self._published_s.get(name, -1.0):
                is_first = name not in self._published_s
                self._published_s[name] = reading.stamp_s
                output = self._outputs[name]
                if is_first or output.get_num_connections():
                    stamp = time_of(reading.stamp_s)
                    output.publish(sensor_message(reading, stamp, self._period_s))


def sensor_message(reading: SensorReading, stamp: rospy.Time, period_s: float) -> Any:
    """Return the message of a reading. ``period_s`` is the time between two scans of a lidar
    without a rate."""
    sensor = reading.sensor
    if sensor.kind == "scan":
        rate_hz = sensor.update_rate_hz
        interval_s = 1.0 / rate_hz if rate_hz else period_s
        return ros_messages.scan_message(reading.scan, stamp, sensor.frame, interval_s)
    if sensor.kind == "cloud":
        return ros_messages.cloud_message(reading, stamp)
    if sensor.kind == "range":
        return ros_messages.range_message(reading, stamp)
    return ros_messages.contacts_message(reading.contacts, stamp, sensor.frame)


def sensor_frames(sensors: Sequence[Sensor], known: Set[str]) -> List[Tuple[str, Pose]]:
    """Return the frame of each sensor with rays, and its pose in the base frame. Frames in
    ``known`` and repeated frames are omitted."""
    frames: Dict[str, Pose] = {}
    for sensor in sensors:
        if sensor.kind != "contact" and sensor.frame not in known:
            frames.setdefault(sensor.frame, sensor.frame_mount)
    return list(frames.items())
