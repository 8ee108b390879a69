"""Test beds: everything that the trials of a campaign share.

A test bed derives from a :class:`~gz_testauto.trial.trial.Trial` what an executor needs: scene,
task, actors, monitor. :mod:`gz_testauto.trial.checks` rejects invalid input.
"""

import functools
import math
from dataclasses import replace
from pathlib import Path
from typing import (
    Any,
    Dict,
    FrozenSet,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
    overload,
)

from typing_extensions import override

from gz_testauto.actors.tracker import ObjectTracker, outline_m
from gz_testauto.base.errors import SpecError
from gz_testauto.base.registry import unknown_name
from gz_testauto.base.sensors import Sensor
from gz_testauto.metrics.interface import Metric, MetricContext, installed_metrics
from gz_testauto.metrics.tasks import task_metrics
from gz_testauto.planners.interface import Lane, RobotLimits, Task
from gz_testauto.sampling import seeds
from gz_testauto.sdf.drives import WheelJoints
from gz_testauto.sdf.floor import Heights, obstructing_heights
from gz_testauto.sdf.plugin_sensors import select_sensors
from gz_testauto.sdf.robot import RobotBody, RobotModel, read_robot
from gz_testauto.sdf.scene import Outlines, WorldScene, large_models, placed_model, read_scene
from gz_testauto.sdf.urdf.xacro import XacroInput
from gz_testauto.simulators.interface import NamedModel, PlacedRobot, Scene
from gz_testauto.spec.campaign import (
    BuiltinCampaignSpec,
    BuiltinPlannerSpec,
    CampaignSpec,
    StackCampaignSpec,
    StackPlannerSpec,
)
from gz_testauto.spec.robot import BODY_MISSING, BuiltinRobotSpec, CompanionSpec, RobotSpec
from gz_testauto.spec.stack import LaunchSpec
from gz_testauto.trial.actors import ActorContext, TrialActors, prepare_actors, tracker_of
from gz_testauto.trial.clearance import ObstacleField
from gz_testauto.trial.contacts import ContactClassifier
from gz_testauto.trial.localization import EstimateRecorder, make_estimator
from gz_testauto.trial.monitor import TrialMonitor
from gz_testauto.trial.recorder import Recorder
from gz_testauto.trial.stability import LowestLevels, StabilityCheck
from gz_testauto.trial.static_maps import GlobalPlan, MapInputs, StaticMaps
from gz_testauto.trial.termination import TerminationRules
from gz_testauto.trial.trial import Trial
from gz_testauto.worlds.record import WorldRecord
from gz_testauto.worlds.source import Mission

# keys of a campaign whose entries a trial can omit by name
REMOVABLE = ("actors", "randomize", "effects", "hooks", "robots")


class Computed(NamedTuple):
    """The results of long computations that depend on the worlds only: the global plans of each
    robot, and the outlines of large models."""

    plans: Tuple[Dict[MapInputs, GlobalPlan], ...]
    outlines: Dict[Tuple, Outlines]


