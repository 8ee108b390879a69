"""People who react to the robot, and people who walk or talk in groups."""
