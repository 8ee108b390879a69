"""The solid of a model, which represents its collision shapes in Scenic.

A box remains a box. The solid of any other shape is never smaller than the shape and has exactly
its bounds, so that objects that do not touch in Scenic do not touch in Gazebo. This module imports
trimesh, and not Scenic.
"""

import functools
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, List, Optional, Sequence, Tuple

import numpy as np
import shapely
from scipy.spatial import ConvexHull, HalfspaceIntersection

from gz_testauto.base.errors import SdfError
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.meshes.hulls import convex_parts
from gz_testauto.sdf.meshes.surfaces import Heightmap, Mesh, TriangleMesh
from gz_testauto.sdf.scene import SceneModel, read_scene
from gz_testauto.sdf.shapes import (
    Box,
    Capsule,
    Cylinder,
    Ellipsoid,
    Geometry,
    Plane,
    Polyline,
    Sphere,
)
from gz_testauto.sdf.values import number
from gz_testauto.sdf.visuals import visual_shapes

SIDES = 48  # sides of the prism for a cylinder; a multiple of 4 gives it the same bounds
THINNEST_M = 1e-3  # smallest thickness of a solid, since a sheet has no volume
SHEET_M = 1e-6  # volume / area below which a closed part is a sheet with two sides
HULL_GRIDS = (0.0, 1e-7, 1e-6, 1e-5)
"""Distances, relative to the extent, within which vertices are merged; the next is tried if the
hull has gaps."""
MOST_FACES = 20000
"""Number of faces above which the convex hull replaces a mesh, since collision tests take
longer."""

MOST_PLATES = 5000

_ROUND = (Cylinder, Sphere, Capsule, Ellipsoid)


@dataclass(frozen=True, eq=False)
class Solid:
    """The solid of a model in the frame of the model.

    ``mesh`` is a closed ``trimesh.Trimesh``. ``bounds`` (3, 2) are those of the collision shapes.
    ``primitive`` is the collision shape of a model with a single upright box or round shape, else
    None. A ``bodiless`` model has no collision shapes.
    """

    mesh: Any
    bounds: np.ndarray
    is_box: bool
    primitive: Optional[Geometry]
    static: bool
    bodiless: bool
    mass_kg: float
    notes: Tuple[str, ...] = ()

    @property
    def size(self) -> np.ndarray:
        """Size (m) along x, y and z."""
        return self.bounds[:, 1] - self.bounds[:, 0]

    @property
    def center(self) -> np.ndarray:
        return self.bounds.mean(axis=1)

    @property
    def round_axes(self) -> str:
        """Axes along which a round model has the same size: ``xy``, ``xyz`` or none."""
        if isinstance(self.primitive, Sphere):
            return "xyz"
        return "xy" if isinstance(self.primitive, (Cylinder, Capsule)) else ""


def solid_of(sdf: Path, model_path: Sequence[Path], hollow: bool = False) -> Solid:
    """Return the solid of a model file. A mesh with gaps is replaced by its convex hull or, if
    ``hollow``, by plates along its surface. Raises ``SdfError`` for a model without a size."""
    library = ModelLibrary(model_path, repair=True)
    document = SdfDocument.read(sdf, repair=True)
    if document.model is None:
        raise SdfError(
            f"{sdf}: the file contains no <model>, and only models can be placed; <include> it in "
            "the world of the descriptor instead"
        )
    model = next(iter(read_scene(document, model_path, repair=True).models.values()))
    geometries = [(shape.local_pose, shape.geometry) for shape in model.collisions]
    bodiless = not geometries
    if bodiless:
        geometries = [(visual.pose, geom) for visual, geom in visual_shapes(model, library)]
    if not geometries:
        raise SdfError(f"{sdf}: the model has no size; add a <collision> or a <visual>")
    notes: List[str] = []
    for _, geometry in geometries:
        if isinstance(geometry, (Plane, Heightmap)):
            raise SdfError(
                f"{sdf}: the model has the geometry <{type(geometry).__name__.lower()}>, which has "
                "no size; <include> it in the world of the descriptor instead"
            )
    bounds = np.stack([geometry.bounds(pose) for pose, geometry in geometries])
    total_bounds = np.column_stack([bounds[..., 0].min(axis=0), bounds[..., 1].max(axis=0)])
    pose, first_geometry = geometries[0]
    upright = bool(np.allclose(pose.rotation, np.eye(3), atol=1e-9))
    single = len(geometries) == 1 and not bodiless and upright
    is_box = single and isinstance(first_geometry, Box)
    parts = [_placed_mesh(geometry, pose, notes, hollow) for pose, geometry in geometries]
    mesh = _union_of(parts, notes)
    primitive = first_geometry if single and isinstance(first_geometry, (Box, *_ROUND)) else None
    notes = [f"{sdf}: {note}" for note in dict.fromkeys(notes)]
    return Solid(
        mesh,
        _with_least_thickness(total_bounds),
        is_box,
        primitive,
        model.static,
        bodiless,
        _mass_kg(model),
        tuple(notes),
    )


