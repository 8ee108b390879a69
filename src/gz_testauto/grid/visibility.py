"""The exact shortest path of a point among polygons, by a visibility graph. For a robot, inflate
the obstacles by its radius (:func:`inflate`)."""

import functools
import math
from typing import TYPE_CHECKING, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np
import shapely

from gz_testauto.grid.search import path_length_m

if TYPE_CHECKING:
    from gz_testauto.grid.line_of_sight import EdgeGrid, Nodes

FIRST_DETOUR_M = 1.0  # length by which a path is first allowed to exceed its lower bound

ARC_SEGMENTS = 6  # segments per quarter circle of a rounded corner

Point = Tuple[float, float]


def inflate(shapes: np.ndarray, radius_m: Union[float, np.ndarray]) -> np.ndarray:
    """Return ``shapes`` enlarged by ``radius_m``. In rounded corners, the distance can be up to 0.9
    % larger."""
    # the segments of a corner are outside the true arc, so that paths keep their distance
    reach = np.asarray(radius_m) / math.cos(math.pi / (4 * ARC_SEGMENTS))
    return shapely.buffer(shapes, reach, quad_segs=ARC_SEGMENTS)


def free_region(
    area: shapely.Polygon, blocked_area: shapely.Geometry, start: Point, *goals: Point
) -> Optional[shapely.Polygon]:
    """Return the connected part of ``area`` outside of ``blocked_area`` that contains start and
    goals, or None if no part contains all of them."""
    for part in shapely.get_parts(shapely.difference(area, blocked_area)):
        if part.geom_type != "Polygon":
            continue
        if shapely.intersects_xy(part, *start):
            reachable = all(shapely.intersects_xy(part, *goal) for goal in goals)
            return part if reachable else None
    return None


def shortest_path_in(
    free_area: shapely.Polygon,
    start: Point,
    goal: Point,
    bounds: "Optional[PathBounds]" = None,
) -> Optional[np.ndarray]:
    """Return the ends and corners of the shortest path inside ``free_area``, shape (n, 2), or None
    if an end is not in ``free_area``.

    ``bounds`` are those of an area that contains ``free_area``, with these ends. They make the
    search faster, and do not change its result.
    """
    if not (shapely.intersects_xy(free_area, *start) and shapely.intersects_xy(free_area, *goal)):
        return None
    from gz_testauto.grid.line_of_sight import touches_any  # loads numba

    ends = np.array([start, goal], dtype=float)
    # A path among some obstacles that touches no other is the shortest one among all obstacles.
    unused_rings, used_rings = _rings(free_area), []
    path: Optional[np.ndarray] = ends
    while path is not None:
        touch_flags = [
            ring.bounds_overlap(path) and touches_any(path, ring.grid) for ring in unused_rings
        ]
        if not any(touch_flags):
            return path
        used_rings += [ring for ring, is_touched in zip(unused_rings, touch_flags) if is_touched]
        unused_rings = [
            ring for ring, is_touched in zip(unused_rings, touch_flags) if not is_touched
        ]
        path = _shortest_among(_Edges.concatenate(used_rings), ends, bounds)
    # Rounding closed a passage of zero width; with all outlines the result is consistent.
    return (
        _shortest_among(_Edges.concatenate(used_rings + unused_rings), ends, bounds)
        if unused_rings
        else None
    )


def shortest_path_through(
    free_area: shapely.Polygon,
    start: Point,
    *goals: Point,
    bounds: "Optional[PathBounds]" = None,
) -> Optional[np.ndarray]:
    """Return the shortest path through all goals in order, as :func:`shortest_path_in` does."""
    path = np.array([start], dtype=float)
    for leg_start, leg_end in zip((start, *goals[:-1]), goals):
        leg = shortest_path_in(free_area, leg_start, leg_end, bounds)
        if leg is None:
            return None
        path = np.concatenate([path, leg[1:]])
    return path


class PathBounds:
    """Lower bounds of the lengths (m) of paths inside ``free_area``. The paths start and end at
    ``points``, which must be in ``free_area``, or at corners of its outline.

    They are the lengths of paths in a larger area, whose outline is up to three times
    ``tolerance_m`` away and has fewer corners.
    """

    def __init__(
        self, free_area: shapely.Polygon, points: Sequence[Point], tolerance_m: float
    ) -> None:
        larger_area = shapely.buffer(free_area, 2.0 * tolerance_m, quad_segs=2)
        # GEOS compares each ring of a polygon with all others, but not separate rings. Simplified
        # rings are inside of the obstacles, so that the bounds are valid even if two of them cross.
        rings = shapely.simplify(shapely.get_rings(larger_area), tolerance_m)
        self._edges = _Edges.concatenate(_rings(shapely.polygons(rings[0], holes=rings[1:])))
        outline = _Edges.concatenate(_rings(free_area))
        self._points = np.concatenate([np.array(points, float), outline.tails[outline.corners]])
        self._numbers = {point: index for index, point in enumerate(map(tuple, self._points))}
        self._distances: Dict[Point, np.ndarray] = {}

    def numbers(self, points: np.ndarray) -> np.ndarray:
        """Return the indices of points (n, 2) in the result of :meth:`of`, -1 if unknown."""
        return np.array([self._numbers.get(tuple(point), -1) for point in points.tolist()])

    def of(self, end: Point) -> np.ndarray:
        """Return the bounds (m) of paths from ``end``, one of ``points``, to each point. The last
        value is NaN, the bound to an unknown point."""
        if end not in self._distances:
            distances = self._path_lengths_from(end) * (1.0 - 1e-12)  # for rounding
            self._distances[end] = np.append(distances, np.nan)
        return self._distances[end]

    def _path_lengths_from(self, end: Point) -> np.ndarray:
        """Return the lengths (m) of the shortest paths from ``end`` to each point."""
        from gz_testauto.grid.line_of_sight import Nodes, shortest_paths

        bends, no_edges = self._edges.nodes(np.array([end], float)), np.zeros_like(self._points)
        ends = Nodes(self._points, np.full(len(no_edges), -1), no_edges, no_edges)
        nodes = Nodes(*map(np.concatenate, zip(bends, ends)))
        ahead, bend_count = np.zeros(len(nodes.points)), len(bends.points)
        distances, _ = shortest_paths(nodes, self._edges.grid, ahead, -1, bend_count)
        return distances[bend_count:]


