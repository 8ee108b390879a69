"""What a campaign is: worlds × planners × repetitions, and when a trial ends.

Owns the shape of ``campaign.yaml`` and the checks that need nothing but the file itself. There are
two kinds: :class:`BuiltinCampaignSpec` runs this package's planners in a simulator that it starts,
:class:`StackCampaignSpec` (``stack:``) the user's own launch files. What both have is
:class:`CampaignSpec`'s, and who needs one of the two asks for that one.
Reading YAML with file and line is :mod:`gz_testauto.spec.loader`'s; what the fields do is
said here, once, and ``config/`` shows them in use.
"""

from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Type, cast

from pydantic import (
    BeforeValidator,
    Field,
    SerializeAsAny,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError
from typing_extensions import Annotated, Literal, Self

from gz_testauto.base.pose import Pose2D
from gz_testauto.base.registry import unknown_name
from gz_testauto.spec.actors import ActorSpec
from gz_testauto.spec.companions import MOST_ROBOTS, CompanionSpec
from gz_testauto.spec.model import (
    Bounded,
    LocatedSpec,
    Point,
    Spec,
    ViaSpec,
    as_tuple,
    repeated,
)
from gz_testauto.spec.randomize import Term
from gz_testauto.spec.regions import Regions
from gz_testauto.spec.road import RoadOrFile
from gz_testauto.spec.robot import BuiltinRobotSpec, RobotSpec, StackRobotSpec
from gz_testauto.spec.stack import NAME, LaunchSpec, StackMetricSpec, StackSpec, with_files
from gz_testauto.spec.stopping import StopSpec
from gz_testauto.spec.tracking import TrackingSpec
from gz_testauto.spec.worlds import MOST_TRIALS, SEEDS, WorldsSpec

MISSING = ".{key} is missing"
SAID_TWICE = ".{key} is said by worlds.mission; leave it out"


class GoalSpec(ViaSpec):
    """The goal, a planar pose in the world (map) frame, and how near the base's true position must
    come to have reached it, and each that is before it. A scenario's worlds may have goals of
    their own (``worlds.mission.goal``); then the poses are left out."""

    x_m: Optional[Bounded] = None
    y_m: Optional[Bounded] = None
    yaw_rad: Bounded = 0.0
    tolerance_m: float = Field(0.5, gt=0)

    @property
    def pose(self) -> Pose2D:
        """The pose as the rest of the package passes it around."""
        assert self.x_m is not None and self.y_m is not None, "checked by the campaign"
        return Pose2D(self.x_m, self.y_m, self.yaw_rad)


class PlannerSpec(LocatedSpec):
    """One planner under test. ``name`` is what tables and file names say."""

    name: str = Field(pattern=NAME)


class BuiltinPlannerSpec(PlannerSpec):
    """A plugin of this package's kind, with its parameters.

    Two entries may use the same plugin with different parameters.
    """

    plugin: str = ""
    parameters: Annotated[Dict[str, Any], BeforeValidator(with_files)] = Field(default_factory=dict)
    launch: None = None
    """Nothing: results say so of each planner."""

    @model_validator(mode="before")
    @classmethod
    def _plugin_defaults_to_name(cls, data: Any) -> Any:
        if isinstance(data, str):
            return {"name": data, "plugin": data}
        if not isinstance(data, dict):
            return data
        if data.get("launch") is not None:
            raise ValueError(
                f"{data.get('name', 'it')} has launch, but there is no stack to launch it in; give "
                "stack: {simulator: ..., navigation: ...}"
            )
        if "plugin" not in data and "name" in data:
            return {**data, "plugin": data["name"]}
        return data


class StackPlannerSpec(PlannerSpec):
    """What one planner changes of the stack's navigation launch, or a launch file of its own."""

    plugin: Literal[""] = ""
    parameters: Annotated[Dict[str, Any], Field(max_length=0)] = Field(default_factory=dict)
    """Nothing, as ``plugin``: results say so of each planner."""
    launch: LaunchSpec

    @model_validator(mode="before")
    @classmethod
    def _is_launched(cls, data: Any) -> Any:
        name = data.get("name") if isinstance(data, dict) else data
        if not isinstance(name, str):
            return data
        if isinstance(data, str) or data.get("launch") is None:
            raise ValueError(
                f"{name} is a plugin, but stack drives by launch files; give "
                f"{{name: {name}, launch: {{args: {{...}}}}}}"
            )
        if data.get("plugin") or data.get("parameters"):
            raise ValueError(
                f"{name} has launch, and plugin or parameters as well; give one of the two"
            )
        return data


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
    min_parallel_real_time_factor: float = Field(0.0, ge=0)
    """Pace, in simulated over wall seconds, below which a trial that ran beside others is
    repeated alone, because its wall times say more of its neighbors than of the planner."""


Gate = Annotated[Tuple[Point, Point], BeforeValidator(as_tuple)]
"""``[[x, y], [x, y]]``: a line on the ground between two posts."""


class MetricsSpec(Spec):
    """Parameters of the metrics: d_0 of the safety metric, the comfort filter, k of the BARN
    score, which differences matter, and tasks of the campaign's own."""

    safety_distance_m: float = Field(1.0, gt=0)
    """d_0: the distance to an obstacle that is no danger any more."""
    acceleration_cutoff_hz: float = Field(2.0, gt=0)
    """Cut-off of the zero-phase low-pass that velocity passes before differentiating."""
    barn_k: float = Field(2.0, gt=0, le=8)
    """k: faster than k times the best time earns no more. 2 is the challenge's now, 4 was it."""
    smallest_relevant: Dict[str, Annotated[float, Field(ge=0)]] = Field(default_factory=dict)
    """The smallest difference that matters, by metric in its unit; ``success`` as a share. Those
    that are not given are as the metrics declare them."""
    gates_m: List[Gate] = Field(default_factory=list)
    """Lines that the robot's base is to cross, in this order."""
    track: Optional[Regions] = None
    """Where the robot's base is to stay."""
    regions: Dict[Annotated[str, Field(pattern=NAME)], Regions] = Field(default_factory=dict)
    """Where the time that the robot's base spends is measured, by name."""


class GlobalPlanSpec(Spec):
    """How way-points are laid through the known map."""

    resolution_m: float = Field(0.1, gt=0)
    margin_m: float = Field(0.2, ge=0)
    """Added to the footprint's circumscribed radius when the map is inflated."""


class CampaignSpec(LocatedSpec):
    """A whole campaign, of one kind or the other (:meth:`kind_of`). Paths are absolute once
    loaded."""

    name: str = Field(pattern=NAME)
    seed: int = Field(0, ge=0, lt=SEEDS)
    worlds: WorldsSpec
    robot: RobotSpec
    goal: GoalSpec
    planners: Tuple[PlannerSpec, ...]
    repetitions: int = Field(1, ge=1, le=MOST_TRIALS)
    control_period_s: float = Field(0.1, gt=0)
    limits: LimitsSpec = LimitsSpec()
    metrics: MetricsSpec = MetricsSpec()
    global_plan: GlobalPlanSpec = GlobalPlanSpec()
    stop: Optional[StopSpec] = None
    """When to end before the last world; never unless given."""
    robots: Annotated[
        Tuple[CompanionSpec, ...], BeforeValidator(as_tuple), Field(max_length=MOST_ROBOTS)
    ] = ()
    """Who drives beside the robot."""
    actors: Annotated[Tuple[SerializeAsAny[ActorSpec], ...], BeforeValidator(as_tuple)] = ()
    """What moves in the worlds beside the robot."""
    randomize: Annotated[Tuple[Term, ...], BeforeValidator(as_tuple)] = ()
    """What is drawn of worlds, sensors and drive."""
    tracking: Optional[TrackingSpec] = None
    """What is told of who moves to planners that ask for it; nothing unless given."""
    road: RoadOrFile = None
    """Lanes, and the route through them; none unless given."""

    @classmethod
    def kind_of(cls, data: Mapping[str, Any]) -> Type[Self]:
        """Of which kind the campaign is that ``data`` describes."""
        if cls is not CampaignSpec:
            return cls
        kind = BuiltinCampaignSpec if data.get("stack") is None else StackCampaignSpec
        return cast(Type[Self], kind)

    @property
    def others_move(self) -> bool:
        """Whether anything is meant to move in the worlds beside the robot."""
        return bool(self.actors or self.robots or self.worlds.dynamic)

    @property
    def changes_worlds(self) -> bool:
        """Whether anything moves or is drawn in a trial that is not in its world's file."""
        return bool(self.actors or self.randomize or self.worlds.dynamic)

    @property
    def published_metrics(self) -> Sequence[StackMetricSpec]:
        """The numbers that whatever drives the robot publishes of itself."""
        return ()

    @property
    def least_real_time_factor(self) -> Optional[float]:
        """Pace (simulated over wall seconds) below which a trial says nothing; None where any
        will do."""
        return None

    @model_validator(mode="before")
    @classmethod
    def _is_of_a_kind(cls, data: Any) -> Any:
        if cls is CampaignSpec:
            raise TypeError(
                "CampaignSpec is read by one of its kinds; CampaignSpec.kind_of chooses"
            )
        return data

    @model_validator(mode="after")
    def _not_endless(self) -> Self:
        trials = (self.worlds.count or 1) * len(self.planners) * self.repetitions
        if trials > MOST_TRIALS:
            raise ValueError(
                f"worlds, planners and repetitions make {trials} trials; at most {MOST_TRIALS} "
                "can be in one campaign"
            )
        return self

    @field_validator("stop")
    @classmethod
    def _can_be_decided(cls, stop: Optional[StopSpec], info: ValidationInfo) -> Optional[StopSpec]:
        if stop is None or not {"planners", "worlds"} <= info.data.keys():
            return stop
        names = [planner.name for planner in info.data["planners"]]
        worlds: WorldsSpec = info.data["worlds"]
        if len(names) < 2:
            raise PydanticCustomError("predicate", "decides between planners; there is only one")
        if stop.baseline and stop.baseline not in names:
            raise ValueError(unknown_name("planner", stop.baseline, names))
        if worlds.count and stop.at_most and stop.at_most > worlds.count:
            raise ValueError(f"at_most is {stop.at_most}, but worlds.count is {worlds.count}")
        if worlds.obstacles is not None and worlds.obstacles.sampling.method != "uniform":
            raise ValueError(
                f"worlds of sampling {worlds.obstacles.sampling.method!r} depend on one another, "
                "and the test needs independent ones; give sampling: uniform"
            )
        return stop

    @property
    def most_worlds(self) -> Optional[int]:
        """How many worlds may be run; None for all."""
        return None if self.stop is None else self.stop.at_most

    @property
    def has_road(self) -> bool:
        """Whether any world has one."""
        return self.road is not None or any(one.road is not None for one in self.worlds.files or ())

    @field_validator("robot")
    @classmethod
    def _starts_somewhere(cls, robot: RobotSpec, info: ValidationInfo) -> RobotSpec:
        by_mission = _said_by_mission(info, "start")
        if by_mission is not None and by_mission != (robot.start is None):
            raise PydanticCustomError(
                "predicate", SAID_TWICE if by_mission else MISSING, {"key": "start"}
            )
        return robot

    @field_validator("goal")
    @classmethod
    def _is_somewhere(cls, goal: GoalSpec, info: ValidationInfo) -> GoalSpec:
        by_mission = _said_by_mission(info, "goal")
        for key in ("x_m", "y_m") if by_mission is not None else ():
            if by_mission != (getattr(goal, key) is None):
                raise PydanticCustomError(
                    "predicate", SAID_TWICE if by_mission else MISSING, {"key": key}
                )
        if by_mission and goal.via:
            raise PydanticCustomError("predicate", SAID_TWICE, {"key": "via"})
        return goal

    @field_validator("robots", "actors", "randomize")
    @classmethod
    def _have_names(cls, entries: Tuple[Any, ...], info: ValidationInfo) -> Tuple[Any, ...]:
        twice = repeated([entry.name for entry in entries])
        if twice:
            raise ValueError(f"names must differ; these appear twice: {', '.join(twice)}")
        robot, robots = info.data.get("robot"), info.data.get("robots") or ()
        if robot is None or info.field_name == "randomize":
            return entries
        for taken in (robot.name, *(one.name for one in robots)):
            if taken in [entry.name for entry in entries]:
                other = "robot" if info.field_name == "robots" else "actor"
                raise ValueError(f"the robot is named {taken!r}; give the {other} another name")
        return entries

    @field_validator("planners")
    @classmethod
    def _are_told_apart(cls, planners: Tuple[PlannerSpec, ...]) -> Tuple[PlannerSpec, ...]:
        if not planners:
            raise PydanticCustomError("predicate", "has 0 entries, too few; at least 1")
        twice = repeated([planner.name for planner in planners])
        if twice:
            raise ValueError(f"planner names must differ; these appear twice: {', '.join(twice)}")
        return planners


def _said_by_mission(info: ValidationInfo, key: str) -> Optional[bool]:
    """Whether the worlds' mission says it; None where the worlds are wrong, which is told."""
    worlds: Optional[WorldsSpec] = info.data.get("worlds")
    if worlds is None:
        return None
    return worlds.mission is not None and getattr(worlds.mission, key) is not None


class BuiltinCampaignSpec(CampaignSpec):
    """A campaign of this package's planners, in a simulator that it starts."""

    stack: None = None
    """Nothing: results say so of a campaign."""
    robot: BuiltinRobotSpec
    planners: Annotated[Tuple[BuiltinPlannerSpec, ...], BeforeValidator(as_tuple)]
    simulator: str = "auto"
    """A registered name; ``auto`` is Gazebo where there is one, otherwise ``embedded``."""
    simulator_options: Dict[str, Any] = Field(default_factory=dict)


class _OnStack(Spec):
    """The field that a campaign on a stack has before all others, which may refer to it."""

    stack: StackSpec
    """The user's own simulator, robot and navigation, in place of this package's."""


class StackCampaignSpec(CampaignSpec, _OnStack):
    """A campaign on the user's own simulator, robot and navigation."""

    robot: StackRobotSpec
    planners: Annotated[Tuple[StackPlannerSpec, ...], BeforeValidator(as_tuple)]
    simulator: Literal["auto"] = "auto"
    simulator_options: Dict[str, Any] = Field(default_factory=dict)
    """Nothing, as ``simulator``: ``stack.simulator`` says it."""

    @property
    def published_metrics(self) -> Sequence[StackMetricSpec]:
        """``stack.metrics``."""
        return self.stack.metrics

    @property
    def least_real_time_factor(self) -> Optional[float]:
        """``stack.min_real_time_factor``: nobody waits for such a navigation to think."""
        return self.stack.min_real_time_factor

    def navigation(self, planner: StackPlannerSpec) -> LaunchSpec:
        """What drives the robot for one planner: the stack's navigation with its changes."""
        own = self.stack.navigation
        return planner.launch if own is None else own.overridden_by(planner.launch)

    @field_validator("planners")
    @classmethod
    def _names_a_launch_file(
        cls, planners: Tuple[StackPlannerSpec, ...], info: ValidationInfo
    ) -> Tuple[StackPlannerSpec, ...]:
        stack: Optional[StackSpec] = info.data.get("stack")
        for planner in planners:
            if planner.launch.file is None and stack is not None and stack.navigation is None:
                raise ValueError(
                    f"{planner.name} names no launch file, and stack has no navigation"
                )
        return planners

    @field_validator("simulator", "simulator_options", mode="before")
    @classmethod
    def _said_by_stack(cls, value: Any) -> Any:
        if value not in ("auto", {}):
            raise PydanticCustomError("predicate", "is said by stack.simulator; leave it out")
        return value
