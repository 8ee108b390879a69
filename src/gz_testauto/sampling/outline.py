"""What an obstacle covers of the ground, exactly.

Owns the outline as a core widened by a radius: a cylinder is a point and its radius, so that
distances to it are exact and cheap, where a polygon of many corners would be neither.
"""

import math
from dataclasses import dataclass
from typing import Tuple

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

QUARTER_SEGMENTS = 16
"""Pieces per quarter circle where a polygon must stand for a circle."""


@dataclass(frozen=True, eq=False)
class Outline:
    """All points within ``radius_m`` of ``core``, in metres."""

    core: BaseGeometry
    radius_m: float = 0.0

    @classmethod
    def disc(cls, x_m: float, y_m: float, radius_m: float) -> "Outline":
        """A circle's inside."""
        return cls(shapely.Point(x_m, y_m), radius_m)

    @classmethod
    def box(cls, size_x_m: float, size_y_m: float) -> "Outline":
        """A rectangle centred on the origin."""
        return cls(shapely.box(-size_x_m / 2, -size_y_m / 2, size_x_m / 2, size_y_m / 2))

    @property
    def polygon(self) -> BaseGeometry:
        """The outline as a polygon; round parts lie inside of the true ones by 0.1 %."""
        if self.radius_m == 0.0:
            return self.core
        return self.core.buffer(self.radius_m, quad_segs=QUARTER_SEGMENTS)

    @property
    def area_m2(self) -> float:
        """The area of what is covered."""
        if self.core.geom_type == "Point":
            return math.pi * self.radius_m**2
        return float(self.polygon.area)

    @property
    def reach_m(self) -> float:
        """Radius of the circle around the origin that holds the outline."""
        corners = shapely.get_coordinates(self.core)
        return float(np.hypot(corners[:, 0], corners[:, 1]).max()) + self.radius_m

    def moved(self, x_m: float, y_m: float, yaw_rad: float) -> "Outline":
        """The outline, given in a model's frame, when the model stands at a place."""
        cosine, sine = math.cos(yaw_rad), math.sin(yaw_rad)
        turn = np.array([[cosine, sine], [-sine, cosine]])
        kind = self.core.geom_type
        # The two common cases, several times faster than shapely's general way.
        if kind == "Point":
            core = shapely.Point((shapely.get_coordinates(self.core) @ turn)[0] + (x_m, y_m))
        elif kind == "Polygon" and not self.core.interiors:
            core = shapely.polygons(shapely.get_coordinates(self.core) @ turn + (x_m, y_m))
        else:
            core = shapely.transform(self.core, lambda points: points @ turn + (x_m, y_m))
        return Outline(core, self.radius_m)

    def distance_m(self, other: "Outline") -> float:
        """Metres between two outlines; 0 when they touch or overlap."""
        between = shapely.distance(self.core, other.core) - self.radius_m - other.radius_m
        return max(0.0, float(between))


def cores_and_radii(outlines: "Tuple[Outline, ...]") -> Tuple[np.ndarray, np.ndarray]:
    """The outlines as arrays for shapely and numpy: cores (n,) and radii (n,)."""
    cores = np.empty(len(outlines), dtype=object)
    cores[:] = [outline.core for outline in outlines]
    return cores, np.array([outline.radius_m for outline in outlines], dtype=float)
