#!/usr/bin/env python3
"""The planner node: goals that are reached, preempted or aborted, and the stop of the robot."""

import math
import sys
import unittest
from pathlib import Path

import actionlib
import rospy
import rostest
from actionlib_msgs.msg import GoalStatus, GoalStatusArray
from geometry_msgs.msg import PoseStamped, Twist
from graph import Heard, assert_registered_as_declared, await_true, service
from gz_testauto.msg import PlannerCycle, Snapshot
from gz_testauto.srv import LoadScene, LoadSceneRequest
from move_base_msgs.msg import MoveBaseAction, MoveBaseActionFeedback, MoveBaseGoal
from nav_msgs.msg import OccupancyGrid, Odometry
from nav_msgs.msg import Path as PathMessage
from std_srvs.srv import Empty
from tf2_msgs.msg import TFMessage

from gz_testauto.base import resources
from gz_testauto.ros.map_messages import grid_message
from gz_testauto.ros.planner import interface
from gz_testauto.sdf.scene import read_scene
from gz_testauto.worlds.static_map import map_of

ROOM = resources.share_directory() / "worlds" / "room.world"
ROBOT = resources.share_directory() / "models" / "wheelchair" / "model.sdf"
UNDER_WAY = (GoalStatus.PENDING, GoalStatus.ACTIVE)


class PlannerNodeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        rospy.init_node("planner_rostest")
        cls.map = rospy.Publisher("/map", OccupancyGrid, queue_size=1, latch=True)
        cls.map.publish(grid_message(map_of(read_scene(Path(ROOM)), 0.1), rospy.Time()))
        cls.client = actionlib.SimpleActionClient("move_base", MoveBaseAction)
        cls.truth = Heard("/simulator/ground_truth", Odometry)
        cls.snapshots = Heard("/simulator/snapshot", Snapshot)
        cls.cycles = Heard("/planner/cycle_time", PlannerCycle)
        cls.commands = Heard("/cmd_vel", Twist)
        cls.plans = Heard("/planner/plan", PathMessage)
        cls.all_feedback = Heard("/move_base/feedback", MoveBaseActionFeedback)
        cls.simple_goal = rospy.Publisher("/move_base_simple/goal", PoseStamped, queue_size=1)
        cls.load = service("/simulator/load_scene", LoadScene)
        await_true(
            lambda: (
                cls.client.action_client.pub_goal.get_num_connections()
                and cls.client.action_client.pub_cancel.get_num_connections()
                and cls.client.action_client.result_sub.get_num_connections()
                and cls.all_feedback.connected
                and cls.map.get_num_connections()
            ),
            "the action server",
        )

    def setUp(self):
        self.feedback = []
        request = LoadSceneRequest(world=str(ROOM), robot_model=str(ROBOT), seed=1)
        request.start.x, request.start.y = -3.0, 1.0
        self.scene = self.load(request)
        self.assertTrue(self.scene.success, self.scene.message)

    def send(self, x, y, frame="map"):
        goal = MoveBaseGoal()
        goal.target_pose.header.frame_id = frame
        goal.target_pose.header.stamp = self.scene.stamp
        goal.target_pose.pose.position.x, goal.target_pose.pose.position.y = x, y
        goal.target_pose.pose.orientation.w = 1.0
        self.client.send_goal(goal, feedback_cb=self.feedback.append)

    def await_end(self):
        await_true(lambda: self.client.get_state() not in UNDER_WAY, "the end of the goal")
        return self.client.get_state()

    def distance_to(self, x, y):
        position = self.truth.last.pose.pose.position
        return math.hypot(position.x - x, position.y - y)

    def assert_planned_to(self, x, y):
        """Await a plan that ends there; the plan of a goal can be received after its result."""

        def planned():
            if self.plans.last is None:
                return False
            end = self.plans.last.poses[-1].pose.position
            return math.hypot(end.x - x, end.y - y) < 1e-6

        await_true(planned, f"a plan to ({x:g}, {y:g})")

    def await_standing(self):
        await_true(
            lambda: self.commands.last is not None and self.commands.last == Twist(),
            "the robot to be stopped",
        )

    def test_a_subscriber_receives_the_latched_pose_while_time_is_held(self):
        begin = self.scene.stamp
        for topic, kind in (("/odom", Odometry), ("/tf", TFMessage)):
            heard = Heard(topic, kind)
            await_true(lambda heard=heard: heard.last is not None, f"a message of {topic}")
            message = heard.last.transforms[0] if kind is TFMessage else heard.last
            self.assertEqual(message.header.stamp, begin, topic)

    def test_a_reached_goal_succeeds_and_stops_the_robot(self):
        before = len(self.all_feedback.messages)
        self.send(2.0, 1.0)
        self.assertEqual(self.await_end(), GoalStatus.SUCCEEDED)
        self.await_standing()
        await_true(lambda: self.distance_to(2.0, 1.0) <= 0.5, "the robot within the tolerance")
        # the client ignores feedback that is received after the result
        await_true(lambda: len(self.all_feedback.messages) > before + 10, "the feedback")
        self.assert_planned_to(2.0, 1.0)

    def test_every_control_period_has_one_cycle_and_one_command(self):
        before = len(self.cycles.messages)
        self.send(0.0, 1.0)
        self.assertEqual(self.await_end(), GoalStatus.SUCCEEDED)
        stamps = [c.header.stamp.to_nsec() for c in self.cycles.messages[before:]]
        begin = self.scene.stamp.to_nsec()
        self.assertEqual(stamps, [begin + 100_000_000 * k for k in range(len(stamps))])
        driven = [s for s in self.snapshots.messages if s.scene == self.scene.scene]
        self.assertFalse(any(snapshot.late for snapshot in driven[: len(stamps)]))

    def test_a_goal_in_another_frame_is_transformed_to_the_map(self):
        self.send(2.0, 0.0, frame="base_link")
        self.assertEqual(self.await_end(), GoalStatus.SUCCEEDED)
        self.assert_planned_to(-1.0, 1.0)

    def test_a_goal_in_an_unknown_frame_is_aborted_with_the_name_of_the_frame(self):
        self.send(2.0, 0.0, frame="mars")
        self.assertEqual(self.await_end(), GoalStatus.ABORTED)
        self.assertIn("mars", self.client.get_goal_status_text())

    def test_a_preempted_goal_stops_the_robot(self):
        # The robot reaches the goal in some tenths of a second of wall time. On a busy machine, the
        # cancellation can be later.
        for _ in range(5):
            self.setUp()
            self.send(4.0, -4.0)
            await_true(lambda: self.feedback, "the first feedback")
            self.client.cancel_goal()
            if self.await_end() == GoalStatus.PREEMPTED:
                break
        self.assertEqual(self.client.get_state(), GoalStatus.PREEMPTED)
        self.await_standing()

    def test_a_new_goal_replaces_the_active_one(self):
        self.send(4.0, -4.0)
        await_true(lambda: self.feedback, "the first feedback")
        self.send(-1.0, 1.0)
        self.assertEqual(self.await_end(), GoalStatus.SUCCEEDED)
        self.assert_planned_to(-1.0, 1.0)

    def test_a_goal_outside_the_map_is_aborted_immediately_with_the_bounds(self):
        self.send(30.0, 0.0)
        self.assertEqual(self.await_end(), GoalStatus.ABORTED)
        self.assertIn(
            "the goal (30.00, 0.00) is outside the map, which is x -",
            self.client.get_goal_status_text(),
        )
        self.assertEqual(self.feedback, [])
        self.await_standing()

    def test_a_goal_newer_than_all_odometry_is_aborted_after_the_timeout(self):
        self.scene.stamp += rospy.Duration(1000)
        self.send(2.0, 1.0)
        self.assertEqual(self.await_end(), GoalStatus.ABORTED)
        self.assertIn("no odometry", self.client.get_goal_status_text())

    def test_a_goal_that_is_not_finite_is_aborted_with_the_reason(self):
        for x in (math.nan, math.inf):
            self.send(x, 1.0)
            self.assertEqual(self.await_end(), GoalStatus.ABORTED)
            self.assertIn("its numbers must be finite", self.client.get_goal_status_text())

    def test_an_invalid_map_does_not_replace_the_map(self):
        self.map.publish(OccupancyGrid())
        self.send(0.0, 1.0)
        self.assertEqual(self.await_end(), GoalStatus.SUCCEEDED)
        self.map.publish(grid_message(map_of(read_scene(Path(ROOM)), 0.1), rospy.Time()))

    def test_a_goal_after_ros_time_was_reset_is_reached(self):
        statuses = Heard("/move_base/status", GoalStatusArray)
        reset = service("/gazebo/reset_simulation", Empty)
        self.send(4.0, 4.0)  # far enough to be on the way while the machine is busy
        await_true(lambda: self.feedback, "the first feedback")
        before = rospy.Time.now()
        reset()
        self.assertEqual(self.await_end(), GoalStatus.ABORTED)
        self.assertIn("ROS time has moved back", self.client.get_goal_status_text())
        await_true(lambda: rospy.Time.now() < before, "the reset of ROS time")
        self.scene.stamp = rospy.Time.now()
        self.send(-1.0, 1.0)
        self.assertEqual(self.await_end(), GoalStatus.SUCCEEDED)
        await_true(lambda: self.distance_to(-1.0, 1.0) <= 0.5, "the robot within the tolerance")
        seen = len(statuses.messages)
        self.send(2.0, 1.0)
        await_true(lambda: len(statuses.messages) > seen + 5, "the periodic status")

    def test_a_planner_that_aborts_publishes_the_reason_with_its_cycle(self):
        cycles = Heard("/quitter/planner/cycle_time", PlannerCycle)
        quitter = actionlib.SimpleActionClient("/quitter/move_base", MoveBaseAction)
        await_true(
            lambda: (
                quitter.action_client.pub_goal.get_num_connections()
                and quitter.action_client.result_sub.get_num_connections()
                and cycles.connected
            ),
            "the planner that aborts",
        )
        goal = MoveBaseGoal()
        goal.target_pose.header.frame_id = "map"
        goal.target_pose.header.stamp = self.scene.stamp
        goal.target_pose.pose.position.x = 2.0
        goal.target_pose.pose.orientation.w = 1.0
        quitter.send_goal(goal)
        await_true(lambda: quitter.get_state() not in UNDER_WAY, "the end of the goal")
        self.assertEqual(quitter.get_state(), GoalStatus.ABORTED)
        self.assertEqual(quitter.get_goal_status_text(), "it is all too much")
        await_true(lambda: cycles.last is not None and cycles.last.abort_reason, "the last cycle")
        self.assertEqual(cycles.last.header.stamp - self.scene.stamp, rospy.Duration(0.5))
        self.assertEqual(
            [bool(cycle.abort_reason) for cycle in cycles.messages], [False] * 5 + [True]
        )
        self.await_standing()

    def test_a_sensor_without_messages_aborts_the_goal_with_its_topic(self):
        blind = actionlib.SimpleActionClient("/blind/move_base", MoveBaseAction)
        await_true(
            lambda: (
                blind.action_client.pub_goal.get_num_connections()
                and blind.action_client.result_sub.get_num_connections()
            ),
            "the planner with a camera",
        )
        goal = MoveBaseGoal()
        goal.target_pose.header.frame_id = "map"
        goal.target_pose.header.stamp = self.scene.stamp
        goal.target_pose.pose.position.x = 2.0
        goal.target_pose.pose.orientation.w = 1.0
        blind.send_goal(goal)
        await_true(lambda: blind.get_state() not in UNDER_WAY, "the end of the goal")
        self.assertEqual(blind.get_state(), GoalStatus.ABORTED)
        text = blind.get_goal_status_text()
        self.assertIn("sensor 'camera' was received on /realsense/points within 3 s", text)

    def test_the_node_registers_the_declared_topics_services_and_parameters(self):
        unused = ("objects", "road")  # need ~tracking and ~on_road
        assert_registered_as_declared(self, interface.NODE, "/planner", unused)

    def test_a_goal_set_in_rviz_is_reached(self):
        goal = PoseStamped()
        goal.header.frame_id = "map"
        goal.pose.position.x, goal.pose.position.y, goal.pose.orientation.w = -1.5, 1.0, 1.0
        await_true(self.simple_goal.get_num_connections, "move_base_simple/goal")
        self.simple_goal.publish(goal)

        await_true(lambda: self.distance_to(-1.5, 1.0) <= 0.5, "the robot to arrive")


if __name__ == "__main__":
    rostest.rosrun("gz_testauto", "planner", PlannerNodeTest, sys.argv)
