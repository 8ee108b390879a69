"""The simulated localization of a trial."""

import math
from typing import Dict, List, Optional, Sequence

import numpy as np

from gz_testauto.actors.localization import EstimatorInputs, PoseEstimator
from gz_testauto.base.observation import Twist2D
from gz_testauto.base.pose import Pose2D
from gz_testauto.randomization.terms import localization_scale
from gz_testauto.sdf.robot import RobotBody, RobotModel
from gz_testauto.spec.localization import LocalizationSpec
from gz_testauto.spec.randomize import RandomizationTermSpec, moves
from gz_testauto.spec.worlds import RandomNumbers
from gz_testauto.trial.termination import TIME_SLACK_S

# Simulated time from the estimated arrival to the outcome ``false_arrival``, in which the true
# position can still reach the goal's tolerance.
ARRIVED_GRACE_S = 1.0


def make_estimator(
    localization: Optional[LocalizationSpec],
    terms: Sequence[RandomizationTermSpec],
    robot: RobotBody,
    numbers: RandomNumbers,
) -> Optional[PoseEstimator]:
    """Return the estimator of the pose that the planner receives, or None for the true pose.

    Terms ``localization_error`` scale the errors of the estimate. Raises ``SpecError`` if the robot
    lacks a part that the estimator requires, such as an IMU.
    """
    if localization is None or localization.estimate == "truth":
        return None
    # Even exact odometry does not measure that a term moves the robot.
    if localization.is_true and not any(moves(term, robot.name) for term in terms):
        return None
    scale = localization.scale * localization_scale(terms, numbers)
    if scale == 0.0:
        return None
    drive = robot.drive if isinstance(robot, RobotModel) else None
    inputs = EstimatorInputs(
        numbers,
        robot.name,
        scale,
        None if drive is None else drive.wheel_separation_m,
        isinstance(robot, RobotModel) and robot.imu is not None,
    )
    estimator: PoseEstimator = localization.estimator(inputs)
    return estimator


class EstimateRecorder:
    """A recorder of the estimated poses of a trial, which also detects the estimated arrival."""

    def __init__(self, estimator: PoseEstimator, tolerance_m: float) -> None:
        self.estimator = estimator
        self._tolerance_m = tolerance_m
        self._poses: List[Pose2D] = []
        self._arrived_s: Optional[float] = None

    def advance(self, time_s: float, pose: Pose2D, twist: Twist2D) -> None:
        self.estimator.advance(time_s, pose, twist)
        self._poses.append(self.estimator.pose)

    @property
    def poses(self) -> np.ndarray:
        """Return x, y (m) and yaw (rad) at each sample, shape (n, 3)."""
        return np.array(self._poses, dtype=float).reshape(-1, 3)

    def has_arrived(self, goal: Pose2D, time_s: float, is_new: bool) -> bool:
        """Return whether the estimated position first reached the goal's tolerance at least
        :data:`ARRIVED_GRACE_S` before ``time_s``, the simulated time of the latest sample.

        ``is_new`` is True at the first sample with this goal.
        """
        if is_new:
            self._arrived_s = None
        pose = self.estimator.pose
        # As in move_base, an arrival is final, even if a correction moves the estimate.
        if self._arrived_s is None and goal.distance_to(*pose[:2]) <= self._tolerance_m:
            self._arrived_s = time_s
        arrived_s = self._arrived_s
        return arrived_s is not None and time_s - arrived_s >= ARRIVED_GRACE_S - TIME_SLACK_S


def localization_errors(poses: np.ndarray, true_poses: np.ndarray) -> Dict[str, float]:
    """Return the mean, largest and last distance (m) between estimated and true positions, by the
    names of the metrics. Poses are x, y (m) and yaw (rad), shape (n, 3).

    Samples without an estimate (NaN) are omitted. Without any estimate, the values are NaN.
    """
    distances_m = np.hypot(*(poses[:, :2] - true_poses[: len(poses), :2]).T)
    known_distances_m = distances_m[np.isfinite(distances_m)]
    values = (
        (known_distances_m.mean(), known_distances_m.max(), known_distances_m[-1])
        if len(known_distances_m)
        else (math.nan,) * 3
    )
    names = ("localization_error_m", "localization_error_max_m", "localization_error_end_m")
    return {name: float(value) for name, value in zip(names, values)}
