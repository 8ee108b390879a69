"""Simulation of a robot's lidar in MuJoCo.

Compiled functions cast the rays if a scene consists of boxes, cylinders, spheres, ellipsoids
and planes, and otherwise ``mj_multiRay``; the ranges are identical. Every convex solid is an
intersection of slabs and quadrics, so a ray is inside along a single interval.
"""

import math
from typing import Any

import numpy as np

from gz_testauto.base.arithmetic import matrix_product
from gz_testauto.base.compiled import compiled
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.robot_sensors import LidarDescription
from gz_testauto.simulators.embedded.geoms import Role
from gz_testauto.simulators.mujoco_geoms import cast_scan

# MuJoCo's numbers for the geom types that the compiled functions support.
PLANE, SPHERE, ELLIPSOID, CYLINDER, BOX = SIMPLE = (0, 2, 4, 5, 6)

# The groups of geoms that rays detect, as MuJoCo's functions accept them.
LIDAR_GROUPS = np.isin(np.arange(6), (Role.BOTH, Role.LIDAR)).astype(np.uint8)

_PARALLEL = 1e-15


class MujocoLidar:
    """A lidar on a body of a MuJoCo model.

    ``body`` is MuJoCo's id of the body, and ``mount`` the pose of the lidar on the body. If
    ``fast`` is False, ``mj_multiRay`` casts all rays.
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
        count, angles = description.samples, description.angles_rad
        low, high = description.angle_min_rad, description.angle_max_rad
        self._directions = description.directions
        self._spacing = (high - low) / (count - 1) if count > 1 else 0.0
        self._cosines, self._sines = np.cos(angles), np.sin(angles)
        is_visible = np.isin(model.geom_group, (Role.BOTH, Role.LIDAR))
        self._geoms = np.flatnonzero(is_visible)
        self._kinds = np.asarray(model.geom_type)
        self.is_fast = fast and bool(np.isin(self._kinds[self._geoms], SIMPLE).all())

    def ranges_m(self) -> np.ndarray:
        """Return the distances (m) along all rays, shape (samples,).

        As in Gazebo, a ray starts at the minimum range. Distances beyond the maximum range are
        infinite. MuJoCo's positions must be up to date.
        """
        body = self._data.xmat[self._body].reshape(3, 3)
        origin = self._data.xpos[self._body] + matrix_product(body, self._position)
        turn = matrix_product(body, self._turn)
        return self._cast(origin, turn) if self.is_fast else self._multi_ray(origin, turn)

    def _cast(self, origin: np.ndarray, turn: np.ndarray) -> np.ndarray:
        ranges = np.empty(self._description.samples)
        cast(
            self._geoms,
            self._kinds,
            self._model.geom_size,
            self._model.geom_rbound,
            self._data.geom_xpos,
            self._data.geom_xmat,
            origin,
            turn,
            self._description.angle_min_rad,
            self._spacing,
            self._cosines,
            self._sines,
            *self._description.range_m,
            ranges,
        )
        return ranges

    def _multi_ray(self, origin: np.ndarray, turn: np.ndarray) -> np.ndarray:
        rays, range_m = matrix_product(self._directions, turn.T), self._description.range_m
        return cast_scan(self._model, self._data, origin, rays, range_m, LIDAR_GROUPS)[0]


@compiled
def _cut_slab(origin, direction, half, near, far):  # type: ignore[no-untyped-def]
    """Cut the interval (near, far) of distances along a ray to a slab, within ±``half`` of an axis.

    ``origin`` and ``direction`` are components along that axis. If near > far, it is empty.
    """
    if abs(direction) < _PARALLEL:
        return (near, far) if abs(origin) <= half else (1.0, 0.0)
    first, second = (-half - origin) / direction, (half - origin) / direction
    return max(near, min(first, second)), min(far, max(first, second))


@compiled
def _cut_round(a, b, c, near, far):  # type: ignore[no-untyped-def]
    """Cut the interval (near, far) of distances t to a quadric, a t² + 2 b t + c <= 0.

    If near > far, the result is empty.
    """
    if a < _PARALLEL * _PARALLEL:
        return (near, far) if c <= 0 else (1.0, 0.0)
    discriminant = b * b - a * c
    if discriminant < 0:
        return 1.0, 0.0
    root = math.sqrt(discriminant)
    return max(near, (-b - root) / a), min(far, (-b + root) / a)


@compiled
def _distance(kind, size, o, d, range_min):  # type: ignore[no-untyped-def]
    """Return the distance (m) along a ray to the first surface of a solid, or inf.

    ``kind`` and ``size`` are those of MuJoCo. In the solid's frame, the sensor is at ``o``, and the
    ray has the direction ``d``. It starts at the distance ``range_min``.
    """
    near, far = -np.inf, np.inf
    if kind == BOX:
        for axis in range(3):
            near, far = _cut_slab(o[axis], d[axis], size[axis], near, far)
    elif kind == CYLINDER:
        near, far = _cut_slab(o[2], d[2], size[1], near, far)
        c = o[0] * o[0] + o[1] * o[1] - size[0] * size[0]
        near, far = _cut_round(d[0] * d[0] + d[1] * d[1], o[0] * d[0] + o[1] * d[1], c, near, far)
    else:
        a = b = 0.0
        c = -1.0
        for axis in range(3):
            scale = 1.0 / (size[0] if kind == SPHERE else size[axis])
            a += (d[axis] * scale) ** 2
            b += o[axis] * d[axis] * scale * scale
            c += (o[axis] * scale) ** 2
        near, far = _cut_round(a, b, c, near, far)
    if near > far or far < range_min:
        return np.inf
    return near if near >= range_min else far


@compiled
def _half_extents(kind, size, half):  # type: ignore[no-untyped-def]
    for axis in range(3):
        half[axis] = size[0] if kind == SPHERE else size[axis]
    if kind == CYLINDER:
        half[1], half[2] = size[0], size[1]


@compiled
def _angular_extent(center, axes, half):  # type: ignore[no-untyped-def]
    """Return the bearing of a box's center, and the bearings of its ends relative to it (rad).

    The box has half extents along the columns of ``axes``, all in the sensor frame. The ends are
    -π and π if a corner is a quarter turn or more from the center, as around the sensor.
    """
    bearing = math.atan2(center[1], center[0])
    low = high = 0.0  # tangents
    for corner in range(8):
        x, y = center[0], center[1]
        for axis in range(3):
            extent = half[axis] if corner >> axis & 1 else -half[axis]
            x += axes[0, axis] * extent
            y += axes[1, axis] * extent
        along, across = center[0] * x + center[1] * y, center[0] * y - center[1] * x
        if along <= 0.0:
            return bearing, -math.pi, math.pi
        low, high = min(low, across / along), max(high, across / along)
    return bearing, math.atan(low), math.atan(high)


@compiled
def _cast_solid(  # type: ignore[no-untyped-def]
    kind, size, center, axes, first, last, cosines, sines, range_min, ranges
):
    """Reduce the ranges of the rays ``first`` to ``last`` that hit a solid.

    Its center and ``axes`` (columns) are in the sensor frame; see :func:`cast`.
    """
    o, d = np.empty(3), np.empty(3)
    for axis in range(3):
        o[axis] = -(
            axes[0, axis] * center[0] + axes[1, axis] * center[1] + axes[2, axis] * center[2]
        )
    for ray in range(first, last + 1):
        for axis in range(3):
            d[axis] = axes[0, axis] * cosines[ray] + axes[1, axis] * sines[ray]
        ranges[ray] = min(ranges[ray], _distance(kind, size, o, d, range_min))


@compiled
def _cast_plane(center, axes, cosines, sines, range_min, ranges):  # type: ignore[no-untyped-def]
    """Reduce the ranges of the rays that hit a plane from above; see :func:`_cast_solid`."""
    height = axes[0, 2] * center[0] + axes[1, 2] * center[1] + axes[2, 2] * center[2]
    for ray in range(len(ranges)):
        rise = axes[0, 2] * cosines[ray] + axes[1, 2] * sines[ray]
        if rise < -_PARALLEL and height <= 0 and height / rise >= range_min:
            ranges[ray] = min(ranges[ray], height / rise)


@compiled
def _cast_visible(  # type: ignore[no-untyped-def]
    kind, size, center, axes, half, angle_min, spacing, cosines, sines, range_min, ranges
):
    """Call :func:`_cast_solid` for the rays between the ends of the solid's bounding box."""
    bearing, low, high = _angular_extent(center, axes, half)
    # the bearing can differ by a full turn from the angle of a ray
    for turns in range(-1, 2):
        start = bearing + low + turns * 2 * math.pi - angle_min
        first, last = 0, len(ranges) - 1
        if spacing > 0 and high - low < 2 * math.pi:
            first = max(0, math.floor(start / spacing))
            last = min(last, math.ceil((start + high - low) / spacing))
        elif turns != 0:
            continue
        _cast_solid(kind, size, center, axes, first, last, cosines, sines, range_min, ranges)


