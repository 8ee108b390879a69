#!/usr/bin/env python3
"""Run the tests of the gazebo_ros adaptor with pytest on this package's simulator node."""

import sys
from pathlib import Path

import pytest
import rospy

RESULTS = "--gtest_output=xml:"
FILES = ("gazebo_ros_conformance.py", "gazebo_ros_scenes.py")


def main():
    rospy.wait_for_service("/simulator/load_scene", 60.0)
    here = Path(__file__).resolve().parent
    written = [a[len(RESULTS) :] for a in sys.argv if a.startswith(RESULTS)]
    options = [f"--junitxml={path}" for path in written]
    files = [str(here / name) for name in FILES]
    return pytest.main(["-p", "no:cacheprovider", "-q", *options, *files])


if __name__ == "__main__":
    sys.exit(main())
