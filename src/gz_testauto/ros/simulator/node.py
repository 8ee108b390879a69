"""The ``simulator`` node: a simulator of this package with the interface of gazebo_ros.

Connects parameters, services and topics. :mod:`~gz_testauto.ros.simulator.loop` runs the
simulation, :mod:`~gz_testauto.ros.simulator.gazebo_services` handles requests, and
:mod:`~gz_testauto.ros.simulator.publishers` publishes. ``docs/ros.md`` lists every parameter.
"""

import math
from typing import Optional

import rospy
from gazebo_msgs.msg import ModelState as ModelStateMessage
from gazebo_msgs.srv import SetModelStateRequest
from geometry_msgs.msg import Twist
from std_msgs.msg import String

from gz_testauto.base import ros_messages
from gz_testauto.base.errors import GzTestautoError, SimulatorError
from gz_testauto.base.observation import Snapshot
from gz_testauto.base.truncation import log_untruncated
from gz_testauto.ros import parameters
from gz_testauto.ros.campaign_parameters import read_builtin_campaign
from gz_testauto.ros.node import run_node
from gz_testauto.ros.services import offer, respond
from gz_testauto.ros.simulator.actor_markers import ActorMarkers
from gz_testauto.ros.simulator.clock import SceneClock
from gz_testauto.ros.simulator.collider_markers import ColliderMarkers
from gz_testauto.ros.simulator.gazebo_services import GazeboServices
from gz_testauto.ros.simulator.loop import Period, SimulationLoop
from gz_testauto.ros.simulator.pace import (
    HOLD_TIMEOUT_S,
    START_TIMEOUT_S,
    Pace,
    RateLimit,
    make_pace,
)
from gz_testauto.ros.simulator.physics import PhysicsProperties
from gz_testauto.ros.simulator.property_services import PropertyServices
from gz_testauto.ros.simulator.publishers import Frames, ScenePublisher
from gz_testauto.ros.simulator.scene_parameters import first_scene, read_simulator
from gz_testauto.ros.simulator.scene_service import SceneService
from gz_testauto.ros.tracked_objects import TrackedObjectsPublisher
from gz_testauto.simulators import open_simulator
from gz_testauto.simulators.interface import Scene, Simulator
from gz_testauto.simulators.urdf import convert_urdf
from gz_testauto.spec.campaign import BuiltinCampaignSpec


class SimulatorNode:
    """Connects one simulator to the ROS graph."""

    def __init__(
        self,
        simulator: Simulator,
        pace: Pace,
        period_s: float,
        frames: Frames,
        campaign: Optional[BuiltinCampaignSpec],
    ) -> None:
        self._clock = SceneClock()
        self._publisher = ScenePublisher(self._clock, frames, period_s)
        self._failures = rospy.Publisher("~failure", String, queue_size=10)
        self._loop = SimulationLoop(
            simulator, pace, period_s, self._begin_scene, self._show, self._fail
        )
        factor = pace.factor if isinstance(pace, RateLimit) else math.inf
        self._services = GazeboServices(
            self._loop, self._clock, PhysicsProperties(period_s, factor), convert_urdf
        )
        self._actors = ActorMarkers()
        self._colliders = ColliderMarkers(lambda: self._loop.simulation, campaign)
        self._objects = TrackedObjectsPublisher("~objects", "~obstacle_array", "~tracked")
        self._scenes = SceneService(self._loop, self._clock, self._actors, self._objects, campaign)
        self._properties = PropertyServices(self._loop, self._clock)

    def run(self, first: Optional[Scene]) -> None:
        """Load the first scene, if any, register all services, and run until shutdown."""
        if first is not None:
            self._loop.load(first)
        rospy.on_shutdown(self._loop.end)
        self._kept = [
            *offer(
                {
                    **self._services.services,
                    **self._properties.services,
                    **self._scenes.services,
                }
            ),
            rospy.Subscriber("cmd_vel", Twist, self._on_command, tcp_nodelay=True),
            rospy.Subscriber("/gazebo/set_model_state", ModelStateMessage, self._place),
        ]
        self._loop.run()

    def _show(self, period: Period) -> None:
        snapshot = period.snapshot
        stamp = ros_messages.time_message(self._clock.nanoseconds(snapshot.time_s))
        self._actors.show(snapshot.models, stamp)
        self._colliders.show(snapshot.models, stamp)
        self._objects.show(snapshot, stamp)
        self._publisher.show(period)

    def _begin_scene(self, scene: Scene, period: Period) -> None:
        snapshot: Snapshot = period.snapshot
        self._services.scene_began({name: s.pose for name, s in snapshot.models.items()})
        self._colliders.scene_began(scene)
        self._publisher.scene_began(scene, period)
        stamp = ros_messages.time_message(self._clock.nanoseconds(snapshot.time_s))
        self._objects.show(snapshot, stamp)

    def _fail(self, error: SimulatorError) -> None:
        rospy.logerr("the simulation has ended: %s; call load_scene to start another", error)
        log_untruncated(error.full)
        self._failures.publish(str(error))

    def _on_command(self, message: Twist) -> None:
        self._loop.command(ros_messages.command_of(message))

    def _place(self, message: ModelStateMessage) -> None:
        name = "/gazebo/set_model_state"
        response = respond(name, *self._services.services[name], SetModelStateRequest(message))
        if not response.success:
            rospy.logerr("/gazebo/set_model_state: %s", response.status_message)


def serve() -> None:
    """Open the simulator of the parameters and run it until shutdown."""
    campaign = read_builtin_campaign() if parameters.read("campaign", str, "") else None
    period_s = parameters.read("period", float, campaign.control_period_s if campaign else 0.1)
    pace = make_pace(
        rospy.get_param("~real_time_factor", 1.0),
        period_s,
        parameters.read("command_timeout", float, HOLD_TIMEOUT_S),
        parameters.read("start_timeout", float, START_TIMEOUT_S),
    )
    frames = Frames(
        base=parameters.read("base_frame", str, "base_link"),
        odom=parameters.read("odom_frame", str, "odom"),
        odom_origin=parameters.read("odom_origin", str, "world"),
        map_to_odom=parameters.read("map_to_odom", bool, True),
    )
    scene = first_scene()
    name, options = read_simulator(campaign)
    with open_simulator(name, **options) as simulator:
        identity = {"name": simulator.name, "version": simulator.version}
        rospy.set_param("~identity", {**identity, "repeatable": simulator.repeatable})
        SimulatorNode(simulator, pace, period_s, frames, campaign).run(scene)


def start() -> int:
    """Run the node. In a campaign, the campaign node reports a simulator that cannot be opened."""
    rospy.set_param("~error", "")
    try:
        serve()
    except GzTestautoError as error:
        if not parameters.read("campaign", str, ""):
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
