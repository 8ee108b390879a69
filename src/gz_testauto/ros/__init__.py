"""The ROS face: thin nodes over the core."""

import os

# Asked before anything else is imported: a roslaunch that is killed meanwhile is not to be missed.
LAUNCHER_PID = os.getppid()
