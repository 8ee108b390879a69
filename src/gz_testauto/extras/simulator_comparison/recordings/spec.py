"""Specification of recordings: files and formats."""

from typing import Dict, Mapping, Optional, Tuple, Union

import numpy as np
from pydantic import BeforeValidator, Field, model_validator
from typing_extensions import Annotated, Literal, Self

from gz_testauto.spec.model import Spec, SpecPath, as_tuple

Three = Annotated[Tuple[str, str, str], BeforeValidator(as_tuple)]
Four = Annotated[Tuple[str, str, str, str], BeforeValidator(as_tuple)]
Axis = Literal["x", "-x", "y", "-y", "z", "-z"]
Axes = Annotated[Tuple[Axis, Axis, Axis], BeforeValidator(as_tuple)]

TIME_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
ANGULAR_UNITS = {"rad/s": 1.0, "deg/s": 0.017453292519943295}
LINEAR_UNITS = {"m/s2": 1.0, "g": 9.80665, "mg": 9.80665e-3}
ANGLE_UNITS = {"rad": 1.0, "deg": 0.017453292519943295}


class ImuColumns(Spec):
    """Names of the columns of an IMU in a CSV file."""

    time: str = "time_s"
    """Name of the column with the time."""
    angular: Three = ("wx_radps", "wy_radps", "wz_radps")
    """Names of the columns with the angular velocities about x, y and z."""
    linear: Three = ("ax_mps2", "ay_mps2", "az_mps2")
    """Names of the columns with the linear accelerations along x, y and z."""


class ImuUnits(Spec):
    """Units of the columns of an IMU in a CSV file. They also apply to a rosbag whose driver does
    not use SI units."""

    time: Literal["s", "ms", "us", "ns"] = "s"
    """Unit of the time."""
    angular: Literal["rad/s", "deg/s"] = "rad/s"
    """Unit of the angular velocities."""
    linear: Literal["m/s2", "g", "mg"] = "m/s2"
    """Unit of the linear accelerations; ``g`` and ``mg`` are multiples of 9.80665 m/s²."""


class ImuSpec(Spec):
    """Format of the IMU of a recording."""

    topic: Optional[str] = None
    """Topic of the IMU; required for a rosbag."""
    columns: ImuColumns = ImuColumns()
    """Names of the columns in a CSV file."""
    units: ImuUnits = ImuUnits()
    """Units of the values."""
    axes: Axes = ("x", "y", "z")
    """Axes of the sensor that point forward, left and up."""
    gravity: Literal["measured", "opposite", "subtracted"] = "measured"
    """Effect of gravity at rest: ``measured`` if the sensor reads 9.81 m/s² upwards, as an
    accelerometer does, ``opposite`` if it reads 9.81 m/s² downwards, ``subtracted`` if it reads
    0."""

    @model_validator(mode="after")
    def _require_each_axis_once(self) -> Self:
        if sorted(axis[-1] for axis in self.axes) != ["x", "y", "z"]:
            raise ValueError(f"axes are {', '.join(self.axes)}; x, y and z must each occur once")
        if np.linalg.det(self.turn) < 0:
            first, left, up = self.axes
            other = left[1:] if left.startswith("-") else f"-{left}"
            raise ValueError(
                f"axes are {', '.join(self.axes)}, which is left-handed; "
                f"specify right-handed axes, such as {first}, {other}, {up}"
            )
        return self

    @property
    def turn(self) -> np.ndarray:
        """Rotation matrix (3, 3) from the axes of the sensor to those of the robot."""
        turn = np.zeros((3, 3))
        for row, axis in enumerate(self.axes):
            turn[row, "xyz".index(axis[-1])] = -1.0 if axis.startswith("-") else 1.0
        return turn


class OdometryColumns(Spec):
    """Names of the columns of odometry in a CSV file."""

    time: str = "time_s"
    """Name of the column with the time."""
    x: str = "x_m"
    """Name of the column with the x coordinate (m)."""
    y: str = "y_m"
    """Name of the column with the y coordinate (m)."""
    yaw: str = "yaw_rad"
    """Name of the column with the yaw angle."""
    quaternion: Optional[Four] = None
    """Names of the columns x, y, z and w of the orientation, instead of ``yaw``."""


