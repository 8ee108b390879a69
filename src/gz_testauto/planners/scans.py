"""Conversion of laser scans to points in the base frame, with the special values of REP-117, and a
memory of points that are no longer visible.
"""

import functools
import math
from typing import Tuple

import numpy as np

from gz_testauto.base.arithmetic import matrix_product
from gz_testauto.base.compiled import compiled, compiled_for
from gz_testauto.base.observation import LaserScan
from gz_testauto.base.pose import Pose, Pose2D

CELL_M = 0.05
"""Size (m) of the memory's square cells, each of which contains at most one point."""


def obstacle_points(scan: LaserScan) -> np.ndarray:
    """Return the points of a scan in the base frame, in the order of the rays, in meters, shape (n,
    2).

    A ray without a return (``inf``, beyond ``range_max_m`` or NaN) gives no point. A return that is
    too near to measure (``-inf``, or below ``range_min_m``) gives a point at ``range_min_m``.
    """
    beams = _beams(scan.angle_min_rad, scan.angle_max_rad, len(scan.ranges_m), scan.mount)
    ranges_m = np.ascontiguousarray(scan.ranges_m, dtype=float)
    points_m: np.ndarray = _hits(ranges_m, scan.range_min_m, scan.range_max_m, *beams.in_base_frame)
    return points_m


def ray_ends(scan: LaserScan) -> Tuple[np.ndarray, np.ndarray]:
    """Return the end of each ray of a scan in the base frame, in meters, shape (n, 2), and whether
    the ray has a return, shape (n,).

    A ray without a return ends at ``range_max_m``, and a return that is too near to measure at
    ``range_min_m``. Rays whose range is NaN are omitted.
    """
    beams = _beams(scan.angle_min_rad, scan.angle_max_rad, len(scan.ranges_m), scan.mount)
    ranges_m = np.array(scan.ranges_m, dtype=float)
    has_range = ~np.isnan(ranges_m)
    ranges_m = np.clip(ranges_m[has_range], scan.range_min_m, scan.range_max_m)
    ends = np.zeros((len(ranges_m), 3))
    ends[:, 0], ends[:, 1] = ranges_m * beams.cosines[has_range], ranges_m * beams.sines[has_range]
    placed_m = matrix_product(ends, beams.rotation.T) + beams.origin_m
    return placed_m[:, :2], ranges_m < scan.range_max_m


class _Beams:
    """The directions of a scan's rays, and the transforms between lidar and base frame."""

    def __init__(self, angle_min_rad: float, angle_max_rad: float, count: int, mount: Pose) -> None:
        angles_rad = np.linspace(angle_min_rad, angle_max_rad, count)
        self.cosines, self.sines = np.cos(angles_rad), np.sin(angles_rad)
        self.rotation, self.origin_m = mount.rotation, np.asarray(mount.position)
        self.in_base_frame = (self.cosines, self.sines, self.rotation, self.origin_m)
        inverse = mount.inverse()
        self.from_base_frame = (inverse.rotation, np.asarray(inverse.position))


_beams = functools.lru_cache(maxsize=8)(_Beams)


class ScanMemory:
    """A memory of points that left the lidar's field of view.

    They are kept while they are within ``radius_m`` of the base, until they are in the field of
    view again.
    """

    def __init__(self, radius_m: float) -> None:
        self._radius_m = radius_m
        self._world_m = np.empty((0, 2))

    def points(self, scan: LaserScan, pose: Pose2D) -> np.ndarray:
        """Return the points of the scan, then the remembered points, in the base frame, in meters,
        shape (n, 2). ``pose`` is that of the base in the world at the time of the scan."""
        cos, sin = float(np.cos(pose.yaw_rad)), float(np.sin(pose.yaw_rad))
        in_world = (pose.x_m, pose.y_m, cos, sin)
        beams = _beams(scan.angle_min_rad, scan.angle_max_rad, len(scan.ranges_m), scan.mount)
        past = _points_out_of_view(
            self._world_m,
            *in_world,
            scan.mount.position[2],
            scan.angle_min_rad,
            scan.angle_max_rad,
            *beams.from_base_frame,
        )
        points = np.concatenate([obstacle_points(scan), past])
        self._world_m = _remembered_points(points, self._radius_m, *in_world, CELL_M)
        return points


