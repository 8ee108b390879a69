"""The simulator ``gazebo_ros``: a running Gazebo behind the services of gazebo_ros.

This package does not start or stop processes.
"""

from gz_testauto.simulators.gazebo_ros.client import GazeboRosClient, WorldNow
from gz_testauto.simulators.gazebo_ros.simulation import GazeboRosSimulation
from gz_testauto.simulators.gazebo_ros.simulator import GazeboRosSimulator
from gz_testauto.simulators.gazebo_ros.topics import RobotTopics, TopicNames

__all__ = [
    "GazeboRosClient",
    "GazeboRosSimulation",
    "GazeboRosSimulator",
    "RobotTopics",
    "TopicNames",
    "WorldNow",
]