@compiled
def _to_sensor_frame(origin, turn, position, rotation, center, axes):  # type: ignore[no-untyped-def]
    """Write the pose of a geom in the sensor frame into ``center`` (3,) and ``axes`` (3, 3)."""
    for row in range(3):
        center[row] = 0.0
        for k in range(3):
            center[row] += turn[k, row] * (position[k] - origin[k])
            axes[row, k] = 0.0
            for j in range(3):
                axes[row, k] += turn[j, row] * rotation[3 * j + k]


@compiled
def cast(  # type: ignore[no-untyped-def]
    geoms,
    kinds,
    sizes,
    radii,
    positions,
    rotations,
    origin,
    turn,
    angle_min,
    spacing,
    cosines,
    sines,
    range_min,
    range_max,
    ranges,
):
    """Fill ``ranges`` (n,) with the distance (m) along each ray to the first surface.

    As in Gazebo, a ray starts at the distance ``range_min``. Distances beyond ``range_max`` are
    infinite. ``geoms`` (k,) are the indices of the geoms to test in ``kinds``, ``sizes`` (:, 3),
    ``radii`` (:,) of the spheres around them, ``positions`` (:, 3) and ``rotations`` (:, 9), in the
    world frame. The sensor is at ``origin``
    (3,) with the axes ``turn`` (3, 3). Ray i has the angle ``angle_min + i * spacing`` in the
    sensor's xy plane; ``cosines`` and ``sines`` are those of these angles.
    """
    ranges[:] = np.inf
    center, half, axes = np.empty(3), np.empty(3), np.empty((3, 3))
    for geom in geoms:
        x, y = positions[geom, 0] - origin[0], positions[geom, 1] - origin[1]
        z, reach = positions[geom, 2] - origin[2], radii[geom] + range_max
        if kinds[geom] != PLANE and x * x + y * y + z * z > reach * reach:
            continue
        _to_sensor_frame(origin, turn, positions[geom], rotations[geom], center, axes)
        if kinds[geom] == PLANE:
            _cast_plane(center, axes, cosines, sines, range_min, ranges)
            continue
        _half_extents(kinds[geom], sizes[geom], half)
        rise = abs(axes[2, 0]) * half[0] + abs(axes[2, 1]) * half[1] + abs(axes[2, 2]) * half[2]
        if abs(center[2]) > rise:
            continue
        _cast_visible(
            kinds[geom],
            sizes[geom],
            center,
            axes,
            half,
            angle_min,
            spacing,
            cosines,
            sines,
            range_min,
            ranges,
        )
    for ray in range(len(ranges)):
        if ranges[ray] > range_max:
            ranges[ray] = np.inf
