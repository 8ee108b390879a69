"""The outlines of obstacles in a world, for actors that need a free path.

Computes free points and free straight paths of a disc in the plane.
"""

from typing import Mapping, Optional, Tuple

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

TRIES = 2000
"""Draws of a point before a region counts as full."""


class ObstacleOutlines:
    """The outlines (m, world frame) of obstacles, by name."""

    def __init__(self, outlines: Mapping[str, BaseGeometry]) -> None:
        self._names = list(outlines)
        self._tree = shapely.STRtree(list(outlines.values()))

    def touched_by(self, shape: BaseGeometry) -> Optional[str]:
        """Return the name of an obstacle that a shape touches, None if it touches none."""
        hits = self._tree.query(shape, predicate="intersects")
        return min((self._names[int(index)] for index in hits), default=None)

    def crossed(self, lines: np.ndarray) -> np.ndarray:
        """Return which of the lines (k,) of shapely touch an obstacle, (k,)."""
        found = np.zeros(len(lines), dtype=bool)
        found[self._tree.query(lines, predicate="intersects")[0]] = True
        return found

    def distance_m(self, shape: BaseGeometry) -> float:
        """Return the distance to the nearest outline, ``inf`` if there is none and 0 on contact."""
        found, distance = self._tree.query_nearest(shape, return_distance=True, all_matches=False)
        return float(distance[0]) if len(found) else float("inf")

    def nearest_point(self, x_m: float, y_m: float) -> Optional[Tuple[float, float]]:
        """Return the nearest point of an obstacle; None without obstacles, or inside one."""
        here = shapely.Point(x_m, y_m)
        found = self._tree.query_nearest(here, all_matches=False)
        if not len(found):
            return None
        line = shapely.shortest_line(self._tree.geometries[int(found[0])], here)
        (x, y), _ = shapely.get_coordinates(line).tolist()
        return None if (x, y) == (x_m, y_m) else (x, y)

    def is_free(self, x_m: float, y_m: float, radius_m: float) -> bool:
        """Return whether a disc touches no obstacle."""
        return self.distance_m(shapely.Point(x_m, y_m)) > radius_m

    def is_free_path(
        self, start: Tuple[float, float], end: Tuple[float, float], radius_m: float
    ) -> bool:
        """Return whether a disc that moves straight from ``start`` to ``end`` touches no
        obstacle."""
        return self.distance_m(shapely.LineString([start, end])) > radius_m


def draw_point(region: BaseGeometry, random: np.random.Generator) -> Optional[Tuple[float, float]]:
    """Return a uniformly distributed point of a region; None if the region has no area."""
    if region.is_empty or region.area <= 0.0:
        return None
    min_x, min_y, max_x, max_y = region.bounds
    shapely.prepare(region)
    for _ in range(TRIES):
        x_m, y_m = random.uniform(min_x, max_x), random.uniform(min_y, max_y)
        if shapely.contains_xy(region, x_m, y_m):
            return (float(x_m), float(y_m))
    return None
