"""Read the driven wheels of a robot: joints, speeds for a twist, and torque limits.

The motors are those of the drive plug-ins of Gazebo and gazebo_ros. Side and direction of rotation
of a wheel follow from its position and its axis, so a robot executes velocity commands correctly
for any names of its joints.
"""

import math
from dataclasses import dataclass
from typing import List, Optional, Tuple

import numpy as np

from gz_testauto.base.errors import SdfError
from gz_testauto.sdf.document import Element
from gz_testauto.sdf.engine_model.bodies import EngineModel, walk
from gz_testauto.sdf.robot import RobotModel

_TORQUE_TAGS = {
    "gazebo_ros_diff_drive": ("wheelTorque", 5.0),
    "gazebo_ros_skid_steer_drive": ("torque", 5.0),
    "SkidSteerDrivePlugin": ("max_force", 5.0),
}
"""The tag of the torque limit (N m) of each plug-in, and its default. Gazebo's DiffDrivePlugin
reads a ``<torque>`` but does not use it."""

MIN_SIDEWAYS = 0.7
"""Minimum lateral component of the unit vector of a wheel's axis."""


@dataclass(frozen=True)
class DrivenWheel:
    """A wheel with a motor: its link and its joint, by scoped name.

    Its rate for a twist of v and w is ``per_speed`` · v + ``per_turn`` · w (rad/s). ``torque_nm``
    is the torque limit of its motor, or None without a limit.
    """

    link: str
    joint: str
    per_speed: float
    per_turn: float
    torque_nm: Optional[float]


def read_driven_wheels(
    robot: RobotModel, model: EngineModel, plugins: List[Element]
) -> Tuple[DrivenWheel, ...]:
    """Return the driven wheels of a robot, left ones first, or none without a supported drive.

    ``plugins`` are the elements of its drive, of which the first has the torque limit. Raises
    ``SdfError`` for a joint that does not rotate, or not about a lateral axis.
    """
    drive = robot.drive
    if drive is None:
        return ()
    held = {
        body.joint.name: (body, body.joint)
        for root in model.roots
        for body in walk(root)
        if body.joint is not None
    }
    wheels = []
    for name in (*drive.left_joints, *drive.right_joints):
        body, joint = held[name]
        if joint.kind != "revolute":
            raise SdfError(f"{robot.path}: the drive's joint {name!r} does not turn")
        sideways = float((body.pose.rotation @ np.asarray(joint.axes[0].direction))[1])
        if abs(sideways) < MIN_SIDEWAYS:
            raise SdfError(
                f"{robot.path}: the axis of the drive's joint {name!r} does not point sideways"
            )
        forward = math.copysign(2.0 / drive.wheel_diameter_m, sideways)
        side_m = math.copysign(drive.wheel_separation_m / 2, body.pose.position[1])
        wheels.append(
            DrivenWheel(
                link=body.name,
                joint=f"{model.name}::{name}",
                per_speed=forward,
                per_turn=-forward * side_m,
                torque_nm=_torque_nm(drive.plugin, plugins),
            )
        )
    return tuple(wheels)


def _torque_nm(library: str, plugins: List[Element]) -> Optional[float]:
    for name, (tag, default) in _TORQUE_TAGS.items():
        if name in library:
            text = (plugins[0].findtext(tag) or "").strip() if plugins else ""
            return float(text) if text else default
    return None
