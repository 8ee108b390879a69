"""Conversion of SDF shapes to Bullet's collision shapes. A static mesh consists of its triangles,
and a moving mesh of convex pieces."""

import itertools
from dataclasses import dataclass
from typing import Any, Dict, List

import numpy as np

from gz_testauto.base.errors import SdfError
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.engine_model.bodies import BodyShape
from gz_testauto.sdf.engine_model.coverage import SdfCoverage
from gz_testauto.sdf.meshes import hulls
from gz_testauto.sdf.meshes.surfaces import Heightmap, Mesh
from gz_testauto.sdf.shapes import Box, Capsule, Cylinder, Geometry, Plane, Polyline, Sphere

MAX_TRIANGLES = 40_000  # PyBullet accepts at most 131,072 vertices

MAX_MOVING_PIECES = 24  # each piece is a link, and Bullet supports 127 links per body

WARN_ERROR_M = 0.01  # deviation of the convex pieces from a mesh that is logged


@dataclass(frozen=True)
class Part:
    """A shape in Bullet. With ``skin``, Bullet would add a margin around it."""

    shape: int
    pose: Pose
    skin: bool = False


class ShapeFactory:
    """A factory of the shapes of one world. Equal static shapes share one Bullet shape."""

    def __init__(self, client: Any, coverage: SdfCoverage) -> None:
        self._client = client
        self._coverage = coverage
        self._shapes: Dict[Geometry, List[Part]] = {}

    def static(self, shape: BodyShape) -> List[Part]:
        """Return the parts for a static model, with poses in the frame of the shape."""
        geometry = shape.geometry
        if geometry not in self._shapes:
            if isinstance(geometry, Mesh):
                self._shapes[geometry] = self._create_surfaces(
                    shape.name, geometry.surface.triangles
                )
            elif isinstance(geometry, Heightmap):
                self._shapes[geometry] = [self._create_terrain(shape.name, geometry)]
            elif isinstance(geometry, Polyline):
                self._shapes[geometry] = self._create_surfaces(shape.name, geometry.triangles)
            else:
                self._shapes[geometry] = [
                    Part(self._create_primitive(shape.name, geometry, Pose()), Pose())
                ]
        return self._shapes[geometry]

    def moving(self, shape: BodyShape, at: Pose) -> List[Part]:
        """Return the parts for a moving model. ``at`` and their poses are in the link frame."""
        geometry = shape.geometry
        if not isinstance(geometry, (Mesh, Polyline)):
            return [Part(self._create_primitive(shape.name, geometry, at), Pose())]
        pieces = self._convex_pieces(shape.name, geometry)
        return [
            Part(self._create_hull(shape.name, at.apply(piece)), Pose(), skin=True)
            for piece in pieces
        ]

    def _create_primitive(self, name: str, geometry: Geometry, at: Pose) -> int:
        client = self._client
        sizes: Dict[str, Any]
        if isinstance(geometry, Box):
            kind, sizes = client.GEOM_BOX, {"halfExtents": [side / 2 for side in geometry.size]}
        elif isinstance(geometry, Sphere):
            kind, sizes = client.GEOM_SPHERE, {"radius": geometry.radius}
        elif isinstance(geometry, (Cylinder, Capsule)):
            kind = client.GEOM_CYLINDER if isinstance(geometry, Cylinder) else client.GEOM_CAPSULE
            sizes = {"radius": geometry.radius, "height": geometry.length}
        elif isinstance(geometry, Plane):
            kind, sizes = client.GEOM_PLANE, {}
        else:
            raise SdfError(
                f"{name} is of the type {type(geometry).__name__.lower()}, which 'pybullet' cannot "
                "simulate; use a box, cylinder, sphere, capsule or mesh, or the simulator "
                "'embedded'"
            )
        if min(np.hstack([*sizes.values(), 1.0])) <= 0.0:
            raise SdfError(f"{name} has a size of 0; every size must be above 0")
        if isinstance(geometry, Plane):
            sizes = {"planeNormal": geometry.world_normal.tolist()}
        frame = {
            "collisionFramePosition": at.position,
            "collisionFrameOrientation": at.quaternion,
        }
        return self._create_shape(name, shapeType=kind, **sizes, **frame)

    def _create_shape(self, name: str, **arguments: Any) -> int:
        try:
            return int(self._client.createCollisionShape(**arguments))
        except self._client.error as error:
            raise SdfError(
                f"{name}: Bullet cannot create its shape ({error}); use a simpler shape, or "
                "the simulator 'embedded'"
            ) from error

    def _create_surfaces(self, name: str, triangles: np.ndarray) -> List[Part]:
        client, parts = self._client, []
        for first in range(0, len(triangles), MAX_TRIANGLES):
            corners = triangles[first : first + MAX_TRIANGLES].reshape(-1, 3)
            corners, index = np.unique(corners, axis=0, return_inverse=True)
            shape = self._create_shape(
                name,
                shapeType=client.GEOM_MESH,
                vertices=corners.tolist(),
                indices=np.asarray(index).ravel().tolist(),
                flags=client.GEOM_FORCE_CONCAVE_TRIMESH,
            )
            parts.append(Part(shape, Pose(), skin=True))
        return parts

    def _convex_pieces(self, name: str, geometry: Geometry) -> List[np.ndarray]:
        """Return the vertices (n, 3) of convex pieces that approximate the geometry."""
        if isinstance(geometry, Polyline):
            prisms = hulls.extruded_prisms(geometry.outline, geometry.height)
            return [prism.reshape(-1, 3) for prism in prisms]
        assert isinstance(geometry, Mesh)
        parts = hulls.convex_parts_of(geometry, MAX_MOVING_PIECES)
        if parts.error_m > WARN_ERROR_M:
            self._coverage.warn_once(
                f"pieces of {geometry.path} {geometry.submesh}",
                f"{name}: 'pybullet' divides the moving mesh {geometry.path} into at most "
                f"{MAX_MOVING_PIECES} convex pieces, which are up to {parts.error_m:.3f} m from "
                "the surface of the mesh. The lidar also uses these pieces. To reduce the error, "
                "use a simpler mesh",
            )
        boxes = [_box_corners(box) for box in parts.boxes]
        return [*boxes, *(hull.reshape(-1, 3) for hull in parts.hulls)]

    def _create_hull(self, name: str, corners: np.ndarray) -> int:
        points = np.unique(corners, axis=0).tolist()
        return self._create_shape(name, shapeType=self._client.GEOM_MESH, vertices=points)

    def _create_terrain(self, name: str, terrain: Heightmap) -> Part:
        # Bullet places the mean of the lowest and the highest point at the origin of the shape.
        # The rows of its height maps are along x.
        heights, client = terrain.heights, self._client
        rows, columns = heights.shape
        shape = self._create_shape(
            name,
            shapeType=client.GEOM_HEIGHTFIELD,
            meshScale=[terrain.size[0] / (columns - 1), terrain.size[1] / (rows - 1), 1.0],
            heightfieldData=heights[::-1].ravel().tolist(),
            numHeightfieldRows=columns,
            numHeightfieldColumns=rows,
        )
        middle = float(heights.min() + heights.max()) / 2
        return Part(shape, Pose((0.0, 0.0, middle)))


def _box_corners(box: hulls.OrientedBox) -> np.ndarray:
    signs = np.array(list(itertools.product((-1, 1), repeat=3)))
    return np.asarray(box.center + (signs * box.half) @ box.axes.T)
