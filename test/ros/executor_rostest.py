#!/usr/bin/env python3
"""Run the conformance suite of trial executors on this package's nodes."""

import sys
from pathlib import Path

import pytest
import rospy

RESULTS = "--gtest_output=xml:"


def main():
    rospy.init_node("executor_rostest", disable_signals=True)
    written = [a[len(RESULTS) :] for a in sys.argv if a.startswith(RESULTS)]
    options = [f"--junitxml={path}" for path in written]
    suite = Path(__file__).resolve().with_name("executor_on_nodes.py")
    return pytest.main(["-p", "no:cacheprovider", "-q", *options, str(suite)])


if __name__ == "__main__":
    sys.exit(main())
