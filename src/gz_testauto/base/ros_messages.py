"""Convert between this package's values and ROS messages.

Poses, commands and scans in single precision are preserved bit for bit.
"""

import math
from typing import Iterable, List, Mapping, Sequence, Tuple, Union

import numpy as np
from gazebo_msgs.msg import ContactsState, ContactState, LinkStates, ModelStates
from genpy import Time
from geometry_msgs.msg import Point, Quaternion, Transform, Twist, Vector3, Wrench
from geometry_msgs.msg import Pose as PoseMessage
from sensor_msgs.msg import Imu, PointCloud2, PointField, Range
from sensor_msgs.msg import LaserScan as LaserScanMessage
from std_msgs.msg import Header

from gz_testauto.base.observation import (
    Contact,
    ImuSample,
    LaserScan,
    ModelState,
    SensorReading,
    Twist2D,
)
from gz_testauto.base.pose import Pose

NANOSECONDS = 1_000_000_000
Vector = Tuple[float, float, float]
WORLD_FRAME = "map"  # the map frame of ROS


def time_message(nanoseconds: int) -> Time:
    # Time.from_sec would round a float.
    return Time(*divmod(nanoseconds, NANOSECONDS))


def nanoseconds_of(seconds: float) -> int:
    return round(seconds * NANOSECONDS)


def from_float32(value: float) -> float:
    """Return the shortest decimal that rounds to the same 32-bit float: 0.1, not 0.10000000149."""
    return float(str(np.float32(value)))


def header(stamp: Time, frame: str = WORLD_FRAME) -> Header:
    return Header(stamp=stamp, frame_id=frame)


def pose_message(pose: Pose) -> PoseMessage:
    return PoseMessage(Point(*pose.position), Quaternion(*pose.quaternion))


def transform_message(pose: Pose) -> Transform:
    """Return the pose of a child frame as the transform to its parent."""
    return Transform(Vector3(*pose.position), Quaternion(*pose.quaternion))


def pose_of(message: PoseMessage) -> Pose:
    """Return the pose with a normalized quaternion. As in gazebo_ros, four zeros, the default of
    the message, mean no rotation."""
    x, y, z, w = quaternion = _quaternion(message.orientation)
    norm = math.hypot(*quaternion)  # the squares of large numbers would be infinite
    if norm == 0.0:
        quaternion = (0.0, 0.0, 0.0, 1.0)
    elif abs(norm - 1.0) > 1e-9:
        quaternion = (x / norm, y / norm, z / norm, w / norm)
    return Pose(_vector(message.position), quaternion)


def pose_of_transform(message: Transform) -> Pose:
    return Pose(_vector(message.translation), _quaternion(message.rotation))


def twist_message(linear_mps: Iterable[float], angular_radps: Iterable[float]) -> Twist:
    return Twist(Vector3(*linear_mps), Vector3(*angular_radps))


def command_message(command: Twist2D) -> Twist:
    return twist_message((command.linear_mps, 0.0, 0.0), (0.0, 0.0, command.angular_radps))


def command_of(message: Twist) -> Twist2D:
    return Twist2D(message.linear.x, message.angular.z)


def requested_state(pose: PoseMessage, twist: Twist) -> ModelState:
    return ModelState(pose_of(pose), _vector(twist.linear), _vector(twist.angular))


def state_of(pose: PoseMessage, twist: Twist) -> ModelState:
    """Return the state of a model. A twist of NaN is unknown."""
    if not math.isfinite(twist.linear.x):
        return ModelState(pose_of(pose))
    return requested_state(pose, twist)


def twist_of_state(state: ModelState, unknown: float = 0.0) -> Twist:
    unknown_vector = (unknown,) * 3
    linear, angular = state.linear_mps, state.angular_radps
    return twist_message(
        unknown_vector if linear is None else linear, unknown_vector if angular is None else angular
    )


def model_states_message(states: Mapping[str, ModelState], unknown: float = 0.0) -> ModelStates:
    return ModelStates(*_state_columns(states, unknown))


def link_states_message(states: Mapping[str, ModelState]) -> LinkStates:
    return LinkStates(*_state_columns(states, 0.0))


def model_states_of(message: ModelStates) -> Mapping[str, ModelState]:
    rows = zip(message.name, message.pose, message.twist)
    return {name: state_of(pose, twist) for name, pose, twist in rows}


def scan_message(scan: LaserScan, stamp: Time, frame: str, period_s: float) -> LaserScanMessage:
    message = LaserScanMessage()
    message.header = header(stamp, frame)
    message.angle_min, message.angle_max = scan.angle_min_rad, scan.angle_max_rad
    intervals = max(len(scan.ranges_m) - 1, 1)
    message.angle_increment = (scan.angle_max_rad - scan.angle_min_rad) / intervals
    message.scan_time = period_s
    message.range_min, message.range_max = scan.range_min_m, scan.range_max_m
    message.ranges = np.asarray(scan.ranges_m, dtype=np.float32).tolist()
    return message


