"""SDF's shapes as MuJoCo's geoms, and the mesh files that some of them need.

Owns what stands for a shape in contacts and what for its surface in front of a lidar, which
differ where contacts need convex bodies: a mesh touches as convex pieces and is seen as it is.
"""

import enum
import functools
import io
from dataclasses import dataclass, replace
from typing import Dict, Iterator, List, Mapping, Tuple

import numpy as np

from gz_testauto.base.errors import SdfError
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.engine_model.bodies import BodyShape
from gz_testauto.sdf.engine_model.coverage import SdfCoverage
from gz_testauto.sdf.meshes import hulls
from gz_testauto.sdf.meshes.surfaces import Heightmap, Mesh
from gz_testauto.sdf.shapes import Cylinder, Geometry, Plane, Polyline
from gz_testauto.simulators.mujoco_geoms import primitive, text

MAX_FACES = 100_000
"""MuJoCo reads at most 200,000 triangles from one STL file."""

MAX_PIECES = 2000
MAX_MOVING_PIECES = 200
"""How many pieces a mesh is touched as, as far as that can be: each costs time in every step, more
where it moves."""

TOO_MANY_PIECES = 10_000
"""A mesh that cannot be touched as fewer is refused."""

MOST_PIECES = 100_000
"""A world whose meshes are touched as more is refused: to set it up takes minutes and gigabytes."""

WORTH_A_WORD_M = 0.01
"""A touched surface this far from the true one is warned of."""


class Role(enum.IntEnum):
    """What a geom is for. The value is its group in MuJoCo, by which rays choose."""

    BOTH = 0
    TOUCHED = 1
    SEEN = 2


@dataclass(frozen=True)
class Geom:
    """One geom of a shape: its MJCF attributes, and its pose in the frame of the shape."""

    role: Role
    attributes: Mapping[str, str]
    pose: Pose = Pose()


