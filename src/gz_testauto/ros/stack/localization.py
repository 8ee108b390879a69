"""The localization of a stack: initial pose, clearing of costmaps, comparison with ground truth."""

import math
import time
from typing import Callable, List, Optional, Tuple

import numpy as np
import rosgraph
import rospy
import tf2_ros
import yaml
from geometry_msgs.msg import PoseWithCovarianceStamped
from std_srvs.srv import Empty

from gz_testauto.base import ros_messages
from gz_testauto.base.errors import ConfigurationError, NavigatorError
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.base.truncation import join_truncated
from gz_testauto.ros.stack.requirements import Requirement, RequirementTimeout
from gz_testauto.spec.stack import StackSpec

POLL_S = 0.05
REPEAT_S = 2.0
SPREAD_M, SPREAD_RAD = 0.1, 0.1  # standard deviations of the initial pose, which is the true pose
YAW_WITHIN_RAD = 0.35

UNKNOWN_POSE = (math.nan,) * 3
TF_DELAY_S = 0.5  # simulated time after which the transforms of a time are expected to be complete


class Localization:
    def __init__(self, stack: StackSpec) -> None:
        self._stack = stack
        self._initial = rospy.Publisher(
            stack.names.initial_pose, PoseWithCovarianceStamped, queue_size=1
        )
        self._clear = rospy.ServiceProxy(stack.names.clear_costmaps, Empty)
        self._buffer = tf2_ros.Buffer(rospy.Duration(30.0))
        self._listener = tf2_ros.TransformListener(self._buffer)

    def forget(self) -> None:
        self._buffer.clear()

    def establish(
        self, truth: Callable[[], Pose2D], timeout_s: float, meanwhile: Callable[[], None]
    ) -> None:
        """Publish the initial pose, and wait until the pose in tf agrees with the true pose, which
        ``truth`` returns. Call ``meanwhile`` repeatedly. Without a limit of the localization error
        in the campaign, do not wait.

        Raises ``NavigatorError`` after ``timeout_s`` of wall time, or ``ConfigurationError`` if a
        frame of the campaign does not exist.
        """
        within_m = self._stack.max_localization_error_m
        requirement = Requirement(
            lambda: False, "", "", name=self._stack.frames.base, existing=self._known_frames
        )
        limit = RequirementTimeout(requirement, timeout_s)
        published_s = -math.inf
        while True:
            if self._initial.get_num_connections() and time.monotonic() - published_s > REPEAT_S:
                self._initial.publish(self._initial_pose_message(truth()))
                published_s = time.monotonic()
            if within_m is None:
                return
            estimated_pose = self.estimated_pose()
            true_pose = truth()
            if estimated_pose is not None:
                away_m = estimated_pose.distance_to(true_pose.x_m, true_pose.y_m)
                turn_rad = abs(
                    math.remainder(estimated_pose.yaw_rad - true_pose.yaw_rad, 2 * math.pi)
                )
                if away_m <= within_m and turn_rad <= YAW_WITHIN_RAD:
                    return
            if limit.has_expired(cannot_start=False):
                kind = ConfigurationError if self.wrong_frames() else NavigatorError
                raise kind(self._localization_error_text(estimated_pose, true_pose, limit.waited_s))
            meanwhile()
            time.sleep(POLL_S)

    @property
    def has_localizer(self) -> bool:
        """True if a node receives the initial pose, such as amcl."""
        return bool(self._initial.get_num_connections())

    def clear_costmaps(self) -> bool:
        """Clear the costmaps, or return False without a service that clears them. Raises
        ``NavigatorError`` if the service fails."""
        # They contain obstacles of the last trial, and marks from a wrong localization.
        name = self._clear.resolved_name
        try:
            rosgraph.Master(rospy.get_name()).lookupService(name)
        except rosgraph.MasterError:
            return False
        try:
            rospy.wait_for_service(name, timeout=self._stack.start_timeout_s)
            self._clear()
            return True
        except (rospy.ROSException, rospy.ServiceException) as error:
            raise NavigatorError(f"{name} failed: {error}") from error

    def pose_of(self, frame: str, reference: str, time_s: float = 0.0) -> Optional[Pose]:
        """Return the pose of ``frame`` in ``reference`` at a simulated time, by default the latest
        pose, or None if tf has no transform."""
        try:
            transform = self._buffer.lookup_transform(
                reference.lstrip("/"), frame.lstrip("/"), rospy.Time.from_sec(time_s)
            )
        except tf2_ros.TransformException:
            return None
        return ros_messages.pose_of_transform(transform.transform)

    def estimated_pose(self, time_s: float = 0.0) -> Optional[Pose2D]:
        pose = self.pose_of(self._stack.frames.base, self._stack.frames.map, time_s)
        return None if pose is None else pose.planar

    def wrong_frames(self) -> str:
        """Return a message about frames of the campaign that do not exist in tf, or ""."""
        existing, frames = self._known_frames(), self._stack.frames
        wrong_names = [
            f"stack.frames.{key} is {name!r}"
            for key, name in (("base", frames.base), ("map", frames.map))
            if name.lstrip("/") not in existing
        ]
        if not wrong_names or not existing:
            return ""
        frame_list = join_truncated(existing)
        return f"{' and '.join(wrong_names)}, but the frames in tf are: {frame_list}"

    def _known_frames(self) -> List[str]:
        frames = yaml.safe_load(self._buffer.all_frames_as_yaml()) or {}
        return sorted({*frames, *(str(frame["parent"]) for frame in frames.values())})

    def _localization_error_text(
        self, estimated_pose: Optional[Pose2D], true_pose: Pose2D, waited_s: float
    ) -> str:
        frames = self._stack.frames
        if estimated_pose is None:
            return (
                f"tf has no transform from {frames.base!r} to {frames.map!r} after "
                f"{waited_s:.0f} s; frames in tf: "
                f"{join_truncated(self._known_frames()) or 'none'}; is a "
                "localizer running, and are stack.frames.map and stack.frames.base its frames?"
            )
        return (
            f"tf has the robot at ({estimated_pose.x_m:.2f}, {estimated_pose.y_m:.2f}, "
            f"{estimated_pose.yaw_rad:.2f} rad) after {waited_s:.0f} s; its true pose is "
            f"({true_pose.x_m:.2f}, {true_pose.y_m:.2f}, {true_pose.yaw_rad:.2f} rad), more than "
            f"stack.max_localization_error_m = {self._stack.max_localization_error_m:g} m or "
            f"{YAW_WITHIN_RAD:g} rad away"
        )

    def _initial_pose_message(self, pose: Pose2D) -> PoseWithCovarianceStamped:
        message = PoseWithCovarianceStamped()
        message.header.frame_id = self._stack.frames.map
        message.pose.pose = ros_messages.pose_message(pose.to_pose())
        message.pose.covariance[0] = message.pose.covariance[7] = SPREAD_M**2
        message.pose.covariance[35] = SPREAD_RAD**2
        return message


class EstimatedPoses:
    """The robot's poses in tf at the times of snapshots, requested :data:`TF_DELAY_S` later."""

    def __init__(self, localization: Localization) -> None:
        self._localization = localization
        self.begin()

    def begin(self) -> None:
        self._waiting_s: List[float] = []
        self._poses: List[Tuple[float, ...]] = []

    def add(self, time_s: float) -> None:
        self._waiting_s.append(time_s)
        while self._waiting_s and self._waiting_s[0] <= time_s - TF_DELAY_S:
            self._request()

    def array(self) -> np.ndarray:
        """Request the remaining poses, and return x, y (m), yaw (rad) of all, shape (n, 3). They
        are NaN if tf lacks the pose."""
        while self._waiting_s:
            self._request()
        return np.array(self._poses, dtype=float).reshape(-1, 3)

    def _request(self) -> None:
        pose = self._localization.estimated_pose(self._waiting_s.pop(0))
        self._poses.append(UNKNOWN_POSE if pose is None else tuple(pose))
