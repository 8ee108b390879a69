"""Read the planar lidars and the IMU of a robot from its SDF, and select or merge lidars."""

import math
from dataclasses import dataclass, replace
from typing import Callable, Container, List, Optional, Sequence, Tuple

import numpy as np

from gz_testauto.base.arithmetic import matrix_product
from gz_testauto.base.errors import SdfError
from gz_testauto.base.observation import LaserScan
from gz_testauto.base.pose import Pose
from gz_testauto.base.sensors import Sensor
from gz_testauto.sdf.document import Element
from gz_testauto.sdf.drives import PlacedLink, RobotParts
from gz_testauto.sdf.plugin_sensors import (
    MOST_RAYS,
    is_range_sensor,
    select_sensors,
    sensor_mount,
)
from gz_testauto.sdf.values import name_of, number, required

MERGED = "merged_lidar"

SELECT_LIDAR = (
    "name its lidar, or several lidars to merge, in the key robot.lidar of the campaign ([A, B]), "
    "the option --lidar of the command (A,B), or the parameter ~robot_lidar of the node (A,B)"
)


@dataclass(frozen=True)
class LidarDescription:
    """A planar lidar. ``mount`` is its pose in the model frame. ``is_range`` is True for a sonar or
    an infrared sensor with a single row of rays, and ``is_gpu`` for a ``gpu_ray`` or ``gpu_lidar``.
    ``parts`` are the lidars whose scans are merged into one, with the merged rays about the z axis
    of the base frame."""

    link: str
    sensor: str
    mount: Pose
    samples: int
    angle_min_rad: float
    angle_max_rad: float
    range_min_m: float
    range_max_m: float
    update_rate_hz: float
    is_range: bool = False
    is_gpu: bool = False
    parts: Tuple[Sensor, ...] = ()

    @property
    def scoped_name(self) -> str:
        """A name such as ``base::lidar``, or the names of the parts, separated by commas."""
        if self.parts:
            return ",".join(part.scoped_name for part in self.parts)
        return f"{self.link}::{self.sensor}"

    @property
    def ray_count(self) -> int:
        return sum(part.columns.samples for part in self.parts) or self.samples

    @property
    def angles_rad(self) -> np.ndarray:
        """The angles of the rays about the z axis of the lidar, shape (samples,)."""
        return np.linspace(self.angle_min_rad, self.angle_max_rad, self.samples)

    @property
    def directions(self) -> np.ndarray:
        """The unit vectors along the rays in the lidar frame, shape (samples, 3)."""
        angles = self.angles_rad
        return np.stack([np.cos(angles), np.sin(angles), np.zeros(len(angles))], axis=1)

    @property
    def range_m(self) -> Tuple[float, float]:
        return self.range_min_m, self.range_max_m

    def scan(self, stamp_s: float, ranges_m: np.ndarray) -> LaserScan:
        """Return a scan with these ranges (samples,), which become read-only."""
        ranges_m.setflags(write=False)
        limits = (self.angle_min_rad, self.angle_max_rad, *self.range_m)
        return LaserScan(stamp_s, *limits, ranges_m, self.mount)

    def __str__(self) -> str:
        low, high = math.degrees(self.angle_min_rad), math.degrees(self.angle_max_rad)
        part_names = " and ".join(repr(part.scoped_name) for part in self.parts)
        name = f"merged of {part_names}" if part_names else f"{self.sensor!r} of link {self.link!r}"
        return (
            f"{name}: {self.samples} rays from {low:.4g}° to "
            f"{high:.4g}°, range {self.range_min_m:g} to {self.range_max_m:g} m"
        )


@dataclass(frozen=True)
class ImuDescription:
    """An IMU. ``mount`` is its pose in the model frame."""

    link: str
    sensor: str
    mount: Pose
    update_rate_hz: float


def find_lidars(parts: RobotParts, gpu_lidars: Container[str] = ()) -> Tuple[LidarDescription, ...]:
    """Return all ``ray`` and ``gpu_ray`` sensors with a single row, in file order. ``gpu_lidars``
    are the scoped names of ``ray`` sensors that were a ``gpu_lidar`` in the file."""
    lidars = [_read_lidar(*sensor) for sensor in _find_sensors(parts, _is_planar_lidar)]
    return tuple(
        replace(lidar, is_gpu=lidar.is_gpu or lidar.scoped_name in gpu_lidars) for lidar in lidars
    )


def select_lidar(
    source: str, lidars: Sequence[LidarDescription], name: Optional[str] = None
) -> Optional[LidarDescription]:
    """Return the lidar called ``name``. Without a name, return the only lidar that is not a range
    sensor, or None if the robot has no lidar.

    ``name`` is the name of the sensor, or its link and its name, such as ``base::lidar``. Raises
    ``SdfError`` if the name matches no or several lidars, or if several lidars exist and it is
    None.
    """
    matches = [lidar for lidar in lidars if name in (None, lidar.sensor, lidar.scoped_name)]
    if name is None and len(matches) > 1:
        matches = [lidar for lidar in matches if not lidar.is_range] or matches
    if len(matches) == 1:
        return matches[0]
    if name is None:
        if not matches:
            return None
        problem = f"the robot has {len(matches)} planar ray sensors; {SELECT_LIDAR}"
    elif matches:
        names = " or ".join(repr(lidar.scoped_name) for lidar in matches)
        problem = f"{len(matches)} planar ray sensors are named {name!r}; write {names}"
    else:
        problem = f"the robot has no planar ray sensor {name!r}; correct the name of the lidar"
    known_lidars = "".join(f"\n  {lidar}" for lidar in lidars) or " none"
    raise SdfError(f"{source}: {problem}. Its planar ray sensors:{known_lidars}")


