"""Prepare a campaign for execution, with the data of each trial for an executor.

:class:`PreparedBuiltin` is for planners and simulators of this package, :class:`PreparedStack` for
a navigation stack. Both contain the data that all trials share (robot, limits, rules, static map),
and read the world of each trial. :mod:`gz_testauto.trial.checks` rejects invalid input.
"""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any, Dict, Mapping, Optional, Sequence, Tuple, overload

from gz_testauto.actors.tracker import ObjectTracker, outline_m
from gz_testauto.base.errors import SpecError
from gz_testauto.base.sensors import Sensor
from gz_testauto.metrics.interface import Metric, MetricContext, installed_metrics
from gz_testauto.metrics.tasks import task_metrics
from gz_testauto.planners.interface import RobotLimits, Task
from gz_testauto.sampling import seeds
from gz_testauto.sdf.drives import WheelJoints
from gz_testauto.sdf.floor import Heights, obstructing_heights
from gz_testauto.sdf.plugin_sensors import select_sensors
from gz_testauto.sdf.robot import RobotBody, RobotModel, read_robot
from gz_testauto.sdf.robot_files import XacroInput
from gz_testauto.sdf.scene import WorldScene, placed_model, read_scene
from gz_testauto.simulators.interface import NamedModel, PlacedRobot, Scene
from gz_testauto.spec.campaign import (
    BuiltinCampaignSpec,
    BuiltinPlannerSpec,
    CampaignSpec,
    StackCampaignSpec,
)
from gz_testauto.spec.robot import BODY_MISSING, BuiltinRobotSpec, CompanionSpec, RobotSpec
from gz_testauto.spec.stack import LaunchSpec
from gz_testauto.trial.actors import ActorContext, TrialActors, prepare_actors, tracker_of
from gz_testauto.trial.clearance import ObstacleField
from gz_testauto.trial.contacts import ContactClassifier
from gz_testauto.trial.localization import EstimateRecorder, estimator_of
from gz_testauto.trial.monitor import TrialMonitor
from gz_testauto.trial.plan import Trial, plan_trials
from gz_testauto.trial.recorder import Recorder
from gz_testauto.trial.stability import LowestLevels, StabilityCheck
from gz_testauto.trial.static_maps import StaticMaps
from gz_testauto.trial.termination import TerminationRules
from gz_testauto.worlds.record import WorldRecord
from gz_testauto.worlds.source import Missions


