"""The ``simulator`` node, which connects a simulator of this package with the ROS graph."""

import inspect
import math
import os
import tempfile
from pathlib import Path
from typing import Any, Dict, NamedTuple, Optional, Tuple

import rospy
import yaml
from gazebo_msgs.msg import ModelState as ModelStateMessage
from gazebo_msgs.srv import SetModelStateRequest
from geometry_msgs.msg import Twist

from gz_testauto.actors.localization import PoseEstimator
from gz_testauto.actors.tracker import ObjectTracker
from gz_testauto.base import ros_messages
from gz_testauto.base.description_files import XACRO
from gz_testauto.base.errors import (
    GzTestautoError,
    MissingDependencyError,
    SimulatorError,
    SpecError,
)
from gz_testauto.base.observation import Snapshot
from gz_testauto.base.pose import Pose2D
from gz_testauto.base.scratch import scratch_directory
from gz_testauto.base.sensors import Sensor
from gz_testauto.base.truncation import log_untruncated
from gz_testauto.campaign.simulator import simulator_options
from gz_testauto.ros.campaign_parameters import load_builtin_campaign
from gz_testauto.ros.graph import Handler, advertise, offer, respond, subscribe
from gz_testauto.ros.interface import existing_file
from gz_testauto.ros.node import read_parameters, run_node
from gz_testauto.ros.simulator import interface
from gz_testauto.ros.simulator.clock import SceneClock
from gz_testauto.ros.simulator.gazebo_services import GazeboServices
from gz_testauto.ros.simulator.loop import REMEDY, Period, SimulationLoop
from gz_testauto.ros.simulator.markers import ActorMarkers, ColliderMarkers
from gz_testauto.ros.simulator.physics import PhysicsServices
from gz_testauto.ros.simulator.property_services import PropertyServices
from gz_testauto.ros.simulator.publishers import ScenePublisher
from gz_testauto.ros.simulator.step_scheduler import RealTimeScheduler, make_scheduler
from gz_testauto.ros.tracked_objects import TrackedObjectsPublisher
from gz_testauto.sdf.includes import ModelLibrary, read_world
from gz_testauto.sdf.plugin_sensors import select_sensors
from gz_testauto.sdf.robot import RobotModel, read_robot
from gz_testauto.sdf.scene import WorldScene, read_scene
from gz_testauto.simulators import (
    AUTOMATIC,
    SIMULATORS,
    check_options,
    chosen_simulator,
    open_simulator,
)
from gz_testauto.simulators.gazebo.installation import find_gazebo
from gz_testauto.simulators.interface import Scene, Simulator, check_command
from gz_testauto.spec.campaign import BuiltinCampaignSpec
from gz_testauto.spec.loader import parse
from gz_testauto.spec.localization import LocalizationSpec
from gz_testauto.spec.worlds import RandomNumbers
from gz_testauto.srv import LoadSceneRequest, LoadSceneResponse
from gz_testauto.trial.actors import (
    ActorContext,
    TrialActors,
    prepare_actors,
    require_unmoved_robot,
    tracker_of,
)
from gz_testauto.trial.localization import make_estimator
from gz_testauto.trial.testbed import read_body

ALL_SENSORS = "all"
LOADED_AGAIN = "its scene was loaded again, without the models that were spawned since"


class _SceneInputs(NamedTuple):
    numbers: RandomNumbers
    actors: TrialActors = TrialActors()
    tracker: Optional[ObjectTracker] = None


