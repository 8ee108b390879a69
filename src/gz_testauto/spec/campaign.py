"""What a campaign is: worlds × planners × repetitions, and when a trial ends.

Owns the shape of ``campaign.yaml`` and the checks that need nothing but the file itself.
Reading YAML with file and line is :mod:`gz_testauto.spec.loader`'s; what the fields do is
said here, once, and ``config/`` shows them in use.
"""

import re
from typing import Any, Dict, List, Optional

import shapely
from pydantic import Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from gz_testauto.pose import Pose2D
from gz_testauto.spec.model import Interval, Point, PoseSpec, Spec, SpecPath, repeated
from gz_testauto.spec.stack import NAME, LaunchSpec, StackSpec
from gz_testauto.spec.worlds import MOST_TRIALS, WorldsSpec


class GoalSpec(PoseSpec):
    """The goal, and how near the base's true position must come to have reached it."""

    tolerance_m: float = Field(0.5, gt=0)


class RobotSpec(Spec):
    """The robot: its model SDF, where it starts, and what its base can do.

    The footprint is taken from the model's collision shapes when ``footprint_m`` is not
    given: the convex outline, seen from above, of everything that is not a drive wheel's
    contact patch. A robot that the user's own launch files spawn (``stack``) needs no
    ``model``; then ``footprint_m`` and ``height_m`` say where its body is.
    """

    model: Optional[SpecPath] = None
    name: str = "robot"
    """The model's name in the simulator; with ``stack`` whatever Gazebo takes (``limo/``)."""
    start: PoseSpec
    footprint_m: Optional[List[Point]] = Field(None, min_length=3)
    height_m: Optional[Interval] = None
    """Lowest and highest point of the body above the model's origin, which is where the simulator
    says that the model is: of a URDF its root link. The model's unless given."""
    scan_height_m: Optional[float] = Field(None, gt=0)
    """Height of the lidar, at which the known map is cut; the model's unless given."""
    max_linear_mps: float = Field(1.0, gt=0)
    max_angular_radps: float = Field(1.5, gt=0)
    max_linear_accel_mps2: float = Field(1.0, gt=0)
    max_angular_accel_radps2: float = Field(3.0, gt=0)
    can_reverse: bool = False

    @field_validator("name")
    @classmethod
    def _is_a_model_name(cls, name: str) -> str:
        if not name.strip() or "::" in name or not name.isprintable() or name != name.strip():
            raise ValueError(
                "Gazebo takes no empty name, no control character, no blank at the ends and no '::'"
            )
        return name

    @field_validator("footprint_m")
    @classmethod
    def _has_an_outline(cls, corners: Optional[List[Point]]) -> Optional[List[Point]]:
        if corners is not None and not shapely.Polygon(corners).is_valid:
            raise ValueError(
                "the outline crosses itself or has no area; give the corners in their order around "
                "the robot"
            )
        return corners


class PlannerSpec(Spec):
    """One planner under test: a plugin of this package's kind, with its parameters, or, in a
    campaign with ``stack``, what it changes of the stack's navigation launch.

    ``name`` is what tables and file names say; two entries may use the same plugin with
    different parameters.
    """

    name: str = Field(pattern=NAME)
    plugin: str = ""
    parameters: Dict[str, Any] = Field(default_factory=dict)
    launch: Optional[LaunchSpec] = None

    @model_validator(mode="before")
    @classmethod
    def _plugin_defaults_to_name(cls, data: Any) -> Any:
        if isinstance(data, str):
            return {"name": data, "plugin": data}
        if isinstance(data, dict) and not {"plugin", "launch"} & data.keys() and "name" in data:
            return {**data, "plugin": data["name"]}
        return data

    @model_validator(mode="after")
    def _plugin_or_launch(self) -> "PlannerSpec":
        if self.launch is not None and (self.plugin or self.parameters):
            raise ValueError(
                f"{self.name} has launch, and plugin or parameters as well; give one of the two"
            )
        return self


class LimitsSpec(Spec):
    """When a trial is over although nobody arrived, in simulated seconds."""

    timeout_s: float = Field(180.0, gt=0)
    stuck_window_s: float = Field(20.0, gt=0)
    stuck_distance_m: float = Field(0.25, gt=0)
    max_tilt_rad: Optional[float] = Field(0.8, gt=0)
    """A robot whose upward axis leans farther from the vertical than this has tipped over; null
    does not look at it. 0.8 rad is 46 degrees, which no slope has that a wheel can climb."""
    max_attempts: int = Field(3, ge=1)
    """How often a trial is tried in all while it ends ``invalid``."""
    max_worker_deaths: int = Field(10, ge=1)
    """How often a trial is tried in all while the worker that runs it dies."""
    stall_timeout_s: float = Field(30.0, gt=0)
    """Wall time without progress after which the simulator counts as dead, and without a sign of
    life a worker process."""
    hang_timeout_s: float = Field(1800.0, gt=0)
    """Wall time after which a worker process that comes to no end of a control period, or of its
    start, counts as hung. A planner may compute for as long."""
    repeat_alone_below_real_time_factor: float = Field(0.0, ge=0)
    """Pace, in simulated over wall seconds, below which a trial that ran beside others is
    repeated alone, because its wall times say more of its neighbours than of the planner."""


