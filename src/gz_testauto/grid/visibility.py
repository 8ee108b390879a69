"""The exact shortest way of a point through polygons.

Owns finding the free part of a plane that holds both ends, and the shortest way in it, by a
visibility graph that grows only where it must: a way that is shortest among some of the
obstacles and meets none of the others is shortest among all of them. A robot becomes a point
when the obstacles are widened by its radius (:func:`widen`). On a grid the same way would be
up to 8 % longer, and finding it slower.
"""

import functools
import math
from typing import List, Optional, Tuple, Union

import numpy as np
import shapely

ARC_SEGMENTS = 6
"""Straight pieces per quarter of a rounded corner."""

Point = Tuple[float, float]


def widen(shapes: np.ndarray, radius_m: Union[float, np.ndarray]) -> np.ndarray:
    """Each of ``shapes`` with everything that lies within ``radius_m`` of it.

    Corners are rounded by pieces that lie outside of the true arc, by 0.9 % of the radius at
    most, so that a way past the result never comes nearer than ``radius_m``.
    """
    reach = np.asarray(radius_m) / math.cos(math.pi / (4 * ARC_SEGMENTS))
    return shapely.buffer(shapes, reach, quad_segs=ARC_SEGMENTS)


def free_region(
    area: shapely.Polygon, blocked: shapely.Geometry, start: Point, *goals: Point
) -> Optional[shapely.Polygon]:
    """The connected part of ``area`` without ``blocked`` that holds all the points, or None."""
    for part in shapely.get_parts(shapely.difference(area, blocked)):
        if part.geom_type != "Polygon":
            continue
        if shapely.intersects_xy(part, *start):
            reachable = all(shapely.intersects_xy(part, *goal) for goal in goals)
            return part if reachable else None
    return None


def shortest_way(free: shapely.Polygon, start: Point, goal: Point) -> Optional[np.ndarray]:
    """The shortest way inside ``free``: its corners with both ends, shape (n, 2), in metres.

    Both points must lie in ``free``; None is returned when they do not.
    """
    if not (shapely.intersects_xy(free, *start) and shapely.intersects_xy(free, *goal)):
        return None
    from gz_testauto.grid.sight import touched  # loads numba: only who looks for a way does

    ends = np.array([start, goal], dtype=float)
    dormant, active = _rings(free), []
    way: Optional[np.ndarray] = ends
    while way is not None:
        met = [ring.may_meet(way) and touched(way, ring.tails, ring.after) for ring in dormant]
        if not any(met):
            return way
        active += [ring for ring, is_met in zip(dormant, met) if is_met]
        dormant = [ring for ring, is_met in zip(dormant, met) if not is_met]
        way = _among(_Edges.together(active), ends)
    # Rounding closed a passage of no width: with every outline known it is either there or not.
    return _among(_Edges.together(active + dormant), ends) if dormant else None


def shortest_way_through(
    free: shapely.Polygon, start: Point, *goals: Point
) -> Optional[np.ndarray]:
    """The shortest way inside ``free`` from the start to one goal after the other, as
    :func:`shortest_way` has it."""
    way = np.array([start], dtype=float)
    for begin, end in zip((start, *goals), goals):
        leg = shortest_way(free, begin, end)
        if leg is None:
            return None
        way = np.concatenate([way, leg[1:]])
    return way


class _Edges:
    """Directed edges of closed outlines, as :mod:`gz_testauto.grid.sight` has them; ``before[e]``
    precedes edge ``e``."""

    def __init__(self, tails: np.ndarray, after: np.ndarray, before: np.ndarray) -> None:
        self.tails, self.after, self.before = tails, after, before

    @classmethod
    def of_ring(cls, coordinates: np.ndarray) -> "_Edges":
        """One closed outline, whose last point repeats its first."""
        count = len(coordinates) - 1
        after, before = np.arange(1, count + 1), np.arange(-1, count - 1)
        after[-1], before[0] = 0, count - 1
        return cls(np.ascontiguousarray(coordinates[:-1]), after, before)

    @classmethod
    def together(cls, rings: "List[_Edges]") -> "_Edges":
        """Several outlines as one."""
        offsets = np.cumsum([0] + [len(ring.tails) for ring in rings])
        return cls(
            np.concatenate([ring.tails for ring in rings]),
            np.concatenate([ring.after + offset for ring, offset in zip(rings, offsets)]),
            np.concatenate([ring.before + offset for ring, offset in zip(rings, offsets)]),
        )

    @property
    def corners(self) -> np.ndarray:
        """Indices of the tails at which a taut string can bend."""
        into = self.tails - self.tails[self.before]
        return np.flatnonzero(_cross(into, self.tails[self.after] - self.tails) < 0)

    @functools.cached_property
    def _bounds(self) -> Tuple[np.ndarray, np.ndarray]:
        return self.tails.min(axis=0), self.tails.max(axis=0)

    def may_meet(self, way: np.ndarray) -> bool:
        """Whether the bounds of a polyline and of the outlines overlap."""
        low, high = self._bounds
        return not ((way.max(axis=0) < low).any() or (way.min(axis=0) > high).any())


def _rings(free: shapely.Polygon) -> List[_Edges]:
    """The outlines of a polygon, the outer one counter-clockwise and the others clockwise."""
    rings = shapely.get_rings(free)
    wrong_way = shapely.is_ccw(rings)
    wrong_way[0] = not wrong_way[0]
    outlines = [shapely.get_coordinates(ring) for ring in rings]
    return [_Edges.of_ring(one[::-1] if turn else one) for one, turn in zip(outlines, wrong_way)]


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def _among(edges: _Edges, ends: np.ndarray) -> Optional[np.ndarray]:
    """The shortest way from ``ends[0]`` to ``ends[1]`` when only these outlines exist."""
    from gz_testauto.grid.sight import shortest_way_between

    corners = edges.corners
    here = edges.tails[corners]
    nodes = np.concatenate([ends, here])
    # The ends belong to no outline: every direction is tangent there.
    own = np.concatenate([[-1, -1], corners])
    into, out = np.zeros((2, len(nodes), 2))
    into[2:] = edges.tails[edges.before[corners]] - here
    out[2:] = edges.tails[edges.after[corners]] - here
    way = shortest_way_between(nodes, own, into, out, edges.tails, edges.after)
    return nodes[way] if len(way) else None