class SimulatorNode:
    def __init__(
        self,
        simulator: Simulator,
        parameters: interface.SimulatorParameters,
        campaign: Optional[BuiltinCampaignSpec],
        folder: Path,
    ) -> None:
        period_s = parameters.period or (campaign.control_period_s if campaign else 0.1)
        scheduler = make_scheduler(parameters, period_s)
        self._clock = SceneClock()
        self._localization = _read_localization(parameters, campaign)
        is_corrected = self._localization is not None and not self._localization.is_true
        self._publisher = ScenePublisher(self._clock, parameters, period_s, is_corrected)
        self._first = self._loading = _SceneInputs(
            RandomNumbers(seed=parameters.seed, world=0, repetition=0)
        )
        self._numbers = self._first.numbers
        self._failures = advertise(interface.FAILURE, 10)
        self._loop = SimulationLoop(
            simulator,
            scheduler,
            period_s,
            self._start_scene,
            self._publish_period,
            self._report_failure,
        )
        # A trial with unstable physics must become invalid.
        is_interactive = campaign is None and isinstance(scheduler, RealTimeScheduler)
        self._loop.recovers = is_interactive
        factor = scheduler.factor if isinstance(scheduler, RealTimeScheduler) else math.inf
        self._services = GazeboServices(self._loop, self._clock)
        self._physics = PhysicsServices(self._loop, period_s, factor)
        self._actors = ActorMarkers()
        self._colliders = ColliderMarkers(lambda: self._loop.simulation, campaign)
        self._objects = TrackedObjectsPublisher(
            interface.OBJECTS, interface.OBSTACLE_ARRAY, interface.TRACKED
        )
        self._campaign, self._folder = campaign, folder
        self._robot_sensors = parameters.robot_sensors
        self._properties = PropertyServices(self._loop, self._clock)

    def run(self, first: Optional[Scene]) -> None:
        if first is not None:
            self._load_first(first)
        rospy.on_shutdown(self._loop.end)
        offer(interface.NODE.services, self._handler)
        subscribe(interface.CMD_VEL, self._on_command)
        subscribe(interface.SET_MODEL_STATE_TOPIC, self._on_model_state)
        self._loop.run()

    def _handler(self, name: str) -> Handler:
        # Handlers run on the thread of the simulation loop.
        owners = (self._services, self._physics, self._properties, self)
        method: Handler = next(getattr(owner, name) for owner in owners if hasattr(owner, name))
        perform = self._loop.perform if name.startswith("get_") else self._loop.perform_change
        return lambda request: perform(lambda: method(request))

    def load_scene(self, request: LoadSceneRequest) -> LoadSceneResponse:
        """Load a world; an invalid request does not end the present scene."""
        robot = self._read_requested_robot(request)
        sensors = chosen_sensors(robot, request.robot_sensors or self._robot_sensors)
        start = Pose2D(request.start.x, request.start.y, request.start.theta)
        world = existing_file(request.world, "world")
        if self._campaign is None:  # the worlds of stored results must not run programs
            world = expanded_world(world, self._folder)
        scene = Scene(world, robot, start, request.seed, sensors=sensors)
        world_scene = read_scene(world)
        actors, tracker = TrialActors(), None
        if request.with_actors:
            context = self._actor_context(scene, world_scene, request)
            actors = prepare_actors(context)  # in this thread, as Scenic requires
            tracker = tracker_of(context, actors)
        numbers = RandomNumbers(
            seed=request.seed, world=request.world_index, repetition=request.repetition
        )
        if self._campaign is not None:
            numbers = self._campaign.random_numbers(request.world_index, request.repetition)
        self._loading = _SceneInputs(numbers, actors, tracker)
        self._loop.load(scene, actors)
        self._loop.load_again = lambda: self.load_scene(request)
        return LoadSceneResponse(
            success=True,
            message=f"{scene.world.name} is loaded",
            scene=self._loop.scene_number,
            stamp=ros_messages.time_message(self._clock.origin_ns),
        )

    def _load_first(self, scene: Scene) -> None:
        self._loading = self._first
        self._loop.load(scene)
        self._loop.load_again = lambda: self._load_first(scene)

    def _read_requested_robot(self, request: LoadSceneRequest) -> Optional[RobotModel]:
        # The campaign's robot has specified wheels and sensor delays.
        if not request.robot_model:
            return None
        model = existing_file(request.robot_model, "robot_model")
        if self._campaign is not None:
            robot = read_body(self._campaign)
            if (robot.path, robot.name) == (model, request.robot_name):
                return robot
        name, lidar = request.robot_name or "robot", request.robot_lidar or None
        return read_robot(model, name, lidar=lidar)

    def _actor_context(
        self, scene: Scene, world_scene: WorldScene, request: LoadSceneRequest
    ) -> ActorContext:
        if self._campaign is None:
            raise SpecError("with_actors: the simulator node has no campaign; set ~campaign")
        require_unmoved_robot(self._campaign)
        assert scene.robot is not None, "a campaign's scene has a robot"
        return ActorContext(
            self._campaign,
            scene.robot,
            scene.start,
            self._campaign.road_of(request.world_index),
            self._campaign.random_numbers(request.world_index, request.repetition),
            scene.world,
            world_scene,
        )

    def _publish_period(self, period: Period) -> None:
        snapshot = period.snapshot
        stamp = ros_messages.time_message(self._clock.nanoseconds(snapshot.time_s))
        self._publisher.advance(period)
        self._actors.publish(snapshot.models, stamp)
        self._colliders.publish(snapshot.models, stamp)
        self._objects.publish(snapshot, stamp, self._publisher.odometry)
        self._publisher.publish(period)

    def _start_scene(self, scene: Scene, period: Period) -> None:
        snapshot: Snapshot = period.snapshot
        self._numbers, actors, tracker = self._loading
        self._actors.start_scene(actors)
        self._objects.start_scene(tracker)
        self._services.start_scene({name: s.pose for name, s in snapshot.models.items()})
        self._colliders.start_scene(scene)
        self._publisher.start_scene(scene, period, self._make_estimator(scene))
        stamp = ros_messages.time_message(self._clock.nanoseconds(snapshot.time_s))
        self._objects.publish(snapshot, stamp, self._publisher.odometry)

    def _make_estimator(self, scene: Scene) -> Optional[PoseEstimator]:
        if scene.robot is None:
            return None
        terms = () if self._campaign is None else self._campaign.randomize
        return make_estimator(self._localization, terms, scene.robot, self._numbers)

    def _report_failure(self, error: SimulatorError) -> None:
        remedy = REMEDY if self._loop.has_failed else LOADED_AGAIN
        rospy.logerr("the simulation has ended: %s; %s", error, remedy)
        log_untruncated(error.full)
        self._failures.publish(str(error))

    def _on_command(self, message: Twist) -> None:
        command = ros_messages.command_of(message)
        try:
            check_command(command)
        except ValueError as error:
            rospy.logerr_throttle(1.0, f"{rospy.resolve_name(interface.CMD_VEL.name)}: {error}")
        else:
            self._loop.command(command)

    def _on_model_state(self, message: ModelStateMessage) -> None:
        service = interface.SET_MODEL_STATE
        request = SetModelStateRequest(message)
        response = respond(service, self._handler(service.handler), request)
        if not response.success:
            rospy.logerr("%s: %s", service.name, response.status_message)


