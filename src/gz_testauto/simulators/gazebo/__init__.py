"""Gazebo 11 as a simulator: a gzserver of our own, spoken to over Gazebo's own transport.

Needs neither gazebo_ros nor a plugin. From the bottom up: ``messages``, ``wire``, ``node``
speak the transport; ``installation``, ``server``, ``client`` own the processes; ``world`` is
the conversation with one server; ``split_world``, ``instruments``, ``drive``, ``readings``
translate; ``simulation`` and ``simulator`` are the adaptor.
"""

from gz_testauto.simulators.gazebo.installation import GazeboInstallation, find_gazebo
from gz_testauto.simulators.gazebo.simulation import GazeboSimulation
from gz_testauto.simulators.gazebo.simulator import GazeboSimulator

__all__ = ["GazeboInstallation", "GazeboSimulation", "GazeboSimulator", "find_gazebo"]