def scan_of(message: LaserScanMessage, stamp_s: float, mount: Pose) -> LaserScan:
    """Return the scan in a message. ``stamp_s`` is its simulated time, and ``mount`` the pose of
    the sensor in the base frame."""
    return LaserScan(
        stamp_s=stamp_s,
        angle_min_rad=message.angle_min,
        angle_max_rad=message.angle_max,
        range_min_m=message.range_min,
        range_max_m=message.range_max,
        ranges_m=np.asarray(message.ranges, dtype=np.float64),
        mount=mount,
    )


def imu_message(sample: ImuSample, stamp: Time, frame: str) -> Imu:
    """Return the message of an IMU measurement. Covariances are zero, which means unknown."""
    message = Imu()
    message.header = header(stamp, frame)
    message.orientation = Quaternion(*sample.quaternion)
    message.angular_velocity = Vector3(*sample.angular_radps)
    message.linear_acceleration = Vector3(*sample.linear_mps2)
    return message


def imu_sample_of(message: Imu, stamp_s: float) -> ImuSample:
    return ImuSample(
        stamp_s=stamp_s,
        quaternion=_quaternion(message.orientation),
        angular_radps=_vector(message.angular_velocity),
        linear_mps2=_vector(message.linear_acceleration),
    )


def cloud_message(reading: SensorReading, stamp: Time) -> PointCloud2:
    """Return the points of a 3-D lidar or a depth camera in the frame of its sensor.

    As in gazebo_ros, the cloud of a camera is an image with the axes of REP 103 (z forward), with
    NaN for points without a return. That of a lidar contains only the returns.
    """
    sensor = reading.sensor
    points = reading.local_points_m
    message = PointCloud2()
    if sensor.is_camera:  # from the upper left pixel on
        image = points.reshape(*reading.ranges_m.shape, 3)[::-1, ::-1]
        points = np.stack([-image[..., 1], -image[..., 2], image[..., 0]], axis=-1)
        message.height, message.width = reading.ranges_m.shape
    else:
        points = points[np.isfinite(points[:, 0])]
        message.height, message.width = 1, len(points)
        message.is_dense = True
    message.header = header(stamp, sensor.frame)
    message.fields = [
        PointField(axis, 4 * number, PointField.FLOAT32, 1) for number, axis in enumerate("xyz")
    ]
    message.point_step = 12
    message.row_step = message.point_step * message.width
    message.data = np.ascontiguousarray(points, dtype="<f4").tobytes()
    return message


def range_message(reading: SensorReading, stamp: Time) -> Range:
    """Return a message in which the maximum range means no return, as in gazebo_ros."""
    sensor = reading.sensor
    message = Range()
    message.header = header(stamp, sensor.frame)
    is_infrared = sensor.radiation == "infrared"
    message.radiation_type = Range.INFRARED if is_infrared else Range.ULTRASOUND
    message.field_of_view = sensor.field_of_view_rad
    message.min_range, message.max_range = sensor.range_min_m, sensor.range_max_m
    message.range = min(float(reading.ranges_m[0, 0]), sensor.range_max_m)
    return message


def contacts_message(
    contacts: Sequence[Contact], stamp: Time, frame: str = WORLD_FRAME
) -> ContactsState:
    """Return contacts as gazebo_ros's bumper plug-in publishes them."""
    # The plug-in writes its own frame to the header, although the contacts are in the world frame.
    return ContactsState(header(stamp, frame), list(map(_contact_state, contacts)))


def contacts_of(message: ContactsState, stamps_s: Sequence[float]) -> Tuple[Contact, ...]:
    return tuple(
        Contact(
            stamp_s=stamp_s,
            first=state.collision1_name,
            second=state.collision2_name,
            positions_m=_vectors(state.contact_positions),
            normals=_vectors(state.contact_normals),
            depths_m=tuple(state.depths),
            forces_n=_vectors(wrench.force for wrench in state.wrenches),
        )
        for state, stamp_s in zip(message.states, stamps_s)
    )


def _contact_state(contact: Contact) -> ContactState:
    forces = [Vector3(*force) for force in contact.forces_n]
    total = np.sum(contact.forces_n, axis=0) if forces else (0.0, 0.0, 0.0)
    return ContactState(
        info=f"{contact.first} touches {contact.second} at {contact.stamp_s:.3f} s",
        collision1_name=contact.first,
        collision2_name=contact.second,
        wrenches=[Wrench(force=force) for force in forces],
        total_wrench=Wrench(force=Vector3(*total)),
        contact_positions=[Vector3(*position) for position in contact.positions_m],
        contact_normals=[Vector3(*normal) for normal in contact.normals],
        depths=list(contact.depths_m),
    )


def _state_columns(
    states: Mapping[str, ModelState], unknown: float
) -> Tuple[List[str], List[PoseMessage], List[Twist]]:
    poses = [pose_message(state.pose) for state in states.values()]
    return list(states), poses, [twist_of_state(state, unknown) for state in states.values()]


def _quaternion(message: Quaternion) -> Tuple[float, float, float, float]:
    return message.x, message.y, message.z, message.w


def _vector(message: Union[Point, Vector3]) -> Vector:
    return message.x, message.y, message.z


def _vectors(messages: Iterable[Union[Point, Vector3]]) -> Tuple[Vector, ...]:
    return tuple(map(_vector, messages))
