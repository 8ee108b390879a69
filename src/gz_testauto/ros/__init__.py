"""The ROS face: thin nodes over the core."""
