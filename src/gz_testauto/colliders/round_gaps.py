"""How far round bodies are from surfaces of triangles.

Owns the one pair of kinds that FCL gets wrong: cylinders, capsules and ellipsoids beside triangles.
MuJoCo's answer for two convex bodies is exact, and each triangle is one: those that may be nearest
are put, one after the other, into a scene of that round body and a single triangle.
"""

import functools
from typing import Any, Tuple, Union

import mujoco
import numpy as np
import trimesh

from gz_testauto.colliders.mujoco_geoms import primitive
from gz_testauto.pose import Pose
from gz_testauto.sdf.shapes import Capsule, Cylinder, Ellipsoid

Round = Union[Cylinder, Capsule, Ellipsoid]

_SCENE = """<mujoco><option ccd_tolerance="1e-9" ccd_iterations="200"/>
<asset><mesh name="triangle" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset>
<worldbody><geom {round}/><geom type="mesh" mesh="triangle"/></worldbody></mujoco>"""


class RoundGap:
    """A round body in its own frame, beside triangles."""

    def __init__(self, shape: Round) -> None:
        self._shape = shape
        self._half_m: np.ndarray = shape.bounds(Pose())[:, 1]
        if isinstance(shape, Ellipsoid):
            self._inner_m, self._outer_m = min(shape.radii), max(shape.radii)
        elif isinstance(shape, Capsule):
            self._inner_m, self._outer_m = shape.radius, shape.radius + shape.length / 2
        else:
            self._inner_m = min(shape.radius, shape.length / 2)
            self._outer_m = float(np.hypot(shape.radius, shape.length / 2))

    def distance_m(self, triangles: np.ndarray) -> float:
        """Metres from the body to the nearest of ``triangles`` (n, 3, 3), at least one, in its
        frame; 0 where it has a point in common with one."""
        origins = np.zeros((len(triangles), 3))
        nearest = trimesh.triangles.closest_point(triangles, origins)
        away_m = np.linalg.norm(nearest, axis=1)  # from its middle
        if (least_m := away_m.min()) <= self._inner_m:
            return 0.0
        least_m -= self._inner_m
        for number in np.argsort(away_m, kind="stable"):
            if away_m[number] - self._outer_m > least_m:
                break
            least_m = min(least_m, self._to(triangles[number]))
            if least_m <= 0.0:
                return 0.0
        return float(least_m)

    def meets(self, triangles: np.ndarray) -> bool:
        """Whether it has a point in common with any of ``triangles`` (n, 3, 3) in its frame."""
        low, high = triangles.min(axis=1), triangles.max(axis=1)
        near = triangles[((low <= self._half_m) & (high >= -self._half_m)).all(axis=1)]
        return bool(len(near)) and self.distance_m(near) == 0.0

    def _to(self, triangle: np.ndarray) -> float:
        model, data = self._scene
        middle = triangle.mean(axis=0)
        model.mesh_vert[:3] = triangle - middle  # in single precision, so about the middle
        model.mesh_vert[3] = model.mesh_vert[0]
        data.geom_xpos[1] = middle
        return float(mujoco.mj_geomDistance(model, data, 0, 1, 1e6, None))

    @functools.cached_property
    def _scene(self) -> Tuple[Any, Any]:
        attributes = (primitive(self._shape) or {}).items()
        own = " ".join(f'{name}="{value}"' for name, value in attributes)
        model = mujoco.MjModel.from_xml_string(_SCENE.format(round=own))
        data = mujoco.MjData(model)
        mujoco.mj_kinematics(model, data)
        data.geom_xmat[1] = np.eye(3).ravel()
        return model, data
