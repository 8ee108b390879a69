"""Surfaces taken apart into convex pieces, which is all that contacts can be computed between.

Owns the geometry: connected parts of a mesh and their hulls, prisms of an extruded outline,
the triangles of a terrain. Knows nothing of MuJoCo.
"""

from dataclasses import dataclass
from typing import List, Optional, Tuple

import numpy as np
import shapely
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import ConvexHull
from shapely.geometry.base import BaseGeometry

from gz_testauto.sdf.solids import numbered_corners
from gz_testauto.sdf.surfaces import Heightmap

THICKNESS_M = 0.002
"""What a part without any thickness, such as a wall of one sheet, is given."""

CONCAVE = 0.02
"""A hull with this share of its volume more than the mesh has is worth a word."""


@dataclass(frozen=True)
class ConvexParts:
    """Hulls as triangles (n, 3, 3), and whether they fill what the surface leaves open."""

    hulls: Tuple[np.ndarray, ...]
    concave: bool


def convex_parts(triangles: np.ndarray) -> ConvexParts:
    """The hull of every connected part of a surface (n, 3, 3)."""
    hulls: List[np.ndarray] = []
    concave = False
    for part in _connected(triangles):
        hull = _hull(part.reshape(-1, 3))
        if hull is None:
            continue
        hulls.append(hull)
        filled, own = _volume(hull), abs(_volume(part))
        flat = filled <= THICKNESS_M * _area(hull)
        concave = concave or (not flat and filled - own > CONCAVE * filled)
    return ConvexParts(tuple(hulls), concave)


def extruded_prisms(outline: BaseGeometry, height: float) -> List[np.ndarray]:
    """Convex prisms, as triangles, that fill an outline from z = 0 to ``height``."""
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
            hull = _hull(np.vstack(levels))
            if hull is not None:
                prisms.append(hull)
    return prisms


def terrain_triangles(terrain: Heightmap) -> np.ndarray:
    """The surface of a height map (n, 3, 3) above its ``position``, facing up."""
    heights = terrain.heights
    rows, columns = heights.shape
    x = np.linspace(-terrain.size[0] / 2, terrain.size[0] / 2, columns)
    y = np.linspace(terrain.size[1] / 2, -terrain.size[1] / 2, rows)
    grid = np.stack([*np.meshgrid(x, y), heights], axis=-1)
    a, b, c, d = grid[1:, :-1], grid[1:, 1:], grid[:-1, 1:], grid[:-1, :-1]
    faces = np.stack([np.stack([a, b, c], axis=2), np.stack([a, c, d], axis=2)], axis=2)
    return faces.reshape(-1, 3, 3)


def _connected(triangles: np.ndarray) -> List[np.ndarray]:
    """Triangles that share corners, together; in the order of their first triangle."""
    faces = numbered_corners(triangles)
    edges = np.concatenate([faces[:, :2], faces[:, 1:]])
    count = int(faces.max()) + 1
    links = coo_matrix((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(count, count))
    _, labels = connected_components(links, directed=False)
    of_face = labels[faces[:, 0]]
    _, first = np.unique(of_face, return_index=True)
    return [triangles[of_face == of_face[start]] for start in sorted(first)]


def with_volume(triangles: np.ndarray) -> np.ndarray:
    """The same surface; a flat sheet, which MuJoCo takes for no mesh, as two of them."""
    corners = triangles.reshape(-1, 3)
    center = corners.mean(axis=0)
    axis = np.linalg.svd(corners - center, full_matrices=False)[2][2]
    if np.ptp((corners - center) @ axis) >= THICKNESS_M:
        return triangles
    shift = THICKNESS_M / 2 * axis
    return np.concatenate([triangles + shift, triangles[:, ::-1] - shift])


def _hull(points: np.ndarray) -> Optional[np.ndarray]:
    """The convex hull as triangles facing outwards; None of what is not even a sheet."""
    center = points.mean(axis=0)
    # with full matrices the first would be as large as the square of the points
    _, spread, axes = np.linalg.svd(points - center, full_matrices=len(points) < 3)
    if len(spread) < 3 or spread[1] < 1e-9:
        return None
    thickness = np.ptp((points - center) @ axes[2])
    if thickness < THICKNESS_M:
        shift = (THICKNESS_M - thickness) / 2 * axes[2]
        points = np.concatenate([points + shift, points - shift])
    hull = ConvexHull(points)
    corners = points[hull.simplices]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    inward = np.einsum("ij,ij->i", normals, hull.equations[:, :3]) < 0
    corners[inward] = corners[inward][:, ::-1]
    return corners


def _volume(triangles: np.ndarray) -> float:
    first, second, third = np.swapaxes(triangles - triangles[0, 0], 0, 1)
    return float(np.einsum("ij,ij->i", first, np.cross(second, third)).sum() / 6)


def _area(triangles: np.ndarray) -> float:
    sides = triangles[:, 1:] - triangles[:, :1]
    return float(np.linalg.norm(np.cross(sides[:, 0], sides[:, 1]), axis=1).sum() / 2)
