"""Exclude the folders of tests that convert ROS messages if ROS is missing."""

import importlib.util
import os

import pytest

MESSAGES = ("gazebo_msgs", "gz_testauto.msg", "rospy")
LACKING = [name for name in MESSAGES if importlib.util.find_spec(name) is None]

if LACKING and os.environ.get("GZ_TESTAUTO_REQUIRE_ROS") == "1":
    raise pytest.UsageError(f"GZ_TESTAUTO_REQUIRE_ROS=1, but there is no {', '.join(LACKING)}")

LEFT_OUT = ["*test_*.py"] if LACKING else []
