"""The ``campaign`` node: runs a campaign over ROS, with nodes of its own."""
