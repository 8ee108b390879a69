"""Conversion of laser scans to points in the base frame, with the special values of REP-117, and a
memory of points that are no longer visible.
"""

import functools
import math
from typing import Tuple

import numpy as np

from gz_testauto.base.arithmetic import matrix_product
from gz_testauto.base.compiled import compiled_for
from gz_testauto.base.elementary import arctan2
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
    ranges_m = np.array(scan.ranges_m, dtype=float)
    hits = _hits(ranges_m, scan.range_min_m, scan.range_max_m, beams.cosines, beams.sines)
    return (matrix_product(hits, beams.rotation.T) + beams.origin_m)[:, :2]


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
        inverse = mount.inverse()
        self.inverse_rotation, self.inverse_origin_m = (
            inverse.rotation,
            np.asarray(inverse.position),
        )


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
        visible = obstacle_points(scan)
        cos, sin = np.cos(pose.yaw_rad), np.sin(pose.yaw_rad)
        turn = np.array([[cos, -sin], [sin, cos]])
        origin = np.array([pose.x_m, pose.y_m])
        past = matrix_product(self._world_m - origin, turn)
        past = past[self._is_out_of_view(scan, past)]
        points = np.concatenate([visible, past])
        near_points = points[np.hypot(points[:, 0], points[:, 1]) < self._radius_m]
        self._world_m = _one_of_each_cell(matrix_product(near_points, turn.T) + origin, CELL_M)
        return points

    def _is_out_of_view(self, scan: LaserScan, points_m: np.ndarray) -> np.ndarray:
        beams = _beams(scan.angle_min_rad, scan.angle_max_rad, len(scan.ranges_m), scan.mount)
        points_3d_m = np.empty((len(points_m), 3))
        points_3d_m[:, :2], points_3d_m[:, 2] = points_m, scan.mount.position[2]
        points_in_sensor_m = (
            matrix_product(points_3d_m, beams.inverse_rotation.T) + beams.inverse_origin_m
        )
        bearing = arctan2(points_in_sensor_m[:, 1], points_in_sensor_m[:, 0])
        return (bearing < scan.angle_min_rad) | (bearing > scan.angle_max_rad)


@compiled_for("f8[:, ::1](f8[::1], f8, f8, f8[::1], f8[::1])")
def _hits(ranges_m, range_min_m, range_max_m, cosines, sines):  # type: ignore[no-untyped-def]
    """Return the points of the rays with a return, in the frame of the lidar (m), shape (k, 3)."""
    points_m = np.empty((len(ranges_m), 3))
    hit_count = 0
    for ray in range(len(ranges_m)):
        if ranges_m[ray] < range_max_m:  # false for NaN
            distance_m = max(ranges_m[ray], range_min_m)
            points_m[hit_count, 0] = distance_m * cosines[ray]
            points_m[hit_count, 1] = distance_m * sines[ray]
            points_m[hit_count, 2] = 0.0
            hit_count += 1
    return points_m[:hit_count]


@compiled_for("f8[:, ::1](f8[:, ::1], f8)")
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