def _mass_kg(model: SceneModel) -> float:
    """Return the mass of all links, by default 1 kg each as in Gazebo."""
    mass = 0.0
    for _, node, _ in model.node.walk():
        for link in node.links:
            inertial = link.element.find("inertial")
            mass += 1.0 if inertial is None else number(node.document, inertial, "mass", 1.0)
    return mass


def _with_least_thickness(bounds: np.ndarray) -> np.ndarray:
    low, high = bounds[:, 0].copy(), bounds[:, 1].copy()
    for axis in range(3):
        lacking_m = THINNEST_M - (high[axis] - low[axis])
        if lacking_m > 0:
            low[axis] -= lacking_m / 2
            high[axis] += lacking_m / 2
    return np.column_stack([low, high])


def _placed_mesh(geometry: Geometry, pose: Pose, notes: List[str], hollow: bool) -> Any:
    import trimesh

    mesh = _mesh_of(geometry, notes, hollow)
    if mesh is None or min(mesh.extents) < THINNEST_M / 10:
        low, high = _with_least_thickness(geometry.bounds(Pose())).T
        mesh = trimesh.creation.box(bounds=np.array([low, high]))
    mesh = mesh.copy()
    mesh.apply_transform(pose.matrix)
    return mesh


def _mesh_of(geometry: Geometry, notes: List[str], hollow: bool) -> Any:
    import trimesh

    if isinstance(geometry, Box):
        return trimesh.creation.box(geometry.size) if min(geometry.size) > 0 else None
    if isinstance(geometry, Cylinder):
        if min(geometry.radius, geometry.length) <= 0:
            return None
        return _prism_around(geometry.radius, geometry.length)
    if isinstance(geometry, (Sphere, Ellipsoid)):
        radii = (geometry.radius,) * 3 if isinstance(geometry, Sphere) else geometry.radii
        return _hull(_sphere_corners() * radii) if min(radii) > 0 else None
    if isinstance(geometry, Capsule):
        ball, along = _sphere_corners() * geometry.radius, np.array([0, 0, geometry.length / 2])
        return _hull(np.vstack([ball + along, ball - along])) if geometry.radius > 0 else None
    if isinstance(geometry, Polyline):
        regions = [part for part in shapely.get_parts(geometry.outline) if part.area > 0]
        solids = [trimesh.creation.extrude_polygon(part, geometry.height) for part in regions]
        return _union_of(solids, notes) if solids else None
    assert isinstance(geometry, Mesh), type(geometry)
    return _solid_of_mesh(geometry, notes, hollow)


def _prism_around(radius: float, length: float) -> Any:
    angles = (np.arange(SIDES) + 0.5) * (2 * math.pi / SIDES)
    rim = radius / math.cos(math.pi / SIDES) * np.column_stack([np.cos(angles), np.sin(angles)])
    ends = [np.column_stack([rim, np.full(SIDES, z)]) for z in (-length / 2, length / 2)]
    return _hull(np.vstack(ends))


