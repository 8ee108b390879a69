"""SDF shapes as MuJoCo geoms, and the mesh files that some geoms need.

A mesh is divided into convex pieces for contacts, and the lidar uses its triangles.
"""

import enum
import io
from dataclasses import dataclass, replace
from typing import Dict, Iterator, List, Mapping, Tuple

import numpy as np
from lxml import etree

from gz_testauto.base.errors import SdfError
from gz_testauto.base.pose import Pose, rotation_from_z
from gz_testauto.sdf.document import Element
from gz_testauto.sdf.engine_model.bodies import BodyShape
from gz_testauto.sdf.engine_model.coverage import SdfCoverage
from gz_testauto.sdf.meshes import hulls
from gz_testauto.sdf.meshes.surfaces import Heightmap, Mesh
from gz_testauto.sdf.shapes import Cylinder, Geometry, Plane, Polyline
from gz_testauto.simulators.mujoco_geoms import primitive, text

# Half of the 200,000 triangles that MuJoCo reads at most of an STL file.
MAX_FACES = 100_000

# Target numbers of convex pieces for a static and for a moving mesh, which takes more time.
MAX_PIECES = 2000
MAX_MOVING_PIECES = 200

# a mesh with more pieces is rejected
TOO_MANY_PIECES = 10_000

# Compiling a world of more pieces would take minutes and gigabytes of memory.
MAX_WORLD_PIECES = 100_000

# Largest deviation of the pieces from the surface of a mesh without a warning.
WARN_ERROR_M = 0.01


class Role(enum.IntEnum):
    """The use of a geom. The value is the geom's group in MuJoCo, which selects it for rays."""

    BOTH = 0
    CONTACT = 1
    LIDAR = 2


@dataclass(frozen=True)
class Geom:
    role: Role
    attributes: Mapping[str, str]
    pose: Pose = Pose()


