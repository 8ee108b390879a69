"""The ``campaign`` node, which runs a campaign over ROS and starts the planner nodes."""
