"""A campaign made ready: what an executor asks about a trial is answered here.

Owns what one campaign's trials have in common (robot, limits, rules, known map) and the
reading of a trial's world. There are two kinds, as of campaigns: :func:`prepare` chooses, and an
executor that runs only one of them asks for it (:func:`require_builtin`, :func:`require_stack`).
Writing directories is :mod:`gz_testauto.campaign.resume`'s and
refusing bad input :mod:`gz_testauto.trial.checks`'.
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
from gz_testauto.spec.companions import CompanionSpec
from gz_testauto.spec.missions import Missions
from gz_testauto.spec.robot import BODY_MISSING
from gz_testauto.spec.stack import LaunchSpec
from gz_testauto.trial.actors import Site, TrialActors, prepare_actors, tracker_of
from gz_testauto.trial.clearance import ObstacleField
from gz_testauto.trial.contacts import ContactSorter
from gz_testauto.trial.first_look import FirstLook
from gz_testauto.trial.judge import Rules
from gz_testauto.trial.lowest_levels import LowestLevels
from gz_testauto.trial.monitor import TrialMonitor
from gz_testauto.trial.plan import Trial, plan_trials
from gz_testauto.trial.recorder import Recorder
from gz_testauto.trial.route import KnownMap
from gz_testauto.worlds.record import WorldRecord


class PreparedCampaign:
    """A campaign whose trials can be run; one of the two kinds below.

    ``robot`` is where its body is, ``limits`` what its base can do,
    ``heights`` those at which something obstructs it;
    ``worlds`` in the plan's order, ``trials`` in the order of running. The methods answer what
    an executor needs to know about one trial, and remember the last world they were asked
    about: trials of one world follow one another.
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
        self.known_map = KnownMap(spec, robot, self.limits, missions)
        self._surveyed: Optional[Tuple[str, _Survey]] = None

    def __reduce__(self) -> Tuple[Any, ...]:
        """What a worker process is given; it reads worlds and maps for itself."""
        return type(self), (self.spec, self.robot, self.worlds, self.missions)

    @property
    def metric_context(self) -> MetricContext:
        """What metrics need to know of the campaign."""
        return MetricContext(
            safety_distance_m=self.spec.metrics.safety_distance_m,
            acceleration_cutoff_hz=self.spec.metrics.acceleration_cutoff_hz,
            control_period_s=self.spec.control_period_s,
            max_linear_mps=self.spec.robot.max_linear_mps,
            barn_k=self.spec.metrics.barn_k,
        )

    @property
    def metrics(self) -> Tuple[Metric, ...]:
        """What is measured of every trial."""
        return (*installed_metrics(), *task_metrics(self.spec))

    def rules(self, trial: Trial) -> Rules:
        """When a trial is over."""
        limits = self.spec.limits
        goal, *further = self.missions.goals_in(trial.world)
        return Rules(
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
        """The world of a trial."""
        return self.worlds[trial.world_index]

    def watch(self, trial: Trial, beside: Sequence[NamedModel] = ()) -> TrialMonitor:
        """A fresh watch over one trial, in whose world these models stand, too."""
        survey = self._survey(self.world(trial))
        body = RobotBody(self.robot.name, self.limits.footprint_m, self.robot.height_m)
        contacts = ContactSorter(self.robot.name, survey.ground_shapes)
        return TrialMonitor(
            self.rules(trial),
            Recorder(
                body,
                survey.obstacles(beside),
                contacts,
                {model.name: outline_m(model.sdf) for model in beside},
                self.known_map.lanes(self.world(trial)),
            ),
            survey.levels,
            FirstLook(survey.scene, survey.levels, body, contacts, self.spec.robot.max_linear_mps),
            self.world(trial),
        )

    def actors(self, trial: Trial) -> TrialActors:
        """Who moves and what is drawn in a trial."""
        return prepare_actors(self.spec, self._site(trial), trial.world_index, trial.repetition)

    def _site(self, trial: Trial) -> Site:
        world = self.world(trial)
        start = self.missions.start_in(trial.world)
        return Site(self.robot, start, world.path, self.world_scene(world))

    def tracker(
        self, trial: Trial, actors: TrialActors, others: Sequence[NamedModel] = ()
    ) -> Optional[ObjectTracker]:
        """Who tells the robot what moves around it in a trial, ``others`` too; nobody where the
        campaign has no tracking."""
        if self.spec.tracking is None:
            return None
        spec, index, repetition = self.spec, trial.world_index, trial.repetition
        return tracker_of(spec, self._site(trial), actors, index, repetition, others)

    def obstacles(self, world: WorldRecord) -> ObstacleField:
        """The obstacles of a world where its file puts them."""
        return self._survey(world).obstacles()

    def world_scene(self, world: WorldRecord) -> WorldScene:
        """A world's file, read."""
        return self._survey(world).scene

    def _survey(self, world: WorldRecord) -> "_Survey":
        if self._surveyed is None or self._surveyed[0] != world.name:
            scene = read_scene(world.path)
            self._surveyed = (world.name, _Survey.of(scene, self.heights))
        return self._surveyed[1]


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
        seen = [(_of_companion(spec, one), missions.of_companion(one)) for one in spec.robots]
        self.companions: Tuple[PreparedBuiltin, ...] = tuple(
            PreparedBuiltin(own, read_body(own), worlds, to_do) for own, to_do in seen
        )

    @property
    def robots(self) -> "Tuple[PreparedBuiltin, ...]":
        """The campaign as each of its robots sees it: this one, and the companions'."""
        return (self, *self.companions)

    def planner(self, trial: Trial) -> BuiltinPlannerSpec:
        """The planner under test."""
        return next(entry for entry in self.spec.planners if entry.name == trial.planner)

    def scene(self, trial: Trial) -> Scene:
        """What the simulator loads: world, robots, start poses, seed."""
        start = self.missions.start_in(trial.world)
        others = tuple(
            PlacedRobot(one.robot, one.missions.start_in(trial.world)) for one in self.companions
        )
        return Scene(self.world(trial).path, self.robot, start, trial.seed, others=others)

    def as_models(self, trial: Trial, but: str) -> Tuple[NamedModel, ...]:
        """All robots but one as models where they start, as that one has them around it."""
        return tuple(
            NamedModel(one.robot.name, one.robot.sdf, one.missions.start_in(trial.world).to_pose())
            for one in self.robots
            if one.robot.name != but
        )

    def planner_seed(self, trial: Trial, visited: int = 0) -> int:
        """The seed of the planner's random numbers on the way to the next goal after ``visited``
        others; see :class:`~gz_testauto.planners.interface.Task`."""
        return seeds.child_seed(trial.seed, seeds.PLANNER, self.robot.name, visited)

    def task(self, trial: Trial, visited: int = 0) -> Task:
        """The next goal after ``visited`` others, way-points to it on the known map from where it
        is after, the start or the goal before, and limits. Raises ``SpecError`` where the known
        map has no way."""
        return Task(
            goal=self.missions.goals_in(trial.world)[visited],
            goal_tolerance_m=self.spec.goal.tolerance_m,
            waypoints_m=self.known_map.ways(self.world(trial))[visited],
            limits=self.limits,
            control_period_s=self.spec.control_period_s,
            lanes=self.known_map.lanes(self.world(trial)),
            seed=self.planner_seed(trial, visited),
        )


def _of_companion(spec: BuiltinCampaignSpec, entry: CompanionSpec) -> BuiltinCampaignSpec:
    """Return the campaign as a further robot sees it: with its own name and model, and its own
    planner where it has one."""
    changed: Dict[str, Any] = {"name": entry.name}
    if entry.model is not None:  # where its body is, that model says, and not `robot:`
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
    """A campaign on the user's own launch files, which spawn the robot and drive it."""

    spec: StackCampaignSpec

    def __init__(
        self,
        spec: StackCampaignSpec,
        robot: RobotBody,
        worlds: Tuple[WorldRecord, ...],
        missions: Missions,
    ) -> None:
        super().__init__(spec, robot, worlds, missions)

    def navigation(self, trial: Trial) -> LaunchSpec:
        """What drives the robot for the planner under test."""
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
    raise TypeError(f"no campaign: {type(spec).__name__} with {type(robot).__name__}")


def require_builtin(campaign: PreparedCampaign) -> PreparedBuiltin:
    """The campaign as one of this package's planners. Raises ``SpecError`` if it is not."""
    if isinstance(campaign, PreparedBuiltin):
        return campaign
    raise SpecError(
        f"campaign {campaign.spec.name} drives a robot by launch files of the user's own (stack); "
        "only gz_testauto run does that: gz_testauto run CAMPAIGN.yaml --out DIR"
    )


def require_stack(campaign: PreparedCampaign) -> PreparedStack:
    """The campaign as one on the user's own launch files. Raises ``SpecError`` if it is not."""
    if isinstance(campaign, PreparedStack):
        return campaign
    raise SpecError(
        f"campaign {campaign.spec.name} has no launch files of the user's own (stack) to run; give "
        "stack: {simulator: ..., navigation: ...}"
    )


@dataclass(frozen=True, eq=False)
class _Survey:
    """What recording a trial in one world needs to know of the world's file."""

    scene: WorldScene
    heights: Heights
    ground_shapes: Tuple[str, ...]
    levels: LowestLevels

    @classmethod
    def of(cls, scene: WorldScene, heights: Heights) -> "_Survey":
        shapes = [shape for model in scene.models.values() for shape in model.collisions]
        ground = tuple(shape.scoped_name for shape in shapes if shape.is_ground)
        return cls(scene, heights, ground, LowestLevels(scene))

    def obstacles(self, beside: Sequence[NamedModel] = ()) -> ObstacleField:
        models = [placed_model(model.sdf, model.name, model.pose) for model in beside]
        return ObstacleField(self.scene, self.heights, models)


@overload
def read_body(spec: BuiltinCampaignSpec) -> RobotModel: ...


@overload
def read_body(spec: CampaignSpec) -> RobotBody: ...


def read_body(spec: CampaignSpec) -> RobotBody:
    """The robot as its model file has it, or, where the user's own launch files spawn it and there
    is no such file, the body that the campaign describes. Raises ``SdfError``."""
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
    given, steering = spec.robot.footprint_m, spec.robot.steering
    return RobotLimits(
        footprint_m=robot.footprint_m if given is None else tuple(given),
        max_linear_mps=spec.robot.max_linear_mps,
        max_angular_radps=spec.robot.max_angular_radps,
        max_linear_accel_mps2=spec.robot.max_linear_accel_mps2,
        max_angular_accel_radps2=spec.robot.max_angular_accel_radps2,
        can_reverse=spec.robot.can_reverse,
        wheelbase_m=0.0 if steering is None else steering.wheelbase_m,
        max_steer_rad=0.0 if steering is None else steering.max_rad,
    )
