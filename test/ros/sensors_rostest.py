#!/usr/bin/env python3
"""Selected sensors of a robot in the ROS graph, under the names of their plug-ins."""

import sys
import unittest

import numpy as np
import rospy
import rostest
from gazebo_msgs.msg import ContactsState
from graph import Heard, await_true
from sensor_msgs.msg import LaserScan, PointCloud2, Range
from tf2_msgs.msg import TFMessage

TOPICS = {
    "/scan": (LaserScan, "merged_lidar"),
    "/scan_front": (LaserScan, "front_lidar_link"),
    "/scan_rear": (LaserScan, "rear_lidar_link"),
    "/camera/depth/points": (PointCloud2, "camera_depth_optical_frame"),
    "/velodyne_points": (PointCloud2, "velodyne"),
    "/sonar/sonar_left": (Range, "sonar_left_link"),
    "/bumper_states": (ContactsState, "base"),
}


class SensorsTest(unittest.TestCase):
    def test_sensors_are_published_under_the_names_of_their_plugins(self):
        heard = {topic: Heard(topic, kind) for topic, (kind, _) in TOPICS.items()}
        fixed = Heard("/tf_static", TFMessage)
        for topic, one in heard.items():
            await_true(lambda one=one: len(one.messages) >= 3, topic)
            self.assertEqual(one.last.header.frame_id, TOPICS[topic][1])
            stamps = [message.header.stamp.to_sec() for message in one.messages]
            self.assertTrue((np.diff(stamps) > 0.0).all(), f"{topic}: {stamps}")
        frames = {one.child_frame_id for one in fixed.last.transforms}
        self.assertLessEqual({frame for _, frame in TOPICS.values()} - {"base"}, frames)
        self.assertNotIn("sonar_right_link", frames)
        merged = heard["/scan"].last
        self.assertEqual(len(merged.ranges), 720)
        behind_m, ahead_m = merged.ranges[0], merged.ranges[360]
        self.assertAlmostEqual(ahead_m + behind_m, 10.0, delta=0.1)  # the width of the room
        cloud = heard["/camera/depth/points"].last
        points = np.frombuffer(cloud.data, "<f4").reshape(-1, 3)
        self.assertEqual((cloud.height, cloud.width), (60, 80))
        self.assertGreater(np.nanmin(points[:, 2]), 0.2)
        self.assertLess(np.nanmax(points[:, 2]), 5.0)


if __name__ == "__main__":
    rospy.init_node("sensors_rostest")
    rostest.rosrun("gz_testauto", "sensors", SensorsTest, sys.argv)