class GeomFactory:
    """A factory of MuJoCo geoms and their mesh files. Equal meshes share a file."""

    def __init__(self, coverage: SdfCoverage) -> None:
        self._coverage = coverage
        self.meshes: Dict[str, bytes] = {}
        self.terrains: Dict[str, Dict[str, str]] = {}
        self._surface_assets: Dict[object, List[str]] = {}
        self._contact_geoms_of_mesh: Dict[Tuple[Mesh, bool], List[Geom]] = {}
        self._piece_count = 0

    def geoms(self, shape: BodyShape, moves: bool = False) -> List[Geom]:
        geometry = shape.geometry
        if isinstance(geometry, Mesh):
            return [
                *self._contact_geoms(shape.name, geometry, moves),
                *self._lidar_mesh_geoms(geometry),
            ]
        if isinstance(geometry, Polyline):
            return list(self._polyline_geoms(geometry))
        if isinstance(geometry, Heightmap):
            return list(self._terrain_geoms(shape.name, geometry))
        geom = _primitive_geom(shape.name, geometry)
        if moves and isinstance(geometry, Cylinder):
            geom = replace(geom, pose=_TILTED)
        return [geom]

    def lidar_geoms(self, shape: BodyShape) -> List[Geom]:
        if isinstance(shape.geometry, Mesh):
            return self._lidar_mesh_geoms(shape.geometry)
        geoms = [geom for geom in self.geoms(shape) if geom.role is not Role.CONTACT]
        return [replace(geom, role=Role.LIDAR) for geom in geoms]

    def wheel(self, shape: BodyShape, axis: np.ndarray, held: bool = False) -> List[Geom]:
        """Return the geoms of a wheel that rotates about ``axis`` (in the frame of the shape).

        The geom for contacts is an ellipsoid. With ``held``, a motor keeps the speed of the wheel,
        and the geom is the shape itself, or the cylinder around a mesh.
        """
        if held and not isinstance(shape.geometry, Mesh):
            return self.geoms(shape, True)
        lidar_geoms = self.lidar_geoms(shape)
        to_axis = Pose((0.0, 0.0, 0.0), rotation_from_z(axis))
        bounds = shape.geometry.bounds(to_axis.inverse())
        half = (bounds[:, 1] - bounds[:, 0]) / 2
        center = to_axis.apply(bounds.mean(axis=1))
        radius = float(max(half[:2]))
        width = max(float(half[2]), radius * MIN_WIDTH_RATIO)
        pose = Pose(tuple(center.tolist()), to_axis.quaternion)
        if held:
            # a polygon would shake the robot as it rolls
            cylinder = {"type": "cylinder", "size": text(radius, width)}
            return [Geom(Role.CONTACT, cylinder, pose * _TILTED), *lidar_geoms]
        # It rolls on one point and does not scrub when the robot turns. It is smaller than the
        # wheel at the rims, so it does not touch a stone under a rim.
        ellipsoid = {"type": "ellipsoid", "size": text(radius, radius, width)}
        return [Geom(Role.CONTACT, ellipsoid, pose), *lidar_geoms]

    def add_assets(self, assets: Element) -> Dict[str, bytes]:
        """Add the meshes and height maps to an ``<asset>``; return the mesh files by name."""
        for name in self.meshes:
            etree.SubElement(assets, "mesh", name=name, file=f"{name}.stl")
        for name, attributes in self.terrains.items():
            etree.SubElement(assets, "hfield", name=name, **attributes)
        return {f"{name}.stl": content for name, content in self.meshes.items()}

    def _contact_geoms(self, name: str, mesh: Mesh, moves: bool) -> List[Geom]:
        if (mesh, moves) not in self._contact_geoms_of_mesh:
            limit = MAX_MOVING_PIECES if moves else MAX_PIECES
            parts = hulls.convex_parts_of(mesh, limit)
            self._check_error(name, mesh, parts)
            names = [self._add_mesh_asset(hull) for hull in parts.hulls]
            self._contact_geoms_of_mesh[mesh, moves] = [
                *(_box_geom(box) for box in parts.boxes),
                *(Geom(Role.CONTACT, {"type": "mesh", "mesh": name}) for name in names),
            ]
        self._piece_count += len(self._contact_geoms_of_mesh[mesh, moves])
        if self._piece_count > MAX_WORLD_PIECES:
            raise SdfError(
                f"{name}: with the mesh {mesh.path}, the meshes of the world need "
                f"{self._piece_count} convex pieces for contacts, but the simulator 'embedded' "
                f"supports at most {MAX_WORLD_PIECES}; use simpler collision meshes, fewer models, "
                "or Gazebo"
            )
        return self._contact_geoms_of_mesh[mesh, moves]

    def _check_error(self, name: str, mesh: Mesh, parts: hulls.ConvexParts) -> None:
        piece_count = len(parts.boxes) + len(parts.hulls)
        if piece_count > TOO_MANY_PIECES:
            raise SdfError(
                f"{name}: the surface of the mesh {mesh.path} is too rough for contacts: the "
                f"simulator 'embedded' would need {piece_count} convex pieces, but it supports at "
                f"most {TOO_MANY_PIECES}; use a simpler collision mesh, or Gazebo"
            )
        if parts.error_m > WARN_ERROR_M:
            self._coverage.warn_once(
                f"pieces of {mesh.path} {mesh.submesh}",
                f"{name}: for contacts, the simulator 'embedded' divides the mesh {mesh.path} into "
                f"{piece_count} convex pieces, which are up to {parts.error_m:.3f} m from its "
                "surface; the lidar uses the original mesh. To reduce the error, use a collision "
                f"mesh with fewer than {len(mesh.surface.triangles)} triangles",
            )

    def _lidar_mesh_geoms(self, mesh: Mesh) -> List[Geom]:
        if mesh not in self._surface_assets:
            self._surface_assets[mesh] = self._add_surface_assets(mesh.surface.triangles)
        return [
            Geom(Role.LIDAR, {"type": "mesh", "mesh": name}) for name in self._surface_assets[mesh]
        ]

    def _polyline_geoms(self, polyline: Polyline) -> Iterator[Geom]:
        if polyline not in self._surface_assets:
            prisms = hulls.extruded_prisms(polyline.outline, polyline.height)
            self._surface_assets[polyline] = [self._add_mesh_asset(prism) for prism in prisms]
        for name in self._surface_assets[polyline]:
            yield Geom(Role.BOTH, {"type": "mesh", "mesh": name})

    def _terrain_geoms(self, shape: str, terrain: Heightmap) -> Iterator[Geom]:
        heights = terrain.heights
        rows, columns = heights.shape
        if np.ptp(heights) > 0:
            self._coverage.warn_once(
                "terrain",
                f"{shape}: on uneven ground, a robot whose fixed casters carry its weight loses "
                "traction in 'embedded', where bodies are rigid, but not in Gazebo; compare the "
                "two simulators with `gz_testauto simulators agreement`",
            )
        if terrain not in self._surface_assets:
            name = f"terrain{len(self.terrains)}"
            low, high = float(heights.min()), float(heights.max())
            thickness = max(high - low, 1.0)
            self.terrains[name] = {
                "nrow": str(rows),
                "ncol": str(columns),
                "size": text(
                    terrain.size[0] / 2, terrain.size[1] / 2, max(high - low, 1e-3), thickness
                ),
                # in MJCF too, the first row is the one with the greatest y
                "elevation": text(*heights.ravel()),
            }
            self._surface_assets[terrain] = [name]
            self._surface_assets[terrain, "seen"] = self._add_surface_assets(
                hulls.terrain_triangles(terrain)
            )
        (name,) = self._surface_assets[terrain]
        base = Pose((0.0, 0.0, float(heights.min())))
        yield Geom(Role.CONTACT, {"type": "hfield", "hfield": name}, base)
        for asset in self._surface_assets[terrain, "seen"]:
            yield Geom(Role.LIDAR, {"type": "mesh", "mesh": asset})

    def _add_surface_assets(self, triangles: np.ndarray) -> List[str]:
        """Add the meshes of a surface for the lidar, and return their names; none without area."""
        chunks = (
            hulls.with_volume(triangles[first : first + MAX_FACES])
            for first in range(0, len(triangles), MAX_FACES)
        )
        return [
            self._add_mesh_asset(chunk) for chunk in chunks if hulls.area_m2(chunk) > MIN_AREA_M2
        ]

    def _add_mesh_asset(self, triangles: np.ndarray) -> str:
        name = f"mesh{len(self.meshes)}"
        self.meshes[name] = stl(triangles)
        return name


