"""Define snapshots of a simulation: states, scans, IMU samples and contacts at one simulated time.

All values are in SI units.
"""

from dataclasses import dataclass, field, replace
from typing import Mapping, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.base.sensors import Sensor


class Twist2D(NamedTuple):
    """Forward speed (m/s) and yaw rate (rad/s) of a differential-drive base."""

    linear_mps: float = 0.0
    angular_radps: float = 0.0


@dataclass(frozen=True)
class ModelState:
    """The pose and twist of a model in the world frame.

    ``linear_mps`` and ``angular_radps`` have shape (3,), or are None if the simulator does not
    report them.
    """

    pose: Pose
    linear_mps: Optional[Tuple[float, float, float]] = None
    angular_radps: Optional[Tuple[float, float, float]] = None


@dataclass(frozen=True, eq=False)
class LaserScan:
    """One planar lidar scan.

    ``ranges_m`` has shape (n,), counter-clockwise from ``angle_min_rad``. As in REP-117, the range
    is ``inf`` for a ray without a hit, and ``-inf`` for a hit nearer than ``range_min_m``.
    ``stamp_s`` is the simulated time of the measurement. Angles are about the z axis of the sensor
    frame. ``mount`` is the sensor's pose in the base frame.
    """

    stamp_s: float
    angle_min_rad: float
    angle_max_rad: float
    range_min_m: float
    range_max_m: float
    ranges_m: np.ndarray
    mount: Pose = Pose()

    @property
    def angles_rad(self) -> np.ndarray:
        """The directions of the rays in the sensor frame, shape (n,)."""
        return np.linspace(self.angle_min_rad, self.angle_max_rad, len(self.ranges_m))

    def in_single_precision(self) -> "LaserScan":
        """Return the scan in single precision, as in the ROS message."""
        values = (self.angle_min_rad, self.angle_max_rad, self.range_min_m, self.range_max_m)
        angle_min, angle_max, range_min, range_max = np.array(values, dtype=np.float32).tolist()
        ranges = np.asarray(self.ranges_m, dtype=np.float32).astype(float)
        return LaserScan(
            self.stamp_s, angle_min, angle_max, range_min, range_max, ranges, self.mount
        )


@dataclass(frozen=True)
class ImuSample:
    """One IMU measurement in the sensor frame; the acceleration includes gravity."""

    stamp_s: float
    quaternion: Tuple[float, float, float, float]
    angular_radps: Tuple[float, float, float]
    linear_mps2: Tuple[float, float, float]


@dataclass(frozen=True)
class Contact:
    """The contact of two collision shapes, with their scoped names (``model::link::collision``).

    ``positions_m`` and ``normals`` are in the world frame, with one row per contact point. A normal
    points from the second shape to the first. ``depths_m`` are penetration depths. ``forces_n`` act
    on the first shape; they are empty if the simulator does not report them.
    """

    stamp_s: float
    first: str
    second: str
    positions_m: Tuple[Tuple[float, float, float], ...] = ()
    normals: Tuple[Tuple[float, float, float], ...] = ()
    depths_m: Tuple[float, ...] = ()
    forces_n: Tuple[Tuple[float, float, float], ...] = ()


