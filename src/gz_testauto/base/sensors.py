"""Define the sensors that a robot can have in addition to the planners' lidar and the IMU."""

import math
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Tuple

import numpy as np
from typing_extensions import Literal

from gz_testauto.base.elementary import arctan2
from gz_testauto.base.pose import Pose

SensorKind = Literal["scan", "cloud", "range", "contact"]

# A camera's image frame (x right, y down, z forward) in the camera's frame (REP 103).
IMAGE_AXES = Pose(quaternion=(-0.5, 0.5, -0.5, 0.5))


class Angles(NamedTuple):
    """``samples`` angles (rad) with equal distances, from ``first`` to ``last``."""

    samples: int
    first: float
    last: float

    @property
    def values_rad(self) -> np.ndarray:
        return np.linspace(self.first, self.last, self.samples)

    @property
    def spacing_rad(self) -> float:
        """The difference (rad) between adjacent angles, 2π for a single angle."""
        return (self.last - self.first) / (self.samples - 1) if self.samples > 1 else 2 * math.pi

    def nearest(self, angles_rad: np.ndarray) -> np.ndarray:
        """Return the index of the nearest angle of this object to each of ``angles_rad``.

        It is outside 0 to ``samples`` - 1 for an angle beyond the first or the last angle.
        """
        middle = (self.first + self.last) / 2
        from_middle = (angles_rad - middle + math.pi) % (2 * math.pi) - math.pi
        return np.asarray(
            np.rint((from_middle + middle - self.first) / self.spacing_rad), dtype=int
        )


SAME_RAD = 1e-6  # tolerance of a full circle, whose first and last ray have one direction

AHEAD = Angles(1, 0.0, 0.0)  # one ray along the axis of a sensor


@dataclass(frozen=True)
class Sensor:
    """A sensor of a robot's model.

    ``kind`` is ``scan`` for a planar lidar, ``cloud`` for a 3-D lidar or a depth camera, ``range``
    for a sonar or an infrared sensor, and ``contact`` for a bumper. ``name`` identifies the sensor
    in the robot: the name of the ``<sensor>``, or ``LINK::SENSOR`` if several have this name.
    ``mount`` is its pose in the model frame, with x forward.

    The rays have the horizontal angles ``columns`` and the vertical angles ``rows`` (rad, up is
    positive), as in a ``ray`` sensor of SDF. ``noise_m`` is the mean and the standard deviation of
    the error of a range. The sensor measures with ``update_rate_hz``, or after every step if the
    rate is 0. A measurement is available ``delay_s`` after its time. ``topic`` and ``frame`` are
    those of the plug-in. A camera (``is_camera``) has a frame with ``IMAGE_AXES``. ``radiation`` is
    ``ultrasound`` or ``infrared``, and ``field_of_view_rad`` the width of the cone of a range
    sensor. ``collisions`` are the scoped names of the shapes of a bumper in the model.
    """

    kind: SensorKind
    name: str
    link: str
    sensor: str
    mount: Pose
    columns: Angles = AHEAD
    rows: Angles = AHEAD
    range_min_m: float = 0.0
    range_max_m: float = 0.0
    update_rate_hz: float = 0.0
    noise_m: Tuple[float, float] = (0.0, 0.0)
    delay_s: float = 0.0
    topic: str = ""
    frame: str = ""
    is_camera: bool = False
    radiation: Literal["ultrasound", "infrared"] = "ultrasound"
    field_of_view_rad: float = 0.0
    collisions: Tuple[str, ...] = field(default=())

    @property
    def scoped_name(self) -> str:
        return f"{self.link}::{self.sensor}"

    @property
    def scoped_topic(self) -> str:
        """The topic ``LINK/SENSOR``, for a sensor whose topic is used already."""
        return self.scoped_name.replace("::", "/")

    @property
    def frame_mount(self) -> Pose:
        """The pose of ``frame`` in the model frame."""
        return self.mount * IMAGE_AXES if self.is_camera else self.mount

    @property
    def directions(self) -> np.ndarray:
        """The unit vectors in the frame of the sensor, row by row, shape (rows · columns, 3)."""
        yaw, pitch = np.meshgrid(self.columns.values_rad, self.rows.values_rad)
        yaw, pitch = yaw.ravel(), pitch.ravel()
        level = np.cos(pitch)
        return np.stack([level * np.cos(yaw), level * np.sin(yaw), np.sin(pitch)], axis=1)

    def in_frame(self, mount: Pose) -> "Sensor":
        """Return the sensor whose ``frame`` has the pose ``mount`` in the model frame."""
        return replace(self, mount=mount * IMAGE_AXES.inverse() if self.is_camera else mount)

    def ranges_to(self, points_m: np.ndarray) -> np.ndarray:
        """Return the distance to the nearest point along each ray, shape (rows, columns).

        Each of ``points_m``, shape (n, 3), in the frame of the sensor (x forward), belongs to the
        ray that is nearest in both angles. A ray without a point is infinite.
        """
        ranges = np.full((self.rows.samples, self.columns.samples), np.inf)
        x, y, z = points_m[np.isfinite(points_m).all(axis=1)].T
        level, distances = np.hypot(x, y), np.sqrt(x * x + y * y + z * z)
        column = self.columns.nearest(arctan2(y, x))
        row = self.rows.nearest(arctan2(z, level))
        in_view = (column >= 0) & (column < self.columns.samples) & (distances < self.range_max_m)
        in_view &= (row >= 0) & (row < self.rows.samples)
        np.minimum.at(ranges, (row[in_view], column[in_view]), distances[in_view])
        if self.columns.last - self.columns.first > 2 * math.pi - SAME_RAD:
            ranges[:, [0, -1]] = ranges[:, [0, -1]].min(axis=1, keepdims=True)
        return ranges

    def __str__(self) -> str:
        if self.kind == "contact":
            return f"{self.name!r} (contact): {len(self.collisions)} collision shapes"
        rays = f"{self.columns.samples} × {self.rows.samples} rays"
        return (
            f"{self.name!r} ({self.kind}): {rays}, range {self.range_min_m:g} to "
            f"{self.range_max_m:g} m"
        )
