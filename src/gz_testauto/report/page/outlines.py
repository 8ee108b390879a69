"""Outlines of obstacles in the format of the page: each shape once, and its positions.

Lengths are in mm. A shape is ``{"r": radius}`` for a circle around its position, else ``{"p":
[ring, ...]}`` with each ring's vertices relative to the position, ``[x, y, x, y, ...]``. Equal
walls in a thousand worlds, and equal boxes at a thousand positions, are stored once.
"""

from typing import Any, Dict, Iterable, List, Tuple

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

TOLERANCE_M = 0.005
"""Largest error of a drawn outline."""

_MILLI = 1000.0
_CORNERS_OF_A_CIRCLE = 12


class ShapeTable:
    """The shapes of all worlds, in the order of their first use."""

    def __init__(self) -> None:
        self._index: Dict[Tuple, int] = {}
        self.shapes: List[Dict[str, Any]] = []

    def place(self, outlines: Iterable[BaseGeometry]) -> List[int]:
        """Return ``[shape, x, y, shape, x, y, ...]`` of every part of the outlines."""
        placed: List[int] = []
        for outline in outlines:
            for part in shapely.get_parts(outline).tolist():
                if part.geom_type == "Polygon" and not part.is_empty:
                    placed += self._placed(part)
        return placed

    def _placed(self, part: shapely.Polygon) -> List[int]:
        center, radius_m = _circle(part)
        if radius_m is not None:
            radius = round(radius_m * _MILLI)
            x, y = np.rint(center * _MILLI).astype(int).tolist()
            return [self._number(("r", radius), {"r": radius}), x, y]
        simple = shapely.simplify(part, TOLERANCE_M)
        whole = [
            np.rint(shapely.get_coordinates(ring) * _MILLI).astype(int)[:-1]
            for ring in (simple.exterior, *simple.interiors)
        ]
        x, y = whole[0].min(axis=0).tolist()
        rings = tuple(tuple((ring - (x, y)).ravel().tolist()) for ring in whole)
        return [self._number(("p", rings), {"p": [list(ring) for ring in rings]}), x, y]

    def _number(self, key: Tuple, shape: Dict[str, Any]) -> int:
        if key not in self._index:
            self._index[key] = len(self.shapes)
            self.shapes.append(shape)
        return self._index[key]


def _circle(part: shapely.Polygon) -> Tuple[np.ndarray, Any]:
    """Return center (m) and radius (m) of a polygon that approximates a circle; None for others."""
    corners = shapely.get_coordinates(part.exterior)[:-1]
    center = shapely.get_coordinates(part.centroid)[0]
    if part.interiors or len(corners) < _CORNERS_OF_A_CIRCLE:
        return center, None
    radii = np.hypot(*(corners - center).T)
    return center, float(radii.max()) if np.ptp(radii) < TOLERANCE_M / 5 else None
