"""The specification of a campaign: worlds × planners × repetitions, and the limits of a trial.

Checks that need other files are in :mod:`gz_testauto.trial.checks`; ``config/`` has examples.
"""

from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Type, cast

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    SerializeAsAny,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError
from typing_extensions import Annotated, Literal, Self

from gz_testauto.base.errors import SpecError
from gz_testauto.base.pose import Pose2D
from gz_testauto.base.registry import unknown_name
from gz_testauto.spec.actors import ActorSpec, TrackingSpec
from gz_testauto.spec.effects import Effect, HookSpec
from gz_testauto.spec.localization import Localization
from gz_testauto.spec.model import (
    Bounded,
    LocatedSpec,
    Point,
    Spec,
    ViaSpec,
    as_tuple,
    require_different,
)
from gz_testauto.spec.randomize import Term
from gz_testauto.spec.regions import Regions
from gz_testauto.spec.road import RoadOrFile, RoadSpec
from gz_testauto.spec.robot import (
    MOST_ROBOTS,
    BuiltinRobotSpec,
    CompanionSpec,
    RobotSpec,
    StackRobotSpec,
)
from gz_testauto.spec.stack import NAME, LaunchSpec, StackMetricSpec, StackSpec, with_files
from gz_testauto.spec.worlds import MOST_TRIALS, SEEDS, RandomNumbers, WorldsSpec

MISSING = ".{key} is missing"
SET_BY_SOURCE = ".{key} is set by worlds.{source}; remove it"


class GoalSpec(ViaSpec):
    """The goal of the robot, and optional goals before it. If ``worlds.missions`` or a world source
    sets the goals, such as ``mission.goal`` of ``scenic``, the poses are omitted."""

    x_m: Optional[Bounded] = None
    """x coordinate (m) in the world frame."""
    y_m: Optional[Bounded] = None
    """y coordinate (m) in the world frame."""
    yaw_rad: Bounded = 0.0
    """Heading (rad) that the planner receives as part of the goal. The goal counts as reached with
    any heading."""
    tolerance_m: float = Field(0.5, gt=0)
    """Largest distance (m) of the robot's base (true position) from a goal at which the goal counts
    as reached."""

    @property
    def pose(self) -> Pose2D:
        """Return the pose of the goal."""
        assert self.x_m is not None and self.y_m is not None, "checked by the campaign"
        return Pose2D(self.x_m, self.y_m, self.yaw_rad)


class PlannerSpec(LocatedSpec):
    """A planner that the campaign tests."""

    name: str = Field(pattern=NAME)
    """Name of the planner in tables and file names."""

    def with_settings(self, name: str, settings: Mapping[str, Any]) -> Self:
        """Return a planner with another name and further parameters or arguments."""
        raise NotImplementedError


class BuiltinPlannerSpec(PlannerSpec):
    """A planner plug-in with its parameters. A plug-in can be listed several times with different
    names and parameters."""

    plugin: str = ""
    """The registered name of the plug-in. The default is ``name``."""
    parameters: Annotated[Dict[str, Any], BeforeValidator(with_files)] = Field(default_factory=dict)
    """Parameters of the planner's constructor. A value that starts with ``./``, ``../``,
    ``package://`` or ``file://`` is the path of a file."""

    def with_settings(self, name: str, settings: Mapping[str, Any]) -> Self:
        """Return a planner with another name and further parameters."""
        parameters = {**self.parameters, **settings}
        return self.model_copy(update={"name": name, "parameters": parameters})

    @model_validator(mode="before")
    @classmethod
    def _set_default_plugin(cls, data: Any) -> Any:
        if isinstance(data, str):
            return {"name": data, "plugin": data}
        if not isinstance(data, dict):
            return data
        if data.get("launch") is not None:
            raise ValueError(
                f"{data.get('name', 'it')} has the key 'launch', but the campaign has no key "
                "'stack'; add stack: {simulator: ..., navigation: ...}"
            )
        if "plugin" not in data and "name" in data:
            return {**data, "plugin": data["name"]}
        return data


