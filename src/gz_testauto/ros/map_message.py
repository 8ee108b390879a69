"""The static map: conversion between ``nav_msgs/OccupancyGrid`` and this package's grid.

Defines the thresholds. A grid stays the same after both conversions: the message has 32 bits for
the resolution, which is read as the shortest decimal number with those bits, 0.1 and not
0.10000000149.
"""

import math

import numpy as np
from genpy import Time
from nav_msgs.msg import OccupancyGrid as OccupancyGridMessage

from gz_testauto.base.errors import SpecError
from gz_testauto.base.ros_messages import WORLD_FRAME, from_float32, pose_of
from gz_testauto.grid.occupancy import OccupancyGrid

OCCUPIED_FROM = 65
"""Per cent from which a cell counts as occupied, as in map_server and costmap_2d."""


def grid_message(grid: OccupancyGrid, stamp: Time) -> OccupancyGridMessage:
    """Return a map without unknown cells: 0 is free, 100 occupied."""
    message = OccupancyGridMessage()
    message.header.stamp, message.header.frame_id = stamp, WORLD_FRAME
    message.info.map_load_time = stamp
    message.info.resolution = grid.resolution_m
    message.info.height, message.info.width = grid.occupied.shape
    message.info.origin.position.x = grid.origin_x_m
    message.info.origin.position.y = grid.origin_y_m
    message.info.origin.orientation.w = 1.0
    message.data = np.where(grid.occupied, 100, 0).astype(np.int8).ravel().tolist()
    return message


def grid_of(message: OccupancyGridMessage) -> OccupancyGrid:
    """Return the grid in a message. Unknown cells count as free, since a static map lists known
    obstacles. Raises ``SpecError`` for a rotated map."""
    info = message.info
    origin = pose_of(info.origin)
    if not math.isclose(origin.yaw_rad, 0.0, abs_tol=1e-6):
        raise SpecError(f"the map's origin has yaw {origin.yaw_rad} rad; only 0 is supported")
    cells = np.asarray(message.data, dtype=np.int8).reshape(info.height, info.width)
    return OccupancyGrid(
        occupied=cells >= OCCUPIED_FROM,
        resolution_m=from_float32(info.resolution),
        origin_x_m=origin.position[0],
        origin_y_m=origin.position[1],
    )
