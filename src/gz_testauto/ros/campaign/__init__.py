"""The ``campaign`` node: runs a campaign over ROS and starts its planner nodes."""
