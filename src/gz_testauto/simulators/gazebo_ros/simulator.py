"""The simulator ``gazebo_ros``, which loads scenes one after the other into a running gazebo_ros.

It loads only models. Lights, physics settings, gravity and plugins are those of the world with
which Gazebo was started.
"""

import logging
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import (
    Collection,
    Dict,
    Mapping,
    NamedTuple,
    Optional,
    Pattern,
    Sequence,
    Set,
    Tuple,
    Union,
)

from gz_testauto.base.errors import SdfError, SimulatorError
from gz_testauto.base.observation import LaserScan, ModelState, Twist2D
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.sampling.naming import is_obstacle
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.robot import RobotModel
from gz_testauto.sdf.robot_sensors import LidarDescription
from gz_testauto.sdf.scene import read_scene
from gz_testauto.sdf.values import pose_value
from gz_testauto.sdf.world_diff import WorldModels, model_changes
from gz_testauto.simulators.gazebo_ros.changes import EXACT
from gz_testauto.simulators.gazebo_ros.client import GazeboRosClient, is_at
from gz_testauto.simulators.gazebo_ros.plugins import with_ros_plugins
from gz_testauto.simulators.gazebo_ros.simulation import (
    SCAN_TIMEOUT_S,
    GazeboRosSimulation,
    PausedTime,
)
from gz_testauto.simulators.gazebo_ros.topics import RobotTopics, TopicNames
from gz_testauto.simulators.interface import NamedModel, Scene, Simulator
from gz_testauto.simulators.world_file import PhysicsSettings, check_shapes, physics_of

LOGGER = logging.getLogger(__name__)

SETTLING_S = 0.2  # simulated time in which a robot stops moving


class ModelDiff(NamedTuple):
    """Operations on models: delete, then spawn, then set the poses ``place`` (world frame)."""

    delete: Tuple[str, ...]
    spawn: Tuple[NamedModel, ...]
    place: Mapping[str, Pose]


def read_models(world: Path) -> Tuple[Dict[str, NamedModel], PhysicsSettings]:
    try:
        scene = read_scene(world)
        physics = physics_of(scene.document)
        check_shapes(scene)
        models = WorldModels(scene)
    except SdfError as error:
        raise SimulatorError(f"cannot load the world: {error}") from error
    return {
        name: NamedModel(name, text, models.poses[name]) for name, text in models.texts.items()
    }, physics


def diff_models(
    target_models: Mapping[str, NamedModel],
    existing_names: Collection[str],
    known_texts: Mapping[str, str],
    obstacles: Optional[Pattern[str]],
) -> ModelDiff:
    """Return the operations with which the models ``existing_names`` become ``target_models``.

    ``known_texts`` contains the known SDF texts of models. For other models, the text of the
    scene's model of the same name is assumed, except for random obstacles, whose names match
    ``obstacles``. Any further model belongs to another process and is not changed.
    """
    texts = {name: model.sdf for name, model in target_models.items()}
    our_texts: Dict[str, Optional[str]] = {}
    for name in existing_names:
        if name in known_texts or is_obstacle(name, obstacles):
            our_texts[name] = known_texts.get(name)
        elif name in target_models:
            our_texts[name] = texts[name]
    changes = model_changes(our_texts, texts)
    return ModelDiff(
        delete=changes.to_delete,
        spawn=tuple(target_models[name] for name in changes.to_spawn),
        place={name: target_models[name].pose for name in changes.kept},
    )