class TestBed:
    """Everything that the trials of a campaign share: robot, limits, rules and maps.

    ``heights`` are the heights (m) at which a shape obstructs the robot. The keys
    ``repetitions`` and ``stop`` of ``spec``, and its missions, are not used: trials contain them.
    ``planners`` are only constructed and warmed up before the first trial.
    """

    __test__ = False  # pytest

    def __init__(self, spec: CampaignSpec, robot: RobotBody) -> None:
        self.spec, self.robot = spec, robot
        self.limits = robot_limits(spec, robot)
        self.heights = obstructing_heights(robot.height_m)
        self.static_map = StaticMaps(spec, robot, self.limits)
        # Only the last world, since the trials of a campaign are in the order of the worlds.
        self._cached_world: Optional[Tuple[Tuple[Path, str], _WorldData]] = None

    def __reduce__(self) -> Tuple[Any, ...]:
        # Only the inputs are pickled: a worker process reads the worlds and computes the maps.
        return type(self), (self.spec, self.robot)

    @property
    def computed(self) -> Computed:
        """The results that another process with the same worlds can adopt."""
        return Computed(tuple(bed.static_map.plans for bed in self.robots), large_models.outlines)

    def adopt(self, computed: Computed) -> None:
        for bed, plans in zip(self.robots, computed.plans):
            bed.static_map.adopt(plans)
        large_models.adopt(computed.outlines)

    @property
    def robots(self) -> "Tuple[TestBed, ...]":
        """The test beds of all robots: this test bed, then those of companion robots."""
        return (self,)

    @property
    def metric_context(self) -> MetricContext:
        return MetricContext(
            safety_distance_m=self.spec.metrics.safety_distance_m,
            acceleration_cutoff_hz=self.spec.metrics.acceleration_cutoff_hz,
            control_period_s=self.spec.control_period_s,
            max_linear_mps=self.spec.robot.max_linear_mps,
            barn_k=self.spec.metrics.barn_k,
        )

    @property
    def metrics(self) -> Tuple[Metric, ...]:
        return (*installed_metrics(), *task_metrics(self.spec))

    def mission(self, trial: Trial) -> Mission:
        return trial.mission

    def rules(self, trial: Trial) -> TerminationRules:
        limits = self.spec.limits
        goal, *further_goals = self.mission(trial).goals
        return TerminationRules(
            goal=goal,
            tolerance_m=self.spec.goal.tolerance_m,
            timeout_s=limits.timeout_s if trial.timeout_s is None else trial.timeout_s,
            stuck_window_s=limits.stuck_window_s,
            stuck_distance_m=limits.stuck_distance_m,
            max_linear_mps=self.spec.robot.max_linear_mps,
            max_tilt_rad=math.inf if limits.max_tilt_rad is None else limits.max_tilt_rad,
            max_off_road_m=math.inf if limits.max_off_road_m is None else limits.max_off_road_m,
            further=tuple(further_goals),
        )

    def monitor(self, trial: Trial, extra_models: Sequence[NamedModel] = ()) -> TrialMonitor:
        """Return a new monitor of a trial.

        ``extra_models`` are models of the scene that are not in the world file, such as actors.
        """
        data = self._world_data(trial.world)
        robot_body = RobotBody(self.robot.name, self.limits.footprint_m, self.robot.height_m)
        models = [*data.scene.models, *(model.name for model in extra_models)]
        contacts = ContactClassifier(self.robot.name, data.ground_shapes, models)
        estimator = make_estimator(
            self.spec.localization, self.spec.randomize, self.robot, trial.numbers
        )
        return TrialMonitor(
            self.rules(trial),
            Recorder(
                robot_body,
                data.obstacles(extra_models),
                contacts,
                {model.name: outline_m(model.sdf) for model in extra_models},
                self.lanes(trial),
            ),
            StabilityCheck(
                data.scene, data.levels, robot_body, contacts, self.spec.robot.max_linear_mps
            ),
            trial.world,
            None
            if estimator is None
            else EstimateRecorder(estimator, self.spec.arrival_tolerance_m),
        )

    def lanes(self, trial: Trial) -> Tuple[Lane, ...]:
        return self.static_map.lanes(self.mission(trial))

    def actors(self, trial: Trial) -> TrialActors:
        return prepare_actors(self._actor_context(trial))

    def _actor_context(self, trial: Trial) -> ActorContext:
        mission = self.mission(trial)
        return ActorContext(
            self.spec,
            self.robot,
            mission.start,
            mission.road,
            trial.numbers,
            trial.world.path,
            self.world_scene(trial.world),
            mission.goals,
        )

    def tracker(
        self, trial: Trial, actors: TrialActors, moving_models: Sequence[NamedModel] = ()
    ) -> Optional[ObjectTracker]:
        return tracker_of(self._actor_context(trial), actors, moving_models)

    def obstacles(self, world: WorldRecord) -> ObstacleField:
        return self._world_data(world).obstacles()

    def world_scene(self, world: WorldRecord) -> WorldScene:
        return self._world_data(world).scene

    def _world_data(self, world: WorldRecord) -> "_WorldData":
        key = (world.path, world.sha256)  # not the name: other content can have the same name
        if self._cached_world is None or self._cached_world[0] != key:
            self._cached_world = (key, _WorldData(read_scene(world.path), self.heights))
        return self._cached_world[1]


