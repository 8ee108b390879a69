"""Odometry of the simulated robot: its true pose, and its velocity in its own frame.

Defines the odom frame. For a simulator that reports only poses, the velocity is the last
displacement divided by its duration. There is no drift, since localization is not under test.
"""

import math
from typing import Optional, Tuple

from gz_testauto.base.errors import SpecError
from gz_testauto.base.observation import ModelState
from gz_testauto.base.pose import Pose

ORIGINS = ("world", "start")


class Odometry:
    """The motion of one robot in one scene.

    ``origin`` selects the odom frame: ``"world"``, the default of gazebo_ros's diff drive, which
    needs no rounding between the map frame and the robot's; or ``"start"``, the robot's pose at the
    start of the scene, as on a real robot.
    """

    def __init__(self, origin: str, start: ModelState) -> None:
        if origin not in ORIGINS:
            raise SpecError(f"odom_origin is {origin!r}; it must be one of {', '.join(ORIGINS)}")
        self.map_to_odom = start.pose if origin == "start" else Pose()
        self._previous: Optional[Tuple[float, ModelState]] = None

    def pose(self, state: ModelState) -> Pose:
        """Return the robot's pose in the odom frame."""
        if self.map_to_odom == Pose():
            return state.pose
        return self.map_to_odom.inverse() * state.pose

    def advance(self, time_s: float, state: ModelState) -> Tuple[float, float, float]:
        """Add the next sample; return v_x, v_y (m/s) and yaw rate (rad/s) in the base frame. They
        are the simulator's own, or the mean since the previous sample, and zero at the first."""
        previous, self._previous = self._previous, (time_s, state)
        yaw = state.pose.yaw_rad
        cos, sin = math.cos(yaw), math.sin(yaw)
        if state.linear_mps is not None and state.angular_radps is not None:
            x_mps, y_mps, turn_radps = *state.linear_mps[:2], state.angular_radps[2]
        elif previous is None or time_s <= previous[0]:
            return (0.0, 0.0, 0.0)
        else:
            elapsed_s = time_s - previous[0]
            before = previous[1].pose
            x_mps = (state.pose.position[0] - before.position[0]) / elapsed_s
            y_mps = (state.pose.position[1] - before.position[1]) / elapsed_s
            turn_radps = math.remainder(yaw - before.yaw_rad, 2 * math.pi) / elapsed_s
        return (cos * x_mps + sin * y_mps, -sin * x_mps + cos * y_mps, turn_radps)