@functools.lru_cache(maxsize=1)
def _sphere_corners() -> np.ndarray:
    """Return the vertices (n, 3) of a polyhedron around the unit sphere with the same bounds."""
    directions = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [-1, 0, 0], [0, -1, 0], [0, 0, -1.0]])
    faces = ConvexHull(directions).simplices
    for _ in range(3):
        middles = [directions[faces[:, [a, b]]].sum(axis=1) for a, b in ((0, 1), (1, 2), (2, 0))]
        directions = np.unique(
            np.round(
                np.vstack([directions, *(m / np.linalg.norm(m, axis=1)[:, None] for m in middles)]),
                12,
            ),
            axis=0,
        )
        directions /= np.linalg.norm(directions, axis=1)[:, None]
        faces = ConvexHull(directions).simplices
    planes = np.column_stack([directions, -np.ones(len(directions))])
    corners = HalfspaceIntersection(planes, np.zeros(3)).intersections
    return np.unique(np.round(corners, 12), axis=0)


def _hull(points: np.ndarray) -> Any:
    """Return the convex hull of points (n, 3), or their bounding box if gaps remain."""
    import trimesh

    # Qhull leaves gaps if vertices nearly coincide
    points = _thickened(points)
    extent = float(np.ptp(points, axis=0).max())
    for grid in HULL_GRIDS:
        step = grid * extent
        corners = np.unique(np.round(points / step) * step, axis=0) if step else points
        hull = trimesh.convex.convex_hull(corners)
        if hull.is_volume:
            return hull
    return trimesh.creation.box(bounds=np.array([points.min(axis=0), points.max(axis=0)]))


def _thickened(points: np.ndarray) -> np.ndarray:
    """Add points, so that their hull is at least :data:`THINNEST_M` thick in each direction."""
    _, axes = np.linalg.eigh(np.cov(points.T))
    for axis in axes.T:
        if float(np.ptp(points @ axis)) < THINNEST_M:
            half = axis * THINNEST_M / 2
            points = np.vstack([points - half, points + half])
    return points


def _solid_of_mesh(geometry: Mesh, notes: List[str], hollow: bool) -> Any:
    """Return a closed mesh as a solid, or the convex hull of any other mesh. With ``hollow``, the
    hull is replaced by plates along the surface."""
    import trimesh

    surface = geometry.surface
    has_many_faces = len(surface.triangles) > MOST_FACES
    if has_many_faces and not hollow:
        notes.append(
            f"{geometry.path.name} has {len(surface.triangles)} faces, more than {MOST_FACES}; "
            "its convex hull replaces it"
        )
    elif not has_many_faces and bool(surface.closed.all()):
        mesh = trimesh.Trimesh(**trimesh.triangles.to_kwargs(surface.triangles))
        mesh.merge_vertices()
        parts = list(mesh.split(only_watertight=False))
        if parts and all(part.is_watertight and part.is_winding_consistent for part in parts):
            return _union_of([_turned_outward(part) for part in parts], notes)
    if hollow:
        return _union_of(_convex_plates(surface), notes)
    if not has_many_faces:
        notes.append(
            f"{geometry.path.name} does not enclose a volume without gaps; its convex hull "
            "replaces it; set `hollow: true` in the descriptor to make its inside free"
        )
    return _hull(surface.triangles.reshape(-1, 3))


def _convex_plates(surface: TriangleMesh) -> List[Any]:
    import trimesh

    parts = convex_parts(surface, MOST_PLATES)
    plates = [_hull(hull.reshape(-1, 3)) for hull in parts.hulls]
    for box in parts.boxes:
        placed = np.eye(4)
        placed[:3, :3], placed[:3, 3] = box.axes, box.center
        plates.append(trimesh.creation.box(2 * np.asarray(box.half), transform=placed))
    return plates


def _turned_outward(part: Any) -> Any:
    a, b, c = (part.triangles[:, corner] for corner in range(3))
    volume_m3 = float(np.einsum("ij,ij->", a, np.cross(b, c))) / 6
    if abs(volume_m3) <= SHEET_M * part.area:
        return _hull(part.vertices)
    if volume_m3 < 0:
        part.invert()
    return part


def _union_of(parts: Sequence[Any], notes: List[str]) -> Any:
    import trimesh

    if len(parts) == 1:
        return parts[0]
    try:
        joined = trimesh.boolean.union(parts, engine="manifold")
        if joined.is_volume:
            return joined
    except Exception:  # the library of the union can raise any exception
        pass
    notes.append("the parts cannot be joined into one solid; their convex hull replaces them")
    return _hull(np.vstack([part.vertices for part in parts]))
