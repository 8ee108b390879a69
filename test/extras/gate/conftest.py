"""The node needs ROS."""

from without_ros import LACKING

collect_ignore = ["test_gate_node.py"] if LACKING else []
