"""What a simulator shows: states, scans, inertial samples and contacts at one instant.

The vocabulary shared by simulators, which make these, and by planners and metrics, which
read them. Plain frozen data in SI units; no behaviour beyond what the data says itself.
"""

from dataclasses import dataclass, field, replace
from typing import Mapping, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from gz_testauto.base.pose import Pose, Pose2D


class Twist2D(NamedTuple):
    """Forward speed (m/s) and yaw rate (rad/s) of a differential-drive base."""

    linear_mps: float = 0.0
    angular_radps: float = 0.0


@dataclass(frozen=True)
class ModelState:
    """Pose of a model in the world frame and, where the simulator knows it, its twist.

    ``linear_mps`` and ``angular_radps`` are in the world frame, shape (3,); None where the
    simulator does not tell.
    """

    pose: Pose
    linear_mps: Optional[Tuple[float, float, float]] = None
    angular_radps: Optional[Tuple[float, float, float]] = None


@dataclass(frozen=True, eq=False)
class LaserScan:
    """One planar scan.

    ``ranges_m`` has shape (n,), counter-clockwise from ``angle_min_rad``; a ray that met
    nothing is ``inf``, one that met something nearer than ``range_min_m`` is ``-inf``
    (REP-117). ``stamp_s`` is simulated time of the measurement. Angles are about the z axis
    of the sensor, whose pose on the robot is ``mount`` (in the robot's base frame).
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
        """Direction of every ray in the sensor frame, shape (n,)."""
        return np.linspace(self.angle_min_rad, self.angle_max_rad, len(self.ranges_m))

    def in_single_precision(self) -> "LaserScan":
        """The same scan with every number of the 32 bits that ROS's ``sensor_msgs/LaserScan``
        has for it; no lidar measures more."""
        values = (self.angle_min_rad, self.angle_max_rad, self.range_min_m, self.range_max_m)
        angle_min, angle_max, range_min, range_max = np.array(values, dtype=np.float32).tolist()
        ranges = np.asarray(self.ranges_m, dtype=np.float32).astype(float)
        return LaserScan(
            self.stamp_s, angle_min, angle_max, range_min, range_max, ranges, self.mount
        )


@dataclass(frozen=True)
class ImuSample:
    """One inertial measurement in the sensor frame; includes gravity, as an IMU does."""

    stamp_s: float
    quaternion: Tuple[float, float, float, float]
    angular_radps: Tuple[float, float, float]
    linear_mps2: Tuple[float, float, float]


@dataclass(frozen=True)
class Contact:
    """One touching pair of collision shapes, by scoped name (``model::link::collision``).

    ``positions_m`` and ``normals`` are in the world frame, one entry per contact point; the
    normal points from the second shape to the first. ``depths_m`` is the penetration.
    ``forces_n``, where the simulator tells, acts on the first shape.
    """

    stamp_s: float
    first: str
    second: str
    positions_m: Tuple[Tuple[float, float, float], ...] = ()
    normals: Tuple[Tuple[float, float, float], ...] = ()
    depths_m: Tuple[float, ...] = ()
    forces_n: Tuple[Tuple[float, float, float], ...] = ()


@dataclass(frozen=True, eq=False)
class TrackedObject:
    """A road user or another thing that moves, as a tracker tells of it.

    ``name`` stays the same while it is tracked. ``pose`` (world frame) and ``velocity``, m/s along
    x and y of the world and rad/s about z, are of the moment ``age_s`` before it was told.
    ``outline_m`` (n, 2) is its convex hull seen from above, about its pose, counter-clockwise.
    ``path`` (k, 3) says where it is expected, x, y and yaw, from the moment it was told on, one row
    every ``path_step_s``; after the last it stands.
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
    """What the sensors of one robot show after a step; see :class:`Snapshot`."""

    scan: Optional[LaserScan] = None
    imu: Sequence[ImuSample] = ()
    contacts: Tuple[Contact, ...] = ()


@dataclass(frozen=True)
class Snapshot:
    """Everything a simulation shows after a step.

    ``models`` holds every model of the world by name, the robot too; ``links`` every link by
    scoped name where the simulator tells. ``scan`` is the latest scan, which may be older
    than ``time_s``: look at its stamp. ``imu`` and ``contacts`` hold what arrived since the
    previous snapshot, in order of time. These three are of the scene's first robot; ``others`` has
    them of each further one, by name.
    """

    time_s: float
    models: Mapping[str, ModelState]
    links: Mapping[str, ModelState]
    scan: Optional[LaserScan] = None
    imu: Sequence[ImuSample] = ()
    contacts: Tuple[Contact, ...] = ()
    others: Mapping[str, SensorReadings] = field(default_factory=dict)

    def of_robot(self, robot: str) -> "Snapshot":
        """The same with what a further robot senses in place of the first one's."""
        sensed = self.others[robot]
        return replace(self, scan=sensed.scan, imu=sensed.imu, contacts=sensed.contacts)
