"""The conformance suite on the gazebo_ros at ``ROS_MASTER_URI``.

This package's simulator node has the role of a launch file: it loads each scene with the robot, and
the adaptor uses the present models. From another gazebo_ros, all models are deleted first, and the
adaptor spawns floor, walls and robot; it must have gazebo_ros's plugins.
"""

from gazebo_ros_rooms import restarted_simulator

from gz_testauto.testing.changes_conformance import ChangesConformance
from gz_testauto.testing.simulator_conformance import SimulatorConformance


class TestGazeboRos(SimulatorConformance):
    tolerance = 0.05  # a command reaches drive plugin and wheels after about 0.05 s

    def make_simulator(self):
        return restarted_simulator()


class TestGazeboRosChanges(ChangesConformance):
    def make_simulator(self):
        return restarted_simulator()
