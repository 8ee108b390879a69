"""The robots of a campaign: their models, start poses and velocity limits.

``robots:`` lists further robots in the same worlds, each with a separate velocity command, scan and
outcome.
"""

import re
from typing import Any, Dict, List, Optional, Union

import shapely
from pydantic import BeforeValidator, Field, field_validator, model_validator
from pydantic_core import PydanticCustomError
from typing_extensions import Annotated, Self

from gz_testauto.spec.model import Interval, Point, PoseSpec, Spec, SpecPath
from gz_testauto.spec.stack import NAME, with_files

MOST_ROBOTS = 20  # each robot needs a planner cycle in every control period

MAX_DELAY_S = 2.0

BODY_MISSING = "has no model; add footprint_m and height_m"


class SteeringSpec(Spec):
    """Car-like steering of a base. The origin of the base frame is on the rear axle."""

    wheelbase_m: float = Field(gt=0, le=100)
    """Distance (m) between the front and the rear axle."""
    max_rad: float = Field(gt=0, lt=1.5)
    """Largest steering angle (rad) of the front wheels."""


def _as_text(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, (int, float)) else value


_Text = Annotated[str, BeforeValidator(_as_text)]


def _join_lidar_names(value: Any) -> Any:
    if isinstance(value, list) and value and all(isinstance(name, str) for name in value):
        return ",".join(value)
    return value


_Lidar = Annotated[
    Optional[str],
    Field(min_length=1),
    BeforeValidator(_join_lidar_names, json_schema_input_type=Union[str, List[str], None]),
]
"""The name of a lidar, or a list of names whose scans are merged."""


class XacroSpec(Spec):
    """The input of xacro for a xacro model."""

    arguments: Dict[str, _Text] = Field(default_factory=dict)
    """Values of ``<xacro:arg>`` elements, by name."""
    environment: Dict[str, _Text] = Field(default_factory=dict)
    """Environment variables for ``$(optenv …)`` and ``$(env …)``, by name."""


class DriveSpec(Spec):
    """The driven wheels of a model without a supported drive plug-in, such as a URDF with
    ``gazebo_ros_control``."""

    left_joints: List[str] = Field(min_length=1, max_length=10)
    """Names of the joints of the left wheels, one per axle, starting at the front."""
    right_joints: List[str] = Field(min_length=1, max_length=10)
    """Names of the joints of the right wheels, in the same order."""
    wheel_separation_m: Optional[float] = Field(None, gt=0)
    """Wheel separation (m) from which wheel speeds are computed; default: the distance of the
    joints. For ``diff_drive_controller``, include ``wheel_separation_multiplier``."""
    wheel_diameter_m: Optional[float] = Field(None, gt=0)
    """Diameter (m) of the wheels; default: that of their collision shapes."""
    torque_nm: Optional[float] = Field(None, gt=0)
    """Torque limit (N m) of each wheel in the embedded simulator; default: none."""

    @model_validator(mode="after")
    def _require_equal_joint_counts(self) -> Self:
        if len(self.left_joints) != len(self.right_joints):
            raise ValueError("left_joints and right_joints must have the same length")
        return self