class StackPlannerSpec(PlannerSpec):
    """A planner of a navigation stack: changed arguments of ``stack.navigation``, or a separate
    launch file."""

    launch: LaunchSpec
    """A launch file, or only arguments, which are added to those of ``stack.navigation``."""

    def with_settings(self, name: str, settings: Mapping[str, Any]) -> Self:
        """Return a planner with another name and further arguments."""
        launch = self.launch.model_copy(update={"args": {**self.launch.args, **settings}})
        return self.model_copy(update={"name": name, "launch": launch})

    @model_validator(mode="before")
    @classmethod
    def _require_launch(cls, data: Any) -> Any:
        name = data.get("name") if isinstance(data, dict) else data
        if not isinstance(name, str):
            return data
        if isinstance(data, str) or data.get("launch") is None:
            raise ValueError(
                f"{name} is a plug-in, but a campaign with the key 'stack' needs launch files; "
                f"write {{name: {name}, launch: {{args: {{...}}}}}}"
            )
        if data.get("plugin") or data.get("parameters"):
            raise ValueError(
                f"{name} has the key 'launch' together with 'plugin' or 'parameters'; use either "
                "'launch', or 'plugin' and 'parameters'"
            )
        return data


class LimitsSpec(Spec):
    """The limits that end a trial before the robot reaches its goal, and those of attempts, worker
    processes and slow trials."""

    timeout_s: float = Field(180.0, gt=0)
    """Simulated time (s) after which a trial ends with the outcome ``timed_out``."""
    stuck_window_s: float = Field(20.0, gt=0)
    """Simulated time (s) after which a robot counts as stuck that was always within
    ``stuck_distance_m`` of its present position."""
    stuck_distance_m: float = Field(0.25, gt=0)
    """Radius (m) of the circle around its present position in which a robot counts as stuck."""
    max_tilt_rad: Optional[float] = Field(0.8, gt=0)
    """Angle (rad) by which the robot's vertical axis can tilt before the robot counts as tipped
    over; null: no check. The default, 46°, exceeds any slope that a wheel can climb."""
    max_off_road_m: Optional[float] = Field(None, ge=0)
    """Largest distance (m) of a part of the robot from all lanes that it can use, above which the
    trial ends with the outcome ``left_road``; null: no check. It needs a road."""
    max_attempts: int = Field(3, ge=1)
    """Largest number of attempts for a trial with the outcome ``invalid``."""
    max_worker_deaths: int = Field(10, ge=1)
    """Largest number of attempts for a trial whose worker process dies."""
    stall_timeout_s: float = Field(30.0, gt=0)
    """Wall time (s) without progress, or without a heartbeat of a worker process, after which a
    simulator or worker process counts as dead."""
    hang_timeout_s: float = Field(1800.0, gt=0)
    """Wall time (s) after which a worker process counts as hung if it has not finished its start, a
    control period, or one cycle of a planner."""
    min_parallel_real_time_factor: float = Field(0.0, ge=0)
    """Real-time factor below which a trial that ran in parallel with others is repeated alone. At a
    lower factor, measured wall times depend more on the other trials than on the planner."""


Gate = Annotated[Tuple[Point, Point], BeforeValidator(as_tuple)]
"""A line on the ground as ``[[x, y], [x, y]]`` (m)."""


class MetricsSpec(Spec):
    """Parameters of the metrics, the smallest relevant differences, and lines and areas on the
    ground."""

    safety_distance_m: float = Field(1.0, gt=0)
    """Distance (m) to the nearest obstacle below which the robot is in danger: d_0 of the safety
    metric."""
    acceleration_cutoff_hz: float = Field(2.0, gt=0)
    """Cut-off frequency (Hz) of the zero-phase low-pass filter for velocities, before they are
    differentiated."""
    barn_k: float = Field(2.0, gt=0, le=8)
    """Factor k of the BARN score: times below k times the best time do not increase it. The BARN
    challenge first used 4 and now uses 2."""
    smallest_relevant: Dict[str, Annotated[float, Field(ge=0)]] = Field(default_factory=dict)
    """Smallest relevant difference of each metric, in its unit (of ``success``: a share, 0 to 1).
    Each metric declares a default."""
    gates_m: List[Gate] = Field(default_factory=list)
    """Lines that the robot's base must cross in this order."""
    track: Optional[Regions] = None
    """The area in which the robot's base must stay."""
    regions: Dict[Annotated[str, Field(pattern=NAME)], Regions] = Field(default_factory=dict)
    """Named areas. The time of the robot's base in each area is measured."""