@dataclass(frozen=True, eq=False)
class SensorReading:
    """One measurement of a sensor, at the simulated time ``stamp_s``.

    ``ranges_m`` has the shape (rows, columns) of the sensor's rays. It is ``inf`` for a ray without
    a hit, as in REP-117. A sonar or an infrared sensor has the shape (1, 1), with the smallest
    range in the cone. ``contacts`` are those of a bumper since its previous measurement; ``first``
    is the shape of the bumper.
    """

    sensor: Sensor
    stamp_s: float
    ranges_m: np.ndarray
    contacts: Tuple[Contact, ...] = ()

    @property
    def points_m(self) -> np.ndarray:
        """The points that the rays hit in the base frame, in the order of the rays, shape (n, 3). A
        range sensor has one point, on the axis of its cone."""
        ranges = self.ranges_m.ravel()
        hits = np.isfinite(ranges)
        if self.sensor.kind == "range":
            directions = np.array([[1.0, 0.0, 0.0]])
        else:
            directions = self.sensor.directions
        sensor_points = directions[hits] * ranges[hits, None]
        return self.sensor.mount.apply(sensor_points)

    def in_message_precision(self) -> "SensorReading":
        """Return the reading with precision and contents of the ROS message.

        Ranges and points have single precision. A point of a cloud belongs to the nearest ray. The
        time of a contact is that of the reading.
        """
        sensor = self.sensor
        if sensor.kind == "contact":
            contacts = tuple(replace(contact, stamp_s=self.stamp_s) for contact in self.contacts)
            return replace(self, contacts=contacts)
        sensor = sensor.in_frame(sensor.frame_mount)
        if sensor.kind == "cloud":
            points = self.local_points_m.astype(np.float32).astype(float)
            return SensorReading(sensor, self.stamp_s, sensor.ranges_to(points))
        values = (*sensor.columns[1:], sensor.range_min_m, sensor.range_max_m)
        first, last, low, high = np.array(values, dtype=np.float32).tolist()
        columns = sensor.columns
        if sensor.kind == "scan":
            columns = columns._replace(first=first, last=last)
        ranges = self.ranges_m.astype(np.float32).astype(float)
        ranges[ranges >= high] = np.inf
        sensor = replace(sensor, columns=columns, range_min_m=low, range_max_m=high)
        return SensorReading(sensor, self.stamp_s, ranges)

    @property
    def local_points_m(self) -> np.ndarray:
        """The point that each ray hits in the frame of the sensor (x forward), shape
        (rows · columns, 3), or NaN for a ray without a hit."""
        ranges = self.ranges_m.reshape(-1, 1)
        return np.asarray(self.sensor.directions * np.where(np.isfinite(ranges), ranges, np.nan))

    @property
    def scan(self) -> LaserScan:
        """The measurement of a planar lidar as a scan."""
        sensor = self.sensor
        return LaserScan(
            self.stamp_s,
            sensor.columns.first,
            sensor.columns.last,
            sensor.range_min_m,
            sensor.range_max_m,
            self.ranges_m[0],
            sensor.mount,
        )


@dataclass(frozen=True, eq=False)
class TrackedObject:
    """A moving object, such as a road user, as a tracker reports it.

    ``name`` is constant while the object is tracked. ``pose`` (world frame) and ``velocity`` (m/s
    along x and y of the world, rad/s about z) were valid ``age_s`` before the report.
    ``outline_m``, shape (n, 2), is the horizontal convex hull, counter-clockwise, in the frame of
    ``pose``. ``path``, shape (k, 3), contains the predicted x, y and yaw in steps of
    ``path_step_s`` from the time of the report; afterwards, the object is at rest.
    """

    name: str
    pose: Pose2D
    velocity: Tuple[float, float, float]
    outline_m: np.ndarray
    path: np.ndarray
    path_step_s: float
    age_s: float = 0.0


@dataclass(frozen=True)
class SensorReadings:
    """The sensor data of one robot after a step; see :class:`Snapshot`."""

    scan: Optional[LaserScan] = None
    imu: Sequence[ImuSample] = ()
    contacts: Tuple[Contact, ...] = ()
    sensors: Mapping[str, SensorReading] = field(default_factory=dict)


@dataclass(frozen=True)
class Snapshot:
    """The state of a simulation after a step.

    ``models`` contains the state of each model by name, including the robot, and ``links`` that of
    each link by scoped name, if the simulator reports links. ``scan`` is the latest scan, whose
    stamp can be earlier than ``time_s``. ``imu`` and ``contacts`` contain the data since the
    previous snapshot, ordered by time. ``sensors`` contains the latest reading of each selected
    sensor, by name. All sensor data belong to the first robot; ``others`` contains those of each
    other robot, by name. ``placed`` contains the poses to which hooks moved models at the time of
    the previous snapshot, by name.
    """

    time_s: float
    models: Mapping[str, ModelState]
    links: Mapping[str, ModelState]
    scan: Optional[LaserScan] = None
    imu: Sequence[ImuSample] = ()
    contacts: Tuple[Contact, ...] = ()
    others: Mapping[str, SensorReadings] = field(default_factory=dict)
    sensors: Mapping[str, SensorReading] = field(default_factory=dict)
    placed: Mapping[str, Pose] = field(default_factory=dict)

    def of_robot(self, robot: str) -> "Snapshot":
        """Return the snapshot with the sensor data of another robot. Raises ``KeyError``."""
        return replace(self, **vars(self.others[robot]))
