"""The command to Gazebo's own drive plugins, in their units and with their signs.

Owns what is known of DiffDrivePlugin and SkidSteerDrivePlugin: both listen on
``~/<model>/vel_cmd`` to a ``Pose`` whose x is the speed and whose yaw is the turn rate.
DiffDrivePlugin turns clockwise for a positive rate, and SkidSteerDrivePlugin turns at twice
the rate it is told and lets the wheels run free after having set their speed once. The joints that
the latter turns bear names of its own, whatever its element says.
"""

import functools
import logging
import math
from typing import Any, Dict, Optional

from gz_testauto.base.errors import SimulatorError
from gz_testauto.base.observation import Twist2D
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.robot import RobotModel
from gz_testauto.simulators.gazebo.world import pose_message

LOGGER = logging.getLogger(__name__)

_YAW_GAIN: Dict[str, float] = {"DiffDrivePlugin": -1.0, "SkidSteerDrivePlugin": 0.5}
"""What a yaw rate is multiplied by in the message."""

_SKID_STEER = "SkidSteerDrivePlugin"
_SKID_STEER_JOINTS = (("left_front", "left_rear"), ("right_front", "right_rear"))


def require_drive(robot: RobotModel) -> None:
    """Raise ``SimulatorError`` for a drive whose plugin Gazebo would not run."""
    drive = robot.drive
    if drive is None or _SKID_STEER not in drive.plugin:
        return
    if (drive.left_joints, drive.right_joints) != _SKID_STEER_JOINTS:
        joints = ", ".join((*drive.left_joints, *drive.right_joints))
        raise SimulatorError(
            f"{robot.path}: the drive's joints are {joints}, and Gazebo's {_SKID_STEER} turns none "
            "but left_front, left_rear, right_front and right_rear: rename them in the joints and "
            "in the plugin, or use one libDiffDrivePlugin.so for each axle"
        )
    _warn_of_free_wheels(str(robot.path))


@functools.lru_cache(maxsize=None)
def _warn_of_free_wheels(robot: str) -> None:
    LOGGER.warning(
        "%s: Gazebo's %s lets the wheels run free between commands, so the robot goes slower than "
        "it is told; one libDiffDrivePlugin.so for each axle does not",
        robot,
        _SKID_STEER,
    )


class DriveCommand:
    """Turns a twist into the message that makes this robot drive so."""

    def __init__(self, robot: RobotModel) -> None:
        """Raises ``SimulatorError`` when the robot's drive cannot be commanded."""
        plugin = robot.drive.plugin if robot.drive is not None else ""
        self._gain: Optional[float] = next(
            (gain for name, gain in _YAW_GAIN.items() if name in plugin), None
        )
        self._robot = robot.name
        self.repeat = _SKID_STEER in plugin

    @property
    def available(self) -> bool:
        """Whether the robot has a drive that can be commanded."""
        return self._gain is not None

    @property
    def limit_radps(self) -> float:
        """Yaw rates are less than this: the plugins take them as an angle and wrap it at pi."""
        return math.inf if self._gain is None else math.pi / abs(self._gain)

    def message(self, twist: Twist2D) -> Any:
        """The message for a twist. Raises ``SimulatorError`` without a drive, and
        ``ValueError`` for a rate that the plugin would wrap around."""
        if self._gain is None:
            raise SimulatorError(
                f"robot {self._robot!r} has no drive that Gazebo can be told to move: give its "
                f"SDF one of {', '.join(f'lib{name}.so' for name in _YAW_GAIN)}"
            )
        if not (math.isfinite(twist.linear_mps) and math.isfinite(twist.angular_radps)):
            raise ValueError(f"a command must be finite, not {twist}")
        if abs(twist.angular_radps) >= self.limit_radps:
            raise ValueError(
                f"a turn rate of {twist.angular_radps} rad/s cannot be commanded: Gazebo's "
                "drive plugins take it as an angle and wrap it at pi"
            )
        yaw = twist.angular_radps * self._gain
        return pose_message(Pose.from_rpy(twist.linear_mps, 0.0, 0.0, 0.0, 0.0, yaw))
