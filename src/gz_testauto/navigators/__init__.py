"""What drives the robot during a trial: a planner of this package, or a navigation stack."""
