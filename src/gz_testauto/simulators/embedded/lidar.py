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

ROUNDING_M = 1e-6  # upper bound of the rounding errors of ranges

GROUP_M = 4.0  # side length of the cubes that divide the geoms of static models into groups

# motion of the sensor along an axis after which the groups within its range are selected again
SELECT_M = 1.0


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
        geoms = np.flatnonzero(np.isin(model.geom_group, (Role.BOTH, Role.LIDAR)))
        self._kinds = np.asarray(model.geom_type)
        self._groups = _GeomGroups(model, data, geoms)
        self._selected_groups = np.empty(0, np.int64)
        self._selected_at_m = np.full(3, np.inf)
        self.is_fast = fast and bool(np.isin(self._kinds[geoms], SIMPLE).all())

    def ranges_m(self) -> np.ndarray:
        """Return the distances (m) along all rays, shape (samples,).

        As in Gazebo, a ray starts at the minimum range. Distances beyond the maximum range are
        infinite. MuJoCo's positions must be up to date.
        """
        body = self._data.xmat[self._body].reshape(3, 3)
        origin = self._data.xpos[self._body] + matrix_product(body, self._position)
        turn = matrix_product(body, self._turn)
        return (
            self._cast_compiled(origin, turn)
            if self.is_fast
            else self._cast_by_mujoco(origin, turn)
        )

    def _cast_compiled(self, origin: np.ndarray, rotation: np.ndarray) -> np.ndarray:
        ranges = np.empty(self._description.samples)
        groups = self._groups
        if not np.abs(origin - self._selected_at_m).max() < SELECT_M:
            within_m = self._description.range_max_m + 2 * SELECT_M
            self._selected_groups = groups.nearest_first(origin, within_m)
            self._selected_at_m = origin
        cast(
            self._selected_groups,
            groups.centers_m,
            groups.radii_m,
            groups.starts,
            groups.geoms,
            self._kinds,
            self._model.geom_size,
            self._model.geom_rbound,
            self._data.geom_xpos,
            self._data.geom_xmat,
            origin,
            rotation,
            self._description.angle_min_rad,
            self._spacing,
            self._cosines,
            self._sines,
            *self._description.range_m,
            ranges,
        )
        return ranges

    def _cast_by_mujoco(self, origin: np.ndarray, rotation: np.ndarray) -> np.ndarray:
        rays, range_m = matrix_product(self._directions, rotation.T), self._description.range_m
        return cast_scan(self._model, self._data, origin, rays, range_m, LIDAR_GROUPS)[0]


class _GeomGroups:
    """Groups of neighboring geoms, each within a ball.

    Group i contains ``geoms[starts[i] : starts[i + 1]]``. The radius of the first group, with the
    planes and the geoms that can move, is infinite.
    """

    def __init__(self, model: Any, data: Any, geoms: np.ndarray) -> None:
        positions_m = data.geom_xpos[geoms]
        is_fixed = (model.geom_bodyid[geoms] == 0) & (model.geom_type[geoms] != PLANE)
        cubes = np.floor(positions_m[is_fixed] / GROUP_M)
        group = np.zeros(len(geoms), np.int64)
        group[is_fixed] = 1 + np.unique(cubes, axis=0, return_inverse=True)[1].ravel()
        order = np.argsort(group, kind="stable")
        self.geoms, group, positions_m = geoms[order], group[order], positions_m[order]
        self.starts = np.searchsorted(group, np.arange(group.max(initial=0) + 2))
        counts = np.maximum(np.diff(self.starts), 1)
        self.centers_m = np.zeros((len(counts), 3))
        np.add.at(self.centers_m, group, positions_m / counts[group, None])
        away_m = np.sqrt(np.square(positions_m - self.centers_m[group]).sum(axis=1))
        self.radii_m = np.zeros(len(counts))
        np.maximum.at(self.radii_m, group, away_m + model.geom_rbound[self.geoms])
        self.radii_m[0] = np.inf

    def nearest_first(self, origin_m: np.ndarray, within_m: float) -> np.ndarray:
        """Return the indices of the groups within ``within_m`` of ``origin_m``, nearest first."""
        away_m = np.sqrt(np.square(self.centers_m - origin_m).sum(axis=1)) - self.radii_m
        # Nearer geoms hide others. The order has no effect on the ranges.
        order = np.argsort(away_m, kind="stable")
        return order[away_m[order] <= within_m]


@compiled
def _cut_slab(origin, direction, half, near, far):  # type: ignore[no-untyped-def]
    """Return the part of the interval (near, far) of a ray in a slab; empty if near > far.

    The slab is within ±``half`` of zero along an axis. ``origin`` and ``direction`` of the ray are
    components along this axis.
    """
    if abs(direction) < _PARALLEL:
        return (near, far) if abs(origin) <= half else (1.0, 0.0)
    first, second = (-half - origin) / direction, (half - origin) / direction
    return max(near, min(first, second)), min(far, max(first, second))


