"""Subscription to a local planner's sensors, and conversion of their messages.

The converted readings equal those without ROS bit by bit
(:meth:`~gz_testauto.base.observation.SensorReading.in_message_precision`).
"""

import math
import threading
from dataclasses import replace
from typing import Any, List, Optional

import numpy as np
import rospy
from sensor_msgs.msg import PointCloud2, PointField

from gz_testauto.base import ros_messages
from gz_testauto.base.errors import NavigatorError
from gz_testauto.base.observation import SensorReading
from gz_testauto.base.pose import Pose
from gz_testauto.base.sensors import Angles, Sensor
from gz_testauto.ros.graph import subscribe
from gz_testauto.ros.interface import Endpoint
from gz_testauto.ros.simulator.interface import sensor_endpoint

EARLY = 1e-6  # tolerance for rounding, as a share of a sensor's period

ROUNDING_NS = 1000  # largest difference of a stamp from a whole number of control periods


class NewestMessage:
    """A subscriber that stores the newest message and notifies ``condition``."""

    def __init__(self, topic: Endpoint, condition: threading.Condition) -> None:
        self.message: Any = None
        self._condition = condition
        self._subscriber = subscribe(topic, self._on_message)

    def forget_after(self, stamp: rospy.Time) -> None:
        """Remove a newer message, after ROS time has moved back."""
        if self.message is not None and self.message.header.stamp > stamp:
            self.message = None

    def _on_message(self, message: Any) -> None:
        with self._condition:
            self.message = message
            self._condition.notify_all()


class SensorSubscriber(NewestMessage):
    def __init__(self, sensor: Sensor, condition: threading.Condition) -> None:
        topic = sensor_endpoint(sensor)
        super().__init__(topic, condition)
        self.sensor = sensor
        self.topic: str = rospy.resolve_name(topic.name)

    def is_up_to_date(self, now_ns: int, period_ns: int, origin_ns: Optional[int]) -> bool:
        """Return whether all messages that are due at ``now_ns`` (ROS time) have been received."""
        if self.message is None:
            return False
        stamp_ns = self.message.header.stamp.to_nsec()
        available_ns = now_ns - ros_messages.nanoseconds_of(self.sensor.delay_s)
        rate_hz = self.sensor.update_rate_hz
        return not is_newer_due(stamp_ns, available_ns, rate_hz, period_ns, origin_ns)


def is_newer_due(
    stamp_ns: int, now_ns: int, rate_hz: float, period_ns: int, origin_ns: Optional[int]
) -> bool:
    """Return whether a sensor has measured after ``stamp_ns``, and not later than ``now_ns``.

    A simulator starts at ``origin_ns``. Its sensors measure at the end of the first control period
    that ends at or after each period of the sensor. If the origin is unknown, the sensor measures
    one period after the previous measurement. A rate of 0 is one measurement per control period.
    """
    if origin_ns is None:
        interval_ns = ros_messages.nanoseconds_of(1.0 / rate_hz) if rate_hz else period_ns
        return stamp_ns + interval_ns <= now_ns
    last_ns = origin_ns + (now_ns - origin_ns + ROUNDING_NS) // period_ns * period_ns
    # The newest possible measurement is that at the end of the last control period.
    if stamp_ns + ROUNDING_NS >= last_ns:
        return False
    if not rate_hz:
        return True
    # the number of sensor periods that had ended at each time
    first_count, last_count = (
        math.floor((time_ns - origin_ns) / ros_messages.NANOSECONDS * rate_hz + EARLY)
        for time_ns in (stamp_ns, last_ns)
    )
    return last_count > first_count


def reading_of(message: Any, sensor: Sensor, stamp_s: float, mount: Pose) -> SensorReading:
    """Return the reading in a message whose frame has the pose ``mount`` in the base frame."""
    if sensor.kind == "contact":
        contacts = ros_messages.contacts_of(message, [stamp_s] * len(message.states))
        return SensorReading(sensor, stamp_s, np.empty((0, 0)), contacts)
    sensor = sensor.in_frame(mount)
    if sensor.kind == "cloud":
        points = points_of(message)
        if sensor.is_camera:
            points = np.stack([points[:, 2], -points[:, 0], -points[:, 1]], axis=1)
        return SensorReading(sensor, stamp_s, sensor.ranges_to(points))
    if sensor.kind == "scan":
        ranges = np.array([message.ranges], dtype=float)
        columns = Angles(ranges.size, message.angle_min, message.angle_max)
        low, high = message.range_min, message.range_max
    else:
        ranges, columns = np.array([[message.range]], dtype=float), sensor.columns
        low, high = message.min_range, message.max_range
    ranges[ranges >= high] = np.inf
    ranges[ranges == -np.inf] = low  # an obstacle that is too near (REP 117)
    sensor = replace(sensor, columns=columns, range_min_m=low, range_max_m=high)
    return SensorReading(sensor, stamp_s, ranges)


def points_of(message: PointCloud2) -> np.ndarray:
    """Return the points (m) of a message, shape (n, 3).

    Raises ``NavigatorError`` without the fields x, y and z.
    """
    formats = {PointField.FLOAT32: "f4", PointField.FLOAT64: "f8"}
    fields = {field.name: field for field in message.fields if field.datatype in formats}
    if not {"x", "y", "z"} <= set(fields):
        raise NavigatorError(
            f"a cloud in the frame {message.header.frame_id!r} has the fields "
            f"{', '.join(field.name for field in message.fields) or 'none'}; it must have the "
            "fields x, y and z of the type FLOAT32 or FLOAT64"
        )
    order = ">" if message.is_bigendian else "<"
    dtype = np.dtype(
        {
            "names": ["x", "y", "z"],
            "formats": [order + formats[fields[axis].datatype] for axis in "xyz"],
            "offsets": [fields[axis].offset for axis in "xyz"],
            "itemsize": message.point_step,
        }
    )
    rows: List[np.ndarray] = [
        np.frombuffer(message.data, dtype, message.width, row * message.row_step)
        for row in range(message.height)
    ]
    points = np.concatenate(rows) if rows else np.empty(0, dtype)
    return np.stack([points[axis].astype(float) for axis in "xyz"], axis=1)
