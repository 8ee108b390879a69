"""These tests convert ROS messages: without them they are left out."""

from without_ros import LEFT_OUT

collect_ignore_glob = LEFT_OUT
