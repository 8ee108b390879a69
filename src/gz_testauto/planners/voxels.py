"""A costmap with the obstacles of 3-D sensors, as in the ``VoxelLayer`` of
https://wiki.ros.org/costmap_2d.

A planar lidar does not remove a table whose legs it does not hit.
"""

from typing import Any, Tuple

import numpy as np

from gz_testauto.base.compiled import compiled_for
from gz_testauto.base.observation import SensorReading
from gz_testauto.base.pose import Pose2D
from gz_testauto.planners.costmap import LocalCostmap, shifted

LEVELS = 20  # voxels in a column: at most 32, the number of bits


class VoxelCostmap(LocalCostmap):
    """A costmap with a column of voxels in each cell. ``heights_m`` is the lowest and the highest
    point (m above the base) of the voxels."""

    def __init__(self, *arguments: Any, heights_m: Tuple[float, float]) -> None:
        super().__init__(*arguments)
        self._low_m, high_m = heights_m
        self._height_m = (high_m - self._low_m) / LEVELS
        self._columns = np.zeros((self._cells, self._cells), np.uint32)

    def move_to(self, pose: Pose2D) -> None:
        super().move_to(pose)
        self._clear_footprint(pose, self._columns)

    def _shift_origin(self, rows: int, columns: int) -> None:
        super()._shift_origin(rows, columns)
        self._columns = shifted(self._columns, rows, columns)

    def add_reading(self, reading: SensorReading, pose: Pose2D) -> None:
        """Clear the voxels along each ray, then mark those in which rays end at an obstacle.
        ``pose`` is that of the base at the time of the reading. Ranges that are NaN are ignored,
        and so is a contact sensor."""
        sensor = reading.sensor
        if sensor.kind == "contact":
            return
        ranges = reading.ranges_m.ravel()
        hits = np.isfinite(ranges)
        directions = np.array([[1.0, 0.0, 0.0]]) if sensor.kind == "range" else sensor.directions
        points_m = directions * np.where(hits, ranges, sensor.range_max_m)[:, None]
        has_range = ~np.isnan(ranges)
        points_m, hits = points_m[has_range], hits[has_range]
        ends = sensor.mount.apply(points_m)
        line_points_m = np.concatenate([np.array([sensor.mount.position]), ends])
        line_points_m[:, :2] = pose.apply(line_points_m[:, :2])
        line_voxels = np.empty_like(line_points_m)
        line_voxels[:, :2] = line_points_m[:, :2] / self.resolution - np.array(self._corner)
        line_voxels[:, 2] = (line_points_m[:, 2] - self._low_m) / self._height_m
        _trace_voxels(self._columns, line_voxels, hits, LEVELS)

    def _occupied_cells(self) -> np.ndarray:
        return np.maximum(self._marked, (self._columns != 0).astype(np.uint8))


@compiled_for("void(u4[:, ::1], f8[:, ::1], b1[::1], i8)")
def _trace_voxels(columns, points, hits, levels):  # type: ignore[no-untyped-def]
    """Clear the voxels on the lines from the first of ``points`` to each other point, without the
    last voxel. Then mark the last voxels of the lines for which ``hits`` is true. The points are in
    units of voxels."""
    height, width = columns.shape
    first_bit = np.uint32(1)
    for ray in range(len(hits)):
        offset = points[ray + 1] - points[0]
        steps = np.int64(np.ceil(np.max(np.abs(offset))))
        end_x, end_y = np.floor(points[ray + 1, 0]), np.floor(points[ray + 1, 1])
        end_z = np.floor(points[ray + 1, 2])
        for step in range(steps):
            share = step / steps
            x = np.floor(points[0, 0] + share * offset[0])
            y = np.floor(points[0, 1] + share * offset[1])
            z = np.floor(points[0, 2] + share * offset[2])
            if not (0 <= x < width and 0 <= y < height):
                break
            if 0 <= z < levels and not (x == end_x and y == end_y and z == end_z):
                columns[np.int64(y), np.int64(x)] &= ~(first_bit << np.uint32(z))
    for ray in range(len(hits)):
        x, y = np.floor(points[ray + 1, 0]), np.floor(points[ray + 1, 1])
        z = np.floor(points[ray + 1, 2])
        if hits[ray] and 0 <= x < width and 0 <= y < height and 0 <= z < levels:
            columns[np.int64(y), np.int64(x)] |= first_bit << np.uint32(z)
