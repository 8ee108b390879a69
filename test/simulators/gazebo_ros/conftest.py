"""These tests need ROS messages and are skipped without them."""

from without_ros import LEFT_OUT

collect_ignore_glob = LEFT_OUT