class GeomFactory:
    """Makes geoms; collects the assets that they share, once for every surface."""

    def __init__(self, coverage: SdfCoverage) -> None:
        self._coverage = coverage
        self.meshes: Dict[str, bytes] = {}
        self.terrains: Dict[str, Dict[str, str]] = {}
        self._named: Dict[object, List[str]] = {}
        self._touching: Dict[Tuple[Mesh, bool], List[Geom]] = {}
        self._pieces = 0

    def geoms(self, shape: BodyShape, moves: bool = False) -> List[Geom]:
        """The geoms that stand for a shape. Raises ``SdfError`` when none can."""
        geometry = shape.geometry
        if isinstance(geometry, Mesh):
            return [*self._touched(shape.name, geometry, moves), *self._seen(geometry)]
        if isinstance(geometry, Polyline):
            return list(self._polyline(geometry))
        if isinstance(geometry, Heightmap):
            return list(self._terrain(shape.name, geometry))
        geom = _primitive(shape.name, geometry)
        if moves and isinstance(geometry, Cylinder):
            geom = replace(geom, pose=_LEANING)
        return [geom]

    def wheel(self, shape: BodyShape, axis: np.ndarray, held: bool = False) -> List[Geom]:
        """The geoms of a wheel that turns about ``axis`` (in the frame of the shape).

        One that pushes as hard as its motor says is touched as an ellipsoid, which rolls on one
        point and does not scrub when the robot turns. That is inside the wheel at its rims: a
        stone under one of them it does not touch. One that is ``held`` to its rate turns
        whatever scrubs, and is touched as it is; a mesh as the cylinder around it, because a
        polygon shakes the robot as it rolls.
        """
        if held and not isinstance(shape.geometry, Mesh):
            return self.geoms(shape, True)
        if isinstance(shape.geometry, Mesh):
            seen = self._seen(shape.geometry)
        else:
            seen = [Geom(Role.SEEN, geom.attributes, geom.pose) for geom in self.geoms(shape)]
        to_axis = Pose((0.0, 0.0, 0.0), turn_from_z(axis))
        bounds = shape.geometry.bounds(to_axis.inverse())
        half = (bounds[:, 1] - bounds[:, 0]) / 2
        center = to_axis.apply(bounds.mean(axis=1))
        radius = float(max(half[:2]))
        width = max(float(half[2]), radius * THINNEST_WHEEL)
        pose = Pose(tuple(center.tolist()), to_axis.quaternion)
        if held:
            cylinder = {"type": "cylinder", "size": text(radius, width)}
            return [Geom(Role.TOUCHED, cylinder, pose * _LEANING), *seen]
        ellipsoid = {"type": "ellipsoid", "size": text(radius, radius, width)}
        return [Geom(Role.TOUCHED, ellipsoid, pose), *seen]

    def _touched(self, name: str, mesh: Mesh, moves: bool) -> List[Geom]:
        if (mesh, moves) not in self._touching:
            limit = MAX_MOVING_PIECES if moves else MAX_PIECES
            parts = _convex_parts(mesh, limit, mesh.path.stat().st_mtime_ns)
            self._look_at_error(name, mesh, parts)
            names = [self._asset(hull) for hull in parts.hulls]
            self._touching[mesh, moves] = [
                *(_box_geom(box) for box in parts.boxes),
                *(Geom(Role.TOUCHED, {"type": "mesh", "mesh": name}) for name in names),
            ]
        self._pieces += len(self._touching[mesh, moves])
        if self._pieces > MOST_PIECES:
            raise SdfError(
                f"{name}: the meshes of the world up to this one, {mesh.path}, are touched as "
                f"{self._pieces} convex pieces, and 'embedded' takes {MOST_PIECES}. Give their "
                "collisions simpler meshes, leave models out, or give the world to Gazebo"
            )
        return self._touching[mesh, moves]

    def _look_at_error(self, name: str, mesh: Mesh, parts: hulls.ConvexParts) -> None:
        """Warn of, or refuse, what is not touched as it is."""
        count = len(parts.boxes) + len(parts.hulls)
        if count > TOO_MANY_PIECES:
            raise SdfError(
                f"{name}: the surface of the mesh {mesh.path} is too rough to be touched: "
                f"'embedded' would need {count} convex pieces, and takes {TOO_MANY_PIECES}. "
                "Give the collision a simpler mesh, or the world to Gazebo"
            )
        if parts.error_m > WORTH_A_WORD_M:
            self._coverage.warn_once(
                f"pieces of {mesh.path} {mesh.submesh}",
                f"{name}: 'embedded' touches the mesh {mesh.path} as {count} convex pieces, which "
                f"are up to {parts.error_m:.3f} m from its surface; the lidar sees it as it is. A "
                f"collision of fewer than {len(mesh.surface.triangles)} triangles is touched more "
                "exactly",
            )

    def _seen(self, mesh: Mesh) -> List[Geom]:
        if mesh not in self._named:
            self._named[mesh] = self._surface(mesh.surface.triangles)
        return [Geom(Role.SEEN, {"type": "mesh", "mesh": part}) for part in self._named[mesh]]

    def _polyline(self, polyline: Polyline) -> Iterator[Geom]:
        if polyline not in self._named:
            prisms = hulls.extruded_prisms(polyline.outline, polyline.height)
            self._named[polyline] = [self._asset(prism) for prism in prisms]
        for part in self._named[polyline]:
            yield Geom(Role.BOTH, {"type": "mesh", "mesh": part})

    def _terrain(self, shape: str, terrain: Heightmap) -> Iterator[Geom]:
        heights = terrain.heights
        rows, columns = heights.shape
        if np.ptp(heights) > 0:
            self._coverage.warn_once(
                "terrain",
                f"{shape}: on uneven ground a robot whose fixed casters come to carry it loses "
                "traction in 'embedded', where nothing gives, and keeps it in Gazebo: compare "
                "the two with `gz_testauto agree`",
            )
        if terrain not in self._named:
            name = f"terrain{len(self.terrains)}"
            low, high = float(heights.min()), float(heights.max())
            thickness = max(high - low, 1.0)
            self.terrains[name] = {
                "nrow": str(rows),
                "ncol": str(columns),
                "size": text(
                    terrain.size[0] / 2, terrain.size[1] / 2, max(high - low, 1e-3), thickness
                ),
                # MuJoCo too has the first row of what stands in XML at the greatest y
                "elevation": text(*heights.ravel()),
            }
            self._named[terrain] = [name]
            self._named[terrain, "seen"] = self._surface(hulls.terrain_triangles(terrain))
        (name,) = self._named[terrain]
        base = Pose((0.0, 0.0, float(heights.min())))
        yield Geom(Role.TOUCHED, {"type": "hfield", "hfield": name}, base)
        for part in self._named[terrain, "seen"]:
            yield Geom(Role.SEEN, {"type": "mesh", "mesh": part})

    def _surface(self, triangles: np.ndarray) -> List[str]:
        """Assets for a surface that is only seen; none of what has no area, such as a mesh that
        is scaled by 0."""
        triangles = hulls.with_volume(triangles)
        chunks = (
            triangles[first : first + MAX_FACES] for first in range(0, len(triangles), MAX_FACES)
        )
        return [self._asset(chunk) for chunk in chunks if hulls.area_m2(chunk) > LEAST_AREA_M2]

    def _asset(self, triangles: np.ndarray) -> str:
        name = f"mesh{len(self.meshes)}"
        self.meshes[name] = stl(triangles)
        return name


