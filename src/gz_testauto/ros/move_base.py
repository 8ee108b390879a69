"""Client of a ``move_base`` action server, whose waits all have a limit in wall time.

The client of actionlib waits in simulated time, which can stop. It also stamps goals with simulated
time, so that a server recalls a new goal after time has jumped back.
"""

import math
import threading
import time
import uuid
from typing import List, Optional

import rospy
from actionlib_msgs.msg import GoalID, GoalStatus, GoalStatusArray
from geometry_msgs.msg import PoseStamped
from move_base_msgs.msg import (
    MoveBaseActionFeedback,
    MoveBaseActionGoal,
    MoveBaseActionResult,
    RecoveryStatus,
)

from gz_testauto.base import ros_messages
from gz_testauto.base.errors import NavigatorError
from gz_testauto.base.pose import Pose2D
from gz_testauto.planners.interface import PlannerAborted

ENDED = {
    GoalStatus.SUCCEEDED: "succeeded",
    GoalStatus.ABORTED: "aborted",
    GoalStatus.REJECTED: "rejected",
    GoalStatus.RECALLED: "recalled",
    GoalStatus.PREEMPTED: "preempted",
    GoalStatus.LOST: "lost",
}
POLL_S = 0.005
CANCEL_AGAIN_S = 0.1
SEND_AGAIN_S = 2.0
MISSED_STATUSES = 3  # number of messages without a listed goal after which it counts as lost
MAX_RECALLS = 3


class ActionGoals:
    """A connection to a ``move_base`` action server that sends one goal at a time.

    ``acknowledged`` is True if the server has reported a status of the goal. ``status`` is a
    constant of ``GoalStatus``: LOST if no goal was sent or the server no longer lists it. ``text``
    belongs to the final status.
    """

    def __init__(self, action: str) -> None:
        self.action = action
        self._lock = threading.Lock()
        self._message: Optional[MoveBaseActionGoal] = None
        self.status: int = GoalStatus.LOST
        self.acknowledged = False
        self._is_listed = False
        self._missed_count = 0
        self.text = ""
        self._last_stamp_ns = 0
        self._goals = rospy.Publisher(f"{action}/goal", MoveBaseActionGoal, queue_size=10)
        self._cancels = rospy.Publisher(f"{action}/cancel", GoalID, queue_size=10)
        self._subscribers = [
            rospy.Subscriber(f"{action}/status", GoalStatusArray, self._on_status),
            rospy.Subscriber(f"{action}/result", MoveBaseActionResult, self._on_result),
            rospy.Subscriber(f"{action}/feedback", MoveBaseActionFeedback, self._on_feedback),
        ]

    @property
    def connected(self) -> bool:
        """True if a server is connected to all topics except feedback."""
        topics = (self._goals, self._cancels, *self._subscribers[:2])
        return all(topic.get_num_connections() for topic in topics)

    def close(self) -> None:
        for topic in (*self._subscribers, self._goals, self._cancels):
            topic.unregister()

    def send(self, target: PoseStamped) -> None:
        """Send a goal; ``target`` keeps its time stamp."""
        message = MoveBaseActionGoal()
        # The id must have a later time stamp than all previous goals.
        now_ns = max(rospy.get_rostime().to_nsec(), self._last_stamp_ns + 1_000_000)
        self._last_stamp_ns = now_ns
        stamp = rospy.Time(*divmod(now_ns, 1_000_000_000))
        message.header.stamp = message.goal_id.stamp = stamp
        message.goal_id.id = f"gz_testauto-{uuid.uuid4().hex}"
        message.goal.target_pose = target
        with self._lock:
            self._message, self.text = message, ""
            self.status = GoalStatus.PENDING
            self.acknowledged, self._is_listed, self._missed_count = False, False, 0
        self._goals.publish(message)

    def send_again(self) -> None:
        """Send the same goal again; a server ignores duplicates."""
        if self._message is not None:
            self._goals.publish(self._message)

    def cancel(self) -> None:
        if self._message is not None:
            self._cancels.publish(GoalID(rospy.Time(), self._message.goal_id.id))

    def _on_status(self, statuses: GoalStatusArray) -> None:
        with self._lock:
            if self._message is None or self.status in ENDED:
                return
            for status in statuses.status_list:
                if status.goal_id.id == self._message.goal_id.id:
                    self._is_listed, self._missed_count = True, 0
                    self._update(status)
                    return
            # Feedback can overtake status messages sent before it.
            self._missed_count += self._is_listed
            if self._missed_count >= MISSED_STATUSES:
                self.status = GoalStatus.LOST

    def _on_result(self, result: MoveBaseActionResult) -> None:
        with self._lock:
            message = self._message
            if message is not None and result.status.goal_id.id == message.goal_id.id:
                self._update(result.status)

    def _on_feedback(self, feedback: MoveBaseActionFeedback) -> None:
        with self._lock:
            message = self._message
            if message is not None and feedback.status.goal_id.id == message.goal_id.id:
                self.acknowledged = True

    def _update(self, status: GoalStatus) -> None:
        self.acknowledged = True
        if self.status not in ENDED:
            self.status, self.text = status.status, status.text


