"""Reading of channels from rosbags of ROS 1 and ROS 2, without ROS.

The time of a message is the stamp of its header, or its recording time if it has no stamp.
"""

from decimal import Decimal
from pathlib import Path
from typing import Any, Callable, Dict, List, Sequence, Tuple

import numpy as np

from gz_testauto.base.disk import require_regular
from gz_testauto.base.errors import ResultsError
from gz_testauto.base.installation import importing
from gz_testauto.base.registry import unknown_name

NANO = Decimal(10) ** -9
ROS2_FILES = (".mcap", ".db3")


def _imu_values(message: Any) -> List[float]:
    angular, linear = message.angular_velocity, message.linear_acceleration
    return [angular.x, angular.y, angular.z, linear.x, linear.y, linear.z]


def _planar_values(position: Any, q: Any) -> List[float]:
    return [position.x, position.y, float(yaw_of(q.x, q.y, q.z, q.w))]


def _pose_values(pose: Any) -> List[float]:
    return _planar_values(pose.position, pose.orientation)


def yaw_of(x: Any, y: Any, z: Any, w: Any) -> Any:
    """Return the yaw (rad) of unit quaternions, numbers or arrays."""
    return np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y**2 + z**2))


def _twist_values(message: Any) -> List[float]:
    return [message.linear.x, message.angular.z]


Read = Callable[[Any], List[float]]

READERS: Dict[str, Dict[str, Read]] = {
    "imu": {"sensor_msgs/msg/Imu": _imu_values},
    "odometry": {
        "nav_msgs/msg/Odometry": lambda message: _pose_values(message.pose.pose),
        "geometry_msgs/msg/PoseStamped": lambda message: _pose_values(message.pose),
        "geometry_msgs/msg/PoseWithCovarianceStamped": lambda message: _pose_values(
            message.pose.pose
        ),
        "geometry_msgs/msg/TransformStamped": lambda message: _planar_values(
            message.transform.translation, message.transform.rotation
        ),
    },
    "wheels": {},
    "command": {
        "geometry_msgs/msg/Twist": _twist_values,
        "geometry_msgs/msg/TwistStamped": lambda message: _twist_values(message.twist),
    },
}
"""Functions that return the values of a message, by channel and message type."""

JOINT_STATE = "sensor_msgs/msg/JointState"


def is_bag(path: Path) -> bool:
    return path.is_dir() or path.suffix in (".bag", *ROS2_FILES)


def read_topics(
    path: Path, topics: Dict[str, str], joints: Sequence[str] = ()
) -> Dict[str, Tuple[List[Decimal], np.ndarray]]:
    """Return stamps (n,) in seconds and values (n, k) of each channel. ``topics`` maps channels to
    topics, and ``joints`` are the joints whose speeds are the values of a topic of joint states.
    Raises ``MissingDependencyError`` without the package ``rosbags``."""
    with importing(f"{path}: reading rosbags needs the package rosbags", "simulator_comparison"):
        from rosbags.highlevel import AnyReader
        from rosbags.typesys import Stores, get_typestore
    if not path.is_dir():
        require_regular(path, ResultsError)
    samples: Dict[str, Tuple[List[Decimal], List[List[float]]]] = {}
    readers: Dict[str, List[Tuple[str, Read]]] = {}
    try:
        store = get_typestore(Stores.ROS2_HUMBLE)  # for bags without type definitions
        with AnyReader([path], default_typestore=store) as reader:
            connections = [c for c in reader.connections if c.topic in topics.values()]
            types = {c.topic: c.msgtype for c in reader.connections}
            for channel, topic in topics.items():
                if topic not in types:
                    raise ResultsError(f"{path}: {unknown_name('topic', topic, sorted(types))}")
                read = _reader_for(path, channel, topic, types[topic], joints)
                readers.setdefault(topic, []).append((channel, read))
                samples[channel] = [], []
            for connection, recorded_ns, raw in reader.messages(connections=connections):
                message = reader.deserialize(raw, connection.msgtype)
                stamp = _stamp_s(getattr(message, "header", None), recorded_ns)
                for channel, read in readers[connection.topic]:
                    samples[channel][0].append(stamp)
                    samples[channel][1].append(read(message))
    except ResultsError:
        raise
    except Exception as error:  # the reader raises errors of many types
        hint = ""
        if path.is_file() and path.suffix in ROS2_FILES:
            hint = (
                "; earlier versions of the package rosbags read only directories, so specify "
                "the directory with metadata.yaml"
            )
        raise ResultsError(f"{path}: the file cannot be read as a rosbag: {error}{hint}") from error
    return {name: (stamps, np.array(values, float)) for name, (stamps, values) in samples.items()}


def _stamp_s(header: Any, recorded_ns: int) -> Decimal:
    if header is None or (header.stamp.sec == 0 and header.stamp.nanosec == 0):
        return recorded_ns * NANO
    return Decimal(header.stamp.sec) + header.stamp.nanosec * NANO


def _reader_for(path: Path, channel: str, topic: str, kind: str, joints: Sequence[str]) -> Read:
    if channel == "wheels" and kind == JOINT_STATE:
        if not joints:
            raise ResultsError(
                f"{path}: topic {topic} has the type {JOINT_STATE}; specify "
                "wheels.joints: [LEFT, RIGHT] and wheels.radius_m"
            )
        return lambda message: _joint_speeds(path, topic, message, joints)
    known = READERS[channel]
    if kind not in known:
        supported = ", ".join(known) or JOINT_STATE
        raise ResultsError(
            f"{path}: topic {topic} has the type {kind}, but {channel} needs {supported}; specify "
            "another topic"
        )
    return known[kind]


def _joint_speeds(path: Path, topic: str, message: Any, joints: Sequence[str]) -> List[float]:
    names = list(message.name)
    for joint in joints:
        if joint not in names:
            raise ResultsError(f"{path}: {topic}: {unknown_name('joint', joint, names)}")
    if len(message.velocity) != len(names):
        raise ResultsError(
            f"{path}: topic {topic} contains no joint velocities; omit the key 'wheels'"
        )
    return [float(message.velocity[names.index(joint)]) for joint in joints]