class RobotSpec(Spec):
    """A robot with its model, start pose and velocity limits."""

    model: Optional[SpecPath] = None
    """The SDF, URDF or xacro file of the robot's model, or its directory. Optional for a stack if
    ``footprint_m`` and ``height_m`` are set."""
    xacro: Optional[XacroSpec] = None
    """Arguments and environment variables for a xacro file."""
    name: str = "robot"
    """Name of the robot's model in the simulator."""
    start: Optional[PoseSpec] = None
    """Pose of the robot at the start of a trial. Required unless the world source sets it, as
    ``mission.start`` of ``scenic`` does."""
    footprint_m: Optional[List[Point]] = Field(None, min_length=3)
    """Corners ``[x, y]`` (m) of the robot's outline in its base frame; default: the convex outline
    of the model's collision shapes, except the contact patches of drive wheels."""
    height_m: Optional[Interval] = None
    """Lowest and highest point (m) of the robot's body above the origin of the model (of a URDF:
    the root link). The default is computed from the model."""
    lidar: _Lidar = None
    """Name of the ray sensor that planners use: ``SENSOR`` or ``LINK::SENSOR``. Required if the
    model has several single-row ray sensors, such as cliff sensors. The scans of a list of lidars
    are merged into one."""
    sensor_delays_s: Dict[str, float] = Field(default_factory=dict)
    """Delays (s, by default 0) of sensors, by name: the simulated time from a measurement until a
    planner receives it. See ``docs/sensors.md``."""
    scan_height_m: Optional[float] = Field(None, gt=0)
    """Height (m) of the lidar, at which the static map is computed; default: that of the model."""
    max_linear_mps: float = Field(1.0, gt=0)
    """Largest linear velocity (m/s) of a command."""
    max_angular_radps: float = Field(1.5, gt=0)
    """Largest angular velocity (rad/s) of a command."""
    max_linear_accel_mps2: float = Field(1.0, gt=0)
    """Largest linear acceleration (m/s²) between two commands."""
    max_angular_accel_radps2: float = Field(3.0, gt=0)
    """Largest angular acceleration (rad/s²) between two commands."""
    can_reverse: bool = False
    """True if planners can command backward motion."""
    steering: Optional[SteeringSpec] = None
    """Car-like steering. By default, the robot can turn in place."""

    @field_validator("name")
    @classmethod
    def _require_model_name(cls, name: str) -> str:
        if not name.strip() or "::" in name or not name.isprintable() or name != name.strip():
            raise ValueError(
                "the name is not valid in Gazebo; it must not be empty, contain control "
                "characters, start or end with a space, or contain '::'"
            )
        return name

    @field_validator("sensor_delays_s")
    @classmethod
    def _limit_delays(cls, delays: Dict[str, float]) -> Dict[str, float]:
        for name, delay_s in delays.items():
            if not 0.0 <= delay_s <= MAX_DELAY_S:
                raise ValueError(
                    f"the delay of {name!r} is {delay_s:g}; it must be from 0 to {MAX_DELAY_S:g}"
                )
        return delays

    @field_validator("footprint_m")
    @classmethod
    def _require_valid_outline(cls, corners: Optional[List[Point]]) -> Optional[List[Point]]:
        if corners is not None and not shapely.Polygon(corners).is_valid:
            raise ValueError(
                "the outline crosses itself or has no area; list the corners in their order around "
                "the robot"
            )
        return corners


class BuiltinRobotSpec(RobotSpec):
    """A robot that this package spawns from ``model``. Its name must be valid in ROS."""

    model: SpecPath
    drive: Optional[DriveSpec] = None
    """The driven wheels; default: those of the model's drive plug-in."""

    @field_validator("name")
    @classmethod
    def _require_ros_name(cls, name: str) -> str:
        if not re.match(NAME, name):
            raise PydanticCustomError(
                "predicate", "must start with a letter and have only letters, digits and _"
            )
        return name


class StackRobotSpec(RobotSpec):
    """A robot that the user's launch files spawn. Its name can be any name that Gazebo accepts,
    such as ``limo/``. Without ``model``, ``footprint_m`` and ``height_m`` are required."""

    @model_validator(mode="after")
    def _require_body(self) -> Self:
        if self.model is None and (self.footprint_m is None or self.height_m is None):
            raise PydanticCustomError("predicate", BODY_MISSING)
        return self


class CompanionSpec(Spec):
    """A further robot, with the velocity limits of ``robot:``, and the tolerance and time limits of
    ``goal:`` and ``limits:``."""

    name: str = Field(pattern=NAME)
    """Name of the robot's model in the simulator, and prefix of its results."""
    model: Optional[SpecPath] = None
    """The SDF, URDF or xacro file of the robot's model; default: the model, ``xacro`` and ``drive``
    of ``robot:``."""
    lidar: _Lidar = None
    """Name or names of ray sensors, as in ``robot:``. Without ``model``, the default is that of
    ``robot:``."""
    start: PoseSpec
    """Pose of the robot at the start of each trial."""
    goal: PoseSpec
    """Pose that the robot must reach."""
    planner: str = ""
    """The planner plug-in of this robot; default: the planner under test."""
    parameters: Annotated[Dict[str, Any], BeforeValidator(with_files)] = Field(default_factory=dict)
    """Parameters of the plug-in."""

    @model_validator(mode="after")
    def _require_planner(self) -> "CompanionSpec":
        if self.parameters and not self.planner:
            raise ValueError(f"{self.name} has 'parameters' but no 'planner'; add 'planner'")
        return self