class PreparedCampaign:
    """The base class of campaigns that are prepared for execution.

    ``robot`` is the body of the robot, ``limits`` are the limits of its base, and ``heights`` the
    heights (m) at which a shape obstructs it. ``worlds`` are in the order of the plan, ``trials``
    in the order of execution. The last world is cached, since trials of one world are consecutive.
    """

    def __init__(
        self,
        spec: CampaignSpec,
        robot: RobotBody,
        worlds: Tuple[WorldRecord, ...],
        missions: Missions,
    ) -> None:
        self.spec, self.missions = spec, missions
        self.robot = robot
        self.worlds = worlds
        self.limits = robot_limits(spec, robot)
        self.heights = obstructing_heights(robot.height_m)
        self.trials = plan_trials(spec, [world.name for world in worlds])
        self.static_map = StaticMaps(spec, robot, self.limits, missions)
        self._worlds = {world.name: world for world in worlds}
        self._cached_world: Optional[Tuple[Tuple[Path, str], _WorldData]] = None

    def __reduce__(self) -> Tuple[Any, ...]:
        """Pickle only the inputs. A worker process reads the worlds and computes the maps again."""
        return type(self), (self.spec, self.robot, self.worlds, self.missions)

    @property
    def metric_context(self) -> MetricContext:
        """Return the parameters of the metrics."""
        return MetricContext(
            safety_distance_m=self.spec.metrics.safety_distance_m,
            acceleration_cutoff_hz=self.spec.metrics.acceleration_cutoff_hz,
            control_period_s=self.spec.control_period_s,
            max_linear_mps=self.spec.robot.max_linear_mps,
            barn_k=self.spec.metrics.barn_k,
        )

    @property
    def metrics(self) -> Tuple[Metric, ...]:
        """Return the metrics of every trial."""
        return (*installed_metrics(), *task_metrics(self.spec))

    def rules(self, trial: Trial) -> TerminationRules:
        """Return the termination rules of a trial."""
        limits = self.spec.limits
        goal, *further = self.missions.goals_in(trial.world)
        return TerminationRules(
            goal=goal,
            tolerance_m=self.spec.goal.tolerance_m,
            timeout_s=limits.timeout_s,
            stuck_window_s=limits.stuck_window_s,
            stuck_distance_m=limits.stuck_distance_m,
            max_linear_mps=self.spec.robot.max_linear_mps,
            max_tilt_rad=math.inf if limits.max_tilt_rad is None else limits.max_tilt_rad,
            further=tuple(further),
        )

    def world(self, trial: Trial) -> WorldRecord:
        """Return the world of a trial."""
        return self._worlds[trial.world]

    def monitor(self, trial: Trial, extra_models: Sequence[NamedModel] = ()) -> TrialMonitor:
        """Return a new monitor of a trial; ``extra_models`` are models that are not in the world
        file.
        """
        data = self._world_data(self.world(trial))
        body = RobotBody(self.robot.name, self.limits.footprint_m, self.robot.height_m)
        models = [*data.scene.models, *(model.name for model in extra_models)]
        contacts = ContactClassifier(self.robot.name, data.ground_shapes, models)
        return TrialMonitor(
            self.rules(trial),
            Recorder(
                body,
                data.obstacles(extra_models),
                contacts,
                {model.name: outline_m(model.sdf) for model in extra_models},
                self.static_map.lanes(self.world(trial)),
            ),
            StabilityCheck(data.scene, data.levels, body, contacts, self.spec.robot.max_linear_mps),
            self.world(trial),
            self._estimate(trial),
        )

    def _estimate(self, trial: Trial) -> Optional[EstimateRecorder]:
        numbers = self.spec.random_numbers(trial.world_index, trial.repetition)
        estimator = estimator_of(self.spec, self.robot, numbers)
        if estimator is None:
            return None
        return EstimateRecorder(estimator, self.spec.arrival_tolerance_m)

    def actors(self, trial: Trial) -> TrialActors:
        """Return the actors, hooks and filters of a trial."""
        return prepare_actors(self._actor_context(trial))

    def _actor_context(self, trial: Trial) -> ActorContext:
        world = self.world(trial)
        return ActorContext(
            self.spec,
            self.robot,
            self.missions.start_in(trial.world),
            trial.world_index,
            world.path,
            self.world_scene(world),
            trial.repetition,
        )

    def tracker(
        self, trial: Trial, actors: TrialActors, others: Sequence[NamedModel] = ()
    ) -> Optional[ObjectTracker]:
        """Return the tracker of moving objects in a trial, including ``others``.

        Return None if ``tracking`` is not set in the campaign.
        """
        return tracker_of(self._actor_context(trial), actors, others)

    def obstacles(self, world: WorldRecord) -> ObstacleField:
        """Return the obstacles of a world at their poses in the world file."""
        return self._world_data(world).obstacles()

    def world_scene(self, world: WorldRecord) -> WorldScene:
        """Return a parsed world file."""
        return self._world_data(world).scene

    def _world_data(self, world: WorldRecord) -> "_WorldData":
        key = (world.path, world.sha256)  # not the name: other content can have the same name
        if self._cached_world is None or self._cached_world[0] != key:
            self._cached_world = (key, _WorldData(read_scene(world.path), self.heights))
        return self._cached_world[1]


