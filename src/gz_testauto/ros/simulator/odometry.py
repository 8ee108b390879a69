"""The odometry that the simulator node publishes: the true pose, or a simulated localization's."""

import math
from typing import List, Optional, Sequence, Tuple

import numpy as np

from gz_testauto.actors.localization import PoseEstimator, as_estimated, compose, inverse
from gz_testauto.base.observation import ModelState, TrackedObject, Twist2D
from gz_testauto.base.pose import Pose


class Odometry:
    """The odometry of one robot in one scene; call :meth:`advance` first for each snapshot.

    ``origin`` is ``"world"``, as by default in gazebo_ros, or ``"start"`` for the robot's first
    pose, as on a real robot. Without ``estimator``, the odometry has no drift.
    """

    def __init__(
        self, origin: str, start: ModelState, estimator: Optional[PoseEstimator] = None
    ) -> None:
        self._origin = start.pose if origin == "start" else Pose()
        self._estimator = estimator
        self._previous_state: Optional[Tuple[float, ModelState]] = None
        self._state = start
        self._twist = (0.0, 0.0, 0.0)

    def place(self, pose: Pose) -> None:
        """Handle a robot that was moved to ``pose`` (world frame), a motion that odometry does not
        measure."""
        if self._previous_state is not None:
            self._previous_state = (self._previous_state[0], ModelState(pose))
        if self._estimator is not None:
            self._estimator.place(pose.planar)

    def advance(self, time_s: float, state: ModelState) -> None:
        self._twist = self._true_twist(time_s, state)
        self._state, self._previous_state = state, (time_s, state)
        if self._estimator is not None:
            twist = Twist2D(self._twist[0], self._twist[2])
            self._estimator.advance(time_s, state.pose.planar, twist)

    @property
    def true_pose(self) -> Pose:
        """The true pose in the map frame."""
        return self._state.pose

    @property
    def true_twist(self) -> Tuple[float, float, float]:
        """The true v_x, v_y (m/s) and yaw rate (rad/s) in the base frame.

        If the simulator reports none, they are means since the previous snapshot, or 0.
        """
        return self._twist

    @property
    def pose(self) -> Pose:
        """The measured pose in the odometry frame."""
        if self._estimator is None:
            return self._state.pose if self._is_world else self._origin.inverse() * self._state.pose
        local_pose = self._estimator.odometry
        if not self._is_world:
            local_pose = compose(inverse(self._origin.planar), local_pose)
        return local_pose.to_pose(self._state.pose.position[2] - self._origin.position[2])

    @property
    def twist(self) -> Tuple[float, float, float]:
        """The measured v_x, v_y (m/s) and yaw rate (rad/s) in the base frame."""
        if self._estimator is None:
            return self._twist
        forward_mps, turn_radps = self._estimator.twist
        return (forward_mps, 0.0, turn_radps)

    @property
    def covariance(self) -> List[float]:
        """The covariance of the pose as in ``nav_msgs/Odometry``: 6 x 6, by rows."""
        if self._estimator is None:
            return [0.0] * 36
        yaw_rad = 0.0 if self._is_world else -self._origin.yaw_rad
        cos, sin = math.cos(yaw_rad), math.sin(yaw_rad)
        turn = np.array([[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]])
        return as_message_covariance(turn @ self._estimator.covariance @ turn.T)

    @property
    def twist_covariance(self) -> List[float]:
        """The covariance of the twist as in ``nav_msgs/Odometry``: 6 x 6, by rows."""
        if self._estimator is None:
            return [0.0] * 36
        return as_message_covariance(self._estimator.twist_covariance)

    @property
    def map_to_odom(self) -> Pose:
        """The pose of the odometry frame in the map frame."""
        estimator = self._estimator
        if estimator is None or estimator.pose == estimator.odometry:
            return self._origin
        corrected_pose = compose(estimator.pose, inverse(estimator.odometry))
        return compose(corrected_pose, self._origin.planar).to_pose(self._origin.position[2])

    def as_estimated(self, objects: Sequence[TrackedObject]) -> Tuple[TrackedObject, ...]:
        """Return tracked objects that are moved with the robot from its true pose to its estimated
        pose. Their positions relative to the robot do not change."""
        if self._estimator is None:
            return tuple(objects)
        return as_estimated(objects, self._state.pose.planar, self._estimator.pose)

    @property
    def _is_world(self) -> bool:
        return self._origin == Pose()

    def _true_twist(self, time_s: float, state: ModelState) -> Tuple[float, float, float]:
        previous_state = self._previous_state
        yaw = state.pose.yaw_rad
        cos, sin = math.cos(yaw), math.sin(yaw)
        if state.linear_mps is not None and state.angular_radps is not None:
            x_mps, y_mps, turn_radps = *state.linear_mps[:2], state.angular_radps[2]
        elif previous_state is None or time_s <= previous_state[0]:
            return (0.0, 0.0, 0.0)
        else:
            elapsed_s = time_s - previous_state[0]
            previous_pose = previous_state[1].pose
            x_mps = (state.pose.position[0] - previous_pose.position[0]) / elapsed_s
            y_mps = (state.pose.position[1] - previous_pose.position[1]) / elapsed_s
            turn_radps = math.remainder(yaw - previous_pose.yaw_rad, 2 * math.pi) / elapsed_s
        # Rotate from the world frame to the base frame.
        return (cos * x_mps + sin * y_mps, -sin * x_mps + cos * y_mps, turn_radps)


def as_message_covariance(covariance: np.ndarray) -> List[float]:
    """Convert a covariance (3, 3) of x, y, yaw to the 36 numbers of a ROS message."""
    matrix = np.zeros((6, 6))
    axes = np.ix_((0, 1, 5), (0, 1, 5))
    matrix[axes] = covariance
    numbers: List[float] = matrix.ravel().tolist()
    return numbers
