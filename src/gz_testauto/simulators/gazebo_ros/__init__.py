"""Anybody's running Gazebo as a simulator, through gazebo_ros."""

from gz_testauto.simulators.gazebo_ros.client import GazeboRosClient, WorldNow

__all__ = ["GazeboRosClient", "WorldNow"]
