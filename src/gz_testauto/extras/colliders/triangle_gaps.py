"""Distances between convex bodies and triangulated surfaces for shapes whose distances in FCL have
errors of centimeters. MuJoCo computes them for the triangles that can be nearest."""

import functools
from typing import Any, Tuple, Union

import mujoco
import numpy as np
import trimesh

from gz_testauto.base.pose import Pose
from gz_testauto.extras.colliders.solids import Convex
from gz_testauto.sdf.shapes import Capsule, Cylinder, Ellipsoid
from gz_testauto.simulators.mujoco_geoms import EXACT, primitive, text

Body = Union[Cylinder, Capsule, Ellipsoid, Convex]

_SCENE = """<mujoco>{exact}
<asset><mesh name="triangle" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/>{asset}</asset>
<worldbody><geom type="mesh" mesh="triangle"/><geom {own}/></worldbody></mujoco>"""
_TRIANGLE, _OWN = 0, 1


class TriangleGap:
    """A convex body that computes its distance (m) to triangles, which are in its frame."""

    def __init__(self, shape: Body) -> None:
        self._shape = shape
        self._middle_m = np.zeros(3)
        if isinstance(shape, Convex):
            self._low_m, self._high_m = shape.corners.min(axis=0), shape.corners.max(axis=0)
            self._middle_m = shape.corners.mean(axis=0)
            depths_m = -(shape.planes[:, :3] @ self._middle_m + shape.planes[:, 3])
            self._inscribed_radius_m = float(depths_m.min())
            away_m = np.linalg.norm(shape.corners - self._middle_m, axis=1)
            self._circumscribed_radius_m = float(away_m.max())
            return
        self._low_m, self._high_m = shape.bounds(Pose()).T
        if isinstance(shape, Ellipsoid):
            self._inscribed_radius_m, self._circumscribed_radius_m = (
                min(shape.radii),
                max(shape.radii),
            )
        elif isinstance(shape, Capsule):
            self._inscribed_radius_m, self._circumscribed_radius_m = (
                shape.radius,
                shape.radius + shape.length / 2,
            )
        else:
            self._inscribed_radius_m = min(shape.radius, shape.length / 2)
            self._circumscribed_radius_m = float(np.hypot(shape.radius, shape.length / 2))

    def distance_m(self, triangles: np.ndarray) -> float:
        """Return the distance (m) to the nearest of the triangles (n, 3, 3), with n at least 1; 0
        if the body touches it.
        """
        middles = np.tile(self._middle_m, (len(triangles), 1))
        nearest = trimesh.triangles.closest_point(triangles, middles)
        away_m = np.linalg.norm(nearest - middles, axis=1)
        if (least_m := away_m.min()) <= self._inscribed_radius_m:
            return 0.0
        least_m -= self._inscribed_radius_m
        # no triangle is nearer than the distance of its nearest point minus the outer radius
        for number in np.argsort(away_m, kind="stable"):
            if away_m[number] - self._circumscribed_radius_m > least_m:
                break
            least_m = min(least_m, self._distance_to_triangle_m(triangles[number]))
            if least_m <= 0.0:
                return 0.0
        return float(least_m)

    def meets(self, triangles: np.ndarray) -> bool:
        """Return whether the body touches any of the triangles (n, 3, 3)."""
        low, high = triangles.min(axis=1), triangles.max(axis=1)
        near = triangles[((low <= self._high_m) & (high >= self._low_m)).all(axis=1)]
        return bool(len(near)) and self.distance_m(near) == 0.0

    def _distance_to_triangle_m(self, triangle: np.ndarray) -> float:
        model, data = self._scene
        middle = triangle.mean(axis=0)
        model.mesh_vert[:3] = triangle - middle  # MuJoCo stores single precision
        model.mesh_vert[3] = model.mesh_vert[0]
        data.geom_xpos[_TRIANGLE] = middle
        return float(mujoco.mj_geomDistance(model, data, _TRIANGLE, _OWN, 1e6, None))

    @functools.cached_property
    def _scene(self) -> Tuple[Any, Any]:
        asset, geom = "", 'type="mesh" mesh="own"'
        if isinstance(self._shape, Convex):
            asset = f'<mesh name="own" vertex="{text(*self._shape.corners.ravel())}"/>'
        else:
            attributes = (primitive(self._shape) or {}).items()
            geom = " ".join(f'{name}="{value}"' for name, value in attributes)
        model = mujoco.MjModel.from_xml_string(_SCENE.format(exact=EXACT, asset=asset, own=geom))
        data = mujoco.MjData(model)
        mujoco.mj_kinematics(model, data)
        data.geom_xmat[_TRIANGLE] = np.eye(3).ravel()
        return model, data
