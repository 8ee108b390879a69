"""The ``simulator`` node: a simulator of this package with the interface of gazebo_ros.

Connects parameters, services and topics. :mod:`~gz_testauto.ros.simulator.loop` runs the
simulation, :mod:`~gz_testauto.ros.simulator.gazebo_services` handles requests, and
:mod:`~gz_testauto.ros.simulator.publishers` publishes. :mod:`~gz_testauto.ros.simulator.interface`
has parameters, topics and services.
"""

import math
from typing import Optional

import rospy
from gazebo_msgs.msg import ModelState as ModelStateMessage
from gazebo_msgs.srv import SetModelStateRequest
from geometry_msgs.msg import Twist

from gz_testauto.base import ros_messages
from gz_testauto.base.errors import GzTestautoError, SimulatorError
from gz_testauto.base.observation import Snapshot
from gz_testauto.base.truncation import log_untruncated
from gz_testauto.ros.campaign_parameters import load_builtin_campaign
from gz_testauto.ros.graph import Handler, advertise, offer, respond, subscribe
from gz_testauto.ros.node import read_parameters, run_node
from gz_testauto.ros.simulator import interface
from gz_testauto.ros.simulator.actor_markers import ActorMarkers
from gz_testauto.ros.simulator.clock import SceneClock
from gz_testauto.ros.simulator.collider_markers import ColliderMarkers
from gz_testauto.ros.simulator.gazebo_services import GazeboServices
from gz_testauto.ros.simulator.loop import Period, SimulationLoop
from gz_testauto.ros.simulator.pace import RateLimit, make_pace
from gz_testauto.ros.simulator.physics import PhysicsProperties
from gz_testauto.ros.simulator.property_services import PropertyServices
from gz_testauto.ros.simulator.publishers import ScenePublisher
from gz_testauto.ros.simulator.scene_service import SceneService, first_scene
from gz_testauto.ros.simulator.simulator_options import choose_simulator
from gz_testauto.ros.tracked_objects import TrackedObjectsPublisher
from gz_testauto.simulators import open_simulator
from gz_testauto.simulators.gazebo.installation import convert_urdf
from gz_testauto.simulators.interface import Scene, Simulator
from gz_testauto.spec.campaign import BuiltinCampaignSpec


class SimulatorNode:
    """Connects one simulator to the ROS graph."""

    def __init__(
        self,
        simulator: Simulator,
        parameters: interface.SimulatorParameters,
        campaign: Optional[BuiltinCampaignSpec],
    ) -> None:
        period_s = parameters.period or (campaign.control_period_s if campaign else 0.1)
        pace = make_pace(parameters, period_s)
        self._clock = SceneClock()
        self._publisher = ScenePublisher(self._clock, parameters, period_s)
        self._failures = advertise(interface.FAILURE, 10)
        self._loop = SimulationLoop(
            simulator, pace, period_s, self._start_scene, self._publish_period, self._report_failure
        )
        factor = pace.factor if isinstance(pace, RateLimit) else math.inf
        self._services = GazeboServices(
            self._loop, self._clock, PhysicsProperties(period_s, factor), convert_urdf
        )
        self._actors = ActorMarkers()
        self._colliders = ColliderMarkers(lambda: self._loop.simulation, campaign)
        self._objects = TrackedObjectsPublisher(
            interface.OBJECTS, interface.OBSTACLE_ARRAY, interface.TRACKED
        )
        self._scenes = SceneService(self._loop, self._clock, self._actors, self._objects, campaign)
        self._properties = PropertyServices(self._loop, self._clock)

    def run(self, first: Optional[Scene]) -> None:
        """Load the first scene, if any, register all services, and run until shutdown."""
        if first is not None:
            self._loop.load(first)
        rospy.on_shutdown(self._loop.end)
        offer(interface.NODE.services, self._handler)
        subscribe(interface.CMD_VEL, self._on_command)
        subscribe(interface.SET_MODEL_STATE_TOPIC, self._on_model_state)
        self._loop.run()

    def _handler(self, name: str) -> Handler:
        """Return the handler that runs a method of this name on the loop's thread."""
        owners = (self._services, self._properties, self._scenes)
        method: Handler = next(getattr(owner, name) for owner in owners if hasattr(owner, name))

        def handle(request: object) -> object:
            try:
                return self._loop.perform(lambda: method(request))
            except ValueError as error:  # a change with an invalid value
                raise SimulatorError(str(error)) from error

        return handle

    def _publish_period(self, period: Period) -> None:
        snapshot = period.snapshot
        stamp = ros_messages.time_message(self._clock.nanoseconds(snapshot.time_s))
        self._actors.publish(snapshot.models, stamp)
        self._colliders.publish(snapshot.models, stamp)
        self._objects.publish(snapshot, stamp)
        self._publisher.publish(period)

    def _start_scene(self, scene: Scene, period: Period) -> None:
        snapshot: Snapshot = period.snapshot
        self._services.start_scene({name: s.pose for name, s in snapshot.models.items()})
        self._colliders.start_scene(scene)
        self._publisher.start_scene(scene, period)
        stamp = ros_messages.time_message(self._clock.nanoseconds(snapshot.time_s))
        self._objects.publish(snapshot, stamp)

    def _report_failure(self, error: SimulatorError) -> None:
        rospy.logerr("the simulation has ended: %s; call load_scene to start another", error)
        log_untruncated(error.full)
        self._failures.publish(str(error))

    def _on_command(self, message: Twist) -> None:
        self._loop.command(ros_messages.command_of(message))

    def _on_model_state(self, message: ModelStateMessage) -> None:
        service = interface.SET_MODEL_STATE
        request = SetModelStateRequest(message)
        response = respond(service, self._handler(service.handler), request)
        if not response.success:
            rospy.logerr("%s: %s", service.name, response.status_message)


def serve(parameters: interface.SimulatorParameters) -> None:
    """Open the simulator of the parameters and run it until shutdown."""
    campaign = None
    if parameters.campaign is not None:
        campaign = load_builtin_campaign(parameters.campaign, parameters.simulator)
    scene = first_scene(parameters)
    name, options = choose_simulator(parameters, campaign)
    with open_simulator(name, **options) as simulator:
        identity = {"name": simulator.name, "version": simulator.version}
        rospy.set_param("~identity", {**identity, "repeatable": simulator.repeatable})
        SimulatorNode(simulator, parameters, campaign).run(scene)


def start() -> int:
    """Run the node. In a campaign, the campaign node reports a simulator that cannot be opened."""
    rospy.set_param("~error", "")
    try:
        serve(read_parameters(interface.SimulatorParameters))
    except GzTestautoError as error:
        if not rospy.get_param("~campaign", ""):
            raise
        rospy.set_param("~error", str(error))
        rospy.spin()  # after an exit, roslaunch would restart this node
        return 2
    return 0


def main() -> int:
    """Run the node; the entry point of the script."""
    return run_node("simulator", start)


if __name__ == "__main__":
    raise SystemExit(main())
