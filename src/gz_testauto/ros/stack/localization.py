"""Whether the stack knows where the robot is, and telling it.

Owns the initial pose, the clearing of costmaps, and the comparison of what tf says with the
truth. A goal that is sent to a lost robot says nothing about a planner.
"""

import math
import time
from typing import Callable, List, Optional

import rosgraph
import rospy
import tf2_ros
import yaml
from geometry_msgs.msg import PoseWithCovarianceStamped
from std_srvs.srv import Empty

from gz_testauto.base import ros_messages
from gz_testauto.base.errors import NavigatorError
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.base.truncation import join_truncated
from gz_testauto.ros.stack.requirements import Awaited, Patience
from gz_testauto.spec.stack import StackSpec

POLL_S = 0.05
TELL_AGAIN_S = 2.0
SPREAD_M, SPREAD_RAD = 0.1, 0.1
"""Standard deviations of the pose that a localizer is given; the robot stands where it is said
to stand."""
YAW_WITHIN_RAD = 0.35


class Localization:
    """Where the stack believes the robot is, by tf."""

    def __init__(self, stack: StackSpec) -> None:
        self._stack = stack
        self._initial = rospy.Publisher(
            stack.names.initial_pose, PoseWithCovarianceStamped, queue_size=1
        )
        self._clear = rospy.ServiceProxy(stack.names.clear_costmaps, Empty)
        self._buffer = tf2_ros.Buffer(rospy.Duration(30.0))
        self._listener = tf2_ros.TransformListener(self._buffer)

    def forget(self) -> None:
        """Drop what was heard: the robot is about to be put elsewhere."""
        self._buffer.clear()

    def establish(
        self, truth: Callable[[], Pose2D], timeout_s: float, meanwhile: Callable[[], None]
    ) -> None:
        """Tell a localizer, where one listens, where the robot is, and return once tf agrees.
        Raises ``NavigatorError`` that says how far it is off after ``timeout_s`` of wall time."""
        within_m = self._stack.max_localization_error_m
        known = Awaited(lambda: False, "", "", name=self._stack.frames.base, there=self._frames)
        patience = Patience(known, timeout_s)
        told_s = -math.inf
        while True:
            if self._initial.get_num_connections() and time.monotonic() - told_s > TELL_AGAIN_S:
                self._initial.publish(self._message(truth()))
                told_s = time.monotonic()
            if within_m is None:
                return
            believed = self._believed()
            true_pose = truth()
            if believed is not None:
                away_m = believed.distance_to(true_pose.x_m, true_pose.y_m)
                turned = abs(math.remainder(believed.yaw_rad - true_pose.yaw_rad, 2 * math.pi))
                if away_m <= within_m and turned <= YAW_WITHIN_RAD:
                    return
            if patience.is_over(will_not_come=False):
                raise NavigatorError(self._lost(believed, true_pose, patience.waited_s))
            meanwhile()
            time.sleep(POLL_S)

    def clear_costmaps(self) -> None:
        """Have the stack forget the obstacles that it saw, where it offers to: those of the last
        trial, and those that it saw while it believed the robot elsewhere. Raises
        ``NavigatorError`` when it refuses."""
        name = self._clear.resolved_name
        try:
            rosgraph.Master(rospy.get_name()).lookupService(name)
        except rosgraph.MasterError:
            return  # the master knows of no such service
        try:
            rospy.wait_for_service(name, timeout=self._stack.start_timeout_s)
            self._clear()
        except (rospy.ROSException, rospy.ServiceException) as error:
            raise NavigatorError(f"{name} failed: {error}") from error

    def pose_of(self, frame: str, reference: str) -> Optional[Pose]:
        """Where a frame is in another by tf, as it was last heard; None where tf does not say."""
        try:
            found = self._buffer.lookup_transform(
                reference.lstrip("/"), frame.lstrip("/"), rospy.Time()
            )
        except tf2_ros.TransformException:
            return None
        return ros_messages.pose_of_transform(found.transform)

    def _believed(self) -> Optional[Pose2D]:
        pose = self.pose_of(self._stack.frames.base, self._stack.frames.map)
        return None if pose is None else pose.planar

    def _frames(self) -> List[str]:
        """Names of all frames of which tf has heard."""
        heard = yaml.safe_load(self._buffer.all_frames_as_yaml()) or {}
        return sorted({*heard, *(str(frame["parent"]) for frame in heard.values())})

    def _lost(self, believed: Optional[Pose2D], true_pose: Pose2D, waited_s: float) -> str:
        frames = self._stack.frames
        if believed is None:
            return (
                f"tf has no transform from {frames.base!r} to {frames.map!r} after "
                f"{waited_s:.0f} s; frames that it has: "
                f"{join_truncated(self._frames()) or 'none'}; is a "
                "localizer running, and are stack.frames.map and stack.frames.base its frames?"
            )
        return (
            f"tf has the robot at ({believed.x_m:.2f}, {believed.y_m:.2f}, "
            f"{believed.yaw_rad:.2f} rad) after {waited_s:.0f} s; truly it stands at "
            f"({true_pose.x_m:.2f}, {true_pose.y_m:.2f}, {true_pose.yaw_rad:.2f} rad), more than "
            f"stack.max_localization_error_m = {self._stack.max_localization_error_m:g} m or "
            f"{YAW_WITHIN_RAD:g} rad away"
        )

    def _message(self, pose: Pose2D) -> PoseWithCovarianceStamped:
        message = PoseWithCovarianceStamped()
        message.header.frame_id = self._stack.frames.map
        message.pose.pose = ros_messages.pose_message(pose.to_pose())
        message.pose.covariance[0] = message.pose.covariance[7] = SPREAD_M**2
        message.pose.covariance[35] = SPREAD_RAD**2
        return message
