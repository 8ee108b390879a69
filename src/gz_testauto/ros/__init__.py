"""The ROS nodes of this package, and the execution of trials over ROS."""

import os

# Read before all other imports, so that a roslaunch that is killed during them is detected.
LAUNCHER_PID = os.getppid()
