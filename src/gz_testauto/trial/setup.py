"""A campaign prepared for execution: the data of each trial for an executor.

It has the common data of all trials (robot, limits, rules, static map) and reads the world of a
trial. There are two kinds, as of campaigns: :func:`prepare` returns one, and an executor for one
kind uses :func:`require_builtin` or :func:`require_stack`.
:mod:`gz_testauto.campaign.resume` writes directories, and :mod:`gz_testauto.trial.checks` rejects
invalid input.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, Dict, Optional, Sequence, Tuple, overload

from gz_testauto.actors.tracker import ObjectTracker, outline_m
from gz_testauto.base.errors import SpecError
from gz_testauto.metrics.interface import Metric, MetricContext, installed_metrics
from gz_testauto.metrics.tasks import task_metrics
from gz_testauto.planners.interface import RobotLimits, Task
from gz_testauto.sampling import seeds
from gz_testauto.sdf.floor import Heights, obstructing_heights
from gz_testauto.sdf.robot import RobotBody, RobotModel, read_robot
from gz_testauto.sdf.scene import WorldScene, placed_model, read_scene
from gz_testauto.simulators.interface import NamedModel, PlacedRobot, Scene
from gz_testauto.spec.campaign import (
    BuiltinCampaignSpec,
    BuiltinPlannerSpec,
    CampaignSpec,
    StackCampaignSpec,
)
from gz_testauto.spec.missions import Missions
from gz_testauto.spec.robot import BODY_MISSING, CompanionSpec
from gz_testauto.spec.stack import LaunchSpec
from gz_testauto.trial.actors import ActorContext, TrialActors, prepare_actors, tracker_of
from gz_testauto.trial.clearance import ObstacleField
from gz_testauto.trial.contacts import ContactClassifier
from gz_testauto.trial.monitor import TrialMonitor
from gz_testauto.trial.plan import Trial, plan_trials
from gz_testauto.trial.recorder import Recorder
from gz_testauto.trial.stability import LowestLevels, StabilityCheck
from gz_testauto.trial.static_maps import StaticMaps
from gz_testauto.trial.termination import TerminationRules
from gz_testauto.worlds.record import WorldRecord


class PreparedCampaign:
    """A campaign whose trials can be run; one of the two kinds below.

    ``robot`` is its body, ``limits`` those of its base, ``heights`` those at which a shape
    obstructs it; ``worlds`` are in the plan's order, ``trials`` in the order of execution. The last
    world is cached, since trials of one world are consecutive.
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
        self._cached_world: Optional[Tuple[str, _WorldData]] = None

    def __reduce__(self) -> Tuple[Any, ...]:
        """Return the data for a worker process, which reads worlds and maps itself."""
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
        return self.worlds[trial.world_index]

    def monitor(self, trial: Trial, extra_models: Sequence[NamedModel] = ()) -> TrialMonitor:
        """Return a new monitor of one trial; ``extra_models`` are in its world, not in its file."""
        data = self._world_data(self.world(trial))
        body = RobotBody(self.robot.name, self.limits.footprint_m, self.robot.height_m)
        contacts = ContactClassifier(self.robot.name, data.ground_shapes)
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
        )

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
        """Return the tracker of a trial for moving objects, including ``others``; None if the
        campaign has no tracking."""
        return tracker_of(self._actor_context(trial), actors, others)

    def obstacles(self, world: WorldRecord) -> ObstacleField:
        """Return the obstacles of a world at their poses in its file."""
        return self._world_data(world).obstacles()

    def world_scene(self, world: WorldRecord) -> WorldScene:
        """Return a parsed world file."""
        return self._world_data(world).scene

    def _world_data(self, world: WorldRecord) -> "_WorldData":
        if self._cached_world is None or self._cached_world[0] != world.name:
            scene = read_scene(world.path)
            self._cached_world = (world.name, _WorldData.of(scene, self.heights))
        return self._cached_world[1]


class PreparedBuiltin(PreparedCampaign):
    """A campaign of this package's planners. ``robot`` is the model to spawn."""

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
        further = [(_of_companion(spec, one), missions.of_companion(one)) for one in spec.robots]
        self.companions: Tuple[PreparedBuiltin, ...] = tuple(
            PreparedBuiltin(one, read_body(one), worlds, missions) for one, missions in further
        )

    @property
    def robots(self) -> "Tuple[PreparedBuiltin, ...]":
        """Return the campaign for each of its robots: this one, and the companions'."""
        return (self, *self.companions)

    def planner(self, trial: Trial) -> BuiltinPlannerSpec:
        """Return the planner under test."""
        return next(entry for entry in self.spec.planners if entry.name == trial.planner)

    def scene(self, trial: Trial) -> Scene:
        """Return the scene for the simulator: world, robots, start poses, seed."""
        start = self.missions.start_in(trial.world)
        others = tuple(
            PlacedRobot(one.robot, one.missions.start_in(trial.world)) for one in self.companions
        )
        return Scene(self.world(trial).path, self.robot, start, trial.seed, others=others)

    def robots_as_models(self, trial: Trial, without: str) -> Tuple[NamedModel, ...]:
        """Return all robots except ``without`` as models at their starts."""
        return tuple(
            NamedModel(one.robot.name, one.robot.sdf, one.missions.start_in(trial.world).to_pose())
            for one in self.robots
            if one.robot.name != without
        )

    def planner_seed(self, trial: Trial, visited: int = 0) -> int:
        """Return the seed of the planner's random numbers for the goal after ``visited`` others;
        see :class:`~gz_testauto.planners.interface.Task`."""
        return seeds.child_seed(trial.seed, seeds.PLANNER, self.robot.name, visited)

    def task(self, trial: Trial, visited: int = 0) -> Task:
        """Return the task for the goal after ``visited`` others, with waypoints on the static map
        from the start or the previous goal. Raises ``SpecError`` if the static map has no path."""
        return Task(
            goal=self.missions.goals_in(trial.world)[visited],
            goal_tolerance_m=self.spec.goal.tolerance_m,
            waypoints_m=self.static_map.waypoints(self.world(trial))[visited],
            limits=self.limits,
            control_period_s=self.spec.control_period_s,
            lanes=self.static_map.lanes(self.world(trial)),
            seed=self.planner_seed(trial, visited),
        )


