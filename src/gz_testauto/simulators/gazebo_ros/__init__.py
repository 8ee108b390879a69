"""Anybody's running Gazebo as a simulator, through the services and topics of gazebo_ros.

From the bottom up: ``connection`` speaks TCPROS; ``client`` knows the services and ``topics`` what
a robot says and hears; ``model_diff`` and ``plugins`` say what has to be done for a scene;
``simulation`` and ``simulator`` are the adaptor. Nothing is started here and nothing ended.
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
