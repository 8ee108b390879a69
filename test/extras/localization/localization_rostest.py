#!/usr/bin/env python3
"""Odometry with errors in the ROS graph: the relay, and the simulator node."""

import math
import sys
import unittest
from pathlib import Path

import rospy
import rostest
from gazebo_msgs.msg import ModelState
from gazebo_msgs.srv import SetModelState
from geometry_msgs.msg import Twist
from nav_msgs.msg import Odometry
from tf2_msgs.msg import TFMessage

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "ros"))

from graph import Heard, assert_registered_as_declared, await_true, service

from gz_testauto.extras.localization import interface


class LocalizationTest(unittest.TestCase):
    def test_relay_publishes_odometry_with_errors(self):
        odom, transforms = Heard("odom", Odometry), Heard("/tf", TFMessage)
        true = rospy.Publisher("odom_true", Odometry, queue_size=10)
        await_true(lambda: true.get_num_connections() and odom.connected, "the relay")
        await_true(lambda: transforms.connected, "tf of the relay")

        def send(tick):
            message = Odometry(child_frame_id="base")
            message.header.frame_id, message.header.stamp = "wheels", rospy.Time(10 + 0.1 * tick)
            message.pose.pose.position.x, message.pose.pose.position.z = 0.1 * tick, 0.2
            message.pose.pose.orientation.w = 1.0
            message.twist.twist.linear.x = 1.0
            true.publish(message)

        def is_relayed():
            send(0)  # the relay does not publish to a subscriber that it has not accepted yet
            return odom.messages and transforms.messages

        await_true(is_relayed, "the first message")
        for tick in range(1, 11):
            send(tick)
        end = rospy.Time(11)
        await_true(
            lambda: (
                odom.messages[-1].header.stamp == end
                and transforms.messages[-1].transforms[0].header.stamp == end
            ),
            "all messages",
        )
        last, transform = odom.messages[-1], transforms.messages[-1].transforms[0]
        self.assertAlmostEqual(last.pose.pose.position.x, 1.1)
        self.assertAlmostEqual(last.twist.twist.linear.x, 1.1)
        self.assertEqual(last.pose.pose.position.z, 0.2)
        self.assertEqual((last.header.frame_id, last.child_frame_id), ("wheels", "base"))
        self.assertEqual(last.header.stamp, rospy.Time(11))
        self.assertEqual((transform.header.frame_id, transform.child_frame_id), ("wheels", "base"))
        self.assertAlmostEqual(transform.transform.translation.x, 1.1)

    def test_relay_registers_the_declared_topics_and_parameters(self):
        assert_registered_as_declared(self, interface.NODE, "/localization_relay")

    def test_simulator_node_publishes_drift_covariance_and_corrections(self):
        odom, transforms = (
            Heard("/drifting/odom", Odometry),
            Heard("/drifting/tf", TFMessage),
        )
        truth = Heard("/drifting/simulator/ground_truth", Odometry)
        command = rospy.Publisher("/drifting/cmd_vel", Twist, queue_size=1)
        await_true(command.get_num_connections, "the simulator")
        drive = Twist()
        drive.linear.x = 0.5

        def has_driven():
            command.publish(drive)
            return truth.messages and truth.messages[-1].pose.pose.position.x > -1.0

        await_true(has_driven, "driving", timeout_s=30)
        stamps = {one.header.stamp: one for one in truth.messages}
        measured = next(one for one in reversed(odom.messages) if one.header.stamp in stamps)
        true = stamps[measured.header.stamp]
        driven_m = true.pose.pose.position.x + 3.0
        self.assertAlmostEqual(measured.pose.pose.position.x, 1.2 * driven_m, delta=0.15)
        self.assertAlmostEqual(measured.twist.twist.linear.x, 1.2 * true.twist.twist.linear.x)
        self.assertAlmostEqual(
            math.sqrt(measured.pose.covariance[0]), math.sqrt(0.001 * 0.2 * 1.2 * driven_m), 3
        )
        self.assertEqual(true.pose.covariance[0], 0.0)

        def shift_m(message):
            corrected = [one for one in message.transforms if one.child_frame_id == "odom"]
            self.assertEqual(corrected[0].header.frame_id, "map")
            return corrected[0].transform.translation.x

        # A correction moves the odometry frame back to where the robot's true pose results.
        shift, error_m = shift_m(transforms.messages[-1]), 0.2 * driven_m
        self.assertAlmostEqual(shift, -3.0 - error_m, delta=0.2)
        self.assertLess(shift, -3.2)

        # Wheels do not measure that the robot is carried.
        moved = ModelState(model_name="robot", reference_frame="world")
        moved.pose.position.x, moved.pose.position.y = 2.0, -2.0
        moved.pose.orientation.w = 1.0
        before_m = odom.messages[-1].pose.pose.position.x
        place = service("/gazebo/set_model_state", SetModelState)
        self.assertTrue(place(moved).success)
        await_true(lambda: truth.messages[-1].pose.pose.position.y < -1.9, "the new place")
        stamp = truth.messages[-1].header.stamp
        await_true(lambda: odom.messages[-1].header.stamp >= stamp, "odometry at this place")
        self.assertLess(abs(odom.messages[-1].pose.pose.position.x - before_m), 2.0)
        self.assertAlmostEqual(odom.messages[-1].pose.pose.position.y, 0.0, delta=0.5)


if __name__ == "__main__":
    rospy.init_node("localization_test")
    rostest.rosrun("gz_testauto", "localization_test", LocalizationTest)
