"""The client of a ``move_base`` action: of this package's ``planner`` node, or of the user's stack.

Owns the life of a goal as seen from outside: sent, acknowledged, ended, whatever the clock does
meanwhile. Everything that is waited for is bounded in wall time. actionlib's own client is not
used: it stamps goals with the simulated time, and a server takes a goal for an older one, and
recalls it, when time has jumped back; and it waits in simulated time, which may stand still.
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
from gz_testauto.planners.interface import PlannerGaveUp

ENDED = (
    GoalStatus.SUCCEEDED,
    GoalStatus.ABORTED,
    GoalStatus.REJECTED,
    GoalStatus.RECALLED,
    GoalStatus.PREEMPTED,
    GoalStatus.LOST,
)
NAMES = {
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
MISSED_STATUSES = 3
"""A goal that was listed, and that so many status messages then leave out, is forgotten."""
MAX_RECALLS = 3


class ActionGoals:
    """One goal after the other at a ``move_base`` action. See the module."""

    def __init__(self, action: str) -> None:
        """Connect to ``action``, sooner or later."""
        self.action = action
        self._lock = threading.Lock()
        self._message: Optional[MoveBaseActionGoal] = None
        self._status: int = GoalStatus.LOST
        self._acknowledged = False
        self._listed = False
        self._missed = 0
        self._text = ""
        self._last_stamp_ns = 0
        self._goals = rospy.Publisher(f"{action}/goal", MoveBaseActionGoal, queue_size=10)
        self._cancels = rospy.Publisher(f"{action}/cancel", GoalID, queue_size=10)
        self._subscribers = [
            rospy.Subscriber(f"{action}/status", GoalStatusArray, self._take_status),
            rospy.Subscriber(f"{action}/result", MoveBaseActionResult, self._take_result),
            rospy.Subscriber(f"{action}/feedback", MoveBaseActionFeedback, self._take_feedback),
        ]

    @property
    def connected(self) -> bool:
        """Whether a server hears goals and cancels and would be heard."""
        return bool(
            self._goals.get_num_connections()
            and self._cancels.get_num_connections()
            and self._subscribers[0].get_num_connections()
            and self._subscribers[1].get_num_connections()
        )

    def close(self) -> None:
        """Leave the action's topics."""
        for topic in (*self._subscribers, self._goals, self._cancels):
            topic.unregister()

    def send(self, target: PoseStamped) -> None:
        """Send a goal, stamped later than all before it; its target keeps its own stamp."""
        message = MoveBaseActionGoal()
        now_ns = max(rospy.get_rostime().to_nsec(), self._last_stamp_ns + 1_000_000)
        self._last_stamp_ns = now_ns
        stamp = rospy.Time(*divmod(now_ns, 1_000_000_000))
        message.header.stamp = message.goal_id.stamp = stamp
        message.goal_id.id = f"gz_testauto-{uuid.uuid4().hex}"
        message.goal.target_pose = target
        with self._lock:
            self._message, self._text = message, ""
            self._status = GoalStatus.PENDING
            self._acknowledged, self._listed, self._missed = False, False, 0
        self._goals.publish(message)

    def send_again(self) -> None:
        """Repeat the goal, for a server that may not have heard it; one that has ignores it."""
        with self._lock:
            message = self._message
        if message is not None:
            self._goals.publish(message)

    def cancel(self) -> None:
        """Ask the server to give up the goal, and no other."""
        with self._lock:
            message = self._message
        if message is not None:
            self._cancels.publish(GoalID(rospy.Time(), message.goal_id.id))

    @property
    def acknowledged(self) -> bool:
        """Whether the server has spoken of the goal."""
        return self._acknowledged

    @property
    def status(self) -> int:
        """Of ``actionlib_msgs/GoalStatus``; LOST where the server has forgotten the goal, or
        none was sent."""
        return self._status

    @property
    def text(self) -> str:
        """What the server said of the goal's end."""
        return self._text

    def _take_status(self, statuses: GoalStatusArray) -> None:
        with self._lock:
            if self._message is None or self._status in ENDED:
                return
            for status in statuses.status_list:
                if status.goal_id.id == self._message.goal_id.id:
                    self._listed, self._missed = True, 0
                    self._note(status)
                    return
            self._missed += self._listed  # feedback overtakes statuses of before the goal
            if self._missed >= MISSED_STATUSES:
                self._status = GoalStatus.LOST

    def _take_result(self, result: MoveBaseActionResult) -> None:
        with self._lock:
            message = self._message
            if message is not None and result.status.goal_id.id == message.goal_id.id:
                self._note(result.status)

    def _take_feedback(self, feedback: MoveBaseActionFeedback) -> None:
        with self._lock:
            message = self._message
            if message is not None and feedback.status.goal_id.id == message.goal_id.id:
                self._acknowledged = True

    def _note(self, status: GoalStatus) -> None:
        self._acknowledged = True
        if self._status not in ENDED:
            self._status, self._text = status.status, status.text


