"""Poses and angles in three dimensions and in the plane.

Frames follow REP-103: x forward, y left, z up, yaw counter-clockwise from +x.
"""

import math
from dataclasses import dataclass
from typing import Iterable, NamedTuple, Tuple

import numpy as np

from gz_testauto.base.arithmetic import matrix_product

Quaternion = Tuple[float, float, float, float]


def wrap_angle(angle_rad: float) -> float:
    """Return the equivalent angle in [-pi, pi]."""
    return math.remainder(angle_rad, 2.0 * math.pi)


def quaternion_product(first: Quaternion, second: Quaternion) -> Quaternion:
    """Return the Hamilton product of two quaternions, xyzw."""
    ax, ay, az, aw = first
    bx, by, bz, bw = second
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


class Pose2D(NamedTuple):
    """Position (m) and heading (rad) in the plane, in the world frame unless stated otherwise."""

    x_m: float
    y_m: float
    yaw_rad: float = 0.0

    def to_pose(self, z_m: float = 0.0) -> "Pose":
        """Return the pose at height ``z_m``, with zero roll and pitch."""
        return Pose.from_rpy(self.x_m, self.y_m, z_m, 0.0, 0.0, self.yaw_rad)

    def distance_to(self, x_m: float, y_m: float) -> float:
        """Return the Euclidean distance (m) to a point in the same frame."""
        return math.hypot(x_m - self.x_m, y_m - self.y_m)

    def apply(self, points_m: np.ndarray) -> np.ndarray:
        """Map points, shape (n, 2) in this pose's frame, into the parent frame."""
        cos, sin = math.cos(self.yaw_rad), math.sin(self.yaw_rad)
        turn = np.array([[cos, sin], [-sin, cos]])
        return matrix_product(points_m, turn) + np.array([self.x_m, self.y_m])


@dataclass(frozen=True)
class Pose:
    """A rigid transform: position (m) and unit quaternion, xyzw as in ROS.

    If pose ``b`` is relative to frame ``a``, ``a * b`` is the same pose in the parent frame of
    ``a``.
    The quaternion is stored unchanged, so that poses from a simulator can be compared bit for bit.
    """

    position: Tuple[float, float, float] = (0.0, 0.0, 0.0)
    quaternion: Quaternion = (0.0, 0.0, 0.0, 1.0)

    @classmethod
    def from_rpy(
        cls, x: float, y: float, z: float, roll: float, pitch: float, yaw: float
    ) -> "Pose":
        """Return the pose of a position (m) and fixed-axis roll, pitch and yaw (rad), as in SDF."""
        cr, sr = math.cos(roll / 2), math.sin(roll / 2)
        cp, sp = math.cos(pitch / 2), math.sin(pitch / 2)
        cy, sy = math.cos(yaw / 2), math.sin(yaw / 2)
        return cls(
            (float(x), float(y), float(z)),
            (
                sr * cp * cy - cr * sp * sy,
                cr * sp * cy + sr * cp * sy,
                cr * cp * sy - sr * sp * cy,
                cr * cp * cy + sr * sp * sy,
            ),
        )

    @classmethod
    def from_values(cls, values: Iterable[float]) -> "Pose":
        """Return the pose of an SDF ``<pose>``. Raises ``ValueError`` unless ``values`` are six
        finite numbers."""
        numbers = [float(value) for value in values]
        if len(numbers) != 6:
            raise ValueError(f"a pose has 6 numbers (x y z roll pitch yaw), not {len(numbers)}")
        if not all(map(math.isfinite, numbers)):
            raise ValueError("a pose must be finite")
        return cls.from_rpy(*numbers)

    @property
    def rpy(self) -> Tuple[float, float, float]:
        """Roll, pitch, yaw (rad) about fixed axes; pitch in [-pi/2, pi/2]."""
        x, y, z, w = self.quaternion
        sin_pitch = max(-1.0, min(1.0, 2.0 * (w * y - z * x)))
        if abs(sin_pitch) > 1.0 - 1e-12:  # gimbal lock: choose a roll of zero
            yaw = -2.0 * math.copysign(1.0, sin_pitch) * math.atan2(x, w)
            return (0.0, math.copysign(math.pi / 2, sin_pitch), wrap_angle(yaw))
        return (
            math.atan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y)),
            math.asin(sin_pitch),
            math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z)),
        )

    @property
    def values(self) -> Tuple[float, float, float, float, float, float]:
        """x, y, z (m), roll, pitch and yaw (rad) as in SDF; -0.0 is replaced by 0.0."""
        x, y, z, roll, pitch, yaw = (float(value) + 0.0 for value in (*self.position, *self.rpy))
        return (x, y, z, roll, pitch, yaw)

    @property
    def yaw_rad(self) -> float:
        """The heading: the direction of the x axis projected onto the ground."""
        x, y, z, w = self.quaternion
        return math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))

    @property
    def tilt_rad(self) -> float:
        """The angle between the z axis and the vertical, in [0, pi]."""
        x, y, _, _ = self.quaternion
        return math.acos(max(-1.0, min(1.0, 1.0 - 2.0 * (x * x + y * y))))

    def moved_to(self, place: "Pose2D") -> "Pose":
        """Return this pose at x, y and yaw of ``place``; height, roll and pitch are unchanged."""
        roll, pitch, _ = self.rpy
        return Pose.from_rpy(place.x_m, place.y_m, self.position[2], roll, pitch, place.yaw_rad)

    @property
    def planar(self) -> Pose2D:
        """The projection of the pose onto the ground plane."""
        return Pose2D(self.position[0], self.position[1], self.yaw_rad)

    @property
    def rotation(self) -> np.ndarray:
        """The rotation matrix, shape (3, 3)."""
        x, y, z, w = self.quaternion
        return np.array(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
            ]
        )

    @property
    def matrix(self) -> np.ndarray:
        """The homogeneous transform, shape (4, 4)."""
        matrix = np.eye(4)
        matrix[:3, :3] = self.rotation
        matrix[:3, 3] = self.position
        return matrix

    def apply(self, points: np.ndarray) -> np.ndarray:
        """Map points, shape (..., 3) in this pose's frame, into the parent frame."""
        array = np.asarray(points, dtype=float)
        return matrix_product(array, self.rotation.T) + np.asarray(self.position)

    def inverse(self) -> "Pose":
        """Return the inverse transform."""
        x, y, z, w = self.quaternion
        px, py, pz = map(float, -matrix_product(self.rotation.T, np.asarray(self.position)))
        return Pose((px, py, pz), (-x, -y, -z, w))

    def __mul__(self, other: "Pose") -> "Pose":
        px, py, pz = map(float, self.apply(np.asarray(other.position)))
        return Pose((px, py, pz), quaternion_product(self.quaternion, other.quaternion))

    def to_text(self) -> str:
        """Return the SDF text ``x y z roll pitch yaw`` with all digits of the values."""
        return " ".join(map(repr, self.values))


def rotation_from_z(direction: np.ndarray) -> Tuple[float, float, float, float]:
    """Return the quaternion (xyzw) of the smallest rotation from z to a direction."""
    x, y, z = (direction / np.sqrt(np.square(direction).sum())).tolist()
    if z < -1 + 1e-12:
        return (1.0, 0.0, 0.0, 0.0)
    length = float(np.sqrt(2 * (1 + z)))
    return (-y / length, x / length, 0.0, length / 2)
