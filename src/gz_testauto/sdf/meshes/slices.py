"""Compute horizontal outlines of the part of a shape between two heights.

All coordinates are in meters in the world frame.
"""

import math
from typing import Iterable

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

TOLERANCE_M = 2e-4  # largest distance between a curve and the polygon that represents it

EMPTY = shapely.Polygon()

LEAST_SLAB_M = 1e-6  # least height of a slab of an open surface

# grid size of unions of polygons
GRID_M = 1e-9  # without a grid, GEOS loses polygons whose edges nearly coincide


def union(geometries: Iterable[BaseGeometry]) -> BaseGeometry:
    parts = [geometry for geometry in geometries if not geometry.is_empty]
    if len(parts) < 2:
        return parts[0] if parts else EMPTY
    return shapely.union_all(parts, grid_size=GRID_M)


def circle_segments(radius_m: float) -> int:
    """Return the number of segments of the polygon that represents a circle, a multiple of 4 and at
    most 4096. Up to this limit, the polygon is within ``TOLERANCE_M`` of the circle."""
    # With n segments, the vertices are outside of the circle and the middles of the edges inside,
    # both by radius · tan²(π / 2n).
    quarter_segments = math.pi / 2 / math.atan(math.sqrt(TOLERANCE_M / max(radius_m, TOLERANCE_M)))
    return int(min(4096, max(16, 4 * math.ceil(quarter_segments / 4))))


def unit_circle(segments: int) -> np.ndarray:
    """Return the vertices (segments, 2) of the polygon that represents the unit circle. They are as
    far outside the circle as the midpoints of the edges are inside."""
    angles = np.arange(segments) * (2 * math.pi / segments)
    radius = 2 / (1 + math.cos(math.pi / segments))
    return radius * np.column_stack([np.cos(angles), np.sin(angles)])


def disc(x_m: float, y_m: float, radius_m: float) -> BaseGeometry:
    return shapely.Polygon(radius_m * unit_circle(circle_segments(radius_m)) + (x_m, y_m))


def convex_outline(points: np.ndarray) -> BaseGeometry:
    """Return the convex hull of points (n, 2), or an empty polygon if the hull has no area."""
    hull = shapely.convex_hull(shapely.MultiPoint(points))
    return hull if hull.geom_type == "Polygon" else EMPTY


def convex_slab(
    vertices: np.ndarray, edges: np.ndarray, z_min: float, z_max: float
) -> BaseGeometry:
    """Return the exact outline of a convex polyhedron between two heights. ``vertices`` has shape
    (n, 3). ``edges`` (m, 2) contains the indices of the vertices of each edge."""
    heights = vertices[:, 2]
    if heights.max() < z_min or heights.min() > z_max:
        return EMPTY
    points = [vertices[(heights >= z_min) & (heights <= z_max), :2]]
    start, end = vertices[edges[:, 0]], vertices[edges[:, 1]]
    rise = end[:, 2] - start[:, 2]
    for level in (z_min, z_max):
        cuts = (np.minimum(start[:, 2], end[:, 2]) < level) & (
            np.maximum(start[:, 2], end[:, 2]) > level
        )
        share = (level - start[cuts, 2]) / rise[cuts]
        points.append(start[cuts, :2] + share[:, None] * (end[cuts, :2] - start[cuts, :2]))
    return convex_outline(np.vstack(points))