@compiled
def _cut_round(a, b, c, near, far):  # type: ignore[no-untyped-def]
    """Return the part of the interval (near, far) of distances t with a t² + 2 b t + c <= 0, empty
    if near > far."""
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
    """Write the half extents (3,) of a geom's bounding box to ``half``."""
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
    for turns in range(-1, 2):
        first, last = _rays_between(bearing, low, high, turns, angle_min, spacing, len(ranges))
        _cast_solid(kind, size, center, axes, first, last, cosines, sines, range_min, ranges)


@compiled
def _rays_between(bearing, low, high, turns, angle_min, spacing, count):  # type: ignore[no-untyped-def]
    """Return the first and the last ray between two angles relative to ``bearing`` (rad).

    The bearing can differ by a full turn from the angle of a ray, so ``turns`` must be -1, 0 and 1.
    """
    if spacing <= 0 or high - low >= 2 * math.pi:
        return 0, (count - 1 if turns == 0 else -1)
    start = bearing + low + turns * 2 * math.pi - angle_min
    first, last = math.floor(start / spacing), math.ceil((start + high - low) / spacing)
    return max(0, first), min(count - 1, last)


@compiled
def _is_hidden(center, radius, angle_min, spacing, ranges):  # type: ignore[no-untyped-def]
    """Return whether no ray can hit a ball before it reaches its present range."""
    away = math.hypot(center[0], center[1])
    if away <= radius:
        return False
    half = math.asin(radius / away)
    nearest = math.sqrt(away * away + center[2] * center[2]) - radius - ROUNDING_M
    bearing = math.atan2(center[1], center[0])
    for turns in range(-1, 2):
        first, last = _rays_between(bearing, -half, half, turns, angle_min, spacing, len(ranges))
        for ray in range(first, last + 1):
            if ranges[ray] > nearest:
                return False
    return True


@compiled
def _turn_to_sensor(turn, rotation, axes):  # type: ignore[no-untyped-def]
    """Write the axes of a geom in the sensor frame into ``axes`` (3, 3)."""
    for row in range(3):
        for k in range(3):
            axes[row, k] = 0.0
            for j in range(3):
                axes[row, k] += turn[j, row] * rotation[3 * j + k]


@compiled
def _is_out_of_sight(  # type: ignore[no-untyped-def]
    position, radius, origin, turn, angle_min, spacing, range_max, ranges, center
):
    """Return whether no ray can hit a ball, and write its position in the sensor frame."""
    for row in range(3):
        center[row] = 0.0
        for k in range(3):
            center[row] += turn[k, row] * (position[k] - origin[k])
    away = math.sqrt(center[0] * center[0] + center[1] * center[1] + center[2] * center[2])
    if away - radius > range_max:
        return True
    return _is_hidden(center, radius, angle_min, spacing, ranges)


@compiled
def cast(  # type: ignore[no-untyped-def]
    groups,
    group_centers,
    group_radii,
    group_starts,
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
    """Fill ``ranges`` (n,) as :meth:`MujocoLidar.ranges_m` states.

    ``groups`` are those to test, as defined by :class:`_GeomGroups`. ``kinds``, ``sizes`` (:, 3),
    ``radii`` (:,) of the balls around geoms, ``positions`` (:, 3) and ``rotations`` (:, 9) have a
    row for each geom, in the world frame. The sensor is at ``origin`` (3,) with the axes ``turn``
    (3, 3). Ray i has the angle ``angle_min + i * spacing`` in the sensor's xy plane; ``cosines``
    and ``sines`` are those of these angles.
    """
    ranges[:] = np.inf
    center, half, axes = np.empty(3), np.empty(3), np.empty((3, 3))
    for group in groups:
        if _is_out_of_sight(
            group_centers[group], group_radii[group], origin, turn,
            angle_min, spacing, range_max, ranges, center,
        ):  # fmt: skip
            continue
        for place in range(group_starts[group], group_starts[group + 1]):
            geom = geoms[place]
            radius = np.inf if kinds[geom] == PLANE else radii[geom]
            if _is_out_of_sight(
                positions[geom], radius, origin, turn,
                angle_min, spacing, range_max, ranges, center,
            ):  # fmt: skip
                continue
            _turn_to_sensor(turn, rotations[geom], axes)
            if kinds[geom] == PLANE:
                _cast_plane(center, axes, cosines, sines, range_min, ranges)
                continue
            _half_extents(kinds[geom], sizes[geom], half)
            rise = 0.0
            for axis in range(3):
                rise += abs(axes[2, axis]) * half[axis]
            if abs(center[2]) <= rise:
                _cast_visible(
                    kinds[geom], sizes[geom], center, axes, half,
                    angle_min, spacing, cosines, sines, range_min, ranges,
                )  # fmt: skip
    for ray in range(len(ranges)):
        if ranges[ray] > range_max:
            ranges[ray] = np.inf
