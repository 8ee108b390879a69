"""Where the centres of obstacles may lie, and points of a region by area.

Owns the places that a specification gives to a group of obstacles, and the map from the unit
square onto a region (Rosenblatt 1952, "Remarks on a multivariate transformation"): the first
number chooses x by the area to its left, the second the place on the vertical line through x.
It takes equal areas to equal areas, so that stratified numbers give stratified points; drawing
from a bounding box and rejecting would not.
"""

import math
from typing import List, Tuple

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from gz_testauto.spec.obstacles import AnyObstacles, ObstacleSpec
from gz_testauto.spec.regions import union_of


def places_of(
    spec: ObstacleSpec,
    group: AnyObstacles,  # type: ignore[valid-type]
) -> BaseGeometry:
    """Where the centres of a group's obstacles may lie, in the world frame (m): its region or
    the specification's, the rectangle of all that ``x_m`` and ``y_m`` can be, or, of both, what
    they have in common. A place that is fixed has no area."""
    regions = group.region or spec.region
    if group.x_m is None or group.y_m is None:
        return union_of(regions or [])
    (x_min, x_max), (y_min, y_max) = group.x_m.support, group.y_m.support
    drawn = shapely.MultiPoint([(x_min, y_min), (x_max, y_max)]).envelope
    return drawn if not regions else shapely.intersection(drawn, union_of(regions))


class RegionSampler:
    """Maps the unit square onto ``region``, a polygon or several, in metres.

    Raises ``ValueError`` for a region without area.
    """

    def __init__(self, region: BaseGeometry) -> None:
        self._tails, self._heads = _edges(region)
        self._box = region.bounds if _is_upright_rectangle(region) else None
        corners = np.unique(shapely.get_coordinates(region)[:, 0])
        self._left, self._right = corners[:-1], corners[1:]
        widths = self._right - self._left
        # Between corners' abscissae chords change linearly: a few inner chords fix the lines.
        at_third = self._chords(self._left + widths / 3)
        at_two_thirds = self._chords(self._left + 2 * widths / 3)
        self._from = np.maximum(2 * at_third - at_two_thirds, 0.0)
        self._to = np.maximum(2 * at_two_thirds - at_third, 0.0)
        self._area = np.concatenate([[0.0], np.cumsum(widths * (self._from + self._to) / 2)])
        if not self._area[-1] > 0:
            raise ValueError("the region has no area")

    @property
    def area_m2(self) -> float:
        """The region's area."""
        return float(self._area[-1])

    def point(self, first: float, second: float) -> Tuple[float, float]:
        """The point (x, y) of the region that belongs to two numbers in [0, 1)."""
        if self._box is not None:
            x_min, y_min, x_max, y_max = self._box
            return x_min + first * (x_max - x_min), y_min + second * (y_max - y_min)
        target = first * self._area[-1]
        slab = int(np.searchsorted(self._area, target, side="right")) - 1
        slab = min(slab, len(self._left) - 1)
        left, width = self._left[slab], self._right[slab] - self._left[slab]
        share = _along(target - self._area[slab], self._from[slab], self._to[slab], width)
        x = float(left + min(share, 1.0) * width)
        spans = self._spans(x)
        if not spans:  # exactly at a corner, where the line has no length
            x = float(left + min(max(share, 1e-6), 1 - 1e-6) * width)
            spans = self._spans(x)
        height = second * sum(high - low for low, high in spans)
        for low, high in spans:
            if height <= high - low:
                return x, low + height
            height -= high - low
        return x, spans[-1][1]

    def _chords(self, xs: np.ndarray) -> np.ndarray:
        return np.array([sum(high - low for low, high in self._spans(x)) for x in xs])

    def _spans(self, x: float) -> List[Tuple[float, float]]:
        """The (lowest, highest) y of each piece of the vertical line at ``x`` in the region."""
        crossed = (self._tails[:, 0] <= x) != (self._heads[:, 0] <= x)
        tails, heads = self._tails[crossed], self._heads[crossed]
        share = (x - tails[:, 0]) / (heads[:, 0] - tails[:, 0])
        heights = sorted((tails[:, 1] + share * (heads[:, 1] - tails[:, 1])).tolist())
        return [pair for pair in zip(heights[::2], heights[1::2]) if pair[1] > pair[0]]


def _edges(region: BaseGeometry) -> Tuple[np.ndarray, np.ndarray]:
    """Both ends of all edges of a region's outlines, each of shape (n, 2)."""
    rings = shapely.get_rings(shapely.get_parts(region))
    outlines = [shapely.get_coordinates(ring) for ring in rings]
    if not outlines:
        raise ValueError("the region has no area")
    tails = np.concatenate([outline[:-1] for outline in outlines])
    return tails, np.concatenate([outline[1:] for outline in outlines])


def _is_upright_rectangle(region: BaseGeometry) -> bool:
    return bool(region.area > 0 and region.equals(region.envelope))


def _along(area: float, first: float, second: float, width: float) -> float:
    """The share of ``width`` at which a trapezium's area from the left is ``area``."""
    slope = second - first
    if abs(slope) < 1e-12 * max(first, second):
        return area / (width * first)
    root = math.sqrt(max(first * first + 2 * slope * area / width, 0.0))
    return (root - first) / slope