@compiled_for("f8[:, ::1](Array(f8, 1, 'C', True), f8, f8, f8[::1], f8[::1], f8[:, ::1], f8[::1])")
def _hits(  # type: ignore[no-untyped-def]
    ranges_m, range_min_m, range_max_m, cosines, sines, rotation, origin_m
):
    """Return the points of the rays with a return, in the base frame (m), shape (k, 2).

    ``rotation`` (3, 3) and ``origin_m`` (3,) are the pose of the lidar in the base frame.
    """
    points_m = np.empty((len(ranges_m), 2))
    hit_count = 0
    for ray in range(len(ranges_m)):
        if ranges_m[ray] < range_max_m:  # false for NaN
            distance_m = max(ranges_m[ray], range_min_m)
            x_m, y_m = distance_m * cosines[ray], distance_m * sines[ray]
            for axis in range(2):
                point_m = x_m * rotation[axis, 0] + y_m * rotation[axis, 1]
                points_m[hit_count, axis] = point_m + origin_m[axis]
            hit_count += 1
    return points_m[:hit_count]


@compiled_for("f8[:, ::1](f8[:, ::1], f8, f8, f8, f8, f8, f8, f8, f8[:, ::1], f8[::1])")
def _points_out_of_view(  # type: ignore[no-untyped-def]
    world_m, x_m, y_m, cos, sin, z_m, first_rad, last_rad, rotation, origin_m
):
    """Return the points of ``world_m``, shape (n, 2), whose bearings from the lidar are not between
    ``first_rad`` and ``last_rad``, in the base frame (m), shape (k, 2).

    The base has the pose ``x_m``, ``y_m``, ``cos`` and ``sin`` in the world, and the pose
    ``rotation`` (3, 3) and ``origin_m`` (3,) in the frame of the lidar. ``z_m`` is the height of
    the lidar in the base frame.
    """
    points_m = np.empty_like(world_m)
    count = 0
    for point in range(len(world_m)):
        dx_m, dy_m = world_m[point, 0] - x_m, world_m[point, 1] - y_m
        x, y = dx_m * cos + dy_m * sin, dy_m * cos - dx_m * sin
        ahead_m = x * rotation[0, 0] + z_m * rotation[0, 2] + y * rotation[0, 1] + origin_m[0]
        left_m = x * rotation[1, 0] + z_m * rotation[1, 2] + y * rotation[1, 1] + origin_m[1]
        bearing = math.atan2(left_m, ahead_m)
        if bearing < first_rad or bearing > last_rad:
            points_m[count] = (x, y)
            count += 1
    return points_m[:count]


@compiled
def _one_of_each_cell(points_m, cell_m):  # type: ignore[no-untyped-def]
    """Return the first point in each cell, in the order of the cells, shape (n, 2)."""
    cells = np.empty(len(points_m), np.int64)
    for point in range(len(points_m)):
        row = np.int64(math.floor(points_m[point, 0] / cell_m))
        column = np.int64(math.floor(points_m[point, 1] / cell_m))
        cells[point] = (row << 32) + column
    order = np.argsort(cells, kind="mergesort")
    kept_points = np.empty((len(points_m), 2))
    point_count = 0
    for rank in range(len(order)):
        if rank == 0 or cells[order[rank]] != cells[order[rank - 1]]:
            kept_points[point_count] = points_m[order[rank]]
            point_count += 1
    return kept_points[:point_count]


@compiled_for("f8[:, ::1](f8[:, ::1], f8, f8, f8, f8, f8, f8)")
def _remembered_points(  # type: ignore[no-untyped-def]
    points_m, radius_m, x_m, y_m, cos, sin, cell_m
):
    """Return the points nearer than ``radius_m`` to the base, at most one in each cell, in the
    world frame (m). The pose of the base is as for :func:`_points_out_of_view`."""
    world_m = np.empty_like(points_m)
    count = 0
    for x, y in points_m:
        if math.hypot(x, y) < radius_m:
            world_m[count] = (x * cos - y * sin + x_m, x * sin + y * cos + y_m)
            count += 1
    return _one_of_each_cell(world_m[:count], cell_m)
