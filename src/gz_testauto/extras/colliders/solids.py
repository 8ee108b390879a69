"""Shapes of solid colliders, and the test of which points are inside. Convex bodies and
triangulated surfaces are defined here, the other shapes in :mod:`gz_testauto.sdf.shapes`."""

from dataclasses import fields
from typing import Any, Union

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from gz_testauto.base.errors import SpecError
from gz_testauto.extras.colliders.flat import check_positive
from gz_testauto.sdf.meshes.solids import find_solids
from gz_testauto.sdf.meshes.surfaces import Mesh
from gz_testauto.sdf.shapes import Box, Capsule, Cylinder, Ellipsoid, Sphere

_FLAT_M = 1e-4  # MuJoCo rejects flat meshes

_CHUNK = 2_000_000  # largest number of pairs of a point and a triangle in one array


class Convex:
    """The convex hull of ``points`` (n, 3), in meters. Raises ``SpecError`` if they enclose no
    volume."""

    def __init__(self, points: np.ndarray) -> None:
        points_m = np.array(points, dtype=float)
        if (
            points_m.ndim != 2
            or points_m.shape[1] != 3
            or len(points_m) < 4
            or not np.isfinite(points_m).all()
        ):
            raise SpecError(
                "a convex body must have at least 4 points (x, y, z) with finite coordinates"
            )
        try:
            hull = ConvexHull(points_m)
        except QhullError as error:
            raise SpecError("the points of a convex body must not be in one plane") from error
        self.corners = points_m[hull.vertices]  # vertices (m), shape (m, 3)
        index = np.full(len(points_m), -1)
        index[hull.vertices] = np.arange(len(hull.vertices))
        outwards = np.cross(*np.diff(points_m[hull.simplices], axis=1).swapaxes(0, 1))
        is_inward = np.sum(outwards * hull.equations[:, :3], axis=1) < 0
        faces = index[hull.simplices]
        faces[is_inward] = faces[is_inward][:, ::-1]
        self.faces = faces
        """Triangles (k, 3) of indices of ``corners``, counter-clockwise as seen from outside."""
        self.planes = hull.equations
        """Outward unit normals and offsets (k, 4): ``normal · p + offset`` is at most 0 for a point
        p inside."""


class Triangles:
    """A surface of ``triangles`` (n, 3, 3), in meters. It is a solid if it encloses a volume
    without gaps. Raises ``SpecError`` for an invalid surface."""

    def __init__(self, triangles: np.ndarray) -> None:
        triangles_m = np.array(triangles, dtype=float)
        if triangles_m.ndim != 3 or triangles_m.shape[1:] != (3, 3) or not len(triangles_m):
            raise SpecError("a surface must have triangles with three vertices (x, y, z)")
        if not np.isfinite(triangles_m).all():
            raise SpecError("the vertices of a surface must have finite coordinates")
        corners = triangles_m.reshape(-1, 3)
        middle = corners.mean(axis=0)
        across = np.linalg.svd(corners - middle, full_matrices=False)[2][2]
        if np.ptp((corners - middle) @ across) < _FLAT_M:
            raise SpecError(
                "the triangles of a surface must not all be in one plane; use a thin box instead"
            )
        triangles, closed = find_solids(triangles_m)
        corners, index = np.unique(triangles.reshape(-1, 3), axis=0, return_inverse=True)
        self.corners = corners  # distinct vertices (m), shape (m, 3)
        self.faces = index.reshape(-1, 3)  # triangles (k, 3) of indices of ``corners``
        self.solid = triangles[closed]  # the triangles (l, 3, 3) that enclose a volume


Shape = Union[Box, Sphere, Cylinder, Capsule, Ellipsoid, Convex, Triangles]


def solid_of(shape: Any) -> Shape:
    """Return the collider of a shape of SDF. Colliders are returned unchanged.

    Raises ``SpecError`` for a shape that cannot be a collider or has a size of 0 or less, and
    ``SdfError`` for a mesh file that cannot be read.
    """
    if isinstance(shape, Mesh):
        return Triangles(shape.surface.triangles)
    if isinstance(shape, (Convex, Triangles)):
        return shape
    kind = type(shape).__name__.lower()
    if not isinstance(shape, (Box, Sphere, Cylinder, Capsule, Ellipsoid)):
        raise SpecError(
            f"a collider cannot have the shape {kind!r}; use box, sphere, cylinder, capsule, "
            "ellipsoid, convex or mesh"
        )
    for field in fields(shape):
        value = getattr(shape, field.name)
        sizes = value if isinstance(value, tuple) else (value,)
        check_positive(f"{field.name} of a {kind}", *sizes)
    return shape


def inside(shape: Shape, points: np.ndarray) -> np.ndarray:
    """Return whether ``points`` (n, 3) in the shape's frame are inside or on the surface, (n,)."""
    if isinstance(shape, Box):
        return np.asarray((np.abs(points) <= np.asarray(shape.size) / 2).all(axis=1))
    if isinstance(shape, Sphere):
        return np.asarray(np.sum(points**2, axis=1) <= shape.radius**2)
    if isinstance(shape, Ellipsoid):
        return np.asarray(np.sum((points / np.asarray(shape.radii)) ** 2, axis=1) <= 1.0)
    if isinstance(shape, Convex):
        return np.asarray(
            (points @ shape.planes[:, :3].T + shape.planes[:, 3] <= 1e-12).all(axis=1)
        )
    if isinstance(shape, Triangles):
        return _wound_around(shape.solid, points)
    beyond = np.abs(points[:, 2]) - shape.length / 2
    across = np.sum(points[:, :2] ** 2, axis=1)
    if isinstance(shape, Cylinder):
        return np.asarray((beyond <= 0) & (across <= shape.radius**2))
    return np.asarray(across + np.maximum(beyond, 0.0) ** 2 <= shape.radius**2)


def _wound_around(triangles: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return for each point (n, 3) whether closed surfaces of ``triangles`` (m, 3, 3) enclose it.

    The sum of the solid angles of the triangles is then not 0 (Van Oosterom and Strackee, 1983).
    """
    enclosed = np.zeros(len(points), dtype=bool)
    if not len(triangles):
        return enclosed
    low, high = triangles.min(axis=(0, 1)), triangles.max(axis=(0, 1))
    (near,) = np.nonzero(((points >= low) & (points <= high)).all(axis=1))
    for chunk in np.array_split(near, max(1, len(near) * len(triangles) // _CHUNK)):
        a, b, c = np.moveaxis(triangles[None] - points[chunk, None, None], 2, 0)
        lengths = [np.linalg.norm(corner, axis=-1) for corner in (a, b, c)]
        volume = np.sum(a * np.cross(b, c), axis=-1)
        under = lengths[0] * lengths[1] * lengths[2]
        for length, edge_start, edge_end in zip(lengths, (b, c, a), (c, a, b)):
            under = under + np.sum(edge_start * edge_end, axis=-1) * length
        turns = np.arctan2(volume, under).sum(axis=1) / (2 * np.pi)
        enclosed[chunk] = np.abs(turns) > 0.5
    return enclosed
