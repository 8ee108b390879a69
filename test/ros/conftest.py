"""These tests convert ROS messages: without them they are left out, and the summary says so."""

import importlib.util
import os

import pytest

MESSAGES = ("gazebo_msgs", "gz_testauto.msg", "rospy")
LACKING = [name for name in MESSAGES if importlib.util.find_spec(name) is None]

if LACKING and os.environ.get("GZ_TESTAUTO_REQUIRE_ROS") == "1":
    raise pytest.UsageError(f"GZ_TESTAUTO_REQUIRE_ROS=1, but there is no {', '.join(LACKING)}")

collect_ignore_glob = ["test_*.py"] if LACKING else []


def pytest_terminal_summary(terminalreporter):
    if LACKING:
        terminalreporter.write_line(
            f"SKIPPED test/ros: no {', '.join(LACKING)}; run ./bootstrap exec pytest"
        )
