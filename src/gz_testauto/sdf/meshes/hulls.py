"""Decompose surfaces into convex parts, for which physics engines compute contacts.

A connected part of a mesh that is solid and convex is used unchanged. All other parts are
represented by thin plates on their surface, so that cavities are not filled.
"""

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from gz_testauto.sdf.meshes.solids import numbered_corners
from gz_testauto.sdf.meshes.surfaces import Heightmap, Mesh, TriangleMesh

if TYPE_CHECKING:
    from scipy.spatial import ConvexHull

THICKNESS_M = 0.002  # of the plates that represent a surface

# largest distance between convex parts and the surface, unless the number of parts is limited
TOLERANCE_M = 0.002

MAX_TRIANGLES = 50_000  # surfaces with more are simplified; a decomposition then takes seconds

_BATCH = 64  # points; with 100,000 planes, their distances need 50 MB

SLIVER_M = 1e-4  # convex parts that are narrower are ignored


class OrientedBox(NamedTuple):
    """A box with half side lengths ``half`` (m). The columns of ``axes`` (3, 3) are the directions
    of its sides."""

    half: np.ndarray
    center: np.ndarray
    axes: np.ndarray


@dataclass(frozen=True)
class ConvexParts:
    """The convex parts that represent a surface: boxes, and convex hulls as triangles (n, 3, 3).
    ``error_m`` is the largest distance (m) between the parts and the surface."""

    boxes: Tuple[OrientedBox, ...]
    hulls: Tuple[np.ndarray, ...]
    error_m: float


def convex_parts(surface: TriangleMesh, limit: int) -> ConvexParts:
    """Return the convex parts that represent a surface in contacts: as few as possible with an
    error of at most ``TOLERANCE_M``, or at most ``limit`` parts with a larger error."""
    parts = _connected_groups(surface.triangles)
    part_solids = [_solid_hull(surface.triangles[part], surface.closed[part]) for part in parts]
    hollow = _are_hollow(part_solids, parts, surface.triangles)
    solids = [None if is_hollow else solid for solid, is_hollow in zip(part_solids, hollow)]
    hulls = [solid for solid in solids if solid is not None]
    open_parts = [part for part, solid in zip(parts, solids) if solid is None]
    error = 0.0
    if open_parts:
        sheets = surface.triangles[np.sort(np.concatenate(open_parts))]
        plates, error = _plates(sheets, max(limit - len(hulls), 1))
        hulls += plates
    boxes = [_as_box(hull) for hull in hulls]
    return ConvexParts(
        tuple(box for box in boxes if box is not None),
        tuple(_facets(hull) for hull, box in zip(hulls, boxes) if box is None),
        error,
    )


def convex_parts_of(mesh: Mesh, limit: int) -> ConvexParts:
    # The result is cached, since many worlds contain the same mesh.
    return _cached_parts(mesh, limit, mesh.path.stat().st_mtime_ns)


@functools.lru_cache(maxsize=512)
def _cached_parts(mesh: Mesh, limit: int, modified_ns: int) -> ConvexParts:
    return convex_parts(mesh.surface, limit)


def _solid_hull(triangles: np.ndarray, is_closed: np.ndarray) -> Optional["ConvexHull"]:
    """Return the convex hull of a part of a mesh, or None unless the part is solid, convex and
    oriented outward."""
    if not is_closed.all() or _volume_m3(triangles) <= 0:
        return None
    hull = _convex_hull(triangles.reshape(-1, 3))
    if hull is None:
        return None
    # The depth below the hull is concave over a triangle: at its center or at the middle of a side,
    # it is at least a third of its maximum.
    middles = (triangles + np.roll(triangles, -1, axis=1)) / 2
    points = np.concatenate([triangles, middles, triangles.mean(axis=1, keepdims=True)], axis=1)
    return None if _has_deeper_point(hull, points.reshape(-1, 3), TOLERANCE_M / 3) else hull


def _are_hollow(
    solids: Sequence[Optional["ConvexHull"]], parts: Sequence[np.ndarray], triangles: np.ndarray
) -> List[bool]:
    """Return for each solid whether it encloses another part, such as a room with furniture."""
    lows = np.array([triangles[part].min(axis=(0, 1)) for part in parts])
    highs = np.array([triangles[part].max(axis=(0, 1)) for part in parts])
    is_hollow = []
    for number, solid in enumerate(solids):
        is_enclosed = (lows > lows[number]).all(axis=1) & (highs < highs[number]).all(axis=1)
        is_hollow.append(
            solid is not None
            and any(
                _depths(solid, triangles[parts[enclosed_number]].reshape(-1, 3)).min() > THICKNESS_M
                for enclosed_number in np.flatnonzero(is_enclosed)
            )
        )
    return is_hollow


