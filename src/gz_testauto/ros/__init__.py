"""ROS nodes of this package: thin adapters over the core."""

import os

# Read before all other imports, so that a roslaunch that is killed during them is detected.
LAUNCHER_PID = os.getppid()