STACK_RESOLUTION_M = 0.05
"""Default side length (m) of a cell of a stack's static map."""


def _require_ordered_bounds(
    bounds: Tuple[float, float, float, float],
) -> Tuple[float, float, float, float]:
    x_min, y_min, x_max, y_max = bounds
    if not (x_min < x_max and y_min < y_max):
        raise ValueError("must be [x_min, y_min, x_max, y_max] with x_min < x_max, y_min < y_max")
    return bounds


Rectangle = Annotated[
    Tuple[Bounded, Bounded, Bounded, Bounded],
    BeforeValidator(as_tuple),
    AfterValidator(_require_ordered_bounds),
]


class GlobalPlanSpec(Spec):
    """Parameters of the global plan, which is computed on the static map."""

    resolution_m: float = Field(0.1, gt=0, le=100)
    """Side length (m) of a grid cell. With ``stack``, the default is 0.05, since a localizer is
    less accurate on larger cells."""
    margin_m: float = Field(0.2, ge=0)
    """Distance (m) that is added to the footprint's circumscribed radius to obtain the inflation
    radius."""
    bounds_m: Optional[Rectangle] = None
    """Exact rectangle ``[x_min, y_min, x_max, y_max]`` (m) of the map. By default, the map contains
    the models of the world, the start, the goals and the regions of random obstacles."""


class StopSpec(Spec):
    """A rule that stops a campaign when every pair of planners is decided: one planner succeeds
    significantly more often, or the success rates differ significantly less than
    ``equivalence_margin``."""

    when: Literal["decided"]
    """The event that stops the campaign: every pair of planners is decided."""
    alpha: float = Field(0.05, gt=0, lt=0.5)
    """Largest accepted probability of any wrong decision."""
    max_worlds: Optional[int] = Field(None, ge=2)
    """Largest number of worlds, even without a decision; default: all worlds."""
    baseline: str = ""
    """The planner with which all others are compared. By default, each pair is compared."""
    equivalence_margin: Optional[float] = Field(None, gt=0, lt=1)
    """Largest difference of success rates without practical meaning. By default, every difference
    counts."""