def _has_deeper_point(hull: "ConvexHull", points: np.ndarray, depth_m: float) -> bool:
    from scipy.spatial import cKDTree

    # The plane of the nearest facet is an upper bound. Only points with a greater bound are
    # compared with all planes, those with the greatest bounds first.
    planes = np.round(hull.equations, 9)
    _, nearest = cKDTree(hull.points[hull.simplices].mean(axis=1)).query(points)
    bounds = -(np.einsum("ij,ij->i", points, planes[nearest, :3]) + planes[nearest, 3])
    candidates = np.flatnonzero(bounds > depth_m)
    candidates = candidates[np.argsort(-bounds[candidates], kind="stable")]
    planes = np.unique(planes, axis=0)
    for start in range(0, len(candidates), _BATCH):
        batch = points[candidates[start : start + _BATCH]]
        if ((batch @ planes[:, :3].T + planes[:, 3]).max(axis=1) < -depth_m).any():
            return True
    return False


def _depths(hull: "ConvexHull", points: np.ndarray) -> np.ndarray:
    """Return the depth (m) of points (n, 3) below the surface of a hull, negative outside."""
    planes = np.unique(np.round(hull.equations, 9), axis=0)
    deepest = np.full(len(points), np.inf)
    for plane in planes:
        np.minimum(deepest, -(points @ plane[:3] + plane[3]), out=deepest)
    return deepest


def _plates(triangles: np.ndarray, limit: int) -> Tuple[List["ConvexHull"], float]:
    """Return thin plates that cover a surface, and their largest distance (m) from it."""
    from gz_testauto.sdf.meshes.patches import convex_patches

    triangles, simplification_m = _simplify(triangles)
    patch_of_triangle, errors = convex_patches(triangles, TOLERANCE_M, limit)
    plates, error = [], 0.0
    order = np.argsort(patch_of_triangle, kind="stable")
    ends = np.cumsum(np.bincount(patch_of_triangle))
    for number, faces in enumerate(np.split(order, ends[:-1])):
        plate = _hull_of_plate(triangles[faces])
        if plate is not None:
            plates.append(plate)
            error = max(error, float(errors[number]))
    return plates, simplification_m + error


def _hull_of_plate(triangles: np.ndarray) -> Optional["ConvexHull"]:
    """Return the convex hull of nearly flat triangles, or None if they have no area. It is extended
    opposite to their normals to a thickness of at least :data:`THICKNESS_M`."""
    area_vectors = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    area_vector = np.where(area_vectors @ area_vectors[0] < 0, -1.0, 1.0) @ area_vectors
    # toward the side of most triangles
    area_vector *= np.sign(area_vector @ area_vectors.sum(axis=0)) or 1.0
    length = np.linalg.norm(area_vector)
    if length < 1e-12:
        return None
    points = np.unique(triangles.reshape(-1, 3), axis=0)
    missing_m = THICKNESS_M - float(np.ptp(points @ area_vector / length))
    if missing_m > 0:
        points = np.concatenate([points, points - missing_m * area_vector / length])
    return _convex_hull(points)


def _simplify(triangles: np.ndarray) -> Tuple[np.ndarray, float]:
    """Return a simplified surface with at most :data:`MAX_TRIANGLES`, and its distance (m) from the
    original. Corners within the same cell of a regular grid are merged."""
    if len(triangles) <= MAX_TRIANGLES:
        return triangles, 0.0
    corners = triangles.reshape(-1, 3)
    cell_m = math.sqrt(area_m2(triangles) / MAX_TRIANGLES)
    while True:
        cells = np.floor((corners - corners.min(axis=0)) / cell_m).astype(np.int64)
        _, index, uses = np.unique(cells, axis=0, return_inverse=True, return_counts=True)
        index = index.ravel()
        sums = np.stack([np.bincount(index, values) for values in corners.T], axis=1)
        merged_triangles = (sums / uses[:, None])[index].reshape(-1, 3, 3)
        faces = index.reshape(-1, 3)
        complete = np.flatnonzero((faces != np.roll(faces, 1, axis=1)).all(axis=1))
        _, first = np.unique(np.sort(faces[complete], axis=1), axis=0, return_index=True)
        if len(first) <= MAX_TRIANGLES:
            break
        cell_m *= 1.5
    shifts = np.linalg.norm(merged_triangles - triangles, axis=2)
    return merged_triangles[complete[np.sort(first)]], float(shifts.max())


def extruded_prisms(outline: BaseGeometry, height: float) -> List[np.ndarray]:
    """Return convex prisms, as triangles, that together fill an outline from z = 0 to
    ``height``."""
    from trimesh.creation import triangulate_polygon

    prisms = []
    for polygon in shapely.get_parts(outline):
        if polygon.area <= 0:
            continue
        if shapely.convex_hull(polygon).area - polygon.area < 1e-12 * polygon.area:
            pieces = [shapely.get_coordinates(polygon.exterior)[:-1]]
        else:
            vertices, faces = triangulate_polygon(polygon, engine="earcut")
            pieces = list(np.asarray(vertices)[faces])
        for flat in pieces:
            levels = [np.column_stack([flat, np.full(len(flat), z)]) for z in (0.0, height)]
            hull = _convex_hull(np.vstack(levels))
            if hull is not None:
                prisms.append(_facets(hull))
    return prisms


