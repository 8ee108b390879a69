#!/usr/bin/env python3
"""Faults of an action server and of the clock, as the client of move_base detects them."""

import sys
import threading
import time
import unittest
import uuid

import numpy as np
import rospy
import rostest
from actionlib_msgs.msg import GoalID, GoalStatus, GoalStatusArray
from graph import PATIENCE_S, await_true
from move_base_msgs.msg import (
    MoveBaseActionFeedback,
    MoveBaseActionGoal,
    MoveBaseActionResult,
    RecoveryStatus,
)
from rosgraph_msgs.msg import Clock

from gz_testauto.base.errors import NavigatorError, SimulatorError
from gz_testauto.base.pose import Pose2D
from gz_testauto.planners.interface import PlannerAborted
from gz_testauto.ros.move_base import MoveBaseClient
from gz_testauto.ros.stack.ground_truth import GroundTruth

GOAL = Pose2D(2.0, 1.0, np.pi / 2)
ANSWER_TIMEOUT_S = 4.0


class FakeServer:
    """An action server with the statuses that a test sets. Like actionlib, it recalls a goal that
    is older than the previous one, and recognizes a repeated goal."""

    def __init__(self, action):
        self.goals, self.cancels = [], []
        self.statuses = []  # the status of each new goal; None: no response
        self.known = {}
        self.newest = rospy.Time()
        self.heed_cancels = True
        self.lock = threading.RLock()
        self.status = rospy.Publisher(f"{action}/status", GoalStatusArray, queue_size=10)
        self.result = rospy.Publisher(f"{action}/result", MoveBaseActionResult, queue_size=10)
        self.feedback = rospy.Publisher(f"{action}/feedback", MoveBaseActionFeedback, queue_size=1)
        self.recovery = rospy.Publisher(f"{action}/recovery_status", RecoveryStatus, queue_size=10)
        self.kept = [
            rospy.Subscriber(f"{action}/goal", MoveBaseActionGoal, self.take_goal),
            rospy.Subscriber(f"{action}/cancel", GoalID, self.take_cancel),
        ]

    def take_goal(self, message):
        with self.lock:
            self.goals.append(message)
            if message.goal_id.id in self.known:
                self.publish()  # as actionlib does repeatedly, since the first status can be lost
                return
            answer = self.statuses.pop(0) if self.statuses else GoalStatus.ACTIVE
            if answer is None:
                return
            if message.goal_id.stamp < self.newest:
                answer = GoalStatus.RECALLED
            self.newest = max(self.newest, message.goal_id.stamp)
            self.known[message.goal_id.id] = GoalStatus(message.goal_id, answer, "")
            self.publish()

    def take_cancel(self, message):
        with self.lock:
            self.cancels.append(message)
            if self.heed_cancels and message.id in self.known:
                self.finish(GoalStatus.PREEMPTED, "asked to", message.id)

    def finish(self, status, text="", goal=None, by_result=True):
        with self.lock:
            known = self.known[goal or self.goals[-1].goal_id.id]
            known.status, known.text = status, text
            if by_result:
                self.result.publish(MoveBaseActionResult(status=known))
            self.publish()

    def publish(self):
        with self.lock:
            self.status.publish(GoalStatusArray(status_list=list(self.known.values())))

    def forget(self):
        with self.lock:
            self.known.clear()


class MoveBaseTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.clock = rospy.Publisher("/clock", Clock, queue_size=1, latch=True)
        rospy.init_node("move_base_rostest")

    def setUp(self):
        self.set_time(100.0)
        self.action = f"/fake_{uuid.uuid4().hex}/move_base"
        self.server = FakeServer(self.action)
        self.client = self.make_client()
        await_true(lambda: self.client.connected, "the server")

    def make_client(self):
        recoveries = f"{self.action}/recovery_status"
        client = MoveBaseClient(self.action, ANSWER_TIMEOUT_S, recovery_topic=recoveries)
        self.addCleanup(client.close)
        return client

    def set_time(self, time_s):
        self.clock.publish(Clock(rospy.Time.from_sec(time_s)))
        await_true(lambda: abs(rospy.get_time() - time_s) < 1e-6, f"time {time_s}")

    def begin(self):
        self.client.begin(GOAL)
        await_true(lambda: self.server.goals, "the goal")

    def await_raised(self, kind):
        """Check the goal until it raises; return the text of the error."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            try:
                self.client.check_status()
            except kind as error:
                return str(error)
            time.sleep(0.02)
        self.fail(f"no {kind.__name__}")

    def await_acknowledged(self):
        """Check the goal until it is acknowledged: the first goal or status can be lost until all
        topics are connected."""

        def acknowledged():
            self.client.check_status()
            return self.client._goals.acknowledged

        await_true(acknowledged, "the acknowledgement")

    def test_a_goal_has_frame_position_and_yaw_and_can_succeed(self):
        self.begin()
        target = self.server.goals[0].goal.target_pose
        self.assertEqual(target.header.frame_id, "map")
        self.assertAlmostEqual(target.pose.position.x, 2.0)
        self.assertAlmostEqual(target.pose.position.y, 1.0)
        self.assertAlmostEqual(target.pose.orientation.z, np.sin(np.pi / 4))
        self.assertEqual(target.header.stamp, rospy.Time())
        self.await_acknowledged()
        self.client.check_status()
        self.assertFalse(self.client.succeeded)
        self.server.finish(GoalStatus.SUCCEEDED)
        await_true(lambda: self.client.succeeded, "success")
        self.client.check_status()
        self.client.end()
        self.assertEqual(self.server.cancels, [])

    def test_goal_keeps_its_time_stamp(self):
        self.client.begin(GOAL, rospy.Time(90))
        await_true(lambda: self.server.goals, "the goal")
        self.assertEqual(self.server.goals[0].goal.target_pose.header.stamp, rospy.Time(90))
        self.assertGreaterEqual(self.server.goals[0].goal_id.stamp, rospy.Time(100))

    def test_a_closed_client_is_unregistered_from_the_topics(self):
        self.client.close()
        await_true(lambda: not self.server.status.get_num_connections(), "no subscriber")
        self.assertEqual(self.server.kept[0].get_num_connections(), 0)

    def test_aborted_goal_raises_an_error_with_the_reason_of_the_server(self):
        self.begin()
        self.await_acknowledged()
        self.server.finish(GoalStatus.ABORTED, "no valid plan")
        self.assertEqual(self.await_raised(PlannerAborted), "no valid plan")

    def test_lost_action_result_is_recovered_from_the_goal_status(self):
        self.begin()
        self.await_acknowledged()
        self.server.finish(GoalStatus.ABORTED, "oscillating", by_result=False)
        self.assertEqual(self.await_raised(PlannerAborted), "oscillating")

    def test_a_recalled_goal_is_sent_again_with_another_id(self):
        self.server.statuses = [GoalStatus.RECALLED]
        self.begin()

        def sent_anew():
            self.client.check_status()
            return len({goal.goal_id.id for goal in self.server.goals}) == 2

        await_true(sent_anew, "a second goal")
        self.await_acknowledged()
        self.client.check_status()

    def test_a_goal_that_is_recalled_repeatedly_makes_the_trial_invalid(self):
        self.server.statuses = [GoalStatus.RECALLED] * 10
        self.begin()
        self.assertIn("as recalled", self.await_raised(NavigatorError))

    def test_a_goal_without_acknowledgement_is_repeated_and_makes_the_trial_invalid(self):
        self.server.statuses = [None] * 100
        self.begin()
        self.assertIn("did not acknowledge the goal", self.await_raised(NavigatorError))
        self.assertGreater(len(self.server.goals), 1)
        self.assertEqual(len({goal.goal_id.id for goal in self.server.goals}), 1)

    def test_a_goal_that_the_server_missed_is_sent_again(self):
        self.server.statuses = [None]
        self.begin()
        self.await_acknowledged()

    def test_a_goal_that_the_server_no_longer_lists_makes_the_trial_invalid(self):
        self.begin()
        self.await_acknowledged()
        self.server.forget()
        for _ in range(5):
            self.server.publish()
            time.sleep(0.02)
        self.assertIn("as lost", self.await_raised(NavigatorError))

    def test_a_status_message_older_than_the_feedback_does_not_lose_the_goal(self):
        self.server.statuses = [None]
        self.begin()
        goal = self.server.goals[0].goal_id
        taken = GoalStatus(goal, GoalStatus.ACTIVE, "")
        self.server.feedback.publish(MoveBaseActionFeedback(status=taken))
        self.await_acknowledged()
        for _ in range(5):
            self.server.publish()
        self.server.known[goal.id] = taken
        self.server.publish()
        await_true(
            lambda: self.client._goals.status == GoalStatus.ACTIVE, "the goal to be under way"
        )
        self.client.check_status()

    def test_a_goal_that_another_node_preempts_makes_the_trial_invalid(self):
        self.begin()
        self.await_acknowledged()
        self.server.finish(GoalStatus.PREEMPTED, "another goal came")
        said = self.await_raised(NavigatorError)
        self.assertIn("as preempted", said)
        self.assertIn("another goal came", said)

    def test_a_goal_after_a_jump_back_of_time_is_not_recalled(self):
        self.set_time(500.0)
        self.begin()
        self.await_acknowledged()
        self.set_time(1.0)
        self.client.end()
        self.server.goals.clear()
        self.begin()
        self.await_acknowledged()
        self.client.check_status()
        self.assertGreater(self.server.goals[0].goal_id.stamp, rospy.Time(500))

    def test_end_cancels_only_the_goal_of_the_client_while_the_clock_is_paused(self):
        self.begin()
        self.await_acknowledged()
        self.client.end()
        self.assertEqual(self.server.cancels[0].id, self.server.goals[0].goal_id.id)
        self.assertEqual(self.server.cancels[0].stamp, rospy.Time())
        self.client.end()

    def test_server_that_does_not_cancel_a_goal_raises_an_error(self):
        self.server.heed_cancels = False
        self.begin()
        self.await_acknowledged()
        with self.assertRaisesRegex(NavigatorError, "did not cancel the goal"):
            self.client.end()

    def test_goal_without_a_server_raises_an_error_until_a_server_is_started(self):
        self.action = f"/late_{uuid.uuid4().hex}/move_base"
        self.client = self.make_client()
        with self.assertRaisesRegex(NavigatorError, "no action server is connected"):
            self.client.begin(GOAL)
        self.server = FakeServer(self.action)
        await_true(lambda: self.client.connected, "the late server")
        self.begin()
        self.await_acknowledged()

    def test_paused_clock_raises_an_error_after_the_wall_time_limit(self):
        truth = GroundTruth(None, "/nobody")
        began = time.monotonic()
        with self.assertRaisesRegex(SimulatorError, "no progress for 0.5 s"):
            truth.await_time(100.1, 100.0, 0.5, lambda: None)
        self.assertGreaterEqual(time.monotonic() - began, 0.5)

    def test_clock_that_jumps_back_raises_an_error_immediately(self):
        truth = GroundTruth(None, "/nobody")
        reset = Clock(rospy.Time.from_sec(1.0))
        with self.assertRaisesRegex(SimulatorError, "jumped back from 100.000 s to 1.000 s"):
            truth.await_time(100.1, 100.0, 20.0, lambda: self.clock.publish(reset))

    def test_recovery_behaviors_since_the_goal_are_listed_by_name(self):
        await_true(self.server.recovery.get_num_connections, "somebody to tell")
        self.server.recovery.publish(RecoveryStatus(recovery_behavior_name="before"))
        await_true(lambda: self.client.recoveries, "the first one")
        self.begin()
        self.assertEqual(self.client.recovery_count, 0.0)
        self.server.recovery.publish(RecoveryStatus(recovery_behavior_name="rotate_recovery"))
        await_true(lambda: self.client.recoveries == ["rotate_recovery"], "the second one")
        self.assertEqual(self.client.recovery_count, 1.0)


if __name__ == "__main__":
    rostest.rosrun("gz_testauto", "move_base", MoveBaseTest, sys.argv)
