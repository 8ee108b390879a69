"""The action server of the planner node after ROS time has moved back."""

import pytest

pytest.importorskip("rospy")

import rospy
from actionlib import ActionServer, ServerGoalHandle, SimpleActionServer
from actionlib.status_tracker import StatusTracker
from actionlib_msgs.msg import GoalID, GoalStatus
from move_base_msgs.msg import MoveBaseAction, MoveBaseActionGoal

from gz_testauto.ros.planner.node import RewindableActionServer


def handle(server, name, stamp_s):
    goal = MoveBaseActionGoal(goal_id=GoalID(id=name, stamp=rospy.Time(stamp_s)))
    return ServerGoalHandle(StatusTracker(goal=goal), server.action_server, object())


@pytest.mark.parametrize("received_at_s", [0.0, 1.0])
def test_goal_is_accepted_after_time_moved_back_even_if_the_previous_one_came_before_the_clock(
    monkeypatch, received_at_s
):
    now_s = 0.0
    monkeypatch.setattr(rospy.Time, "now", staticmethod(lambda: rospy.Time(now_s)))
    monkeypatch.setattr(SimpleActionServer, "start", lambda server: None)  # needs a master
    monkeypatch.setattr(ActionServer, "publish_result", lambda server, status, result: None)
    server = RewindableActionServer("move_base", MoveBaseAction, auto_start=False)
    server.start()
    now_s = received_at_s
    server.internal_goal_callback(handle(server, "first", 1.0))
    now_s = 0.1
    second = handle(server, "second", 0.1)
    server.internal_goal_callback(second)
    assert server.next_goal == second
    assert second.get_goal_status().status == GoalStatus.PENDING
