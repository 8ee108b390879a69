"""The command to Gazebo's own drive plugins, in their units and with their signs.

Owns what is known of DiffDrivePlugin and SkidSteerDrivePlugin: both listen on
``~/<model>/vel_cmd`` to a ``Pose`` whose x is the speed and whose yaw is the turn rate.
DiffDrivePlugin turns clockwise for a positive rate, and SkidSteerDrivePlugin turns at twice
the rate it is told and lets the wheels run free after having set their speed once.
"""

import math
from typing import Any, Dict, Optional

from gz_testauto.errors import SimulatorError
from gz_testauto.observation import Twist2D
from gz_testauto.pose import Pose
from gz_testauto.sdf.robot import RobotModel
from gz_testauto.simulators.gazebo.world import pose_message

_YAW_GAIN: Dict[str, float] = {"DiffDrivePlugin": -1.0, "SkidSteerDrivePlugin": 0.5}


class DriveCommand:
    """Turns a twist into the message that makes this robot drive so."""

    def __init__(self, robot: RobotModel) -> None:
        """Raises ``SimulatorError`` when the robot's drive cannot be commanded."""
        plugin = robot.drive.plugin if robot.drive is not None else ""
        self._gain: Optional[float] = next(
            (gain for name, gain in _YAW_GAIN.items() if name in plugin), None
        )
        self._robot = robot.name
        self.repeat = "SkidSteer" in plugin

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