class MoveBaseClient:
    """A client of one ``move_base`` action server for the goals of trials.

    Call :meth:`begin` first, then :meth:`check_status` repeatedly, with :meth:`send_next` for each
    further goal, and :meth:`end`. The server must acknowledge or cancel a goal within
    ``answer_timeout_s`` of wall time. ``recoveries`` are the recovery behaviors since
    :meth:`begin`.
    """

    def __init__(
        self,
        action: str,
        answer_timeout_s: float,
        frame: str = ros_messages.WORLD_FRAME,
        recovery_topic: Optional[str] = None,
    ) -> None:
        self._goals = ActionGoals(action)
        self._frame = frame
        self._answer_timeout_s = answer_timeout_s
        self._target: Optional[PoseStamped] = None
        self._recall_count = 0
        self._sent_s = self._repeated_s = 0.0
        self.recoveries: List[str] = []
        self._recovery: Optional[rospy.Subscriber] = None
        if recovery_topic is not None:
            self._recovery = rospy.Subscriber(recovery_topic, RecoveryStatus, self._on_recovery)

    @property
    def connected(self) -> bool:
        return self._goals.connected

    @property
    def recovery_count(self) -> float:
        """The number of recovery behaviors, or NaN if no node publishes them."""
        is_published = self._recovery is not None and self._recovery.get_num_connections() > 0
        return float(len(self.recoveries)) if is_published or self.recoveries else math.nan

    @property
    def succeeded(self) -> bool:
        """True if the server reports an arrival. The outcome does not depend on this report."""
        return self._target is not None and self._goals.status == GoalStatus.SUCCEEDED

    def begin(self, goal: Pose2D, stamp: Optional[rospy.Time] = None) -> None:
        """Send the first goal of a trial, or raise ``NavigatorError`` without a connected server.

        ``stamp`` is the simulated time from which the goal is valid, for a server that must not use
        older messages. Without a stamp, tf uses the latest transform.
        """
        self.recoveries = []
        self.send_next(goal, stamp)

    def send_next(self, goal: Pose2D, stamp: Optional[rospy.Time] = None) -> None:
        """Send the next goal, which replaces an active goal. Raises ``NavigatorError`` without a
        connected server."""
        if not self.connected:
            raise NavigatorError(
                f"no action server is connected to {self._goals.action}; start the planner node or "
                "move_base"
            )
        header = ros_messages.header(stamp or rospy.Time(), self._frame)
        self._target = PoseStamped(header, ros_messages.pose_message(goal.to_pose()))
        self._recall_count = 0
        self._send(self._target)

    def check_status(self) -> None:
        """Send the goal again if the server recalled it or has not acknowledged it.

        Raises ``PlannerAborted`` if the server aborted the goal, and ``NavigatorError`` if the goal
        ended otherwise without success, or was not acknowledged in time.
        """
        if self._target is None:
            return
        status, text = self._goals.status, self._goals.text
        if status == GoalStatus.ABORTED:
            raise PlannerAborted(text or "move_base aborted")
        if status == GoalStatus.RECALLED and self._recall_count < MAX_RECALLS:
            self._recall_count += 1
            self._send(self._target)
        elif status in ENDED and status != GoalStatus.SUCCEEDED:
            raise NavigatorError(_unexpected_end_text(self._goals.action, status, text))
        elif not self._goals.acknowledged:
            self._repeat_or_fail()

    def end(self) -> None:
        """Cancel an active goal, and wait until the server confirms. Idempotent.

        Raises ``NavigatorError`` without a confirmation in time.
        """
        target, self._target = self._target, None
        if target is None:
            return
        began_s = time.monotonic()
        cancelled_s = -math.inf
        while self._goals.status not in ENDED:
            now_s = time.monotonic()
            if now_s - began_s > self._answer_timeout_s:
                raise NavigatorError(
                    f"{self._goals.action} did not cancel the goal in {self._answer_timeout_s:g} s"
                )
            if now_s - cancelled_s >= CANCEL_AGAIN_S:
                cancelled_s = now_s
                self._goals.cancel()
            time.sleep(POLL_S)

    def close(self) -> None:
        self._goals.close()
        if self._recovery is not None:
            self._recovery.unregister()

    def _send(self, target: PoseStamped) -> None:
        self._sent_s = self._repeated_s = time.monotonic()
        self._goals.send(target)

    def _repeat_or_fail(self) -> None:
        now_s = time.monotonic()
        if now_s - self._sent_s > self._answer_timeout_s:
            raise NavigatorError(
                f"{self._goals.action} did not acknowledge the goal in {self._answer_timeout_s:g} s"
            )
        if now_s - self._repeated_s > SEND_AGAIN_S:
            self._repeated_s = now_s
            self._goals.send_again()

    def _on_recovery(self, message: RecoveryStatus) -> None:
        self.recoveries.append(message.recovery_behavior_name)


def _unexpected_end_text(action: str, status: int, text: str) -> str:
    cause = {
        GoalStatus.LOST: "it restarted or lost the goal",
        GoalStatus.PREEMPTED: "another node sent or cancelled a goal",
        GoalStatus.RECALLED: "another node sent a goal, or the server's clock is ahead",
        GoalStatus.REJECTED: "it does not accept this goal",
    }[status]
    report_text = f"; it reported: {text}" if text else ""
    return f"{action} ended the goal as {ENDED[status]} without a request ({cause}){report_text}"
