"""Flat colliders: boxes, circles and polygons on the ground, which is the xy plane of the world.

A shape rotates about the origin of its frame, which can differ from its center. Solid colliders are
in :mod:`gz_testauto.extras.colliders.bodies`.
"""

import math
from dataclasses import dataclass
from typing import Sequence, Tuple

import numpy as np
import shapely

from gz_testauto.base.errors import SpecError
from gz_testauto.base.pose import Pose2D
from gz_testauto.sampling.outline import Outline

FARTHEST_M = 1e4  # default range of a ray

ORIGIN = Pose2D(0.0, 0.0)


@dataclass(frozen=True, eq=False)
class FlatCollider:
    """A flat collider: all points inside ``outline`` (m, world frame) and on its edge."""

    outline: Outline

    @classmethod
    def box(cls, size_x_m: float, size_y_m: float, pose: Pose2D = ORIGIN) -> "FlatCollider":
        """Return a box with its center at ``pose``; raise ``SpecError`` for a size of 0 or less."""
        check_positive("size_x_m", size_x_m)
        check_positive("size_y_m", size_y_m)
        return cls(Outline.box(size_x_m, size_y_m)).moved(pose)

    @classmethod
    def circle(cls, radius_m: float, center: Tuple[float, float] = (0.0, 0.0)) -> "FlatCollider":
        """Return a circle, or raise ``SpecError`` for a radius of 0 or less."""
        check_positive("radius_m", radius_m)
        return cls(Outline.disc(float(center[0]), float(center[1]), radius_m))

    @classmethod
    def polygon(
        cls, corners: Sequence[Tuple[float, float]], pose: Pose2D = ORIGIN
    ) -> "FlatCollider":
        """Return a polygon with ``corners`` (n, 2), in meters in the frame of ``pose``.

        Raises ``SpecError`` if the outline crosses itself or has no area.
        """
        points = np.asarray(corners, dtype=float)
        if points.ndim != 2 or points.shape[1] != 2 or len(points) < 3:
            raise SpecError(f"a polygon must have at least 3 vertices (x, y), not {len(points)}")
        if not np.isfinite(points).all():
            raise SpecError("the vertices of a polygon must have finite coordinates")
        outline = shapely.Polygon(points)
        if not outline.is_valid or outline.area == 0.0:
            reason = shapely.is_valid_reason(outline)
            raise SpecError(
                f"the outline of the polygon is invalid ({reason}); specify its vertices in order"
            )
        return cls(Outline(outline)).moved(pose)

    def moved(self, pose: Pose2D) -> "FlatCollider":
        """Return the collider with its frame at ``pose``, or raise ``SpecError`` if the pose is not
        finite.
        """
        if not all(map(math.isfinite, pose)):
            raise SpecError("the coordinates and the yaw of a pose must be finite")
        return FlatCollider(self.outline.moved(*pose))

    def intersects(self, other: "FlatCollider") -> bool:
        return self.distance_m(other) == 0.0

    def distance_m(self, other: "FlatCollider") -> float:
        """Return the distance (m) to another collider, 0 if they touch."""
        return self.outline.distance_m(other.outline)

    def contains(self, points: np.ndarray) -> np.ndarray:
        """Return whether ``points`` (n, 2) are inside or on the edge, shape (n,)."""
        points = np.asarray(points, dtype=float).reshape(-1, 2)
        if self.outline.radius_m == 0.0:
            return np.asarray(shapely.intersects_xy(self.outline.core, *points.T))
        away_m = shapely.distance(self.outline.core, shapely.points(points))
        return np.asarray(away_m <= self.outline.radius_m)

    def raycast(
        self, origins: np.ndarray, directions: np.ndarray, range_max_m: float = FARTHEST_M
    ) -> np.ndarray:
        """Return the distance (m) along each ray to the edge (n,), or inf without a hit in range.

        ``origins`` and ``directions`` have shape (n, 2) or (2,). A ray that starts inside hits the
        edge from inside. Raises ``ValueError`` for a direction of length 0.
        """
        start, towards = rays(origins, directions, 2)
        if self.outline.is_disc:
            (center,) = shapely.get_coordinates(self.outline.core)
            hit_m = to_ball(start - center, towards, self.outline.radius_m)
        else:
            edge = shapely.boundary(self.outline.polygon)
            lines = shapely.linestrings(np.stack([start, start + range_max_m * towards], axis=1))
            hit_m = shapely.distance(shapely.intersection(lines, edge), shapely.points(start))
            hit_m = np.where(np.isnan(hit_m), np.inf, hit_m)
        return np.where(hit_m <= range_max_m, hit_m, np.inf)


def rays(
    origins: np.ndarray, directions: np.ndarray, dimensions: int
) -> Tuple[np.ndarray, np.ndarray]:
    """Return the origins and the unit directions of rays, each (n, ``dimensions``).

    Raises ``ValueError`` for a direction of length 0.
    """
    start, towards = np.broadcast_arrays(
        np.asarray(origins, dtype=float).reshape(-1, dimensions),
        np.asarray(directions, dtype=float).reshape(-1, dimensions),
    )
    length = np.linalg.norm(towards, axis=1, keepdims=True)
    if not (length > 0).all() or not np.isfinite(length).all() or not np.isfinite(start).all():
        raise ValueError("a ray must have a finite origin, and a finite direction that is not zero")
    return start, towards / length


def to_ball(start: np.ndarray, towards: np.ndarray, radius_m: float) -> np.ndarray:
    """Return the distances (n,) along rays to a ball of ``radius_m`` around the origin.

    ``start`` are the origins, and ``towards`` the unit directions of the rays, each (n, d).
    """
    middle = -np.sum(start * towards, axis=1)
    nearest = start + middle[:, None] * towards
    under = radius_m**2 - np.sum(nearest**2, axis=1)
    half = np.sqrt(np.maximum(under, 0.0))
    hit_m = np.where(middle - half >= 0, middle - half, middle + half)
    return np.where((under >= 0) & (hit_m >= 0), hit_m, np.inf)


def check_positive(name: str, *values: float) -> None:
    for value in values:
        if not (math.isfinite(value) and value > 0):
            raise SpecError(f"{name} is {value:g}; it must be > 0")