@functools.lru_cache(maxsize=512)
def _convex_parts(mesh: Mesh, limit: int, modified_ns: int) -> hulls.ConvexParts:
    """Worked out once for the thousands of worlds that have the same mesh."""
    return hulls.convex_parts(mesh.surface, limit)


_LEANING = Pose.from_rpy(0.0, 0.0, 0.0, 1e-8, 0.0, 1.0)
"""How a cylinder lies in its body that can move. MuJoCo divides rounding by rounding where one is
upright to the last bits over a plane, and then finds it as deep in there as its radius is long. The
lean is far more than rounding, and far less than contacts give: at 1e-5 the inner and the outer rim
of a wheel that slides carried by turns. The turn about the cylinder's own axis changes nothing but
that MuJoCo keeps the lean: it takes a frame within 1e-6 of the body's to be the body's."""

LEAST_AREA_M2 = 1e-12
"""MuJoCo takes no mesh of less than 1e-15 m², in single precision."""

THINNEST_WHEEL = 0.02
"""Half the width of what stands for a wheel is at least this share of its radius: thinner ones are
too sharp for the search for contacts with anything but a plane."""


def _box_geom(box: hulls.OrientedBox) -> Geom:
    from scipy.spatial.transform import Rotation

    x, y, z, w = Rotation.from_matrix(box.axes).as_quat().tolist()
    pose = Pose(tuple(box.center.tolist()), (x, y, z, w))
    return Geom(Role.TOUCHED, {"type": "box", "size": text(*box.half)}, pose)


def _primitive(name: str, geometry: Geometry) -> Geom:
    attributes = primitive(geometry)
    if attributes is not None:
        return Geom(Role.BOTH, attributes)
    if isinstance(geometry, Plane):
        pose = Pose((0.0, 0.0, 0.0), turn_from_z(np.asarray(geometry.normal)))
        return Geom(Role.BOTH, {"type": "plane", "size": "0 0 1"}, pose)
    raise SdfError(
        f"{name} is a {type(geometry).__name__.lower()}, which 'embedded' cannot simulate; use a "
        "box, cylinder, sphere or mesh"
    )


def turn_from_z(direction: np.ndarray) -> Tuple[float, float, float, float]:
    """The quaternion (xyzw) of the shortest turn that takes z to a direction."""
    x, y, z = (direction / np.linalg.norm(direction)).tolist()
    if z < -1 + 1e-12:
        return (1.0, 0.0, 0.0, 0.0)
    length = float(np.sqrt(2 * (1 + z)))
    return (-y / length, x / length, 0.0, length / 2)


def stl(triangles: np.ndarray) -> bytes:
    """Triangles (n, 3, 3) as a binary STL file; MuJoCo holds meshes in single precision too."""
    record = np.zeros(len(triangles), np.dtype([("n", "<f4", 3), ("v", "<f4", 9), ("a", "<u2")]))
    record["v"] = triangles.reshape(-1, 9)
    buffer = io.BytesIO()
    buffer.write(bytes(80))
    buffer.write(np.uint32(len(triangles)).tobytes())
    buffer.write(record.tobytes())
    return buffer.getvalue()
