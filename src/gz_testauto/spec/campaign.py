"""What a campaign is: worlds × planners × repetitions, and when a trial ends.

Owns the shape of ``campaign.yaml`` and the checks that need nothing but the file itself.
Reading YAML with file and line is :mod:`gz_testauto.spec.loader`'s; what the fields do is
said here, once, and ``config/`` shows them in use.
"""

from pathlib import Path
from typing import Any, Dict, List, Optional

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator, model_validator
from typing_extensions import Annotated

from gz_testauto.geometry import Pose2D
from gz_testauto.spec.loader import load
from gz_testauto.spec.model import Point, Spec, SpecPath, resolve_path
from gz_testauto.spec.obstacles import ObstacleSpec

NAME = r"^[A-Za-z][A-Za-z0-9_]*$"
"""Names that are valid as a ROS name, a file name and a column heading at once."""


class PoseSpec(Spec):
    """A planar pose in the world (map) frame: metres and radians."""

    x_m: float
    y_m: float
    yaw_rad: float = 0.0

    @property
    def pose(self) -> Pose2D:
        """The same as the value that the rest of the package passes around."""
        return Pose2D(self.x_m, self.y_m, self.yaw_rad)


class GoalSpec(PoseSpec):
    """The goal, and how near the base's true position must come to have reached it."""

    tolerance_m: float = Field(0.5, gt=0)


def _obstacles(value: Any, info: ValidationInfo) -> Any:
    """Read the specification that a path names; anything else is one written out in place."""
    if not isinstance(value, (str, Path)):
        return value
    return load(resolve_path(value, info), ObstacleSpec)


class WorldsSpec(Spec):
    """Where the worlds come from: a base world and an obstacle specification (written out, or
    the path of its file), or a directory of ready ``.world`` files (with or without
    ``worlds.json``)."""

    base: Optional[SpecPath] = None
    obstacles: Annotated[Optional[ObstacleSpec], BeforeValidator(_obstacles)] = None
    count: Optional[int] = Field(None, ge=1)
    directory: Optional[SpecPath] = None

    @model_validator(mode="after")
    def _one_source(self) -> "WorldsSpec":
        if (self.base is None) == (self.directory is None):
            raise ValueError("give either base (with obstacles and count) or directory")
        if self.base is not None and (self.obstacles is None or self.count is None):
            raise ValueError("base needs obstacles and count as well")
        if self.directory is not None and self.obstacles is not None:
            raise ValueError("directory holds ready worlds; it takes no obstacles")
        return self


class RobotSpec(Spec):
    """The robot: its model SDF, where it starts, and what its base can do.

    The footprint is taken from the model's collision shapes when ``footprint_m`` is not
    given: the convex outline, seen from above, of everything that is not a drive wheel's
    contact patch.
    """

    model: SpecPath
    name: str = Field("robot", pattern=NAME)
    start: PoseSpec
    footprint_m: Optional[List[Point]] = Field(None, min_length=3)
    max_linear_mps: float = Field(1.0, gt=0)
    max_angular_radps: float = Field(1.5, gt=0)
    max_linear_accel_mps2: float = Field(1.0, gt=0)
    max_angular_accel_radps2: float = Field(3.0, gt=0)
    can_reverse: bool = False


class PlannerSpec(Spec):
    """One planner under test: a plugin of this package's kind, with its parameters.

    ``name`` is what tables and file names say; two entries may use the same plugin with
    different parameters.
    """

    name: str = Field(pattern=NAME)
    plugin: str
    parameters: Dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _plugin_defaults_to_name(cls, data: Any) -> Any:
        if isinstance(data, str):
            return {"name": data, "plugin": data}
        if isinstance(data, dict) and "plugin" not in data and "name" in data:
            return {**data, "plugin": data["name"]}
        return data


class LimitsSpec(Spec):
    """When a trial is over although nobody arrived, in simulated seconds."""

    timeout_s: float = Field(180.0, gt=0)
    stuck_window_s: float = Field(20.0, gt=0)
    stuck_distance_m: float = Field(0.25, gt=0)
    max_attempts: int = Field(3, ge=1)
    """How often a trial is tried in all while it ends ``invalid``."""
    stall_timeout_s: float = Field(30.0, gt=0)
    """Wall time without progress after which the simulator counts as dead."""
    min_real_time_factor: float = Field(0.0, ge=0)
    """Pace, in simulated over wall seconds, below which a trial that ran beside others is
    repeated alone, because its wall times say more of its neighbours than of the planner."""


class MetricsSpec(Spec):
    """Parameters of the metrics: d_0 of the safety metric, and the comfort filter."""

    safety_distance_m: float = Field(1.0, gt=0)
    """d_0: the distance to an obstacle that is no danger any more."""
    acceleration_cutoff_hz: float = Field(2.0, gt=0)
    """Cut-off of the zero-phase low-pass that velocity passes before differentiating."""


class GlobalPlanSpec(Spec):
    """How way-points are laid through the known map."""

    resolution_m: float = Field(0.1, gt=0)
    margin_m: float = Field(0.2, ge=0)
    """Added to the footprint's circumscribed radius when the map is inflated."""


class CampaignSpec(Spec):
    """A whole campaign. Paths are absolute once loaded."""

    name: str = Field(pattern=NAME)
    seed: int = Field(0, ge=0)
    worlds: WorldsSpec
    robot: RobotSpec
    goal: GoalSpec
    planners: List[PlannerSpec] = Field(min_length=1)
    repetitions: int = Field(1, ge=1)
    simulator: str = "auto"
    """A registered name; ``auto`` is Gazebo where there is one, otherwise ``embedded``."""
    simulator_options: Dict[str, Any] = Field(default_factory=dict)
    control_period_s: float = Field(0.1, gt=0)
    limits: LimitsSpec = LimitsSpec()
    metrics: MetricsSpec = MetricsSpec()
    global_plan: GlobalPlanSpec = GlobalPlanSpec()

    @field_validator("planners")
    @classmethod
    def _names_differ(cls, planners: List[PlannerSpec]) -> List[PlannerSpec]:
        names = [planner.name for planner in planners]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"planner names must differ; twice: {', '.join(twice)}")
        return planners