class CampaignSpec(LocatedSpec):
    """The common keys of campaigns with and without a stack. :meth:`kind_of` returns the class for
    a campaign."""

    name: str = Field(pattern=NAME)
    """Name of the campaign in reports, and of its default results directory."""
    seed: int = Field(0, ge=0, lt=SEEDS)
    """The seed from which all random numbers of the campaign derive."""
    worlds: SerializeAsAny[WorldsSpec]
    """The source of the worlds."""
    robot: RobotSpec
    """The robot under test."""
    goal: GoalSpec
    """The goal of the robot in each world that does not set its own goal."""
    planners: Tuple[PlannerSpec, ...]
    """The planners to compare, at least one. The name of a plug-in is sufficient if it has no
    parameters."""
    repetitions: int = Field(1, ge=1, le=MOST_TRIALS)
    """Number of trials of each planner in each world."""
    control_period_s: float = Field(0.1, gt=0, le=10)
    """Simulated time (s) between two velocity commands."""
    limits: LimitsSpec = LimitsSpec()
    """The limits of a trial."""
    metrics: MetricsSpec = MetricsSpec()
    """Parameters of the metrics."""
    global_plan: GlobalPlanSpec = GlobalPlanSpec()
    """Parameters of the global plan."""
    stop: Optional[StopSpec] = None
    """The rule that stops the campaign before the last world."""
    robots: Annotated[
        Tuple[CompanionSpec, ...], BeforeValidator(as_tuple), Field(max_length=MOST_ROBOTS)
    ] = ()
    """Additional robots that drive in the same worlds."""
    actors: Annotated[Tuple[SerializeAsAny[ActorSpec], ...], BeforeValidator(as_tuple)] = ()
    """Actors that move in the worlds."""
    randomize: Annotated[Tuple[Term, ...], BeforeValidator(as_tuple)] = ()
    """Random properties of worlds, sensors and drive controllers."""
    effects: Annotated[Tuple[Effect, ...], BeforeValidator(as_tuple)] = ()
    """Effects on models, lights and gravity that depend on conditions."""
    hooks: Annotated[Tuple[HookSpec, ...], BeforeValidator(as_tuple)] = ()
    """Hooks of other packages."""
    tracking: Optional[TrackingSpec] = None
    """The tracked objects that a planner can request."""
    localization: Localization = None
    """The pose that planners receive: an estimate, or a mapping with its keys; default: the true
    pose."""
    road: RoadOrFile = None
    """Lanes and a route of the robot."""

    @classmethod
    def kind_of(cls, data: Mapping[str, Any]) -> Type[Self]:
        """Return :class:`StackCampaignSpec` for ``data`` with the key ``stack``, otherwise
        :class:`BuiltinCampaignSpec`."""
        if cls is not CampaignSpec:
            return cls
        kind = StackCampaignSpec if "stack" in data else BuiltinCampaignSpec
        return cast(Type[Self], kind)

    def without_stack(self, remedy: str) -> "BuiltinCampaignSpec":
        """Return this campaign. Raises ``SpecError`` with the ``remedy`` if it has a stack."""
        raise SpecError(
            f"campaign {self.name}: the launch files of its stack start simulator and planners, "
            f"which is not supported here; {remedy}"
        )

    @property
    def others_move(self) -> bool:
        """Return whether actors, agents or further robots move in the worlds."""
        return bool(self.actors or self.robots or self.worlds.has_agents)

    @property
    def changes_worlds(self) -> bool:
        """Return whether trials have moving objects, random properties, effects or hooks that are
        not in the world files."""
        return bool(
            self.actors or self.randomize or self.effects or self.hooks or self.worlds.has_agents
        )

    def road_of(self, world: int) -> Optional[RoadSpec]:
        """Return the road of a world by its index, or None. The default is the campaign's road."""
        files = self.worlds.files
        return self.road if not files or files[world].road is None else files[world].road

    def random_numbers(self, world: int, repetition: int) -> RandomNumbers:
        """Return the identity of the random numbers of a trial, from its indices."""
        files = self.worlds.files
        numbers = files[world].random_numbers if files and world < len(files) else None
        if numbers is None:
            return RandomNumbers(seed=self.seed, world=world, repetition=repetition)
        return numbers.model_copy(update={"repetition": numbers.repetition + repetition})

    @property
    def arrival_tolerance_m(self) -> float:
        """Return the distance (m) from the goal at which the navigation reports its arrival."""
        tolerance_m = None if self.localization is None else self.localization.arrival_tolerance_m
        return self.goal.tolerance_m if tolerance_m is None else tolerance_m

    @property
    def published_metrics(self) -> Sequence[StackMetricSpec]:
        """Return the numbers that the navigation stack publishes."""
        return ()

    @property
    def normal_real_time_factor(self) -> float:
        """Return the real-time factor of a trial on a sufficiently fast computer."""
        return 1.0

    @property
    def least_real_time_factor(self) -> Optional[float]:
        """Return the real-time factor below which an attempt is invalid, or None."""
        return None

    @model_validator(mode="before")
    @classmethod
    def _reject_base_class(cls, data: Any) -> Any:
        if cls is CampaignSpec:
            raise TypeError(
                "CampaignSpec cannot be created directly; use the subclass that "
                "CampaignSpec.kind_of returns"
            )
        return data

    @model_validator(mode="after")
    def _limit_trials(self) -> Self:
        worlds = self.worlds.total_count or (
            max(1, len(self.worlds.files or ())) * self.worlds.missions_per_world
        )
        trials = worlds * len(self.planners) * self.repetitions
        if trials > MOST_TRIALS:
            raise ValueError(
                f"the campaign's worlds, planners and repetitions result in {trials} trials; a "
                f"campaign can have at most {MOST_TRIALS}"
            )
        return self

    @field_validator("limits")
    @classmethod
    def _check_limits(cls, limits: LimitsSpec, info: ValidationInfo) -> LimitsSpec:
        period_s = info.data.get("control_period_s", 0.0)
        for name in ("timeout_s", "stuck_window_s"):
            if getattr(limits, name) < period_s:
                raise ValueError(
                    f"{name} is {getattr(limits, name):g}; it must be at least control_period_s, "
                    f"{period_s:g}"
                )
        robot: Optional[RobotSpec] = info.data.get("robot")
        if robot is not None:
            farthest_m = robot.max_linear_mps * limits.stuck_window_s
            if limits.stuck_distance_m >= farthest_m:
                raise ValueError(
                    f"stuck_distance_m is {limits.stuck_distance_m:g}, but robot.max_linear_mps "
                    f"allows only {farthest_m:g} m in stuck_window_s, so the robot would always "
                    "count as stuck; use a longer window"
                )
        return limits

    @field_validator("stop")
    @classmethod
    def _require_decidable_stop(
        cls, stop: Optional[StopSpec], info: ValidationInfo
    ) -> Optional[StopSpec]:
        if stop is None or not {"planners", "worlds"} <= info.data.keys():
            return stop
        names = [planner.name for planner in info.data["planners"]]
        worlds: WorldsSpec = info.data["worlds"]
        if len(names) < 2:
            raise PydanticCustomError(
                "predicate",
                "compares planners, but the campaign has only one; add a planner or remove it",
            )
        if stop.baseline and stop.baseline not in names:
            raise ValueError(unknown_name("planner", stop.baseline, names))
        total_count = worlds.total_count
        if total_count and stop.max_worlds and stop.max_worlds > total_count:
            raise ValueError(
                f"max_worlds is {stop.max_worlds}; it must be at most the number of worlds, "
                f"{total_count}"
            )
        if worlds.obstacles is not None and worlds.obstacles.sampling.method != "uniform":
            raise ValueError(
                f"worlds of sampling {worlds.obstacles.sampling.method!r} depend on one another, "
                "but the test needs independent worlds; use sampling: uniform"
            )
        return stop

    @model_validator(mode="after")
    def _require_error_to_scale(self) -> Self:
        for term in self.randomize:
            if term.term == "localization_error" and (
                self.localization is None or self.localization.is_true
            ):
                raise ValueError(
                    f"randomize {term.name!r}: the term 'localization_error' needs a localization "
                    "with errors; add localization: drift, or remove the term"
                )
        return self

    @model_validator(mode="after")
    def _require_road_for_limit(self) -> Self:
        if self.limits.max_off_road_m is not None and not self.has_road:
            raise ValueError(
                "limits: 'max_off_road_m' needs lanes; add the key 'road', or remove the limit"
            )
        return self

    @property
    def most_worlds(self) -> Optional[int]:
        """Return the largest number of worlds, or None for all worlds."""
        return None if self.stop is None else self.stop.max_worlds

    @property
    def has_road(self) -> bool:
        """Return whether the campaign or a world has a road."""
        return self.road is not None or any(
            entry.road is not None for entry in self.worlds.files or ()
        )

    @field_validator("robot")
    @classmethod
    def _require_start(cls, robot: RobotSpec, info: ValidationInfo) -> RobotSpec:
        _require_unless_set_by_source(info, "sets_start", {"start": robot.start is not None})
        return robot

    @field_validator("goal")
    @classmethod
    def _require_goal_position(cls, goal: GoalSpec, info: ValidationInfo) -> GoalSpec:
        keys_set = {"x_m": goal.x_m is not None, "y_m": goal.y_m is not None}
        if goal.via:
            keys_set["via"] = True
        _require_unless_set_by_source(info, "sets_goal", keys_set)
        return goal

    @field_validator("robots", "actors", "randomize", "effects", "hooks")
    @classmethod
    def _require_different_entry_names(
        cls, entries: Tuple[Any, ...], info: ValidationInfo
    ) -> Tuple[Any, ...]:
        require_different([entry.name for entry in entries])
        robot, robots = info.data.get("robot"), info.data.get("robots") or ()
        if robot is None or info.field_name not in ("robots", "actors"):
            return entries
        for robot_name in (robot.name, *(additional_robot.name for additional_robot in robots)):
            if robot_name in [entry.name for entry in entries]:
                noun = "robot" if info.field_name == "robots" else "actor"
                raise ValueError(f"a robot is named {robot_name!r}; rename the {noun}")
        return entries

    @field_validator("planners")
    @classmethod
    def _require_different_planner_names(
        cls, planners: Tuple[PlannerSpec, ...]
    ) -> Tuple[PlannerSpec, ...]:
        if not planners:
            raise PydanticCustomError("predicate", "is empty; add at least one entry")
        require_different([planner.name for planner in planners], "planner names")
        return planners


