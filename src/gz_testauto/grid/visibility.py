"""The exact shortest way of a point through polygons.

Owns finding the free part of a plane that holds both ends, and the shortest way in it, by a
visibility graph that grows only where it must: a way that is shortest among some of the
obstacles and meets none of the others is shortest among all of them. A robot becomes a point
when the obstacles are widened by its radius (:func:`widen`). On a grid the same way would be
up to 8 % longer, and finding it slower.
"""

import heapq
import math
from typing import List, Optional, Tuple, Union

import numpy as np
import shapely
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import dijkstra
from shapely.geometry.polygon import orient

ARC_SEGMENTS = 6
"""Straight pieces per quarter of a rounded corner."""

WHOLE_GRAPH = 500
"""Up to so many corners, all pairs of them are looked at."""

TOUCH_M = 1e-9
"""Nearer than this is touching."""

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
    ends = np.array([start, goal], dtype=float)
    dormant, active = _rings(free), []
    way: Optional[np.ndarray] = ends
    while way is not None:
        met = [ring for ring in dormant if _meets(way, ring)]
        if not met:
            return way
        active += met
        dormant = [ring for ring in dormant if ring not in met]
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
    """Directed edges of closed outlines, the free side to their left.

    Edge ``e`` runs from ``tails[e]`` to ``tails[after[e]]``; ``before[e]`` precedes it. All
    arrays have one entry per edge, coordinates in metres.
    """

    def __init__(self, tails: np.ndarray, after: np.ndarray, before: np.ndarray) -> None:
        self.tails, self.after, self.before = tails, after, before

    @classmethod
    def of_ring(cls, coordinates: np.ndarray) -> "_Edges":
        """One closed outline, whose last point repeats its first."""
        indices = np.arange(len(coordinates) - 1)
        return cls(coordinates[:-1], np.roll(indices, -1), np.roll(indices, 1))

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

    def met_by(self, first: np.ndarray, second: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
        """Pairs (segment, edge) that touch, of segments with ends of shape (n, 2).

        Whatever comes nearer than ``TOUCH_M`` touches: where outlines lie on one line, rounding
        would otherwise let a segment enter them through a corner. Sides of lines are a product
        of matrices, and compared as bits, because this is where the time goes.
        """
        along = second - first
        side = along[:, :1] * self.tails[:, 1] - along[:, 1:] * self.tails[:, 0]
        side -= _cross(along, first)[:, None]
        margin = TOUCH_M * np.hypot(*along.T)[:, None]
        left, right = side > margin, side < -margin
        apart = (left & left[:, self.after]) | (right & right[:, self.after])
        rows, columns = np.nonzero(~apart)
        tails, heads = self.tails[columns], self.tails[self.after[columns]]
        start, end, along = first[rows], second[rows], along[rows]
        edge = heads - tails
        margin = TOUCH_M * np.hypot(*edge.T)
        one, other = _cross(edge, start - tails), _cross(edge, end - tails)
        # On one line with the edge, they meet only where the two overlap.
        low, high = ((tails - start) * along).sum(axis=1), ((heads - start) * along).sum(axis=1)
        meets = (np.minimum(one, other) <= margin) & (np.maximum(one, other) >= -margin)
        meets &= np.maximum(low, high) >= 0
        meets &= np.minimum(low, high) <= (along * along).sum(axis=1)
        return rows[meets], columns[meets]


def _rings(free: shapely.Polygon) -> List[_Edges]:
    oriented = orient(free, sign=1.0)
    outlines = (oriented.exterior, *oriented.interiors)
    return [_Edges.of_ring(shapely.get_coordinates(outline)) for outline in outlines]


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def _meets(way: np.ndarray, ring: _Edges) -> bool:
    """Whether a polyline touches a ring."""
    if (way.max(axis=0) < ring.tails.min(axis=0)).any():
        return False
    if (way.min(axis=0) > ring.tails.max(axis=0)).any():
        return False
    return len(ring.met_by(way[:-1], way[1:])[0]) > 0


class _Sight:
    """Which corners of outlines see each other. Node 0 is the start, node 1 the goal."""

    def __init__(self, edges: _Edges, ends: np.ndarray) -> None:
        corners = edges.corners
        here = edges.tails[corners]
        self.nodes = np.concatenate([ends, here])
        self._edges = edges
        # The ends belong to no outline: every direction is tangent there.
        self._own = np.concatenate([[-1, -1], corners])
        self._into, self._out = np.zeros((2, len(self.nodes), 2))
        self._into[2:] = edges.tails[edges.before[corners]] - here
        self._out[2:] = edges.tails[edges.after[corners]] - here

    def lengths(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Distances between nodes (m)."""
        return np.hypot(*(self.nodes[i] - self.nodes[j]).T)

    def tangent(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Whether the lines between nodes leave the outlines on one side at both ends.

        All other lines enter an outline, or turn away from one where a taut string cannot.
        """
        along = self.nodes[j] - self.nodes[i]
        fits = np.ones(len(along), dtype=bool)
        for end in (i, j):
            sides = _cross(along, self._into[end]) * _cross(along, self._out[end])
            fits &= sides >= -TOUCH_M * TOUCH_M
        return fits

    def tangent_pairs(self) -> Tuple[np.ndarray, np.ndarray]:
        """All pairs i < j for which :meth:`tangent` holds."""
        dx, dy = (self.nodes[None, :, axis] - self.nodes[:, None, axis] for axis in (0, 1))
        sides = [
            dx * direction[:, 1:] - dy * direction[:, :1] for direction in (self._into, self._out)
        ]
        fits = sides[0] * sides[1] >= -TOUCH_M * TOUCH_M
        return np.nonzero(np.triu(fits & fits.T, k=1))

    def open(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Whether nothing lies between nodes whose lines are tangent."""
        seen = np.ones(len(i), dtype=bool)
        for low in range(0, len(i), 1024):  # bounds the memory that this takes
            block = slice(low, low + 1024)
            rows, met = self._edges.met_by(self.nodes[i[block]], self.nodes[j[block]])
            # An edge that begins or ends at one end of the line is no obstacle to it; whether
            # the line leaves that corner on the free side is what being tangent has settled.
            incident = np.zeros(len(rows), dtype=bool)
            for end in (self._own[i[block]][rows], self._own[j[block]][rows]):
                incident |= (met == end) | (self._edges.after[met] == end)
            seen[low + rows[~incident]] = False
        return seen


def _among(edges: _Edges, ends: np.ndarray) -> Optional[np.ndarray]:
    """The shortest way from ``ends[0]`` to ``ends[1]`` when only these outlines exist."""
    sight = _Sight(edges, ends)
    way = _in_whole_graph(sight) if len(sight.nodes) <= WHOLE_GRAPH else _by_expansion(sight)
    return None if way is None else sight.nodes[way]


def _in_whole_graph(sight: _Sight) -> Optional[List[int]]:
    """Dijkstra on the visibility graph of all corners, made at once."""
    i, j = sight.tangent_pairs()
    seen = sight.open(i, j)
    i, j = i[seen], j[seen]
    lengths = np.maximum(sight.lengths(i, j), 1e-12)  # a sparse graph takes 0 for no edge
    graph = coo_matrix((lengths, (i, j)), shape=(len(sight.nodes),) * 2).tocsr()
    distances, previous = dijkstra(graph, directed=False, indices=0, return_predecessors=True)
    return _trace(previous) if np.isfinite(distances[1]) else None


def _by_expansion(sight: _Sight) -> Optional[List[int]]:
    """A*, looking around only from the corners that it comes to: slower for few corners, but
    the whole graph of thousands would not fit into memory."""
    count = len(sight.nodes)
    others = np.arange(count)
    ahead = sight.lengths(others, np.ones(count, dtype=int))
    reached, previous = np.full(count, np.inf), np.full(count, -1)
    reached[0] = 0.0
    done = np.zeros(count, dtype=bool)
    queue = [(float(ahead[0]), 0)]
    while queue:
        _, here = heapq.heappop(queue)
        if here == 1:
            return _trace(previous)
        if done[here]:
            continue
        done[here] = True
        via = reached[here] + sight.lengths(np.full(count, here), others)
        there = np.flatnonzero(~done & (via < reached))
        there = there[sight.tangent(np.full(len(there), here), there)]
        there = there[sight.open(np.full(len(there), here), there)]
        reached[there], previous[there] = via[there], here
        for node in there.tolist():
            heapq.heappush(queue, (float(reached[node] + ahead[node]), node))
    return None


def _trace(previous: np.ndarray) -> List[int]:
    """Nodes from the start to the goal."""
    way = [1]
    while way[-1] != 0:
        way.append(int(previous[way[-1]]))
    return way[::-1]
