"""Simulators for the tests of the adaptor; this package's node acts as a launch file."""

import rosgraph
import rospy
from gz_testauto.srv import LoadScene, LoadSceneRequest

from gz_testauto.base.errors import SimulatorError
from gz_testauto.simulators.gazebo_ros import GazeboRosClient, GazeboRosSimulator

SERVICE = "/simulator/load_scene"


def served_by_simulator_node():
    """Return true if this package's simulator node runs."""
    _, _, services = rosgraph.Master("/gz_testauto_tests").getSystemState()
    return SERVICE in (name for name, _ in services)


class OnSimulatorNode(GazeboRosSimulator):
    """Loads each scene with its robot in the node first, as a launch file does."""

    def load(self, scene):
        request = LoadSceneRequest(world=str(scene.world), seed=scene.seed)
        if scene.robot is not None:
            request.robot_model, request.robot_name = str(scene.robot.path), scene.robot.name
            request.start.x, request.start.y, request.start.theta = scene.start
        answer = rospy.ServiceProxy(SERVICE, LoadScene)(request)
        if not answer.success:
            raise SimulatorError(answer.message)
        self.was_started_with(scene.world)
        return super().load(scene)


def restarted_simulator():
    """Return the running simulator in the state after its launch: with the first scene, or without
    any model."""
    if served_by_simulator_node():
        return OnSimulatorNode()
    client = GazeboRosClient()
    client.delete(client.model_names())
    client.close()
    return GazeboRosSimulator()