def _require_unless_set_by_source(
    info: ValidationInfo, sets: str, is_set_by_key: Mapping[str, bool]
) -> None:
    """Raise an error for a missing key, or for a key that the world source sets.

    ``sets`` is the name of the property of the world source that is True if it sets these keys.
    ``is_set_by_key`` states for each key whether the campaign sets it.
    """
    worlds: Optional[WorldsSpec] = info.data.get("worlds")
    if worlds is None:  # the invalid worlds are reported
        return
    setter = worlds.setter_of(sets)
    for key, is_set in is_set_by_key.items():
        if is_set == bool(setter):
            context = {"key": key, "source": setter}
            raise PydanticCustomError("predicate", SET_BY_SOURCE if setter else MISSING, context)


class BuiltinCampaignSpec(CampaignSpec):
    """A campaign that runs planners of this package in a simulator that the package starts."""

    robot: BuiltinRobotSpec
    planners: Annotated[Tuple[BuiltinPlannerSpec, ...], BeforeValidator(as_tuple)]
    simulator: str = "auto"
    """The registered name of the simulator. ``auto`` is ``gazebo`` if it is installed, otherwise
    ``embedded``."""
    simulator_options: Dict[str, Any] = Field(default_factory=dict)
    """Options of the simulator, which docs/simulators.md lists."""

    @property
    def lidar_sees_visuals(self) -> bool:
        """Return whether rays of sensors end on visuals, an option of ``embedded``."""
        return bool(self.simulator_options.get("lidar") == "visuals")

    def without_stack(self, remedy: str) -> "BuiltinCampaignSpec":
        """Return this campaign."""
        return self


