"""Synthetic recordings as rosbags, with stamps of the Unix epoch and original stamps in
microseconds."""

from decimal import Decimal

import numpy as np
import pytest

EPOCH = Decimal("1764000000.123456789")
KINDS = ("ROS 1", "ROS 2", "MCAP")
RADIUS_M = 0.125
JOINTS = ("left_wheel", "right_wheel")
TOPICS = {
    "imu": ("/imu/data", "sensor_msgs/msg/Imu"),
    "odometry": ("/pose", "geometry_msgs/msg/PoseStamped"),
    "wheels": ("/joints", "sensor_msgs/msg/JointState"),
    "command": ("/cmd_vel", "geometry_msgs/msg/Twist"),
}
READ = {
    "imu": {"topic": "/imu/data"},
    "odometry": {"topic": "/pose"},
    "wheels": {"topic": "/joints", "joints": list(JOINTS), "radius_m": RADIUS_M},
    "command": {"topic": "/cmd_vel"},
}
"""Specification with which the written bags are read."""


def as_bag(recording, path, kind):
    """Write a recording as a bag of one of :data:`KINDS`, and return its path. A ROS 1 bag is a
    file, other bags are directories."""
    pytest.importorskip(
        "rosbags", reason="needs rosbags: pip install 'gz_testauto[simulator_comparison]'"
    )
    from rosbags.typesys import Stores, get_typestore

    first = kind == "ROS 1"
    store = get_typestore(Stores.ROS1_NOETIC if first else Stores.ROS2_HUMBLE)
    with _writer(path, kind) as bag:
        for channel, series in recording.channels.items():
            topic, message = TOPICS[channel]
            connection = bag.add_connection(topic, message, typestore=store)
            for time_s, row in zip(series.time_s.tolist(), series.values.tolist()):
                stamp = EPOCH + Decimal(repr(time_s))
                made = _message(store.types, channel, _header(store.types, stamp, first), row)
                raw = (store.serialize_ros1 if first else store.serialize_cdr)(made, message)
                bag.write(connection, int(stamp * 10**9), raw)
    return str(path)


def _writer(path, kind):
    from rosbags import rosbag1, rosbag2

    if kind == "ROS 1":
        return rosbag1.Writer(path)
    try:
        plugin = rosbag2.StoragePlugin.MCAP if kind == "MCAP" else rosbag2.StoragePlugin.SQLITE3
        return rosbag2.Writer(path, version=9, storage_plugin=plugin)
    except (AttributeError, TypeError):
        if kind == "MCAP":
            pytest.skip("this version of rosbags writes no MCAP")
        return rosbag2.Writer(path)


def _header(kinds, stamp, first):
    whole = int(stamp)
    time = kinds["builtin_interfaces/msg/Time"](whole, int((stamp - whole) * 10**9))
    number = (0,) if first else ()
    return kinds["std_msgs/msg/Header"](*number, time, "base_link")


def _message(kinds, channel, header, row):
    vector, quaternion = kinds["geometry_msgs/msg/Vector3"], kinds["geometry_msgs/msg/Quaternion"]
    nine = np.zeros(9)
    if channel == "imu":
        turned = quaternion(0.0, 0.0, 0.0, 1.0)
        return kinds["sensor_msgs/msg/Imu"](
            header, turned, nine, vector(*row[:3]), nine, vector(*row[3:]), nine
        )
    if channel == "odometry":
        turned = quaternion(0.0, 0.0, np.sin(row[2] / 2.0), np.cos(row[2] / 2.0))
        point = kinds["geometry_msgs/msg/Point"](row[0], row[1], 0.0)
        return kinds["geometry_msgs/msg/PoseStamped"](
            header, kinds["geometry_msgs/msg/Pose"](point, turned)
        )
    if channel == "wheels":
        none = np.zeros(0)
        speeds = np.array([row[1], row[0]]) / RADIUS_M
        return kinds["sensor_msgs/msg/JointState"](header, [*JOINTS[::-1]], none, speeds, none)
    return kinds["geometry_msgs/msg/Twist"](vector(row[0], 0.0, 0.0), vector(0.0, 0.0, row[1]))