class MoveBaseClient:
    """Gives goals to one action server and follows what becomes of them.

    Call order, once per trial: :meth:`begin`; :meth:`look` as often as somebody waits, and
    :meth:`go_on` for each further goal; then :meth:`end`. ``answer_timeout_s`` (wall) bounds what
    the server takes to acknowledge a goal and to give it up. ``frame`` is the map frame, in which
    goals are given. ``recoveries`` holds the names of the recovery behaviors that began since
    ``begin``, where ``recovery_topic`` tells them; ``succeeded`` says that the server reports to
    have arrived, which the trial's rules judge.
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
        self._recalled = 0
        self._sent_s = self._repeated_s = 0.0
        self.recoveries: List[str] = []
        self._recovery: Optional[rospy.Subscriber] = None
        if recovery_topic is not None:
            self._recovery = rospy.Subscriber(recovery_topic, RecoveryStatus, self._take_recovery)

    @property
    def connected(self) -> bool:
        """Whether the server is there."""
        return self._goals.connected

    @property
    def succeeded(self) -> bool:
        """Whether the server says that the robot has arrived."""
        return self._target is not None and self._goals.status == GoalStatus.SUCCEEDED

    def begin(self, goal: Pose2D, stamp: Optional[rospy.Time] = None) -> None:
        """Send the goal. ``stamp`` is the simulated time from which it counts, for a server that
        must not use what it heard before; without one it is good whenever, and tf takes the
        latest transform. Raises ``NavigatorError`` where no server is connected."""
        self.recoveries = []
        self.go_on(goal, stamp)

    def go_on(self, goal: Pose2D, stamp: Optional[rospy.Time] = None) -> None:
        """Send another goal of the same trial in place of the one before, which the server gives
        up for it unless it has ended. The rest as for :meth:`begin`."""
        if not self.connected:
            raise NavigatorError(f"no server of the action {self._goals.action} is connected")
        self._target, self._recalled = PoseStamped(), 0
        self._target.header.frame_id = self._frame
        self._target.header.stamp = rospy.Time() if stamp is None else stamp
        self._target.pose = ros_messages.pose_message(goal.to_pose())
        self._send(self._target)

    def look(self) -> None:
        """See how the goal stands. Raises ``PlannerGaveUp`` when the server gave up, and
        ``NavigatorError`` when the goal ended in a way that says nothing about the navigation,
        or was never acknowledged."""
        if self._target is None:
            return
        status, text = self._goals.status, self._goals.text
        if status == GoalStatus.ABORTED:
            raise PlannerGaveUp(text or "move_base aborted")
        if status == GoalStatus.RECALLED and self._recalled < MAX_RECALLS:
            self._recalled += 1
            self._send(self._target)
        elif status in ENDED and status != GoalStatus.SUCCEEDED:
            raise NavigatorError(_unasked(self._goals.action, status, text))
        elif not self._goals.acknowledged:
            self._remind()

    def end(self) -> None:
        """Give up the goal, if it is under way, and wait until the server has done so. Raises
        ``NavigatorError`` when it does not; idempotent."""
        target, self._target = self._target, None
        if target is None:
            return
        began_s = time.monotonic()
        cancelled_s = -math.inf
        while self._goals.status not in ENDED:
            now_s = time.monotonic()
            if now_s - began_s > self._answer_timeout_s:
                raise NavigatorError(
                    f"{self._goals.action} did not give up its goal in {self._answer_timeout_s:g} s"
                )
            if now_s - cancelled_s >= CANCEL_AGAIN_S:
                cancelled_s = now_s
                self._goals.cancel()
            time.sleep(POLL_S)

    def close(self) -> None:
        """Leave the action; the client is of no use from then on."""
        self._goals.close()
        if self._recovery is not None:
            self._recovery.unregister()

    def _send(self, target: PoseStamped) -> None:
        self._sent_s = self._repeated_s = time.monotonic()
        self._goals.send(target)

    def _remind(self) -> None:
        now_s = time.monotonic()
        if now_s - self._sent_s > self._answer_timeout_s:
            raise NavigatorError(
                f"{self._goals.action} did not acknowledge the goal in {self._answer_timeout_s:g} s"
            )
        if now_s - self._repeated_s > SEND_AGAIN_S:
            self._repeated_s = now_s
            self._goals.send_again()

    def _take_recovery(self, message: RecoveryStatus) -> None:
        self.recoveries.append(message.recovery_behavior_name)


def _unasked(action: str, status: int, text: str) -> str:
    why = {
        GoalStatus.LOST: "it restarted, or was told to forget",
        GoalStatus.PREEMPTED: "somebody else sent or cancelled a goal",
        GoalStatus.RECALLED: "somebody else sent a goal, or its clock is ahead of ours",
        GoalStatus.REJECTED: "it cannot take such a goal",
    }[status]
    said = f" and said: {text}" if text else ""
    return f"{action} ended the goal as {NAMES[status]}, unasked ({why}){said}"
