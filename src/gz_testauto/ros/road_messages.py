"""Lossless conversion between lanes or tracked objects and their messages."""

from typing import Iterable, List, Sequence, Tuple

import numpy as np
from genpy import Time
from geometry_msgs.msg import Pose2D as Pose2DMessage

from gz_testauto.base.observation import TrackedObject
from gz_testauto.base.pose import Pose2D
from gz_testauto.base.ros_messages import WORLD_FRAME
from gz_testauto.msg import Lane as LaneMessage
from gz_testauto.msg import Road
from gz_testauto.msg import TrackedObject as TrackedObjectMessage
from gz_testauto.planners.interface import Lane


def object_messages(objects: Iterable[TrackedObject]) -> List[TrackedObjectMessage]:
    """Return tracked objects as messages."""
    return [
        TrackedObjectMessage(
            name=one.name,
            pose=Pose2DMessage(*one.pose),
            velocity=Pose2DMessage(*one.velocity),
            age=one.age_s,
            outline=one.outline_m.ravel().tolist(),
            path=one.path.ravel().tolist(),
            path_step=one.path_step_s,
        )
        for one in objects
    ]


def objects_of(messages: Iterable[TrackedObjectMessage]) -> Tuple[TrackedObject, ...]:
    """Return the tracked objects in messages."""
    return tuple(
        TrackedObject(
            name=one.name,
            pose=Pose2D(one.pose.x, one.pose.y, one.pose.theta),
            velocity=(one.velocity.x, one.velocity.y, one.velocity.theta),
            outline_m=np.array(one.outline).reshape(-1, 2),
            path=np.array(one.path).reshape(-1, 3),
            path_step_s=one.path_step,
            age_s=one.age,
        )
        for one in messages
    )


def lane_messages(lanes: Iterable[Lane]) -> List[LaneMessage]:
    """Return lanes as messages."""
    return [
        LaneMessage(center=lane.center_m.ravel().tolist(), width=lane.width_m.tolist())
        for lane in lanes
    ]


def road_message(lanes: Iterable[Lane], stamp: Time, frame: str = WORLD_FRAME) -> Road:
    """Return the lanes for the goal of ``stamp``."""
    message = Road(lanes=lane_messages(lanes))
    message.header.stamp, message.header.frame_id = stamp, frame
    return message


def lanes_of_messages(messages: Sequence[LaneMessage]) -> Tuple[Lane, ...]:
    """Return the lanes in messages."""
    return tuple(Lane(np.array(one.center).reshape(-1, 2), np.array(one.width)) for one in messages)