class PreparedBuiltin(PreparedCampaign):
    """A campaign with planners of this package, in which ``robot`` is the model to spawn."""

    spec: BuiltinCampaignSpec
    robot: RobotModel

    def __init__(
        self,
        spec: BuiltinCampaignSpec,
        robot: RobotModel,
        worlds: Tuple[WorldRecord, ...],
        missions: Missions,
    ) -> None:
        super().__init__(spec, robot, worlds, missions)
        self.companions: Tuple[PreparedBuiltin, ...] = tuple(
            PreparedBuiltin(own, read_body(own), worlds, missions.of_companion(one))
            for one in spec.robots
            for own in [_of_companion(spec, one)]
        )

    @property
    def robots(self) -> "Tuple[PreparedBuiltin, ...]":
        """Return this campaign and the prepared campaign of each companion robot."""
        return (self, *self.companions)

    def _actor_context(self, trial: Trial) -> ActorContext:
        companions = tuple(
            (one.robot, one.missions.start_in(trial.world)) for one in self.companions
        )
        return super()._actor_context(trial)._replace(companions=companions)

    def planner(self, trial: Trial) -> BuiltinPlannerSpec:
        """Return the planner that the trial tests."""
        return next(entry for entry in self.spec.planners if entry.name == trial.planner)

    def scene(self, trial: Trial) -> Scene:
        """Return the scene of a trial for the simulator: world, robots, start poses and seed."""
        start = self.missions.start_in(trial.world)
        others = tuple(
            PlacedRobot(one.robot, one.missions.start_in(trial.world)) for one in self.companions
        )
        return Scene(self.world(trial).path, self.robot, start, trial.seed, others=others)

    def robots_as_models(self, trial: Trial, without: str) -> Tuple[NamedModel, ...]:
        """Return all robots except the one named ``without`` as models at their start poses."""
        return tuple(
            NamedModel(one.robot.name, one.robot.sdf, one.missions.start_in(trial.world).to_pose())
            for one in self.robots
            if one.robot.name != without
        )

    def planner_seed(self, trial: Trial, visited: int = 0) -> int:
        """Return the seed of the planner's random numbers after ``visited`` goals."""
        return seeds.child_seed(trial.seed, seeds.PLANNER, self.robot.name, visited)

    def task(self, trial: Trial, visited: int = 0) -> Task:
        """Return the planner's task after ``visited`` goals.

        The waypoints lead from the start or the previous goal to the next goal. Raises
        ``SpecError`` if the static map has no path.
        """
        return Task(
            goal=self.missions.goals_in(trial.world)[visited],
            goal_tolerance_m=self.spec.arrival_tolerance_m,
            waypoints_m=self.static_map.waypoints(self.world(trial))[visited],
            limits=self.limits,
            control_period_s=self.spec.control_period_s,
            lanes=self.static_map.lanes(self.world(trial)),
            seed=self.planner_seed(trial, visited),
        )


def _of_companion(spec: BuiltinCampaignSpec, entry: CompanionSpec) -> BuiltinCampaignSpec:
    changed: Dict[str, Any] = {"name": entry.name}
    if entry.lidar is not None or entry.model is not None:
        changed["lidar"] = entry.lidar
    if entry.model is not None:  # the model defines the body, not `robot:`
        body = {"footprint_m": None, "height_m": None, "scan_height_m": None}
        changed.update(model=entry.model, xacro=None, drive=None, **body)
    robot = spec.robot.model_copy(update=changed)
    planners = spec.planners
    if entry.planner:
        own = {"plugin": entry.planner, "parameters": entry.parameters}
        planners = tuple(planner.model_copy(update=own) for planner in planners)
    update = {"robot": robot, "planners": planners, "robots": ()}
    return spec.model_copy(update=update)


class PreparedStack(PreparedCampaign):
    """A campaign with a navigation stack, whose launch files spawn and drive the robot."""

    spec: StackCampaignSpec

    def navigation(self, trial: Trial) -> LaunchSpec:
        """Return the launch file and arguments of the planner that the trial tests."""
        entry = next(entry for entry in self.spec.planners if entry.name == trial.planner)
        return self.spec.navigation(entry)


def prepare(
    spec: CampaignSpec,
    robot: RobotBody,
    worlds: Tuple[WorldRecord, ...],
    missions: Optional[Missions] = None,
) -> PreparedCampaign:
    """Return the prepared campaign with a robot from :func:`read_body`, its worlds and missions.

    The default of ``missions`` is the start and the goals of ``spec`` in every world.
    """
    missions = missions or Missions(spec)
    if isinstance(spec, StackCampaignSpec):
        return PreparedStack(spec, robot, worlds, missions)
    assert isinstance(spec, BuiltinCampaignSpec) and isinstance(robot, RobotModel)
    return PreparedBuiltin(spec, robot, worlds, missions)


def require_builtin(campaign: PreparedCampaign) -> PreparedBuiltin:
    """Return ``campaign``, or raise ``SpecError`` if it has a navigation stack."""
    if isinstance(campaign, PreparedBuiltin):
        return campaign
    raise SpecError(
        f"campaign {campaign.spec.name}: the key 'stack' is supported only by the command "
        "`gz_testauto run`; use that command, or a campaign without this key"
    )


def require_stack(campaign: PreparedCampaign) -> PreparedStack:
    """Return ``campaign``, or raise ``SpecError`` if it does not have a navigation stack."""
    if isinstance(campaign, PreparedStack):
        return campaign
    raise SpecError(
        f"campaign {campaign.spec.name}: the key 'stack' with the launch files is missing; add "
        "stack: {simulator: ..., navigation: ...}"
    )


