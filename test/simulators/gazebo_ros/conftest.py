"""Configuration that skips these tests if no ROS messages are installed."""

from without_ros import LEFT_OUT

collect_ignore_glob = LEFT_OUT