class _Edges:
    """The directed edges of closed outlines, in the format of
    :mod:`gz_testauto.grid.line_of_sight`. ``before[e]`` is the edge that ends where edge ``e``
    starts."""

    def __init__(
        self, tails: np.ndarray, next_edges: np.ndarray, previous_edges: np.ndarray
    ) -> None:
        self.tails, self.after, self.before = tails, next_edges, previous_edges

    @classmethod
    def of_ring(cls, coordinates: np.ndarray) -> "_Edges":
        count = len(coordinates) - 1
        next_edges, previous_edges = np.arange(1, count + 1), np.arange(-1, count - 1)
        next_edges[-1], previous_edges[0] = 0, count - 1
        return cls(np.ascontiguousarray(coordinates[:-1]), next_edges, previous_edges)

    @classmethod
    def concatenate(cls, rings: "List[_Edges]") -> "_Edges":
        offsets = np.cumsum([0] + [len(ring.tails) for ring in rings])
        return cls(
            np.concatenate([ring.tails for ring in rings]),
            np.concatenate([ring.after + offset for ring, offset in zip(rings, offsets)]),
            np.concatenate([ring.before + offset for ring, offset in zip(rings, offsets)]),
        )

    @property
    def corners(self) -> np.ndarray:
        """The indices of the corners at which a shortest path can bend."""
        incoming_edges = self.tails - self.tails[self.before]
        return np.flatnonzero(
            _cross_product(incoming_edges, self.tails[self.after] - self.tails) < 0
        )

    @functools.cached_property
    def _bounds(self) -> Tuple[np.ndarray, np.ndarray]:
        return self.tails.min(axis=0), self.tails.max(axis=0)

    @functools.cached_property
    def grid(self) -> "EdgeGrid":
        from gz_testauto.grid.line_of_sight import edge_grid

        return edge_grid(self.tails, self.after)

    def nodes(self, ends: np.ndarray) -> "Nodes":
        """Return the nodes for a search: the ``ends`` (n, 2) of a path, then the corners."""
        from gz_testauto.grid.line_of_sight import Nodes

        corners = self.corners
        corner_points = self.tails[corners]
        # The ends belong to no outline: each direction is tangent there.
        start_edges = np.concatenate([np.full(len(ends), -1), corners])
        incoming, outgoing = np.zeros((2, len(start_edges), 2))
        incoming[len(ends) :] = self.tails[self.before[corners]] - corner_points
        outgoing[len(ends) :] = self.tails[self.after[corners]] - corner_points
        return Nodes(np.concatenate([ends, corner_points]), start_edges, incoming, outgoing)

    def bounds_overlap(self, path: np.ndarray) -> bool:
        low, high = self._bounds
        return not ((path.max(axis=0) < low).any() or (path.min(axis=0) > high).any())


def _rings(free_area: shapely.Polygon) -> List[_Edges]:
    """Return the edges of the outer ring counter-clockwise, and of the holes clockwise."""
    rings = shapely.get_rings(free_area)
    reversed_ = shapely.is_ccw(rings)
    reversed_[0] = not reversed_[0]
    outlines = [shapely.get_coordinates(ring) for ring in rings]
    return [
        _Edges.of_ring(outline[::-1] if is_reversed else outline)
        for outline, is_reversed in zip(outlines, reversed_)
    ]


def _cross_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def _shortest_among(
    edges: _Edges, ends: np.ndarray, bounds: Optional[PathBounds]
) -> Optional[np.ndarray]:
    """Return the shortest path between two ``ends``, shape (2, 2), among outlines, or None
    if no path exists."""
    nodes = edges.nodes(ends)
    ahead_m = np.hypot(*(nodes.points - ends[1]).T)
    if bounds is None:
        return _search_path(nodes, edges, ahead_m)
    start, goal = map(tuple, ends.tolist())
    numbers = bounds.numbers(nodes.points)
    to_goal_m = bounds.of(goal)[numbers]
    through_m = bounds.of(start)[numbers] + to_goal_m
    ahead_m = np.fmax(ahead_m, to_goal_m)
    detour_m = FIRST_DETOUR_M
    while True:
        limit_m = through_m[1] + detour_m
        is_near = ~(through_m > limit_m)  # unknown nodes are near
        near_nodes = type(nodes)(*(values[is_near] for values in nodes))
        path = _search_path(near_nodes, edges, ahead_m[is_near])
        if is_near.all() or (path is not None and path_length_m(path) <= limit_m):
            return path
        detour_m *= 4.0


def _search_path(nodes: "Nodes", edges: _Edges, ahead_m: np.ndarray) -> Optional[np.ndarray]:
    """Return the shortest path (n, 2) from node 0 to node 1, or None if no path exists. ``ahead_m``
    contains lower bounds of the distances from each node to node 1."""
    from gz_testauto.grid.line_of_sight import shortest_paths

    lengths, predecessors = shortest_paths(nodes, edges.grid, ahead_m, 1, len(nodes.points))
    if not math.isfinite(lengths[1]):
        return None
    path = [1]
    while path[-1] != 0:
        path.append(predecessors[path[-1]])
    return nodes.points[path[::-1]]