def surface_slab(
    triangles: np.ndarray, is_closed: bool, z_min: float, z_max: float
) -> BaseGeometry:
    """Return the outline of a triangulated surface (n, 3, 3) between two heights, including its
    interior if ``is_closed``. Vertical parts that bound no region, such as a wall of zero
    thickness, are widened to ``TOLERANCE_M``."""
    if not is_closed and z_max - z_min < LEAST_SLAB_M:
        # Rounding can place a cut outside of a thinner slab, which would then be empty.
        z_min, z_max = z_min - LEAST_SLAB_M / 2, z_max + LEAST_SLAB_M / 2
    low, high = triangles[:, :, 2].min(axis=1), triangles[:, :, 2].max(axis=1)
    slab_triangles = triangles[(high >= z_min) & (low <= z_max)]
    is_inside = (slab_triangles[:, :, 2].min(axis=1) >= z_min) & (
        slab_triangles[:, :, 2].max(axis=1) <= z_max
    )
    cut_triangles = [
        _cut_to_slab(triangle, z_min, z_max) for triangle in slab_triangles[~is_inside]
    ]
    flat = np.concatenate([slab_triangles[is_inside], *cut_triangles])[:, :, :2]
    sides = flat[:, 1:] - flat[:, :1]
    areas = (sides[:, 0, 0] * sides[:, 1, 1] - sides[:, 0, 1] * sides[:, 1, 0]) / 2
    parts = [_union_of(flat[areas > 0]), _union_of(flat[areas < 0])]  # facing up, facing down
    thin = flat[np.abs(areas) <= TOLERANCE_M / 2 * np.ptp(flat, axis=1).max(axis=1)]
    if is_closed and len(triangles):
        section = _oriented_section(triangles, z_min)
        parts.append(_enclosed_region(section))
        thin = np.concatenate([thin, section[:, [0, 1, 1]]])
    if len(thin):
        regions = shapely.get_parts(union(parts))
        # slivers that result from rounding, and that the last union loses
        is_sliver = shapely.area(regions) <= 2 * GRID_M * shapely.length(regions)
        covered = shapely.buffer(shapely.multipolygons(regions[~is_sliver]), TOLERANCE_M)
        parts.append(_widen_lines(thin, covered))
    return union(parts)


def _union_of(triangles: np.ndarray) -> BaseGeometry:
    """Return the union of flat triangles (n, 3, 2) with the same orientation."""
    # It is bounded by the edges that no neighbor shares in the opposite direction. Since there are
    # far fewer of these edges than triangles, this is much faster than a union of all triangles.
    if not len(triangles):
        return EMPTY
    start = triangles.reshape(-1, 2)
    end = np.roll(triangles, -1, axis=1).reshape(-1, 2)
    ends = np.round(np.concatenate([start, end]) / GRID_M).astype(np.int64)
    points, index = np.unique(ends, axis=0, return_inverse=True)
    first, second = index.reshape(2, -1)
    is_forward = first < second
    key = np.where(is_forward, first * len(points) + second, second * len(points) + first)
    keys, edge_index = np.unique(key, return_inverse=True)
    balance = np.zeros(len(keys), dtype=np.int64)
    np.add.at(
        balance, edge_index.ravel(), np.where(first == second, 0, np.where(is_forward, 1, -1))
    )
    low, high = np.divmod(keys, len(points))
    directed_edges = np.where(
        (balance > 0)[:, None], np.stack([low, high], 1), np.stack([high, low], 1)
    )
    boundary = np.repeat(directed_edges, np.abs(balance), axis=0)
    return _enclosed_region(points[boundary] * GRID_M)


def _enclosed_region(segments: np.ndarray) -> BaseGeometry:
    """Return the region inside closed chains of directed segments (n, 2, 2)."""
    if not len(segments):
        return EMPTY
    network = shapely.union_all(shapely.linestrings(segments), grid_size=GRID_M)
    faces = shapely.get_parts(shapely.polygonize([network]))
    enclosed_faces = [
        face for face in faces if _winding_number(face.representative_point(), segments) != 0
    ]
    try:
        return shapely.coverage_union_all(enclosed_faces) if enclosed_faces else EMPTY
    except shapely.errors.GEOSException:  # narrow faces can overlap by less than the grid size
        return union(enclosed_faces)


def _oriented_section(triangles: np.ndarray, z: float) -> np.ndarray:
    """Return the segments (m, 2, 2) in which triangles intersect the plane at height ``z``. All
    segments have the solid on the same side."""
    is_above = triangles[:, :, 2] >= z  # a vertex at ``z`` counts as above: no segment occurs twice
    count = is_above.sum(axis=1)
    segments = []
    for lone_is_above in (True, False):
        is_selected = count == (1 if lone_is_above else 2)
        cut_triangles, side = triangles[is_selected], is_above[is_selected]
        lone_corners = np.argmax(side if lone_is_above else ~side, axis=1)
        rows = np.arange(len(cut_triangles))
        tip, left, right = (cut_triangles[rows, (lone_corners + turn) % 3] for turn in range(3))
        ends = [_cut_points(tip, left, z), _cut_points(tip, right, z)]
        segments.append(np.stack(ends if lone_is_above else ends[::-1], axis=1))
    all_segments = np.concatenate(segments)
    return all_segments[np.any(all_segments[:, 0] != all_segments[:, 1], axis=1)]


