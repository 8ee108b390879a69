"""Distances to outlines of shapes in the plane: along lidar rays, and from a polygon.

The loops are compiled. An outline is tested only against the rays that point at it. Outline *i*
(from 1) has the rows from ``ends[i - 1]`` up to ``ends[i]`` of ``edges`` (x0, y0, x1, y1 in m).
"""

import math
from typing import Iterable, List

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from gz_testauto.base.compiled import compiled

# For more rays, it is faster to find the rays that can hit each edge than to test all of them.
FEW_RAYS = 40


def edges_of(shape: BaseGeometry) -> np.ndarray:
    """Return the edges of all rings of polygons, shape (n, 4): x0, y0, x1, y1 (m)."""
    pieces = [np.empty((0, 4))]
    for ring in shapely.get_rings(shapely.get_parts(shape)):
        corners = shapely.get_coordinates(ring)
        pieces.append(np.hstack([corners[:-1], corners[1:]]))
    return np.concatenate(pieces)


class Outlines:
    """A set of outlines, each defined by its edges (n, 4)."""

    def __init__(self, edges: Iterable[np.ndarray]) -> None:
        pieces: List[np.ndarray] = [np.empty((0, 4)), *edges]
        self._edges = np.concatenate(pieces)
        self._ends = np.cumsum([len(piece) for piece in pieces])
        self._circles = _bounding_circles(self._edges, self._ends)
        self._turns = _turning_directions(self._edges, self._ends)

    @classmethod
    def of(cls, shapes: Iterable[BaseGeometry]) -> "Outlines":
        return cls(map(edges_of, shapes))

    def cast(
        self,
        x_m: float,
        y_m: float,
        yaw_rad: float,
        angles_rad: np.ndarray,
        range_min_m: float,
        range_max_m: float,
    ) -> np.ndarray:
        """Return the distance (m) along each ray from a point to the first edge, shape (n,).

        As in Gazebo, a ray starts at the distance ``range_min_m``. Distances beyond ``range_max_m``
        are ``inf``. The angles (n,) are evenly spaced, increasing, and relative to ``yaw_rad``.
        """
        ranges = np.full(len(angles_rad), np.inf)
        first, last = float(angles_rad[0]), float(angles_rad[-1])
        spacing = (last - first) / max(1, len(angles_rad) - 1) or 1.0
        directions = yaw_rad + angles_rad
        view = (x_m, y_m, yaw_rad + first, spacing, range_min_m, range_max_m)
        _cast_rays(
            self._edges,
            self._ends,
            self._circles,
            self._turns,
            view,
            np.cos(directions),
            np.sin(directions),
            ranges,
        )
        return ranges

    def clearance_m(self, corners_m: np.ndarray, limit_m: float) -> float:
        """Return the distance (m) of a polygon with ``corners_m`` (k, 2) to the nearest outline.

        It is 0 if they overlap, and at most ``limit_m``.
        """
        return float(_clearance(self._edges, self._ends, self._circles, corners_m, limit_m))


@compiled
def _bounding_circles(edges, ends):  # type: ignore[no-untyped-def]
    """Return center x, y and radius (m) of a circle around each of k outlines, shape (k + 1, 3),
    with a first row of zeros."""
    circles = np.zeros((len(ends), 3))
    for group in range(1, len(ends)):
        low_x = low_y = np.inf
        high_x = high_y = -np.inf
        for edge in range(ends[group - 1], ends[group]):
            low_x, high_x = min(low_x, edges[edge, 0]), max(high_x, edges[edge, 0])
            low_y, high_y = min(low_y, edges[edge, 1]), max(high_y, edges[edge, 1])
        circles[group, 0] = x = (low_x + high_x) / 2
        circles[group, 1] = y = (low_y + high_y) / 2
        for edge in range(ends[group - 1], ends[group]):
            corner_distance = math.hypot(edges[edge, 0] - x, edges[edge, 1] - y)
            circles[group, 2] = max(circles[group, 2], corner_distance)
    return circles


@compiled
def _turning_directions(edges, ends):  # type: ignore[no-untyped-def]
    """Return the turning direction of each of k outlines, shape (k + 1,); element 0 is unused.

    It is 1 for a convex counter-clockwise ring, -1 for a convex clockwise ring, else 0.
    """
    turns = np.zeros(len(ends))
    for group in range(1, len(ends)):
        first, end = ends[group - 1], ends[group]
        lefts = rights = gaps = 0
        for edge in range(first, end):
            next_edge = edge + 1 if edge + 1 < end else first
            gaps += edges[edge, 2] != edges[next_edge, 0] or edges[edge, 3] != edges[next_edge, 1]
            ex, ey = edges[edge, 2] - edges[edge, 0], edges[edge, 3] - edges[edge, 1]
            fx, fy = (
                edges[next_edge, 2] - edges[next_edge, 0],
                edges[next_edge, 3] - edges[next_edge, 1],
            )
            lefts += ex * fy - ey * fx > 0.0
            rights += ex * fy - ey * fx < 0.0
        if gaps == 0 and (lefts == 0 or rights == 0):
            turns[group] = 1.0 if lefts else -1.0
    return turns


