"""Half spaces, and the field of view of a camera.

The axes of the camera frame are x forward, y left and z up, as in SDF. In an image, u points to the
right and v down, both from 0 to 1.
"""

import math
from dataclasses import dataclass
from typing import Tuple

import numpy as np

from gz_testauto.base.errors import SpecError
from gz_testauto.base.pose import Pose
from gz_testauto.extras.colliders.flat import rays


@dataclass(frozen=True)
class HalfSpace:
    """The half space of all points p with ``normal · p <= offset_m``.

    Normal and offset are divided by the length of the normal. Raises ``SpecError`` if the normal is
    zero, or if a number is not finite.
    """

    normal: Tuple[float, float, float]
    offset_m: float = 0.0

    def __post_init__(self) -> None:
        length = math.sqrt(sum(part * part for part in self.normal))
        if not (math.isfinite(length) and length > 0 and math.isfinite(self.offset_m)):
            raise SpecError(
                "a plane must have a finite offset, and a finite normal that is not zero"
            )
        object.__setattr__(self, "normal", tuple(float(part) / length for part in self.normal))
        object.__setattr__(self, "offset_m", self.offset_m / length)

    @classmethod
    def through(
        cls, point: Tuple[float, float, float], normal: Tuple[float, float, float]
    ) -> "HalfSpace":
        """Return the half space whose boundary contains a point (m)."""
        return cls(normal, float(np.dot(point, normal)))

    def height_m(self, points: np.ndarray) -> np.ndarray:
        """Return the signed distances (m) of ``points`` (n, 3) from the plane, negative inside."""
        return np.asarray(points, dtype=float) @ np.asarray(self.normal) - self.offset_m

    def raycast(self, origins: np.ndarray, directions: np.ndarray) -> np.ndarray:
        """Return the distances along rays (n, 3) to the plane, from either side, or inf.

        Raises ``ValueError`` for a direction of length 0.
        """
        start, towards = rays(origins, directions, 3)
        rise, height = towards @ np.asarray(self.normal), self.height_m(start)
        with np.errstate(divide="ignore", invalid="ignore"):
            hit_m = np.where(height == 0.0, 0.0, -height / rise)
        return np.where(hit_m >= 0.0, hit_m, np.inf) + 0.0


@dataclass(frozen=True)
class Frustum:
    """The field of view of a camera, from ``near_m`` to ``far_m`` along its x axis.

    ``horizontal_fov_rad`` is the full angle, as in SDF. ``aspect`` is width divided by height.
    Raises ``SpecError`` unless the angle is between 0 and π and 0 <= ``near_m`` < ``far_m``.
    """

    pose: Pose
    horizontal_fov_rad: float
    aspect: float = 4.0 / 3.0
    near_m: float = 0.05
    far_m: float = 100.0

    def __post_init__(self) -> None:
        if not 0.0 < self.horizontal_fov_rad < math.pi:
            raise SpecError(
                f"horizontal_fov_rad is {self.horizontal_fov_rad:g}; it must be between 0 and π"
            )
        if not 0.0 < self.aspect < math.inf:
            raise SpecError(f"aspect is {self.aspect:g}; it must be > 0")
        if not 0.0 <= self.near_m < self.far_m < math.inf:
            raise SpecError(
                f"near_m is {self.near_m:g} and far_m is {self.far_m:g}; near_m must be at least 0 "
                "and less than far_m"
            )

    @property
    def _slopes(self) -> Tuple[float, float]:
        """Half the width and half the height of the field of view at a depth of 1 m."""
        half_width = math.tan(self.horizontal_fov_rad / 2)
        return half_width, half_width / self.aspect

    @property
    def planes(self) -> Tuple[HalfSpace, ...]:
        """The bounding half spaces in the order near, far, left, right, upper, lower."""
        side_slope, up_slope = self._slopes
        turn, eye = self.pose.rotation, np.asarray(self.pose.position)
        ahead = turn[:, 0]
        normals = [(-1, 0, 0), (1, 0, 0), (-side_slope, 1, 0), (-side_slope, -1, 0)]
        normals += [(-up_slope, 0, 1), (-up_slope, 0, -1)]
        points = [eye + self.near_m * ahead, eye + self.far_m * ahead, eye, eye, eye, eye]
        world = [turn @ np.asarray(normal, dtype=float) for normal in normals]
        return tuple(
            HalfSpace.through(tuple(point), tuple(normal)) for point, normal in zip(points, world)
        )

    def contains(self, points: np.ndarray) -> np.ndarray:
        """Return for ``points`` (n, 3) in the world frame whether each is in view, shape (n,)."""
        ahead, left, up = self._in_camera_frame(points).T
        side_slope, up_slope = self._slopes
        within = (ahead >= self.near_m) & (ahead <= self.far_m)
        return np.asarray(
            within & (np.abs(left) <= side_slope * ahead) & (np.abs(up) <= up_slope * ahead)
        )

    def may_see(self, centers: np.ndarray, radii_m: np.ndarray) -> np.ndarray:
        """Return whether each sphere can be in view; True can be wrong near an edge.

        The centers (n, 3) are in the world frame.
        """
        heights = np.stack([plane.height_m(centers) for plane in self.planes])
        return np.asarray((heights <= radii_m).all(axis=0))

    def project(self, points: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
        """Return the image positions (u, v), shape (n, 2), and the depths of ``points`` (n, 3).

        The points are in the world frame. A position is NaN behind the camera.
        """
        ahead, left, up = self._in_camera_frame(points).T
        side_slope, up_slope = self._slopes
        with np.errstate(divide="ignore", invalid="ignore"):
            u, v = 0.5 - left / ahead / side_slope / 2, 0.5 - up / ahead / up_slope / 2
        image = np.where((ahead > 0.0)[:, None], np.column_stack([u, v]), np.nan)
        return image, ahead

    def rays(self, image: np.ndarray) -> np.ndarray:
        """Return the directions (n, 3), in the world frame, of rays through image positions (n, 2).

        Their component along the camera's x axis is 1, so that a distance in units of the direction
        is the depth.
        """
        u, v = np.asarray(image, dtype=float).reshape(-1, 2).T
        side_slope, up_slope = self._slopes
        seen = np.column_stack([np.ones(len(u)), (1 - 2 * u) * side_slope, (1 - 2 * v) * up_slope])
        return seen @ self.pose.rotation.T

    def _in_camera_frame(self, points: np.ndarray) -> np.ndarray:
        return self.pose.inverse().apply(np.asarray(points, dtype=float).reshape(-1, 3))