def _read_localization(
    parameters: interface.SimulatorParameters, campaign: Optional[BuiltinCampaignSpec]
) -> Optional[LocalizationSpec]:
    if parameters.localization is None:
        return None if campaign is None else campaign.localization
    text = yaml.safe_dump(parameters.localization)
    name = rospy.resolve_name("~localization")
    return parse(text, LocalizationSpec, Path(name), f"parameter {name}")


def expanded_world(world: Path, folder: Path) -> Path:
    """Return the path of ``world``, or for xacro, the path of an expanded copy in ``folder``."""
    if world.suffix != XACRO:
        return world
    document = read_world(world)
    ModelLibrary().make_paths_absolute(document)
    path = Path(tempfile.mkdtemp(dir=folder), world.stem)
    document.write(path)
    return path


def first_scene(parameters: interface.SimulatorParameters, folder: Path) -> Optional[Scene]:
    if parameters.world is None:
        return None
    model, robot = parameters.robot_model, None
    if model is not None:
        robot = read_robot(model, parameters.robot_name, lidar=parameters.robot_lidar or None)
    sensors = chosen_sensors(robot, parameters.robot_sensors)
    start = Pose2D(*parameters.start)
    world = expanded_world(parameters.world, folder)
    return Scene(world, robot, start, parameters.seed, sensors=sensors)


def chosen_sensors(robot: Optional[RobotModel], names: str) -> Tuple[Sensor, ...]:
    """Return the robot's sensors with the names in a comma-separated list, or all for ``all``.

    Raises ``SdfError`` if the robot does not have one of the sensors.
    """
    if robot is None or not names.strip():
        return ()
    if names.strip() == ALL_SENSORS:
        return robot.sensors
    selected_names = [name.strip() for name in names.split(",") if name.strip()]
    return select_sensors(
        str(robot.path), robot.sensors, selected_names, "the parameter robot_sensors"
    )


def choose_simulator(
    parameters: interface.SimulatorParameters, campaign: Optional[BuiltinCampaignSpec]
) -> Tuple[str, Dict[str, Any]]:
    """Return the name of the simulator, and its options with limits and ``worlds`` of the campaign.

    Raises ``SpecError`` for an unknown option.
    """
    if campaign is None:
        name = chosen_simulator(parameters.simulator or AUTOMATIC)
        options = parameters.simulator_options or {}
        check_options(name, options)
        return name, {**options, **_window_options(name, parameters.gui)}
    name = chosen_simulator(campaign.simulator)
    update: Dict[str, Any] = {"simulator": name}
    if parameters.simulator_options is not None:
        update["simulator_options"] = parameters.simulator_options
    spec = campaign.model_copy(update=update)
    return name, simulator_options(spec, **_window_options(name, parameters.gui))


def _window_options(simulator: str, is_wanted: bool) -> Dict[str, Any]:
    if not is_wanted:
        return {}
    try:
        _require_window(simulator)
    except MissingDependencyError as error:
        rospy.logwarn("no window: %s; the simulator runs without it", error)
        return {}
    return {"gui": True}


def _require_window(simulator: str) -> None:
    if "gui" not in inspect.signature(SIMULATORS.get(simulator)).parameters:
        raise MissingDependencyError(
            f"the simulator {simulator} has no window; use gazebo or embedded, or remove gui:=true"
        )
    if not os.environ.get("DISPLAY"):
        raise MissingDependencyError(
            "gui:=true needs a display, but DISPLAY is not set; over ssh, use ssh -X"
        )
    if simulator != "gazebo":
        return
    installation = find_gazebo()
    if installation.client is None:
        raise MissingDependencyError(
            f"gzclient not found next to {installation.where}; install Gazebo with its client"
        )


def serve(parameters: interface.SimulatorParameters) -> None:
    campaign = None
    if parameters.campaign is not None:
        campaign = load_builtin_campaign(parameters.campaign, parameters.simulator)
    with scratch_directory() as folder:
        scene = first_scene(parameters, folder)
        name, options = choose_simulator(parameters, campaign)
        with open_simulator(name, **options) as simulator:
            identity = {"name": simulator.name, "version": simulator.version}
            rospy.set_param("~identity", {**identity, "repeatable": simulator.repeatable})
            SimulatorNode(simulator, parameters, campaign, folder).run(scene)


def start() -> int:
    """Run the node until shutdown, and return the exit status.

    In a campaign, the node stores an error in ``~error``, which the campaign node reports.
    """
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
    return run_node("simulator", start)


if __name__ == "__main__":
    raise SystemExit(main())