def _cut_points(first: np.ndarray, second: np.ndarray, z: float) -> np.ndarray:
    """Return the points (n, 2) at which the line segments between two ends, each of shape (n, 3),
    cross the height ``z``."""
    swap = (first[:, 2] > second[:, 2])[:, None]
    low, high = np.where(swap, second, first), np.where(swap, first, second)
    share = (z - low[:, 2]) / (high[:, 2] - low[:, 2])
    return low[:, :2] + share[:, None] * (high[:, :2] - low[:, :2])


def _winding_number(point: shapely.Point, segments: np.ndarray) -> int:
    start, end = segments[:, 0], segments[:, 1]
    # Count the directed segments that cross the ray from the point along +x.
    is_upward = (start[:, 1] <= point.y) & (end[:, 1] > point.y)
    is_downward = (start[:, 1] > point.y) & (end[:, 1] <= point.y)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (point.y - start[:, 1]) / (end[:, 1] - start[:, 1])
        is_right = start[:, 0] + share * (end[:, 0] - start[:, 0]) > point.x
    return int(np.sum(is_upward & is_right)) - int(np.sum(is_downward & is_right))


def _cut_to_slab(triangle: np.ndarray, z_min: float, z_max: float) -> np.ndarray:
    """Return the part of a triangle (3, 3) between two heights as triangles (n, 3, 3)."""
    piece = _clip_to_level(_clip_to_level(triangle, z_min, +1.0), z_max, -1.0)
    if len(piece) == 2:  # only an edge of the triangle touches the slab
        piece = np.vstack([piece, piece[1:]])
    fans = [piece[[0, turn, turn + 1]] for turn in range(1, len(piece) - 1)]
    return np.array(fans).reshape(-1, 3, 3)


def _clip_to_level(polygon: np.ndarray, z: float, sign: float) -> np.ndarray:
    """Return the part of a convex polygon (n, 3) above the height ``z`` if ``sign`` is 1, or below
    it if ``sign`` is -1. Source: Sutherland and Hodgman, "Reentrant polygon clipping" (1974)."""
    points = []
    for index, point in enumerate(polygon):
        next_point = polygon[(index + 1) % len(polygon)]
        height, next_height = sign * (point[2] - z), sign * (next_point[2] - z)
        if height >= 0:
            points.append(point)
        if height * next_height < 0:
            points.append(point + height / (height - next_height) * (next_point - point))
    return np.array(points).reshape(-1, 3)


def _widen_lines(triangles: np.ndarray, covered_region: BaseGeometry) -> BaseGeometry:
    """Return the region of triangles (n, 3, 2) that have no area, widened to ``TOLERANCE_M``.
    Triangles within the region ``covered_region`` are ignored."""
    # the ends of all sides, shape (n, 3, 2, 2)
    ends = np.stack([triangles, np.roll(triangles, -1, axis=1)], axis=2)
    longest = np.linalg.norm(ends[:, :, 1] - ends[:, :, 0], axis=2).argmax(axis=1)
    sides = np.round(ends[np.arange(len(ends)), longest] / GRID_M).astype(np.int64)
    is_backward = (sides[:, 0, 0] > sides[:, 1, 0]) | (
        (sides[:, 0, 0] == sides[:, 1, 0]) & (sides[:, 0, 1] > sides[:, 1, 1])
    )
    sides[is_backward] = sides[is_backward][:, ::-1]
    sides = np.unique(sides, axis=0) * GRID_M  # many triangles of a wall have the same side
    is_dot = (sides[:, 0] == sides[:, 1]).all(axis=1)
    shapely.prepare(covered_region)
    wide_regions = []
    for thin_parts in (shapely.linestrings(sides[~is_dot]), shapely.points(sides[is_dot][:, 0])):
        exposed_parts = thin_parts[~shapely.covers(covered_region, thin_parts)]
        wide_regions.append(
            shapely.buffer(shapely.union_all(exposed_parts), TOLERANCE_M / 2, cap_style="square")
        )
    return union(wide_regions)