class OdometryUnits(Spec):
    """Units of the columns of odometry in a CSV file."""

    time: Literal["s", "ms", "us", "ns"] = "s"
    """Unit of the time."""
    angle: Literal["rad", "deg"] = "rad"
    """Unit of the yaw angle."""


class OdometrySpec(Spec):
    """Format of odometry: poses in a fixed frame. Supported message types in a rosbag are
    ``nav_msgs/Odometry``, and ``PoseStamped``, ``PoseWithCovarianceStamped`` and
    ``TransformStamped`` of ``geometry_msgs``."""

    topic: Optional[str] = None
    """Topic of the poses; required for a rosbag."""
    columns: OdometryColumns = OdometryColumns()
    """Names of the columns in a CSV file."""
    units: OdometryUnits = OdometryUnits()
    """Units of the columns."""


class WheelColumns(Spec):
    """Names of the columns of wheel speeds in a CSV file."""

    time: str = "time_s"
    """Name of the column with the time."""
    left: str = "left_mps"
    """Name of the column with the speed of the left wheels."""
    right: str = "right_mps"
    """Name of the column with the speed of the right wheels."""


class WheelSpec(Spec):
    """Format of wheel speeds in m/s, or in rad/s with ``radius_m``. The message type in a rosbag is
    ``sensor_msgs/JointState``."""

    topic: Optional[str] = None
    """Topic of the wheel speeds; required for a rosbag."""
    columns: WheelColumns = WheelColumns()
    """Names of the columns in a CSV file."""
    radius_m: Optional[float] = Field(None, gt=0)
    """Radius (m) of the wheels; required if the speeds are in rad/s."""
    joints: Optional[Annotated[Tuple[str, str], BeforeValidator(as_tuple)]] = None
    """Names of one joint of the left side and one of the right side."""
    time: Literal["s", "ms", "us", "ns"] = "s"
    """Unit of the time in a CSV file."""


class CommandColumns(Spec):
    """Names of the columns of velocity commands in a CSV file."""

    time: str = "time_s"
    """Name of the column with the time."""
    linear: str = "linear_mps"
    """Name of the column with the forward speed (m/s)."""
    angular: str = "angular_radps"
    """Name of the column with the yaw rate (rad/s)."""


class CommandSpec(Spec):
    """Format of velocity commands. Supported message types in a rosbag are ``Twist`` and
    ``TwistStamped`` of ``geometry_msgs``."""

    topic: Optional[str] = None
    """Topic of the velocity commands; required for a rosbag."""
    columns: CommandColumns = CommandColumns()
    """Names of the columns in a CSV file."""
    time: Literal["s", "ms", "us", "ns"] = "s"
    """Unit of the time in a CSV file."""


Files = Union[SpecPath, Dict[Literal["imu", "odometry", "wheels", "command"], SpecPath]]
"""One file or directory of a rosbag with all channels, or one file for each channel."""


class RecordingSpec(Spec):
    """Files and formats of the recordings of one entry."""

    imu: Optional[ImuSpec] = ImuSpec()
    """Format of the IMU; null if the recordings have none."""
    odometry: Optional[OdometrySpec] = None
    """Format of the poses. Without this key, poses are read from a CSV file with all channels if
    the file has columns with the default names."""
    wheels: Optional[WheelSpec] = None
    """Format of the wheel speeds."""
    command: Optional[CommandSpec] = None
    """Format of the velocity commands."""
    segment_s: Optional[float] = Field(None, ge=1.0, le=1e6)
    """Duration (s) of the segments into which each recording is cut; each segment is one
    repetition."""
    max_segments: int = Field(50, ge=2, le=10_000)
    """Highest number of segments per case, which are evenly spaced over the recordings."""
    cases: Dict[str, Annotated[Tuple[Files, ...], BeforeValidator(as_tuple)]] = Field(min_length=1)
    """Files of each case, one item for each repetition."""

    @property
    def channels(self) -> Mapping[str, Union[ImuSpec, OdometrySpec, WheelSpec, CommandSpec]]:
        formats = {name: getattr(self, name) for name in ("imu", "odometry", "wheels", "command")}
        return {name: channel for name, channel in formats.items() if channel is not None}