# Tilt of a movable cylinder in its body. For a cylinder that is exactly upright on a plane, MuJoCo
# divides one rounding error by another and computes a penetration as large as the radius. The tilt
# is far larger than rounding errors, and far smaller than the penetration of contacts: with 1e-5,
# the inner and the outer rim of a sliding wheel would bear the load alternately. The rotation about
# the cylinder's axis makes MuJoCo keep the tilt, since it replaces a frame within 1e-6 of the
# body's frame by that frame.
_TILTED = Pose.from_rpy(0.0, 0.0, 0.0, 1e-8, 0.0, 1.0)

# MuJoCo rejects a mesh of less than 1e-15 m².
MIN_AREA_M2 = 1e-12

# Smallest ratio of half the width of a wheel's geom to its radius. Thinner geoms are too sharp for
# the detection of contacts with any shape except a plane.
MIN_WIDTH_RATIO = 0.02


def _box_geom(box: hulls.OrientedBox) -> Geom:
    from scipy.spatial.transform import Rotation

    x, y, z, w = Rotation.from_matrix(box.axes).as_quat().tolist()
    pose = Pose(tuple(box.center.tolist()), (x, y, z, w))
    return Geom(Role.CONTACT, {"type": "box", "size": text(*box.half)}, pose)


def _primitive_geom(name: str, geometry: Geometry) -> Geom:
    attributes = primitive(geometry)
    if attributes is not None:
        return Geom(Role.BOTH, attributes)
    if isinstance(geometry, Plane):
        pose = Pose((0.0, 0.0, 0.0), rotation_from_z(np.asarray(geometry.normal)))
        return Geom(Role.BOTH, {"type": "plane", "size": "0 0 1"}, pose)
    raise SdfError(
        f"{name} is a {type(geometry).__name__.lower()}, which 'embedded' cannot simulate; use a "
        "box, cylinder, sphere or mesh"
    )


def stl(triangles: np.ndarray) -> bytes:
    """Return triangles (n, 3, 3) as a binary STL file, in single precision like MuJoCo."""
    records = np.zeros(len(triangles), np.dtype([("n", "<f4", 3), ("v", "<f4", 9), ("a", "<u2")]))
    records["v"] = triangles.reshape(-1, 9)
    buffer = io.BytesIO()
    buffer.write(bytes(80))
    buffer.write(np.uint32(len(triangles)).tobytes())
    buffer.write(records.tobytes())
    return buffer.getvalue()