class _OnStack(Spec):
    # Pydantic validates the fields of base classes first, and those of the subclass refer to stack.

    stack: StackSpec
    """The user's simulator, robot and navigation."""


class StackCampaignSpec(CampaignSpec, _OnStack):
    """A campaign that runs the user's simulator, robot and navigation."""

    robot: StackRobotSpec
    planners: Annotated[Tuple[StackPlannerSpec, ...], BeforeValidator(as_tuple)]
    simulator: Literal["auto"] = "auto"
    """Always ``auto``, since ``stack.simulator`` starts the simulator."""
    simulator_options: Dict[str, Any] = Field(default_factory=dict)
    """Always empty, since options are arguments of ``stack.simulator``."""

    @model_validator(mode="before")
    @classmethod
    def _set_default_resolution(cls, data: Any) -> Any:
        plan = data.get("global_plan", {}) if isinstance(data, dict) else None
        if isinstance(plan, dict):
            return {**data, "global_plan": {"resolution_m": STACK_RESOLUTION_M, **plan}}
        return data

    @property
    def published_metrics(self) -> Sequence[StackMetricSpec]:
        """Return ``stack.metrics``."""
        return self.stack.metrics

    @property
    def normal_real_time_factor(self) -> float:
        """Return 1, or ``stack.max_real_time_factor`` if it is lower."""
        return min(1.0, self.stack.max_real_time_factor or 1.0)

    @property
    def least_real_time_factor(self) -> Optional[float]:
        """Return ``stack.min_real_time_factor``."""
        return self.stack.min_real_time_factor

    def navigation(self, planner: StackPlannerSpec) -> LaunchSpec:
        """Return the launch file of the navigation with the changes of one planner."""
        navigation = self.stack.navigation
        return planner.launch if navigation is None else navigation.overridden_by(planner.launch)

    @field_validator("planners")
    @classmethod
    def _require_launch_files(
        cls, planners: Tuple[StackPlannerSpec, ...], info: ValidationInfo
    ) -> Tuple[StackPlannerSpec, ...]:
        stack: Optional[StackSpec] = info.data.get("stack")
        for planner in planners:
            if planner.launch.file is None and stack is not None and stack.navigation is None:
                raise ValueError(
                    f"{planner.name} has no launch file, and 'stack.navigation' is not set; set "
                    "one of them"
                )
        return planners

    @field_validator("simulator", "simulator_options", mode="before")
    @classmethod
    def _reject_simulator_keys(cls, value: Any) -> Any:
        if value not in ("auto", {}):
            raise PydanticCustomError("predicate", "is set by stack.simulator; remove it")
        return value