class BuiltinTestBed(TestBed):
    """A test bed for planners of this package, in which ``robot`` is the model to spawn.

    ``companion`` is set if the robot is a companion robot.
    """

    spec: BuiltinCampaignSpec
    robot: RobotModel

    def __init__(
        self,
        spec: BuiltinCampaignSpec,
        robot: RobotModel,
        companion: Optional[CompanionSpec] = None,
    ) -> None:
        super().__init__(spec, robot)
        self._companion = companion
        self._reduced_bed: Tuple[FrozenSet[str], BuiltinTestBed] = (frozenset(), self)
        self.companions: Tuple[BuiltinTestBed, ...] = tuple(
            BuiltinTestBed(changed, read_body(changed), entry)
            for entry in spec.robots
            for changed in [_companion_spec(spec, entry)]
        )

    @property
    @override
    def robots(self) -> "Tuple[BuiltinTestBed, ...]":
        return (self, *self.companions)

    def without(self, names: FrozenSet[str]) -> "BuiltinTestBed":
        """Return the test bed of the campaign without the actors, robots, effects, hooks and terms
        with these names. Raises ``SpecError`` for an unknown name."""
        if not names:
            return self
        if self._reduced_bed[0] != names:
            bed = BuiltinTestBed(_without_entries(self.spec, names), self.robot)
            bed.static_map, bed._cached_world = self.static_map, self._cached_world
            self._reduced_bed = (names, bed)
        return self._reduced_bed[1]

    @override
    def mission(self, trial: Trial) -> Mission:
        entry = self._companion
        if entry is None:
            return trial.mission
        return Mission(entry.start.pose, (entry.goal.pose,), trial.mission.road)

    def _actor_context(self, trial: Trial) -> ActorContext:
        companions = tuple((bed.robot, bed.mission(trial).start) for bed in self.companions)
        return super()._actor_context(trial)._replace(companions=companions)

    def planner(self, trial: Trial) -> BuiltinPlannerSpec:
        planner, entry = trial.planner, self._companion
        assert isinstance(planner, BuiltinPlannerSpec), "the planner of a campaign without stack"
        return planner if entry is None else _companion_planner(entry, planner)

    def scene(self, trial: Trial) -> Scene:
        companions = tuple(
            PlacedRobot(bed.robot, bed.mission(trial).start) for bed in self.companions
        )
        start = self.mission(trial).start
        return Scene(trial.world.path, self.robot, start, trial.seed, others=companions)

    def robots_as_models(self, trial: Trial, without: str) -> Tuple[NamedModel, ...]:
        """Return all robots at their start poses, except the robot with the name ``without``."""
        return tuple(
            NamedModel(bed.robot.name, bed.robot.sdf, bed.mission(trial).start.to_pose())
            for bed in self.robots
            if bed.robot.name != without
        )

    def planner_seed(self, trial: Trial, visited: int = 0) -> int:
        return seeds.child_seed(trial.seed, seeds.PLANNER, self.robot.name, visited)

    def task(self, trial: Trial, visited: int = 0) -> Task:
        """Return the planner's task after ``visited`` goals, with waypoints from the previous goal.

        The first call for a mission computes them. Raises ``SpecError`` if the static map has no
        path.
        """
        mission = self.mission(trial)
        return Task(
            goal=mission.goals[visited],
            goal_tolerance_m=self.spec.arrival_tolerance_m,
            waypoints_m=self.static_map.waypoints(trial.world, mission)[visited],
            limits=self.limits,
            control_period_s=self.spec.control_period_s,
            lanes=self.lanes(trial),
            seed=self.planner_seed(trial, visited),
        )


def _companion_spec(spec: BuiltinCampaignSpec, entry: CompanionSpec) -> BuiltinCampaignSpec:
    changes: Dict[str, Any] = {"name": entry.name}
    if entry.lidar is not None or entry.model is not None:
        changes["lidar"] = entry.lidar
    if entry.model is not None:  # the model defines the body, not `robot:`
        body_keys = {"footprint_m": None, "height_m": None, "scan_height_m": None}
        changes.update(model=entry.model, xacro=None, drive=None, **body_keys)
    robot = spec.robot.model_copy(update=changes)
    planners = tuple(_companion_planner(entry, planner) for planner in spec.planners)
    return spec.model_copy(update={"robot": robot, "planners": planners, "robots": ()})


def _companion_planner(entry: CompanionSpec, planner: BuiltinPlannerSpec) -> BuiltinPlannerSpec:
    if not entry.planner:
        return planner
    return planner.model_copy(update={"plugin": entry.planner, "parameters": entry.parameters})


def _without_entries(spec: BuiltinCampaignSpec, names: FrozenSet[str]) -> BuiltinCampaignSpec:
    known = [entry.name for key in REMOVABLE for entry in getattr(spec, key)]
    for name in sorted(names):
        if name not in known:
            raise SpecError(f"campaign {spec.name}: {unknown_name('entry', name, known)}")
    kept_entries = {
        key: tuple(entry for entry in getattr(spec, key) if entry.name not in names)
        for key in REMOVABLE
    }
    return spec.model_copy(update=kept_entries)


