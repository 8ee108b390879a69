"""Makes points in the base frame out of scans.

Owns the meaning of the special values of a range (REP-117), the change from the sensor's frame
to the robot's, and the memory of what has just left the sensor's view. Refuses to guess
obstacles where the sensor saw none.
"""

import numpy as np

from gz_testauto.observation import LaserScan
from gz_testauto.pose import Pose2D

CELL_M = 0.05
"""One point is remembered in each cell of this size, however often it was seen."""


def obstacle_points(scan: LaserScan) -> np.ndarray:
    """What the scan hit, in the base frame: shape (n, 2), metres, in the order of the rays.

    A ray that met nothing (``inf``, beyond ``range_max_m`` or NaN) gives no point. One that met
    something too near to measure (``-inf``, or below ``range_min_m``) gives a point at
    ``range_min_m``: there is something, and no farther away than that.
    """
    ranges = np.asarray(scan.ranges_m, dtype=float)
    hit = ~np.isnan(ranges) & (ranges < scan.range_max_m)
    distance = np.maximum(ranges[hit], scan.range_min_m)
    angle = scan.angles_rad[hit]
    flat = np.zeros((len(distance), 3))
    flat[:, 0] = distance * np.cos(angle)
    flat[:, 1] = distance * np.sin(angle)
    return scan.mount.apply(flat)[:, :2]


class ScanMemory:
    """Remembers what the robot passes, while it is beside or behind the sensor.

    A lidar in front does not see the obstacle that the rear half is just passing. Points that
    leave the field of view are kept while they are within ``radius_m`` of the base, and dropped
    as soon as the sensor looks there again.
    """

    def __init__(self, radius_m: float) -> None:
        self._radius_m = radius_m
        self._world_m = np.empty((0, 2))

    def points(self, scan: LaserScan, pose: Pose2D) -> np.ndarray:
        """Present and remembered points in the base frame, shape (n, 2), the present ones first.

        ``pose`` is the base's in the world, for both the scan and the result.
        """
        seen = obstacle_points(scan)
        cos, sin = np.cos(pose.yaw_rad), np.sin(pose.yaw_rad)
        turn = np.array([[cos, -sin], [sin, cos]])
        origin = np.array([pose.x_m, pose.y_m])
        past = (self._world_m - origin) @ turn
        past = past[self._out_of_view(scan, past)]
        everything = np.concatenate([seen, past])
        near = everything[np.hypot(everything[:, 0], everything[:, 1]) < self._radius_m]
        world = near @ turn.T + origin
        row, column = np.floor(world / CELL_M).astype(np.int64).T
        _, first = np.unique((row << 32) + column, return_index=True)
        self._world_m = world[first]
        return everything

    def _out_of_view(self, scan: LaserScan, points_m: np.ndarray) -> np.ndarray:
        """Which points (base frame) are not between the first and the last ray."""
        lifted = np.column_stack([points_m, np.full(len(points_m), scan.mount.position[2])])
        local = scan.mount.inverse().apply(lifted)
        bearing = np.arctan2(local[:, 1], local[:, 0])
        return (bearing < scan.angle_min_rad) | (bearing > scan.angle_max_rad)
