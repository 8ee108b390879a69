"""A navigation stack behind a ``move_base`` action, as the user's launch files start it.

Owns the life of a goal as seen from outside: sent, acknowledged, ended, whatever the clock does
meanwhile. Everything that is waited for is bounded in wall time. actionlib's own client is not
used: it stamps goals with the simulated time, and a server takes a goal for an older one, and
recalls it, when time has jumped back; and it waits in simulated time, which may stand still.
"""

import threading
import time
import uuid
from typing import List, Optional, Tuple

import numpy as np
import rospy
from actionlib_msgs.msg import GoalID, GoalStatus, GoalStatusArray
from geometry_msgs.msg import PoseStamped
from move_base_msgs.msg import (
    MoveBaseActionFeedback,
    MoveBaseActionGoal,
    MoveBaseActionResult,
    RecoveryStatus,
)

from gz_testauto.errors import NavigatorError
from gz_testauto.planners.interface import Observation, Task
from gz_testauto.planners.navigation import Navigator, NavigatorGaveUp
from gz_testauto.pose import Pose2D

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
LOOK_S = 0.02
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

    def send(self, goal: Pose2D, frame: str) -> None:
        """Send a goal, stamped later than all before it."""
        message = MoveBaseActionGoal()
        now_ns = max(rospy.get_rostime().to_nsec(), self._last_stamp_ns + 1_000_000)
        self._last_stamp_ns = now_ns
        stamp = rospy.Time(*divmod(now_ns, 1_000_000_000))
        message.header.stamp = message.goal_id.stamp = stamp
        message.goal_id.id = f"gz_testauto-{uuid.uuid4().hex}"
        message.goal.target_pose = _stamped(goal, frame)
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


class MoveBaseNavigator(Navigator):
    """Drives by goals to a navigation stack. ``command`` returns None: the stack drives.

    ``frame`` is the map frame, in which goals are given. ``recoveries`` holds the names of the
    recovery behaviours that began since ``begin``; ``succeeded`` says that the stack reports to
    have arrived.
    """

    def __init__(
        self, action: str, recovery_topic: str, frame: str, answer_timeout_s: float = 15.0
    ) -> None:
        """``answer_timeout_s`` is how long, in wall time, the server may take to acknowledge
        a goal."""
        self._goals = ActionGoals(action)
        self._frame = frame
        self._answer_timeout_s = answer_timeout_s
        self._task: Optional[Task] = None
        self._sent_s = self._repeated_s = 0.0
        self._recalled = 0
        self.recoveries: List[str] = []
        self._recovery = rospy.Subscriber(recovery_topic, RecoveryStatus, self._take_recovery)

    @property
    def connected(self) -> bool:
        """Whether the server is there."""
        return self._goals.connected

    @property
    def succeeded(self) -> bool:
        """Whether the stack says that it has arrived."""
        return self._task is not None and self._goals.status == GoalStatus.SUCCEEDED

    def begin(self, task: Task) -> None:
        """Send the goal. Raises ``NavigatorError`` where no server is connected."""
        if not self.connected:
            raise NavigatorError(f"no server of the action {self._goals.action} is connected")
        self._task, self._recalled = task, 0
        self.recoveries = []
        self._send()

    def command(self, observation: Observation) -> None:
        """See how the goal stands; see :meth:`look`."""
        self.look()

    def look(self) -> None:
        """Raise ``NavigatorGaveUp`` when the stack gave up, and ``NavigatorError`` when the
        goal ended in a way that says nothing about it, or was never acknowledged."""
        status, text = self._goals.status, self._goals.text
        if status == GoalStatus.ABORTED:
            raise NavigatorGaveUp(text or "move_base aborted")
        if status == GoalStatus.RECALLED and self._recalled < MAX_RECALLS:
            self._recalled += 1
            self._send()
        elif status in ENDED and status != GoalStatus.SUCCEEDED:
            raise NavigatorError(_unasked(self._goals.action, status, text))
        elif not self._goals.acknowledged:
            self._remind()

    def end(self) -> None:
        """Give up the goal, if it is under way, and wait until the stack has done so. Raises
        ``NavigatorError`` when it does not; idempotent."""
        task, self._task = self._task, None
        if task is None:
            return
        deadline = time.monotonic() + self._answer_timeout_s
        while self._goals.status not in ENDED:
            self._goals.cancel()
            time.sleep(LOOK_S)
            if time.monotonic() > deadline:
                raise NavigatorError(
                    f"{self._goals.action} did not give up its goal in {self._answer_timeout_s:g} s"
                )

    @property
    def cycle_times_s(self) -> Tuple[np.ndarray, np.ndarray]:
        """Unknown here: a stack may publish them."""
        return np.empty(0), np.empty(0)

    def _send(self) -> None:
        assert self._task is not None
        self._sent_s = self._repeated_s = time.monotonic()
        self._goals.send(self._task.goal, self._frame)

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


def _stamped(goal: Pose2D, frame: str) -> PoseStamped:
    """A goal that is good whenever: without a stamp tf takes the latest transform."""
    message = PoseStamped()
    message.header.frame_id = frame
    message.pose.position.x, message.pose.position.y = goal.x_m, goal.y_m
    message.pose.orientation.z = float(np.sin(goal.yaw_rad / 2))
    message.pose.orientation.w = float(np.cos(goal.yaw_rad / 2))
    return message
