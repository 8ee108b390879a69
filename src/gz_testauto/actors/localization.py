"""The interface of simulated localization: an estimate of a robot's pose from its true pose."""

import abc
import math
from dataclasses import replace
from typing import NamedTuple, Optional, Sequence, Tuple

import numpy as np

from gz_testauto.base.observation import TrackedObject, Twist2D
from gz_testauto.base.pose import Pose2D, wrap_angle
from gz_testauto.spec.worlds import RandomNumbers


class EstimatorInputs(NamedTuple):
    """The input for the creation of a :class:`PoseEstimator`. ``scale`` is the factor of all
    errors. ``wheel_separation_m`` is None for a robot without a drive controller."""

    random_numbers: RandomNumbers
    robot: str
    scale: float = 1.0
    wheel_separation_m: Optional[float] = None
    has_imu: bool = False


class PoseEstimator(abc.ABC):
    """The simulated localization of one robot in one trial.

    Call :meth:`advance` for each snapshot of the trial, in order of simulated time. The odometry is
    in the map frame: it starts at the true pose, and is never corrected. All values depend only on
    the random numbers of the trial and on the arguments of the methods.
    """

    @abc.abstractmethod
    def advance(self, time_s: float, pose: Pose2D, twist: Twist2D) -> None:
        """Add the true pose in the world frame and the true twist in the base frame at the
        simulated time ``time_s``. The first call defines the start."""

    @abc.abstractmethod
    def place(self, pose: Pose2D) -> None:
        """Set the true pose in the world frame to which the robot was moved since the latest call
        of :meth:`advance`. The odometry does not measure this, since the wheels did not turn."""

    @property
    @abc.abstractmethod
    def pose(self) -> Pose2D:
        """The estimated pose in the map frame."""

    @property
    @abc.abstractmethod
    def odometry(self) -> Pose2D:
        """The pose of the odometry in the map frame."""

    @property
    @abc.abstractmethod
    def twist(self) -> Twist2D:
        """The twist that the odometry measures."""

    @property
    @abc.abstractmethod
    def covariance(self) -> np.ndarray:
        """The covariance, shape (3, 3), of the random errors of the odometry's x, y (m) and yaw
        (rad), in the map frame."""

    @property
    @abc.abstractmethod
    def twist_covariance(self) -> np.ndarray:
        """The covariance, shape (3, 3), of the random errors of v_x, v_y (m/s) and the yaw rate
        (rad/s) over the latest period."""


def compose(first: Pose2D, second: Pose2D) -> Pose2D:
    """Transform the pose ``second`` from the frame ``first`` to the parent frame of ``first``."""
    cos, sin = math.cos(first.yaw_rad), math.sin(first.yaw_rad)
    return Pose2D(
        first.x_m + cos * second.x_m - sin * second.y_m,
        first.y_m + sin * second.x_m + cos * second.y_m,
        wrap_angle(first.yaw_rad + second.yaw_rad),
    )


def inverse(pose: Pose2D) -> Pose2D:
    """Return the pose of the parent frame in the frame ``pose``."""
    cos, sin = math.cos(pose.yaw_rad), math.sin(pose.yaw_rad)
    return Pose2D(-cos * pose.x_m - sin * pose.y_m, sin * pose.x_m - cos * pose.y_m, -pose.yaw_rad)


def as_estimated(
    objects: Sequence[TrackedObject], true_pose: Pose2D, estimated_pose: Pose2D
) -> Tuple[TrackedObject, ...]:
    """Return tracked objects as a robot reports them that measures exactly from ``true_pose``, but
    converts to the map frame with ``estimated_pose``."""
    shift = compose(estimated_pose, inverse(true_pose))
    cos, sin = math.cos(shift.yaw_rad), math.sin(shift.yaw_rad)
    moved_objects = []
    for tracked_object in objects:
        x_mps, y_mps, turn_radps = tracked_object.velocity
        path = np.column_stack(
            [shift.apply(tracked_object.path[:, :2]), tracked_object.path[:, 2] + shift.yaw_rad]
        )
        velocity = (cos * x_mps - sin * y_mps, sin * x_mps + cos * y_mps, turn_radps)
        moved_objects.append(
            replace(
                tracked_object,
                pose=compose(shift, tracked_object.pose),
                velocity=velocity,
                path=path,
            )
        )
    return tuple(moved_objects)
