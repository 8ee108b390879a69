"""Lossless conversion of static map, lanes and tracked objects to and from ROS messages."""

import math
from typing import Iterable, List, Sequence, Tuple

import numpy as np
from genpy import Time
from geometry_msgs.msg import Pose2D as Pose2DMessage
from nav_msgs.msg import OccupancyGrid as OccupancyGridMessage

from gz_testauto.base.errors import SpecError
from gz_testauto.base.observation import TrackedObject
from gz_testauto.base.pose import Pose2D
from gz_testauto.base.ros_messages import WORLD_FRAME, from_float32, header, pose_of
from gz_testauto.grid.occupancy import OccupancyGrid
from gz_testauto.msg import Lane as LaneMessage
from gz_testauto.msg import Road
from gz_testauto.msg import TrackedObject as TrackedObjectMessage
from gz_testauto.planners.interface import Lane

OCCUPIED_FROM = 65  # smallest occupancy (%) of an occupied cell, as in map_server and costmap_2d


def grid_message(grid: OccupancyGrid, stamp: Time) -> OccupancyGridMessage:
    message = OccupancyGridMessage()
    message.header = header(stamp)
    message.info.map_load_time = stamp
    message.info.resolution = grid.resolution_m
    message.info.height, message.info.width = grid.occupied.shape
    message.info.origin.position.x = grid.origin_x_m
    message.info.origin.position.y = grid.origin_y_m
    message.info.origin.orientation.w = 1.0
    message.data = np.where(grid.occupied, 100, 0).astype(np.int8).ravel().tolist()
    return message


def grid_of(message: OccupancyGridMessage) -> OccupancyGrid:
    """Return the occupancy grid of a map message; its unknown cells become free cells.

    Raises ``SpecError`` for a rotated map, and for an invalid size, resolution or origin.
    """
    info = message.info
    if len(message.data) != info.height * info.width or not message.data:
        raise SpecError(
            f"the map has {len(message.data)} cells; it must have width x height = {info.width} x "
            f"{info.height} cells, and at least 1"
        )
    if not (math.isfinite(info.resolution) and info.resolution > 0.0):
        raise SpecError(f"the resolution of the map is {info.resolution} m; it must be above 0")
    origin = pose_of(info.origin)
    if not all(map(math.isfinite, (*origin.position, *origin.quaternion))):
        raise SpecError(f"the origin of the map is {origin}; it must be finite")
    if not math.isclose(origin.yaw_rad, 0.0, abs_tol=1e-6):
        raise SpecError(f"the yaw of the map's origin is {origin.yaw_rad} rad, but must be 0")
    cells = np.asarray(message.data, dtype=np.int8).reshape(info.height, info.width)
    return OccupancyGrid(
        occupied=cells >= OCCUPIED_FROM,
        # the shortest decimal number with this value: 0.1, not 0.10000000149
        resolution_m=from_float32(info.resolution),
        origin_x_m=origin.position[0],
        origin_y_m=origin.position[1],
    )


def object_messages(objects: Iterable[TrackedObject]) -> List[TrackedObjectMessage]:
    return [
        TrackedObjectMessage(
            name=tracked.name,
            pose=Pose2DMessage(*tracked.pose),
            velocity=Pose2DMessage(*tracked.velocity),
            age=tracked.age_s,
            outline=tracked.outline_m.ravel().tolist(),
            path=tracked.path.ravel().tolist(),
            path_step=tracked.path_step_s,
        )
        for tracked in objects
    ]


def objects_of(messages: Iterable[TrackedObjectMessage]) -> Tuple[TrackedObject, ...]:
    return tuple(
        TrackedObject(
            name=message.name,
            pose=Pose2D(message.pose.x, message.pose.y, message.pose.theta),
            velocity=(message.velocity.x, message.velocity.y, message.velocity.theta),
            outline_m=np.array(message.outline).reshape(-1, 2),
            path=np.array(message.path).reshape(-1, 3),
            path_step_s=message.path_step,
            age_s=message.age,
        )
        for message in messages
    )


def road_message(lanes: Iterable[Lane], stamp: Time, frame: str = WORLD_FRAME) -> Road:
    """Return the message with the lanes of a road; ``stamp`` is that of the goal to which the road
    leads, and ``frame`` the frame of the lanes.
    """
    messages = [
        LaneMessage(lane.center_m.ravel().tolist(), lane.width_m.tolist()) for lane in lanes
    ]
    return Road(header(stamp, frame), messages)


def lanes_of_messages(messages: Sequence[LaneMessage]) -> Tuple[Lane, ...]:
    return tuple(
        Lane(np.array(message.center).reshape(-1, 2), np.array(message.width))
        for message in messages
    )
