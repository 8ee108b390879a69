"""A campaign made ready: what an executor asks about a trial is answered here.

Owns what one campaign's trials have in common (robot, limits, rules, known map) and the
reading of a trial's world. Writing directories is :mod:`gz_testauto.campaign.resume`'s and
refusing bad input :mod:`gz_testauto.trial.checks`'.
"""

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Dict, Optional, Tuple

from gz_testauto.metrics.interface import MetricContext
from gz_testauto.planners.interface import RobotLimits, Task
from gz_testauto.sdf.floor import Heights, obstructing_heights
from gz_testauto.sdf.robot import RobotModel, read_robot
from gz_testauto.sdf.scene import WorldScene, read_scene
from gz_testauto.simulators.interface import Scene
from gz_testauto.spec.campaign import CampaignSpec, PlannerSpec
from gz_testauto.trial.clearance import ObstacleField
from gz_testauto.trial.contacts import ContactSorter
from gz_testauto.trial.first_look import FirstLook
from gz_testauto.trial.judge import Rules
from gz_testauto.trial.lowest_levels import Footing
from gz_testauto.trial.monitor import TrialWatch
from gz_testauto.trial.plan import Trial, plan_trials
from gz_testauto.trial.recorder import Body, Recorder
from gz_testauto.trial.route import KnownMap
from gz_testauto.worlds.record import WorldRecord


class PreparedCampaign:
    """A campaign whose trials can be run.

    ``robot`` is the model to spawn, ``limits`` what its base can do and where its body is,
    ``heights`` those at which something obstructs it;
    ``worlds`` in the plan's order, ``trials`` in the order of running. The methods answer what
    an executor needs to know about one trial, and remember the last world they were asked
    about: trials of one world follow one another.
    """

    def __init__(
        self, spec: CampaignSpec, robot: RobotModel, worlds: Tuple[WorldRecord, ...]
    ) -> None:
        self.spec = spec
        self.robot = robot
        self.worlds = worlds
        self.limits = robot_limits(spec, robot)
        self.heights = obstructing_heights(robot.height_m)
        self.trials = plan_trials(spec, [world.name for world in worlds])
        self._planners: Dict[str, PlannerSpec] = {entry.name: entry for entry in spec.planners}
        self.known_map = KnownMap(spec, robot, self.limits)
        self._surveyed: Optional[Tuple[str, _Survey]] = None

    def __reduce__(self) -> Tuple[Any, ...]:
        """What a worker process is given; it reads worlds and maps for itself."""
        return PreparedCampaign, (self.spec, self.robot, self.worlds)

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

    def rules(self, trial: Trial) -> Rules:
        """When a trial is over."""
        limits = self.spec.limits
        return Rules(
            goal=self.spec.goal_in(trial.world),
            tolerance_m=self.spec.goal.tolerance_m,
            timeout_s=limits.timeout_s,
            stuck_window_s=limits.stuck_window_s,
            stuck_distance_m=limits.stuck_distance_m,
            max_linear_mps=self.spec.robot.max_linear_mps,
            max_tilt_rad=math.inf if limits.max_tilt_rad is None else limits.max_tilt_rad,
        )

    def world(self, trial: Trial) -> WorldRecord:
        """The world of a trial."""
        return self.worlds[trial.world_index]

    def planner(self, trial: Trial) -> PlannerSpec:
        """The planner under test."""
        return self._planners[trial.planner]

    def scene(self, trial: Trial) -> Scene:
        """What the simulator loads: world, robot, start pose, seed."""
        start = self.spec.start_in(trial.world)
        return Scene(self.world(trial).path, self.robot, start, trial.seed)

    def task(self, trial: Trial) -> Task:
        """Goal, way-points on the known map, and limits. Raises ``SpecError`` where the known
        map has no way."""
        return Task(
            goal=self.spec.goal_in(trial.world),
            goal_tolerance_m=self.spec.goal.tolerance_m,
            waypoints_m=self.known_map.waypoints(self.world(trial)),
            limits=self.limits,
            control_period_s=self.spec.control_period_s,
        )

    def watch(self, trial: Trial) -> TrialWatch:
        """A fresh watch over one trial."""
        survey = self._survey(self.world(trial))
        body = Body(self.robot.name, self.limits.footprint_m, self.robot.height_m)
        contacts = ContactSorter(self.robot.name, survey.ground_shapes)
        return TrialWatch(
            self.rules(trial),
            Recorder(body, survey.obstacles(), contacts),
            survey.footing,
            FirstLook(survey.scene, survey.footing, body, contacts, self.spec.robot.max_linear_mps),
            self.world(trial),
        )

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


@dataclass(frozen=True, eq=False)
class _Survey:
    """What recording a trial in one world needs to know of the world's file."""

    scene: WorldScene
    heights: Heights
    ground_shapes: Tuple[str, ...]
    footing: Footing

    @classmethod
    def of(cls, scene: WorldScene, heights: Heights) -> "_Survey":
        shapes = [shape for model in scene.models.values() for shape in model.collisions]
        ground = tuple(shape.scoped_name for shape in shapes if shape.is_ground)
        return cls(scene, heights, ground, Footing(scene))

    def obstacles(self) -> ObstacleField:
        return ObstacleField(self.scene, self.heights)


def robot_model(spec: CampaignSpec) -> RobotModel:
    """The robot as its model file has it, or, where the user's own launch files spawn it, the
    body that the campaign describes. Raises ``SdfError``."""
    robot = spec.robot
    if robot.model is not None:
        model = read_robot(robot.model, robot.name)
        return model if robot.height_m is None else replace(model, height_m=robot.height_m)
    assert robot.footprint_m is not None and robot.height_m is not None
    return RobotModel(
        name=robot.name,
        path=Path(),
        sdf="",
        drive=None,
        lidar=None,
        imu=None,
        footprint_m=tuple(robot.footprint_m),
        height_m=robot.height_m,
    )


def robot_limits(spec: CampaignSpec, robot: RobotModel) -> RobotLimits:
    """What the base can do, from the campaign, and its outline, from there or the model."""
    given = spec.robot.footprint_m
    return RobotLimits(
        footprint_m=robot.footprint_m if given is None else tuple(given),
        max_linear_mps=spec.robot.max_linear_mps,
        max_angular_radps=spec.robot.max_angular_radps,
        max_linear_accel_mps2=spec.robot.max_linear_accel_mps2,
        max_angular_accel_radps2=spec.robot.max_angular_accel_radps2,
        can_reverse=spec.robot.can_reverse,
    )