@compiled
def _cast_rays(edges, ends, circles, turns, view, cosines, sines, ranges):  # type: ignore[no-untyped-def]
    """Reduce ``ranges`` (n,) to the distances (m) of the first edges; ``inf`` beyond the range.

    Outline i has the edges ``edges[ends[i - 1] : ends[i]]``, its bounding circle and its turning
    direction. ``view`` is the position x, y (m), the bearing of the first ray and the spacing of
    the rays (rad), and both ends of the range (m). ``cosines`` and ``sines`` (n,) are those of the
    bearings in the world frame.
    """
    x, y, first_rad, spacing, range_min, range_max = view
    count = len(ranges)
    for group in range(1, len(ends)):
        dx, dy, radius = circles[group, 0] - x, circles[group, 1] - y, circles[group, 2]
        center_distance = math.hypot(dx, dy)
        if center_distance - radius > range_max:
            continue
        half = math.asin(radius / center_distance) if center_distance > radius else math.pi
        low, width = _wrap_angle(math.atan2(dy, dx) - half - first_rad), 2 * half
        hits_few_rays = width / spacing < FEW_RAYS
        turn = turns[group] if center_distance - radius > range_min else 0.0
        for edge in range(ends[group - 1], ends[group]):
            px, py = edges[edge, 0] - x, edges[edge, 1] - y
            ex, ey = edges[edge, 2] - edges[edge, 0], edges[edge, 3] - edges[edge, 1]
            if turn * (px * ey - py * ex) > 0.0:
                continue  # an edge on the far side of a convex outline
            if not hits_few_rays:
                bearing = math.atan2(py, px) - first_rad
                change = _wrap_angle(math.atan2(py + ey, px + ex) - first_rad - bearing)
                low, width = _wrap_angle(min(bearing, bearing + change)), abs(change)
            for image in range(-1, 2):  # the bearing, and the bearing minus and plus a full turn
                start = (low + image * 2 * math.pi) / spacing
                first = max(0, math.floor(start))
                last = min(count - 1, math.ceil(start + width / spacing))
                for ray in range(first, last + 1):
                    across = cosines[ray] * ey - sines[ray] * ex
                    along_ray = (px * ey - py * ex) / across
                    if along_ray >= range_min and along_ray < ranges[ray]:
                        along_edge = (px * sines[ray] - py * cosines[ray]) / across
                        if along_edge >= -1e-9 and along_edge <= 1 + 1e-9:
                            ranges[ray] = along_ray
    for ray in range(count):
        if ranges[ray] > range_max:
            ranges[ray] = np.inf


@compiled
def _wrap_angle(angle):  # type: ignore[no-untyped-def]
    return (angle + math.pi) % (2 * math.pi) - math.pi


@compiled
def _clearance(edges, ends, circles, corners, limit):  # type: ignore[no-untyped-def]
    """Return the distance (m) of a polygon with ``corners`` (k, 2) to the nearest outline, at most
    ``limit`` and 0 if they overlap. The first arguments are as for :func:`_cast_rays`."""
    x, y, radius = np.mean(corners[:, 0]), np.mean(corners[:, 1]), 0.0
    for corner in corners:
        radius = max(radius, math.hypot(corner[0] - x, corner[1] - y))
    count, min_distance = len(corners), limit
    for group in range(1, len(ends)):
        first, end = ends[group - 1], ends[group]
        center_distance = math.hypot(circles[group, 0] - x, circles[group, 1] - y)
        if first == end or center_distance - circles[group, 2] - radius >= min_distance:
            continue
        # A corner is inside the outline if a ray along x crosses an odd number of edges.
        is_corner_inside = False
        for edge in edges[first:end]:
            is_corner_inside ^= _crosses(
                edge[0], edge[1], edge[2], edge[3], corners[0, 0], corners[0, 1]
            )
            is_edge_inside = False  # the edge's first point is in the polygon
            for side in range(count):
                ax, ay = corners[side]
                bx, by = corners[(side + 1) % count]
                is_edge_inside ^= _crosses(ax, ay, bx, by, edge[0], edge[1])
                edge_distance = _segment_distance(
                    (ax, ay, bx, by), (edge[0], edge[1], edge[2], edge[3])
                )
                min_distance = min(min_distance, edge_distance)
            if is_edge_inside:
                return 0.0
        if is_corner_inside:
            return 0.0
    return min_distance


@compiled
def _crosses(ax, ay, bx, by, x, y):  # type: ignore[no-untyped-def]
    """Return whether the ray from (x, y) along +x crosses the edge from (ax, ay) to (bx, by)."""
    return (ay > y) != (by > y) and x < (bx - ax) * (y - ay) / (by - ay) + ax


@compiled
def _segment_distance(first, second):  # type: ignore[no-untyped-def]
    """Return the distance (m) between two line segments, each (x0, y0, x1, y1)."""
    ax, ay, bx, by = first
    cx, cy, dx, dy = second
    ux, uy, vx, vy = bx - ax, by - ay, dx - cx, dy - cy
    across = ux * vy - uy * vx
    if across != 0:
        s = ((cx - ax) * vy - (cy - ay) * vx) / across
        t = ((cx - ax) * uy - (cy - ay) * ux) / across
        if s >= 0 and s <= 1 and t >= 0 and t <= 1:
            return 0.0
    return min(
        min(_point_distance(cx, cy, ax, ay, ux, uy), _point_distance(dx, dy, ax, ay, ux, uy)),
        min(_point_distance(ax, ay, cx, cy, vx, vy), _point_distance(bx, by, cx, cy, vx, vy)),
    )


@compiled
def _point_distance(x, y, ax, ay, ux, uy):  # type: ignore[no-untyped-def]
    """Return the distance of (x, y) to the segment from (ax, ay) to (ax + ux, ay + uy)."""
    length = ux * ux + uy * uy
    along = 0.0 if length == 0 else ((x - ax) * ux + (y - ay) * uy) / length
    along = min(1.0, max(0.0, along))
    return math.hypot(x - ax - along * ux, y - ay - along * uy)
