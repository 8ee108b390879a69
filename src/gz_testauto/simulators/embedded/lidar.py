"""Distances along the rays of a robot's lidar.

Boxes, cylinders, spheres, ellipsoids and planes are cast by
:mod:`~gz_testauto.simulators.embedded.raycast`; in a scene with any other geom ``mj_multiRay``
casts all rays. Both give the same readings.
"""

from typing import Any

import numpy as np

from gz_testauto.base.pose import Pose
from gz_testauto.sdf.robot import LidarDescription
from gz_testauto.simulators.embedded.geoms import Role
from gz_testauto.simulators.mujoco_geoms import cast_fan

SIMPLE = (0, 2, 4, 5, 6)
"""MuJoCo's types plane, sphere, ellipsoid, cylinder and box."""


class MujocoLidar:
    """A lidar on a body of a MuJoCo model.

    ``body`` is the id of the body, ``mount`` the pose on it. Without ``fast``, ``mj_multiRay``
    casts all rays.
    """

    def __init__(
        self,
        model: Any,
        data: Any,
        description: LidarDescription,
        body: int,
        mount: Pose,
        fast: bool,
    ) -> None:
        self._model, self._data = model, data
        self._description = description
        self._body = body
        self._position, self._turn = np.asarray(mount.position), mount.rotation
        count = description.samples
        low, high = description.angle_min_rad, description.angle_max_rad
        angles = np.linspace(low, high, count)
        self._spacing = (high - low) / (count - 1) if count > 1 else 0.0
        self._cosines, self._sines = np.cos(angles), np.sin(angles)
        seen = np.isin(model.geom_group, (Role.BOTH, Role.LIDAR))
        self._geoms = np.flatnonzero(seen)
        self._kinds = np.asarray(model.geom_type)
        self.is_fast = fast and bool(np.isin(self._kinds[self._geoms], SIMPLE).all())

    def ranges_m(self) -> np.ndarray:
        """Return the distances (samples,), infinite beyond the range; MuJoCo's positions must be up
        to date."""
        body = self._data.xmat[self._body].reshape(3, 3)
        origin = self._data.xpos[self._body] + body @ self._position
        turn = body @ self._turn
        return self._cast(origin, turn) if self.is_fast else self._multi_ray(origin, turn)

    def _cast(self, origin: np.ndarray, turn: np.ndarray) -> np.ndarray:
        from gz_testauto.simulators.embedded.raycast import cast

        ranges = np.empty(self._description.samples)
        cast(
            self._geoms,
            self._kinds,
            self._model.geom_size,
            self._data.geom_xpos,
            self._data.geom_xmat,
            origin,
            turn,
            self._description.angle_min_rad,
            self._spacing,
            self._cosines,
            self._sines,
            self._description.range_max_m,
            ranges,
        )
        return ranges

    def _multi_ray(self, origin: np.ndarray, turn: np.ndarray) -> np.ndarray:
        count = self._description.samples
        flat = np.stack([self._cosines, self._sines, np.zeros(count)], axis=1)
        groups = np.zeros(6, np.uint8)
        groups[[Role.BOTH, Role.LIDAR]] = 1
        range_max_m = self._description.range_max_m
        ranges, _ = cast_fan(self._model, self._data, origin, flat @ turn.T, range_max_m, groups)
        ranges[ranges < 0] = np.inf
        ranges[ranges > range_max_m] = np.inf
        return ranges
