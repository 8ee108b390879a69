"""A running Gazebo with gazebo_ros as a simulator, through its services and topics.

From the bottom up: ``connection`` implements TCPROS; ``client`` calls the services, and ``topics``
has the topics of a robot; ``plugins`` adapts a robot, and ``changes`` a running world;
``simulation`` and ``simulator`` implement the interface. No process is started or stopped here.
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
