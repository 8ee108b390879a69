"""People who react to the robot, people who walk or talk in groups, and social metrics."""