def terrain_triangles(terrain: Heightmap) -> np.ndarray:
    """Return the triangles (n, 3, 3) of a height map's surface at its ``position``, facing up."""
    heights = terrain.heights
    rows, columns = heights.shape
    x = np.linspace(-terrain.size[0] / 2, terrain.size[0] / 2, columns)
    y = np.linspace(terrain.size[1] / 2, -terrain.size[1] / 2, rows)
    grid = np.stack([*np.meshgrid(x, y), heights], axis=-1)
    a, b, c, d = grid[1:, :-1], grid[1:, 1:], grid[:-1, 1:], grid[:-1, :-1]
    faces = np.stack([np.stack([a, b, c], axis=2), np.stack([a, c, d], axis=2)], axis=2)
    return faces.reshape(-1, 3, 3)


def _connected_groups(triangles: np.ndarray) -> List[np.ndarray]:
    """Return the indices of each group of triangles that are connected by common corners."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    faces = numbered_corners(triangles)
    edges = np.concatenate([faces[:, :2], faces[:, 1:]])
    count = int(faces.max()) + 1
    links = coo_matrix((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(count, count))
    _, labels = connected_components(links, directed=False)
    face_labels = labels[faces[:, 0]]
    order = np.argsort(face_labels, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(face_labels[order])) + 1)
    return sorted(parts, key=lambda rows: int(rows[0]))


def with_volume(triangles: np.ndarray) -> np.ndarray:
    """Return a surface that encloses a volume: a flat surface is duplicated at a small distance."""
    # MuJoCo rejects flat meshes.
    corners = triangles.reshape(-1, 3)
    center = corners.mean(axis=0)
    axis = np.linalg.svd(corners - center, full_matrices=False)[2][2]
    if np.ptp((corners - center) @ axis) >= THICKNESS_M:
        return triangles
    shift = THICKNESS_M / 2 * axis
    return np.concatenate([triangles + shift, triangles[:, ::-1] - shift])


def _convex_hull(points: np.ndarray) -> Optional["ConvexHull"]:
    from scipy.spatial import ConvexHull, QhullError

    center = points.mean(axis=0)
    # With full matrices, the first matrix would have n² entries for n points.
    axes = np.linalg.svd(points - center, full_matrices=False)[2]
    widths = np.ptp((points - center) @ axes.T, axis=0)
    if len(widths) < 3 or np.sort(widths)[1] < SLIVER_M:
        return None
    if widths[2] < THICKNESS_M:
        shift = (THICKNESS_M - widths[2]) / 2 * axes[2]
        points = np.concatenate([points + shift, points - shift])
    try:
        return ConvexHull(points)
    except QhullError:  # the width is about the rounding error
        return None


def _facets(hull: "ConvexHull") -> np.ndarray:
    """Return a convex hull as triangles (n, 3, 3) that are oriented outward."""
    corners = hull.points[hull.simplices]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    is_inward = np.einsum("ij,ij->i", normals, hull.equations[:, :3]) < 0
    corners[is_inward] = corners[is_inward][:, ::-1]
    return np.asarray(corners)


def _as_box(hull: "ConvexHull") -> Optional[OrientedBox]:
    """Return the hull as a box, or None if it is not a box."""
    if len(hull.vertices) != 8:
        return None
    normals = np.unique(np.round(hull.equations[:, :3], 6) + 0.0, axis=0)
    if len(normals) != 6:
        return None
    axes = normals[3:].T  # sorted, so the first three normals are opposite to these
    axes = axes / np.linalg.norm(axes, axis=0)
    if np.abs(axes.T @ axes - np.eye(3)).max() > 1e-5:
        return None
    axes = np.column_stack([axes[:, 0], np.cross(axes[:, 2], axes[:, 0]), axes[:, 2]])
    coordinates = hull.points[hull.vertices] @ axes
    low, high = coordinates.min(axis=0), coordinates.max(axis=0)
    return OrientedBox((high - low) / 2, axes @ ((low + high) / 2), axes)


def _volume_m3(triangles: np.ndarray) -> float:
    # The sum of the signed volumes of tetrahedra with a common apex.
    first, second, third = np.swapaxes(triangles - triangles[0, 0], 0, 1)
    return float(np.einsum("ij,ij->i", first, np.cross(second, third)).sum() / 6)


def area_m2(triangles: np.ndarray) -> float:
    sides = triangles[:, 1:] - triangles[:, :1]
    return float(np.linalg.norm(np.cross(sides[:, 0], sides[:, 1]), axis=1).sum() / 2)
