"""What the adaptor's tests stand on: our simulator node in the part of a launch file."""

import rosgraph
import rospy
from gz_testauto.srv import LoadScene, LoadSceneRequest

from gz_testauto.base.errors import SimulatorError
from gz_testauto.simulators.gazebo_ros import GazeboRosClient, GazeboRosSimulator

SERVICE = "/simulator/load_scene"


def served_by_simulator_node():
    """Whether the ROS graph at hand has our simulator node."""
    _, _, services = rosgraph.Master("/gz_testauto_tests").getSystemState()
    return SERVICE in (name for name, _ in services)


class OnSimulatorNode(GazeboRosSimulator):
    """Has every scene started anew, with its robot, before it is taken up."""

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


def started_anew():
    """The simulator at hand, as its launch file would have left it: with the scene that is asked
    for first, or with no models at all."""
    if served_by_simulator_node():
        return OnSimulatorNode()
    client = GazeboRosClient()
    client.delete(client.model_names())
    client.close()
    return GazeboRosSimulator()
