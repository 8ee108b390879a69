"""What stands in a world, to whom has to find a way among it.

Owns free places and free straight ways of a round body, seen from above.
"""

from typing import Mapping, Optional, Tuple

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

TRIES = 2000
"""Points drawn before it is said that there is no room."""


class Surroundings:
    """The outlines (m, world frame) of what stands, by name."""

    def __init__(self, outlines: Mapping[str, BaseGeometry]) -> None:
        self._names = list(outlines)
        self._tree = shapely.STRtree(list(outlines.values()))

    def meets(self, shape: BaseGeometry) -> Optional[str]:
        """The name of something that a shape touches, None where it touches nothing."""
        hits = self._tree.query(shape, predicate="intersects")
        return min((self._names[int(index)] for index in hits), default=None)

    def crossed(self, lines: np.ndarray) -> np.ndarray:
        """Which of these lines (k,), shapely's, touch something, (k,)."""
        found = np.zeros(len(lines), dtype=bool)
        found[self._tree.query(lines, predicate="intersects")[0]] = True
        return found

    def distance_m(self, shape: BaseGeometry) -> float:
        """How far the nearest outline is, ``inf`` where there is none; 0 where they meet."""
        found, distance = self._tree.query_nearest(shape, return_distance=True, all_matches=False)
        return float(distance[0]) if len(found) else float("inf")

    def nearest_point(self, x_m: float, y_m: float) -> Optional[Tuple[float, float]]:
        """The point of what stands that is nearest; None where nothing does, or within it."""
        here = shapely.Point(x_m, y_m)
        found = self._tree.query_nearest(here, all_matches=False)
        if not len(found):
            return None
        line = shapely.shortest_line(self._tree.geometries[int(found[0])], here)
        (x, y), _ = shapely.get_coordinates(line).tolist()
        return None if (x, y) == (x_m, y_m) else (x, y)

    def is_free(self, x_m: float, y_m: float, radius_m: float) -> bool:
        """Whether a disc touches nothing."""
        return self.distance_m(shapely.Point(x_m, y_m)) > radius_m

    def is_free_way(
        self, start: Tuple[float, float], end: Tuple[float, float], radius_m: float
    ) -> bool:
        """Whether a disc that goes straight from one point to another touches nothing."""
        return self.distance_m(shapely.LineString([start, end])) > radius_m


def draw_point(region: BaseGeometry, random: np.random.Generator) -> Optional[Tuple[float, float]]:
    """A point of a region, all of it as likely; None where the region has no area."""
    if region.is_empty or region.area <= 0.0:
        return None
    min_x, min_y, max_x, max_y = region.bounds
    shapely.prepare(region)
    for _ in range(TRIES):
        x_m, y_m = random.uniform(min_x, max_x), random.uniform(min_y, max_y)
        if shapely.contains_xy(region, x_m, y_m):
            return (float(x_m), float(y_m))
    return None