def find_imu(parts: RobotParts) -> Optional[ImuDescription]:
    for placed_link, sensor in _find_sensors(parts, lambda sensor: sensor.get("type") == "imu"):
        document = placed_link.model.document
        return ImuDescription(
            link=placed_link.name,
            sensor=name_of(document, sensor),
            mount=sensor_mount(placed_link, sensor),
            update_rate_hz=number(document, sensor, "update_rate", 0.0),
        )
    return None


def _read_lidar(placed_link: PlacedLink, sensor: Element) -> LidarDescription:
    document = placed_link.model.document
    ray = required(document, sensor, "ray")
    horizontal = required(document, required(document, ray, "scan"), "horizontal")
    span = required(document, ray, "range")
    resolution = number(document, horizontal, "resolution", 1.0)
    lidar = LidarDescription(
        link=placed_link.name,
        sensor=name_of(document, sensor),
        mount=sensor_mount(placed_link, sensor),
        samples=round(number(document, horizontal, "samples") * resolution),
        angle_min_rad=number(document, horizontal, "min_angle"),
        angle_max_rad=number(document, horizontal, "max_angle"),
        range_min_m=number(document, span, "min"),
        range_max_m=number(document, span, "max"),
        update_rate_hz=number(document, sensor, "update_rate", 0.0),
        is_range=is_range_sensor(sensor),
        is_gpu=sensor.get("type") == "gpu_ray",
    )
    if not 1 <= lidar.samples <= MOST_RAYS:
        raise SdfError(
            f"{document.where(horizontal)}: a lidar has {lidar.samples} samples; it must have from "
            f"1 to {MOST_RAYS}"
        )
    for quantity, low, high in (
        ("angle", lidar.angle_min_rad, lidar.angle_max_rad),
        ("range", lidar.range_min_m, lidar.range_max_m),
    ):
        if low > high or (quantity == "range" and low < 0):
            raise SdfError(
                f"{document.where(sensor)}: lidar {lidar.sensor!r} has a {quantity} from {low} "
                f"to {high}; the first value must be smaller, and a range not negative"
            )
    return lidar


def _find_sensors(
    parts: RobotParts, is_wanted: Callable[[Element], bool]
) -> List[Tuple[PlacedLink, Element]]:
    return [
        (placed_link, sensor)
        for placed_link in parts.links.values()
        for sensor in placed_link.link.element.findall("sensor")
        if is_wanted(sensor)
    ]


def _is_planar_lidar(sensor: Element) -> bool:
    rows = sensor.findtext("ray/scan/vertical/samples") or "1"
    return sensor.get("type") in ("ray", "gpu_ray") and rows.strip() == "1"


def select_merged(source: str, sensors: Sequence[Sensor], names: Sequence[str]) -> LidarDescription:
    """Return the merged lidar of at least two named planar lidars."""
    parts = select_sensors(source, sensors, names, "the key robot.lidar")
    for part in parts:
        if part.rows.samples != 1 or part.kind == "contact" or part.is_camera:
            raise SdfError(
                f"{source}: the key robot.lidar names {part}, which is not a planar lidar; remove "
                "it from the list"
            )
    if len(parts) < 2:
        raise SdfError(
            f"{source}: the key robot.lidar is a list with one lidar; write its name without a list"
        )
    return merged_lidar(parts)


def _bearings_of(part: Sensor) -> Tuple[float, float]:
    """Return the lowest and the highest direction (rad) of the rays in the base frame. The second
    value can be above pi."""
    directions = matrix_product(part.directions, part.mount.rotation.T)
    bearings = np.unwrap(np.arctan2(directions[:, 1], directions[:, 0]))
    low = float(bearings.min())
    return low, low + min(float(np.ptp(bearings)), 2 * math.pi)


def merged_lidar(parts: Sequence[Sensor]) -> LidarDescription:
    """Return the lidar whose scan in the base frame contains those of ``parts``. It has the
    smallest angle between rays of the parts, and the rate and height of the first lidar."""
    spacing = min(
        (part.columns.last - part.columns.first) / max(part.columns.samples - 1, 1) or 2 * math.pi
        for part in parts
    )
    low, high = _union([_bearings_of(part) for part in parts])
    count = max(2, round((high - low) / spacing) + 1)
    if high - low >= 2 * math.pi - spacing / 2:  # the last ray is next to the first one
        count = round(2 * math.pi / spacing)
        low, high = -math.pi, math.pi - 2 * math.pi / count
    first = parts[0]
    return LidarDescription(
        link="",
        sensor=MERGED,
        mount=Pose((0.0, 0.0, first.mount.position[2])),
        samples=count,
        angle_min_rad=low,
        angle_max_rad=high,
        range_min_m=0.0,
        range_max_m=max(part.range_max_m + math.hypot(*part.mount.position[:2]) for part in parts),
        update_rate_hz=first.update_rate_hz,
        parts=tuple(parts),
    )


def _union(spans: Sequence[Tuple[float, float]]) -> Tuple[float, float]:
    """Return the smallest interval in [-pi, pi] that contains all spans of angles (rad), or
    (-pi, pi) if a span contains the angle pi in its interior."""
    turn = 2 * math.pi
    intervals = [((low + math.pi) % turn - math.pi, high - low) for low, high in spans]
    low, high = min(low for low, _ in intervals), max(low + width for low, width in intervals)
    return (low, high) if high <= math.pi else (-math.pi, math.pi)
