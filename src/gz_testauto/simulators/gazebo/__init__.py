"""Gazebo 11 as a simulator: a gzserver process, controlled through Gazebo's transport.

The simulator needs neither gazebo_ros nor a plugin. ``messages`` and ``transport`` implement the
transport, and ``world`` is the client of one server. ``split_world``, ``engines``, ``instruments``
and ``readings`` convert models and messages.
"""

from gz_testauto.simulators.gazebo.installation import GazeboInstallation, find_gazebo
from gz_testauto.simulators.gazebo.simulation import GazeboSimulation
from gz_testauto.simulators.gazebo.simulator import GazeboSimulator

__all__ = ["GazeboInstallation", "GazeboSimulation", "GazeboSimulator", "find_gazebo"]
