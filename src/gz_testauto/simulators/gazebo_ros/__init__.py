"""The simulator ``gazebo_ros``: a running Gazebo that is controlled through the services and topics
of gazebo_ros.

``connection`` implements TCPROS. ``client`` calls the services, and ``topics`` contains the topics
of a robot. ``plugins`` adapts a robot, and ``changes`` changes a running world. ``simulation`` and
``simulator`` implement the interface of simulators. This package does not start or stop
processes.
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