class StackTestBed(TestBed):
    """A test bed with a navigation stack, whose launch files spawn and drive the robot."""

    spec: StackCampaignSpec

    def navigation(self, trial: Trial) -> LaunchSpec:
        assert isinstance(trial.planner, StackPlannerSpec), "the planner of a campaign with a stack"
        return self.spec.navigation(trial.planner)


def bed_of(spec: CampaignSpec, robot: RobotBody) -> TestBed:
    if isinstance(spec, StackCampaignSpec):
        return StackTestBed(spec, robot)
    assert isinstance(spec, BuiltinCampaignSpec) and isinstance(robot, RobotModel)
    return BuiltinTestBed(spec, robot)


def require_builtin(bed: TestBed) -> BuiltinTestBed:
    if isinstance(bed, BuiltinTestBed):
        return bed
    raise SpecError(
        f"campaign {bed.spec.name}: the key 'stack' is supported only by the command "
        "`gz_testauto run`; use that command, or a campaign without this key"
    )


def require_stack(bed: TestBed) -> StackTestBed:
    if isinstance(bed, StackTestBed):
        return bed
    raise SpecError(
        f"campaign {bed.spec.name}: the key 'stack' with the launch files is missing; add "
        "stack: {simulator: ..., navigation: ...}"
    )


class _WorldData:
    def __init__(self, scene: WorldScene, heights: Heights) -> None:
        self.scene, self.heights = scene, heights

    @functools.cached_property
    def ground_shapes(self) -> List[str]:
        shapes = [shape for model in self.scene.models.values() for shape in model.collisions]
        return [shape.scoped_name for shape in shapes if shape.is_ground]

    @functools.cached_property
    def levels(self) -> LowestLevels:
        return LowestLevels(self.scene)

    def obstacles(self, extra_models: Sequence[NamedModel] = ()) -> ObstacleField:
        models = [placed_model(model.sdf, model.name, model.pose) for model in extra_models]
        return ObstacleField(self.scene, self.heights, models)


@overload
def read_body(spec: BuiltinCampaignSpec) -> RobotModel: ...


@overload
def read_body(spec: CampaignSpec) -> RobotBody: ...


def read_body(spec: CampaignSpec) -> RobotBody:
    """Return the robot from its model file, or the body in the campaign without a model file.

    Raises ``SdfError`` if the model file cannot be read, and ``SpecError`` for an incomplete body.
    """
    robot = spec.robot
    if robot.model is not None:
        model = read_robot(
            robot.model,
            robot.name,
            xacro=XacroInput.of(robot.xacro, "robot.xacro"),
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
    """Return the robot with delays (s) of its sensors, and of the parts of a merged lidar.

    The keys of ``delays_s`` are the names of the sensors. Raises ``SdfError`` for an unknown name.
    """
    lidar = robot.lidar
    parts = () if lidar is None else lidar.parts
    known = (*robot.sensors, *(sensor for sensor in parts if sensor not in robot.sensors))
    delayed_sensors = select_sensors(
        str(robot.path), known, list(delays_s), "the key robot.sensor_delays_s"
    )
    delay_of = {
        sensor.scoped_name: delay_s for sensor, delay_s in zip(delayed_sensors, delays_s.values())
    }

    def delayed(sensors: Tuple[Sensor, ...]) -> Tuple[Sensor, ...]:
        return tuple(
            replace(sensor, delay_s=delay_of.get(sensor.scoped_name, sensor.delay_s))
            for sensor in sensors
        )

    if lidar is not None and parts:
        lidar = replace(lidar, parts=delayed(parts))
    return replace(robot, lidar=lidar, sensors=delayed(robot.sensors))


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
    """Return the speed limits, accelerations and footprint of a robot as planners receive them.

    Without a footprint in the campaign, it is the outline of the model's collision shapes.
    """
    footprint_m, steering = spec.robot.footprint_m, spec.robot.steering
    outline_m = robot.footprint_m if footprint_m is None else footprint_m
    return RobotLimits(
        footprint_m=tuple((x_m, y_m) for x_m, y_m in outline_m),
        max_linear_mps=spec.robot.max_linear_mps,
        max_angular_radps=spec.robot.max_angular_radps,
        max_linear_accel_mps2=spec.robot.max_linear_accel_mps2,
        max_angular_accel_radps2=spec.robot.max_angular_accel_radps2,
        can_reverse=spec.robot.can_reverse,
        wheelbase_m=0.0 if steering is None else steering.wheelbase_m,
        max_steer_rad=0.0 if steering is None else steering.max_rad,
    )
