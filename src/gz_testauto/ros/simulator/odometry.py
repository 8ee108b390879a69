"""Odometry of the simulated robot: its true pose and its velocity in its own frame.

Owns where the odom frame lies and the velocity of a simulator that tells poses only: the last
displacement by the time it took. There is no drift: what a localizer does is not under test.
"""

import math
from typing import Optional, Tuple

from gz_testauto.base.errors import SpecError
from gz_testauto.base.observation import ModelState
from gz_testauto.base.pose import Pose

ORIGINS = ("world", "start")


class Odometry:
    """The motion of one robot in one scene.

    ``origin`` says where the odom frame lies: ``"world"``, as gazebo_ros's diff drive has it
    by default, so that nothing is rounded between the map frame and the robot's; or
    ``"start"``, where the robot stood when the scene began, as a real robot has it.
    """

    def __init__(self, origin: str, start: ModelState) -> None:
        if origin not in ORIGINS:
            raise SpecError(f"odom_origin is {origin!r}; it must be one of {', '.join(ORIGINS)}")
        self.map_to_odom = start.pose if origin == "start" else Pose()
        self._previous: Optional[Tuple[float, ModelState]] = None

    def pose(self, state: ModelState) -> Pose:
        """The robot's pose in the odom frame."""
        if self.map_to_odom == Pose():
            return state.pose
        return self.map_to_odom.inverse() * state.pose

    def advance(self, time_s: float, state: ModelState) -> Tuple[float, float, float]:
        """Take note of the next sample; return v_x, v_y (m/s) and yaw rate (rad/s) in the base
        frame: the simulator's own, or over the interval since the sample before, zero at the
        first."""
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
