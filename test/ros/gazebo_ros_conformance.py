"""The conformance suite on the gazebo_ros at ``ROS_MASTER_URI``, whoever serves it.

Where it is our simulator node, that node plays the launch file: it starts every scene, with the
robot in it, and the adaptor finds it standing. Anybody else's is cleared of all models
first, and must have gazebo_ros's plugins; the adaptor then brings floor, walls and robot itself.
"""

from gazebo_ros_rooms import started_anew

from gz_testauto.testing.changes_conformance import ChangesConformance
from gz_testauto.testing.simulator_conformance import SimulatorConformance


class TestGazeboRos(SimulatorConformance):
    sees_near = False
    tolerance = 0.05  # a command takes some 0.05 s to the drive plugin and into the wheels

    def make_simulator(self):
        return started_anew()


class TestGazeboRosChanges(ChangesConformance):
    def make_simulator(self):
        return started_anew()