class _WorldData:
    def __init__(self, scene: WorldScene, heights: Heights) -> None:
        self.scene, self.heights = scene, heights
        shapes = [shape for model in scene.models.values() for shape in model.collisions]
        self.ground_shapes = [shape.scoped_name for shape in shapes if shape.is_ground]
        self.levels = LowestLevels(scene)

    def obstacles(self, extra_models: Sequence[NamedModel] = ()) -> ObstacleField:
        models = [placed_model(model.sdf, model.name, model.pose) for model in extra_models]
        return ObstacleField(self.scene, self.heights, models)


@overload
def read_body(spec: BuiltinCampaignSpec) -> RobotModel: ...


@overload
def read_body(spec: CampaignSpec) -> RobotBody: ...


def read_body(spec: CampaignSpec) -> RobotBody:
    """Return the robot from its model file, or the body that the campaign describes.

    The latter is used for robots that the user's launch files spawn. Raises ``SdfError`` if the
    model file cannot be read.
    """
    robot = spec.robot
    if robot.model is not None:
        model = read_robot(
            robot.model,
            robot.name,
            xacro=_xacro_input(robot),
            wheels=_wheel_joints(robot),
            # a stack spawns the URDF itself, with the root link as the model's origin
            on_ground=isinstance(spec, BuiltinCampaignSpec),
            lidar=robot.lidar,
        )
        if robot.sensor_delays_s:
            model = with_delays(model, robot.sensor_delays_s)
        return model if robot.height_m is None else replace(model, height_m=robot.height_m)
    if robot.footprint_m is None or robot.height_m is None:
        raise SpecError(f"campaign {spec.name}: robot {BODY_MISSING}")
    return RobotBody(robot.name, tuple(robot.footprint_m), robot.height_m)


def with_delays(robot: RobotModel, delays_s: Mapping[str, float]) -> RobotModel:
    """Return the robot with the delays (s) of its sensors and of the parts of a merged lidar, by
    name. Raises ``SdfError`` for an unknown name."""
    lidar = robot.lidar
    parts = () if lidar is None else lidar.parts
    known = (*robot.sensors, *(one for one in parts if one not in robot.sensors))
    chosen = select_sensors(str(robot.path), known, list(delays_s), "the key robot.sensor_delays_s")
    delay_of = {one.scoped_name: delay_s for one, delay_s in zip(chosen, delays_s.values())}

    def delayed(sensors: Tuple[Sensor, ...]) -> Tuple[Sensor, ...]:
        return tuple(
            replace(one, delay_s=delay_of.get(one.scoped_name, one.delay_s)) for one in sensors
        )

    if lidar is not None and parts:
        lidar = replace(lidar, parts=delayed(parts))
    return replace(robot, lidar=lidar, sensors=delayed(robot.sensors))


def _xacro_input(robot: RobotSpec) -> Optional[XacroInput]:
    return None if robot.xacro is None else XacroInput(**robot.xacro.model_dump())


def _wheel_joints(robot: RobotSpec) -> Optional[WheelJoints]:
    drive = robot.drive if isinstance(robot, BuiltinRobotSpec) else None
    if drive is None:
        return None
    return WheelJoints(
        tuple(drive.left_joints),
        tuple(drive.right_joints),
        drive.wheel_separation_m,
        drive.wheel_diameter_m,
        drive.torque_nm,
    )


def robot_limits(spec: CampaignSpec, robot: RobotBody) -> RobotLimits:
    """Return the limits of the robot's base in a campaign.

    Without the key ``robot.footprint_m``, the footprint is the outline of the collision shapes of
    the robot's model (:func:`gz_testauto.sdf.robot.read_robot`).
    """
    footprint_m, steering = spec.robot.footprint_m, spec.robot.steering
    return RobotLimits(
        footprint_m=robot.footprint_m if footprint_m is None else tuple(footprint_m),
        max_linear_mps=spec.robot.max_linear_mps,
        max_angular_radps=spec.robot.max_angular_radps,
        max_linear_accel_mps2=spec.robot.max_linear_accel_mps2,
        max_angular_accel_radps2=spec.robot.max_angular_accel_radps2,
        can_reverse=spec.robot.can_reverse,
        wheelbase_m=0.0 if steering is None else steering.wheelbase_m,
        max_steer_rad=0.0 if steering is None else steering.max_rad,
    )