class MetricsSpec(Spec):
    """Parameters of the metrics: d_0 of the safety metric, the comfort filter, k of the BARN
    score."""

    safety_distance_m: float = Field(1.0, gt=0)
    """d_0: the distance to an obstacle that is no danger any more."""
    acceleration_cutoff_hz: float = Field(2.0, gt=0)
    """Cut-off of the zero-phase low-pass that velocity passes before differentiating."""
    barn_k: float = Field(2.0, gt=0, le=8)
    """k: faster than k times the best time earns no more. 2 is the challenge's now, 4 was it."""


class GlobalPlanSpec(Spec):
    """How way-points are laid through the known map."""

    resolution_m: float = Field(0.1, gt=0)
    margin_m: float = Field(0.2, ge=0)
    """Added to the footprint's circumscribed radius when the map is inflated."""


class CampaignSpec(Spec):
    """A whole campaign. Paths are absolute once loaded."""

    name: str = Field(pattern=NAME)
    seed: int = Field(0, ge=0, lt=2**63)
    stack: Optional[StackSpec] = None
    """The user's own simulator, robot and navigation, in place of this package's."""
    worlds: WorldsSpec
    robot: RobotSpec
    goal: GoalSpec
    planners: List[PlannerSpec] = Field(min_length=1)
    repetitions: int = Field(1, ge=1, le=MOST_TRIALS)
    simulator: str = "auto"
    """A registered name; ``auto`` is Gazebo where there is one, otherwise ``embedded``."""
    simulator_options: Dict[str, Any] = Field(default_factory=dict)
    control_period_s: float = Field(0.1, gt=0)
    limits: LimitsSpec = LimitsSpec()
    metrics: MetricsSpec = MetricsSpec()
    global_plan: GlobalPlanSpec = GlobalPlanSpec()

    @model_validator(mode="after")
    def _not_endless(self) -> "CampaignSpec":
        trials = (self.worlds.count or 1) * len(self.planners) * self.repetitions
        if trials > MOST_TRIALS:
            raise ValueError(
                f"worlds, planners and repetitions make {trials} trials; at most {MOST_TRIALS} "
                "can be in one campaign"
            )
        return self

    def start_in(self, world: str) -> Pose2D:
        """Where the robot starts in a world, by the world's name."""
        entry = self.worlds.entry(world)
        own = None if entry is None else entry.start
        return (own or self.robot.start).pose

    def goal_in(self, world: str) -> Pose2D:
        """Where the goal is in a world, by the world's name."""
        entry = self.worlds.entry(world)
        own = None if entry is None else entry.goal
        return (own or self.goal).pose

    @field_validator("planners")
    @classmethod
    def _names_differ(cls, planners: List[PlannerSpec]) -> List[PlannerSpec]:
        twice = repeated([planner.name for planner in planners])
        if twice:
            raise ValueError(f"planner names must differ; these appear twice: {', '.join(twice)}")
        return planners

    @field_validator("planners")
    @classmethod
    def _launched_in_a_stack(
        cls, planners: List[PlannerSpec], info: ValidationInfo
    ) -> List[PlannerSpec]:
        stack = info.data.get("stack")
        for planner in planners if "stack" in info.data else ():
            name, launch = planner.name, planner.launch
            if stack is None and launch is not None:
                raise ValueError(
                    f"{name} has launch, but there is no stack to launch it in; give stack: "
                    "{simulator: ..., navigation: ...}"
                )
            if stack is not None and launch is None:
                raise ValueError(
                    f"{name} is a plugin, but stack drives by launch files; give "
                    f"{{name: {name}, launch: {{args: {{...}}}}}}"
                )
            if launch is not None and launch.file is None and not _navigates(stack):
                raise ValueError(f"{name} names no launch file, and stack has no navigation")
        return planners

    @field_validator("robot")
    @classmethod
    def _has_a_body(cls, robot: RobotSpec, info: ValidationInfo) -> RobotSpec:
        own = "stack" in info.data and info.data["stack"] is None
        if own and not re.match(NAME, robot.name):
            raise PydanticCustomError(
                "predicate", ".name begins with a letter and has letters, digits and _ only"
            )
        if robot.model is None and "stack" in info.data:
            if info.data["stack"] is None:
                raise PydanticCustomError("predicate", ".model is missing")
            if not (robot.footprint_m and robot.height_m):
                raise PydanticCustomError(
                    "predicate", "has no model; give footprint_m and height_m"
                )
        return robot

    @field_validator("simulator", "simulator_options")
    @classmethod
    def _not_with_a_stack(cls, value: Any, info: ValidationInfo) -> Any:
        if info.data.get("stack") is not None and value not in ("auto", {}):
            raise PydanticCustomError("predicate", "is said by stack.simulator; leave it out")
        return value


def _navigates(stack: Optional[StackSpec]) -> bool:
    return stack is not None and stack.navigation is not None
