"""Messages for Gazebo's drive plugins, in their units and with their signs.

DiffDrivePlugin and SkidSteerDrivePlugin listen on ``~/<model>/vel_cmd`` to a ``Pose``: x is the
speed and yaw the yaw rate. DiffDrivePlugin turns clockwise for a positive rate.
SkidSteerDrivePlugin turns at twice the commanded rate, sets the wheel speed only once per message,
and controls joints with fixed names, independent of its SDF element.
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
"""Factor of the yaw rate in the message."""

_SKID_STEER = "SkidSteerDrivePlugin"
_SKID_STEER_JOINTS = (("left_front", "left_rear"), ("right_front", "right_rear"))


def require_drive(robot: RobotModel) -> None:
    """Raise ``SimulatorError`` for a drive controller that Gazebo's plugin does not support."""
    drive = robot.drive
    if drive is None or _SKID_STEER not in drive.plugin:
        return
    if (drive.left_joints, drive.right_joints) != _SKID_STEER_JOINTS:
        joints = ", ".join((*drive.left_joints, *drive.right_joints))
        raise SimulatorError(
            f"{robot.path}: the drive's joints are {joints}, and Gazebo's {_SKID_STEER} supports "
            "only left_front, left_rear, right_front and right_rear; rename them in the joints and "
            "in the plugin, or use one libDiffDrivePlugin.so for each axle"
        )
    _warn_about_free_wheels(str(robot.path))


@functools.lru_cache(maxsize=None)
def _warn_about_free_wheels(robot: str) -> None:
    LOGGER.warning(
        "%s: Gazebo's %s does not hold the wheel speed between commands, so the robot is slower "
        "than commanded; use one libDiffDrivePlugin.so for each axle instead",
        robot,
        _SKID_STEER,
    )


class DriveCommand:
    """The conversion of velocity commands to messages for the drive plugin of one robot."""

    def __init__(self, robot: RobotModel) -> None:
        """Select the conversion; a robot without a supported plugin has none."""
        plugin = robot.drive.plugin if robot.drive is not None else ""
        self._gain: Optional[float] = next(
            (gain for name, gain in _YAW_GAIN.items() if name in plugin), None
        )
        self._robot = robot.name
        self.repeat = _SKID_STEER in plugin

    @property
    def available(self) -> bool:
        """True if the robot has a drive plugin that accepts commands."""
        return self._gain is not None

    @property
    def limit_radps(self) -> float:
        """Upper limit (rad/s) of yaw rates: the plugins use them as an angle that wraps at pi."""
        return math.inf if self._gain is None else math.pi / abs(self._gain)

    def message(self, twist: Twist2D) -> Any:
        """Return the message for a velocity command. Raises ``SimulatorError`` without a drive
        plugin, and ``ValueError`` for a rate at which the plugin would wrap around."""
        if self._gain is None:
            raise SimulatorError(
                f"robot {self._robot!r} has no supported drive plugin; add one of "
                f"{', '.join(f'lib{name}.so' for name in _YAW_GAIN)} to its SDF"
            )
        if not (math.isfinite(twist.linear_mps) and math.isfinite(twist.angular_radps)):
            raise ValueError(f"a command must be finite, not {twist}")
        if abs(twist.angular_radps) >= self.limit_radps:
            raise ValueError(
                f"a yaw rate of {twist.angular_radps} rad/s cannot be commanded: Gazebo's "
                "drive plugins use it as an angle and wrap it at pi"
            )
        yaw = twist.angular_radps * self._gain
        return pose_message(Pose.from_rpy(twist.linear_mps, 0.0, 0.0, 0.0, 0.0, yaw))