class GazeboRosSimulator(Simulator):
    """A connection to the running gazebo_ros at ``ROS_MASTER_URI``.

    ``world`` is the world file with which gazebo_ros was started, if it is known. Obstacles that
    this world and a scene both contain are then moved instead of replaced. ``obstacle_names`` is a
    regular expression for the whole names of the random obstacles, by default those of the
    spawner. Timeouts are wall times: of a service call, of its effect, and in ``stall_timeout_s``
    of a step without progress of simulated time. The other parameters are names of topics and
    namespaces.
    """

    name = "gazebo_ros"
    changes = GazeboRosSimulation.changes
    repeatable = False
    steps_exactly = False
    runs_plugins = True
    shared = True
    contacts_without_forces = True
    inertial = "period"  # Gazebo averages over a period; other simulators may not

    def __init__(
        self,
        world: Union[str, Path] = "",
        obstacle_names: Optional[str] = None,
        service_timeout_s: float = 30.0,
        effect_timeout_s: float = 10.0,
        stall_timeout_s: float = 30.0,
        namespace: str = "/gazebo",
        clock: str = TopicNames.clock,
        scan: str = TopicNames.scan,
        imu: str = TopicNames.imu,
        contacts: Union[str, Sequence[str]] = TopicNames.contacts,
        cmd_vel: str = TopicNames.cmd_vel,
        odom: str = TopicNames.odom,
    ) -> None:
        """Raise ``SimulatorError`` if gazebo_ros is not running."""
        if service_timeout_s <= 0 or effect_timeout_s <= 0 or stall_timeout_s <= 0:
            raise ValueError(
                "service_timeout_s, effect_timeout_s and stall_timeout_s must be positive"
            )
        bumpers = (contacts,) if isinstance(contacts, str) else tuple(contacts)
        self._names = TopicNames(clock, scan, imu, bumpers, cmd_vel, odom)
        self._obstacles = None if obstacle_names is None else re.compile(obstacle_names)
        self._effect_timeout_s = effect_timeout_s
        self._texts: Dict[str, str] = {}
        self._logged_warnings: Set[str] = set()
        self._last_simulation: Optional[GazeboRosSimulation] = None
        self._client = GazeboRosClient(service_timeout_s, effect_timeout_s, namespace)
        self._client.world()
        self._topics = RobotTopics(self._names)
        self._clock = PausedTime(self._client, self._topics, stall_timeout_s)
        self.version = self._client.ros_version()
        if world:
            self.was_started_with(Path(world))

    def was_started_with(self, world: Path) -> None:
        """Store that Gazebo was started with ``world``: its models are then assumed to equal the
        models of the same names in this file."""
        self._texts = {name: model.sdf for name, model in read_models(world)[0].items()}

    def _load(self, scene: Scene) -> GazeboRosSimulation:
        """Replace the current models by those of ``scene``, at rest.

        An existing model with the name of the robot is used. Otherwise the robot is spawned, with
        the plugins of gazebo_ros instead of those of Gazebo.
        """
        target_models, physics = read_models(scene.world)
        if scene.robot is not None:
            target_models[scene.robot.name] = _placed(scene.robot, scene.start, self._names)
        for model in scene.models:
            if model.name in target_models:
                raise SimulatorError(f"{scene.world} has a model {model.name!r} already")
            target_models[model.name] = model
        self._clock.stop()
        last, self._last_simulation = self._last_simulation, None
        if last is not None:
            last.restore()
        current_world = self._client.world()
        repeated_names = sorted(
            {name for name in current_world.names if current_world.names.count(name) > 1}
        )
        if repeated_names:
            raise SimulatorError(
                f"several models are named {', '.join(repeated_names)}, so they cannot be "
                "distinguished; delete them, or start Gazebo with a world without repeated names"
            )
        self._apply_diff(target_models, current_world.names, scene.robot)
        scan = None
        if scene.robot is not None:
            self._topics.await_robot(scene.robot.lidar is not None, self._effect_timeout_s)
            self._topics.command(Twist2D())
            # Messages from the previous pose of the robot arrive now: a bumper publishes earlier
            # contacts when time runs again.
            lidar = scene.robot.lidar
            self._topics.begin(self._clock.now_ns, lidar.mount if lidar else Pose())
            self._clock.run(SETTLING_S)
            scan = self._await_first_scan(lidar) if lidar else None
            self._set_poses(
                {name: model.pose for name, model in target_models.items()}, scene.robot
            )
        self._warn_about_physics(physics)
        self._last_simulation = GazeboRosSimulation(
            self._client, self._topics, self._clock, scene, self._texts, scan
        )
        return self._last_simulation

    def _await_first_scan(self, lidar: LidarDescription) -> LaserScan:
        """Return a scan of the robot at rest at its start pose, with the stamp 0."""
        period_s = 1.0 / lidar.update_rate_hz if lidar.update_rate_hz > 0 else 0.0
        deadline = time.monotonic() + self._effect_timeout_s
        while not self._topics.await_scan(0.0, SCAN_TIMEOUT_S):
            if time.monotonic() > deadline:
                raise SimulatorError(
                    f"no scan on {self._names.scan} within {self._effect_timeout_s:g} s although "
                    "time passed; check that the robot's lidar measures and that its "
                    "plugin publishes on this topic (a lidar of type gpu_ray needs a display)"
                )
            # sensors do not measure while time is paused; the caller sets the start pose again
            self._clock.run(max(SETTLING_S, period_s))
        scan = self._topics.scan
        assert scan is not None, "awaited"
        return replace(scan, stamp_s=0.0)

    def _close(self) -> None:
        self._topics.close()
        self._client.close()

    def _apply_diff(
        self,
        target_models: Dict[str, NamedModel],
        existing_names: Sequence[str],
        robot: Optional[RobotModel],
    ) -> None:
        change = diff_models(target_models, existing_names, self._texts, self._obstacles)
        for name in change.delete:
            self._texts.pop(name, None)
        self._client.delete(change.delete)
        self._client.spawn_models(change.spawn)
        self._texts.update((name, model.sdf) for name, model in target_models.items())
        self._set_poses(change.place, robot)

    def _set_poses(self, poses: Mapping[str, Pose], robot: Optional[RobotModel]) -> None:
        states = self._client.states(poses)
        self._client.set_states(
            {
                name: ModelState(pose)
                for name, pose in poses.items()
                if _is_displaced(states.get(name), pose)
                or (robot is not None and name == robot.name)
            }
        )

    def _warn_about_physics(self, settings: PhysicsSettings) -> None:
        current_settings = self._client.physics()
        for template, actual_value, required_value in (
            ("a physics step of {} s", current_settings.step_size_s, settings.step_size_s),
            ("gravity {} m/s²", tuple(current_settings.gravity_mps2), tuple(settings.gravity_mps2)),
        ):
            text = (
                f"gazebo_ros runs with {template.format(actual_value)}, but the world has "
                f"{template.format(required_value)}"
            )
            if actual_value != required_value and text not in self._logged_warnings:
                self._logged_warnings.add(text)
                LOGGER.warning("%s; start gazebo_ros with the physics of this world", text)


def _placed(robot: RobotModel, start: Pose2D, names: TopicNames) -> NamedModel:
    """Return the robot at the pose ``start`` and at the height that its SDF specifies."""
    document = SdfDocument.parse(robot.sdf, str(robot.path))
    pose = pose_value(document, document.require_model().find("pose")).moved_to(start)
    return NamedModel(robot.name, with_ros_plugins(robot, names), pose)


def _is_displaced(state: Optional[ModelState], pose: Pose) -> bool:
    if state is None or not is_at(state.pose, pose, EXACT, EXACT):
        return True
    return any(map(bool, (*(state.linear_mps or ()), *(state.angular_radps or ()))))
