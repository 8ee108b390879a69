"""The exact outline of an obstacle on the ground, as a core that is enlarged by a radius.

A cylinder is a point with a radius. Distances are then exact, and faster to compute than for a
polygon with many corners.
"""

import functools
import math
from typing import Callable, Optional, Sequence, Tuple

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from gz_testauto.base.pose import Pose2D

QUARTER_SEGMENTS = 16  # segments per quarter circle in the polygon of a circle


class Outline:
    """An outline in the plane: all points within ``radius_m`` of ``core``, in meters."""

    def __init__(self, core: BaseGeometry, radius_m: float = 0.0) -> None:
        self.core = core
        self.radius_m = radius_m

    @functools.cached_property
    def corners(self) -> Optional[np.ndarray]:
        """Return the corners of the core, shape (n, 2), with the first one repeated, or (1, 2) for
        a point. Returns None for other cores than points and polygons without holes."""
        kind = self.core.geom_type
        if kind == "Point" or (kind == "Polygon" and not self.core.interiors):
            return shapely.get_coordinates(self.core)
        return None

    @classmethod
    def disc(cls, x_m: float, y_m: float, radius_m: float) -> "Outline":
        return cls(shapely.Point(x_m, y_m), radius_m)

    @classmethod
    def box(cls, size_x_m: float, size_y_m: float) -> "Outline":
        return cls(shapely.box(-size_x_m / 2, -size_y_m / 2, size_x_m / 2, size_y_m / 2))

    @property
    def polygon(self) -> BaseGeometry:
        """Return the outline as a polygon. Round parts are inside the exact outline by 0.1 % of the
        radius."""
        if self.radius_m == 0.0:
            return self.core
        return self.core.buffer(self.radius_m, quad_segs=QUARTER_SEGMENTS)

    @functools.cached_property
    def is_disc(self) -> bool:
        return self.corners is not None and len(self.corners) == 1

    @property
    def area_m2(self) -> float:
        if self.is_disc:
            return math.pi * self.radius_m**2
        return float(self.polygon.area)

    @property
    def reach_m(self) -> float:
        """The radius (m) of the smallest circle around the origin that contains the outline."""
        corners = shapely.get_coordinates(self.core) if self.corners is None else self.corners
        return float(np.hypot(corners[:, 0], corners[:, 1]).max()) + self.radius_m

    @property
    def inner_m(self) -> float:
        """Return the radius (m) of the largest circle around the origin that is inside the outline,
        or 0 if the origin is outside."""
        if self.is_disc:
            off_center_m = self.reach_m - self.radius_m
            return max(0.0, self.radius_m - off_center_m)
        origin = shapely.Point(0.0, 0.0)
        if not shapely.contains(self.core, origin):
            return 0.0
        return float(shapely.distance(shapely.boundary(self.core), origin)) + self.radius_m

    @functools.cached_property
    def extent_m(self) -> Tuple[float, float]:
        """Return the largest distances (m) of the core from the origin along x and along y."""
        x, y = np.abs(shapely.get_coordinates(self.core)).max(axis=0, initial=0.0)
        return float(x), float(y)

    def scaled(self, factor_x: float, factor_y: float) -> "Outline":
        """Return the outline scaled about the origin. ``factor_x`` also scales the radius."""
        radius_m = self.radius_m * factor_x
        return _TransformedOutline(self, radius_m, lambda points: points * (factor_x, factor_y))

    def moved(self, x_m: float, y_m: float, yaw_rad: float) -> "Outline":
        """Return the outline rotated about the origin, then moved."""
        return _TransformedOutline(self, self.radius_m, Pose2D(x_m, y_m, yaw_rad).apply)

    def distance_m(self, other_outline: "Outline") -> float:
        gap_m = (
            shapely.distance(self.core, other_outline.core) - self.radius_m - other_outline.radius_m
        )
        return max(0.0, float(gap_m))


class _TransformedOutline(Outline):
    # The core is computed only when it is needed. Most positions are checked without it.

    def __init__(
        self, source: Outline, radius_m: float, transform: Callable[[np.ndarray], np.ndarray]
    ) -> None:
        self._source, self._transform = source, transform
        self.radius_m = radius_m

    @functools.cached_property
    def core(self) -> BaseGeometry:
        if self.corners is None:
            return shapely.transform(self._source.core, self._transform)
        if self.is_disc:
            return shapely.points(self.corners[0])
        return shapely.polygons(self.corners)

    @functools.cached_property
    def corners(self) -> Optional[np.ndarray]:
        corners = self._source.corners
        return None if corners is None else self._transform(corners)

    @functools.cached_property
    def is_disc(self) -> bool:
        return self._source.is_disc


def cores_and_radii(outlines: Sequence[Outline]) -> Tuple[np.ndarray, np.ndarray]:
    cores = np.empty(len(outlines), dtype=object)
    cores[:] = [outline.core for outline in outlines]
    return cores, np.array([outline.radius_m for outline in outlines], dtype=float)