def _of_companion(spec: BuiltinCampaignSpec, entry: CompanionSpec) -> BuiltinCampaignSpec:
    """Return the campaign for a further robot: with its name and model, and its planner if it has
    one."""
    changed: Dict[str, Any] = {"name": entry.name}
    if entry.model is not None:  # the model has the body, not `robot:`
        body = {"footprint_m": None, "height_m": None, "scan_height_m": None}
        changed.update(model=entry.model, **body)
    robot = spec.robot.model_copy(update=changed)
    planners = spec.planners
    if entry.planner:
        own = {"plugin": entry.planner, "parameters": entry.parameters}
        planners = tuple(planner.model_copy(update=own) for planner in planners)
    update = {"robot": robot, "planners": planners, "robots": ()}
    return spec.model_copy(update=update)


class PreparedStack(PreparedCampaign):
    """A campaign on the user's launch files, which spawn the robot and drive it."""

    spec: StackCampaignSpec

    def navigation(self, trial: Trial) -> LaunchSpec:
        """Return the launch for the planner under test."""
        entry = next(entry for entry in self.spec.planners if entry.name == trial.planner)
        return self.spec.navigation(entry)


def prepare(
    spec: CampaignSpec,
    robot: RobotBody,
    worlds: Tuple[WorldRecord, ...],
    missions: Optional[Missions] = None,
) -> PreparedCampaign:
    """Return the campaign with its robot (:func:`read_body` of it), worlds and the missions in
    them, by default those of ``spec``, of its kind."""
    if isinstance(spec, StackCampaignSpec):
        return PreparedStack(spec, robot, worlds, missions or Missions(spec))
    if isinstance(spec, BuiltinCampaignSpec) and isinstance(robot, RobotModel):
        return PreparedBuiltin(spec, robot, worlds, missions or Missions(spec))
    raise TypeError(f"unknown campaign {type(spec).__name__} or robot {type(robot).__name__}")


def require_builtin(campaign: PreparedCampaign) -> PreparedBuiltin:
    """Return the campaign as one of this package's planners. Raises ``SpecError`` if it is not."""
    if isinstance(campaign, PreparedBuiltin):
        return campaign
    raise SpecError(
        f"campaign {campaign.spec.name} drives a robot by launch files (stack), which is supported "
        "by one command only: gz_testauto run CAMPAIGN.yaml --out DIR"
    )


def require_stack(campaign: PreparedCampaign) -> PreparedStack:
    """Return the campaign as one on the user's launch files. Raises ``SpecError`` if it is not."""
    if isinstance(campaign, PreparedStack):
        return campaign
    raise SpecError(
        f"campaign {campaign.spec.name} has no launch files (stack); add "
        "stack: {simulator: ..., navigation: ...}"
    )


@dataclass(frozen=True, eq=False)
class _WorldData:
    """The data of a world file that a recording needs."""

    scene: WorldScene
    heights: Heights
    ground_shapes: Tuple[str, ...]
    levels: LowestLevels

    @classmethod
    def of(cls, scene: WorldScene, heights: Heights) -> "_WorldData":
        shapes = [shape for model in scene.models.values() for shape in model.collisions]
        ground = tuple(shape.scoped_name for shape in shapes if shape.is_ground)
        return cls(scene, heights, ground, LowestLevels(scene))

    def obstacles(self, extra_models: Sequence[NamedModel] = ()) -> ObstacleField:
        models = [placed_model(model.sdf, model.name, model.pose) for model in extra_models]
        return ObstacleField(self.scene, self.heights, models)


@overload
def read_body(spec: BuiltinCampaignSpec) -> RobotModel: ...


@overload
def read_body(spec: CampaignSpec) -> RobotBody: ...


def read_body(spec: CampaignSpec) -> RobotBody:
    """Return the robot from its model file or, if a user's launch files spawn it without one, the
    body that the campaign describes. Raises ``SdfError``."""
    robot = spec.robot
    if robot.model is not None:
        model = read_robot(robot.model, robot.name)
        return model if robot.height_m is None else replace(model, height_m=robot.height_m)
    if robot.footprint_m is None or robot.height_m is None:
        raise SpecError(f"campaign {spec.name}: robot {BODY_MISSING}")
    return RobotBody(robot.name, tuple(robot.footprint_m), robot.height_m)


def robot_limits(spec: CampaignSpec, robot: RobotBody) -> RobotLimits:
    """Return the limits of the base that the campaign states.

    The footprint is ``robot.footprint_m`` of the campaign; without this key it is the outline of
    the collision shapes of the robot's model (:func:`gz_testauto.sdf.robot.read_robot`).
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
