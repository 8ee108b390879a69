"""The exact shortest path of a point among polygons, by a visibility graph. For a robot, inflate
the obstacles by its radius (:func:`inflate`)."""

import functools
import itertools
import math
from typing import TYPE_CHECKING, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np
import shapely

if TYPE_CHECKING:
    from gz_testauto.grid.line_of_sight import EdgeGrid, Nodes

ARC_SEGMENTS = 6
"""Segments per quarter circle of a rounded corner."""

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
    bounds: "Optional[DistancesToGoal]" = None,
) -> Optional[np.ndarray]:
    """Return the ends and corners of the shortest path inside ``free_area``, shape (n, 2), or None
    if an end is not in ``free_area``.

    ``bounds`` are the distances to ``goal`` in an area that contains ``free_area``. They make the
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
    bounds: "Sequence[DistancesToGoal]" = (),
) -> Optional[np.ndarray]:
    """Return the shortest path through all goals in order, as :func:`shortest_path_in` does.
    ``bounds`` are those of each goal."""
    path = np.array([start], dtype=float)
    for leg_start, leg_end, bound in itertools.zip_longest((start, *goals[:-1]), goals, bounds):
        leg = shortest_path_in(free_area, leg_start, leg_end, bound)
        if leg is None:
            return None
        path = np.concatenate([path, leg[1:]])
    return path


class DistancesToGoal:
    """The lengths (m) of the shortest paths inside ``free_area`` to ``goal``, which must be in it,
    from each corner of its outline."""

    def __init__(self, free_area: shapely.Polygon, goal: Point) -> None:
        from gz_testauto.grid.line_of_sight import shortest_paths

        edges = _Edges.concatenate(_rings(free_area))
        nodes = edges.nodes(np.array([goal], dtype=float))
        distances, _ = shortest_paths(nodes, edges.grid, np.zeros(len(nodes.points)), -1)
        self._by_corner: Dict[Tuple[float, ...], float] = {}
        for corner, distance_m in zip(map(tuple, nodes.points.tolist()), distances.tolist()):
            # outlines can touch at a corner
            self._by_corner[corner] = min(distance_m, self._by_corner.get(corner, math.inf))

    def at(self, points: np.ndarray) -> np.ndarray:
        """Return the distances at points (n, 2), NaN for points that are no corners."""
        return np.array([self._by_corner.get(tuple(point), np.nan) for point in points.tolist()])


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
        return np.flatnonzero(_cross(incoming_edges, self.tails[self.after] - self.tails) < 0)

    @functools.cached_property
    def _bounds(self) -> Tuple[np.ndarray, np.ndarray]:
        return self.tails.min(axis=0), self.tails.max(axis=0)

    @functools.cached_property
    def grid(self) -> "EdgeGrid":
        from gz_testauto.grid.line_of_sight import edge_grid

        return edge_grid(self.tails, self.after)

    def nodes(self, ends: np.ndarray) -> "Nodes":
        """Return the ends of a path (n, 2), and the corners at which a shortest path can bend."""
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
        _Edges.of_ring(outline[::-1] if turn else outline)
        for outline, turn in zip(outlines, reversed_)
    ]


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def _shortest_among(
    edges: _Edges, ends: np.ndarray, bounds: Optional[DistancesToGoal]
) -> Optional[np.ndarray]:
    """Return the shortest path between the two ``ends`` (2, 2) that crosses no edge, or None."""
    from gz_testauto.grid.line_of_sight import shortest_paths

    nodes = edges.nodes(ends)
    ahead = np.hypot(*(nodes.points - ends[1]).T)
    if bounds is not None:
        ahead = np.fmax(ahead, bounds.at(nodes.points))
    lengths, predecessors = shortest_paths(nodes, edges.grid, ahead, 1)
    if not math.isfinite(lengths[1]):
        return None
    path = [1]
    while path[-1] != 0:
        path.append(predecessors[path[-1]])
    return nodes.points[path[::-1]]
