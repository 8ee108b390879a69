"""The user's robot and navigation stack: its launch files, and its names of topics and frames.

:mod:`gz_testauto.trial.launch_files` computes the values of the placeholders in launch arguments.
"""

import os
import re
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Union

from pydantic import (
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError
from typing_extensions import Annotated, Literal

from gz_testauto.base.errors import UnknownNameError
from gz_testauto.base.registry import unknown_name
from gz_testauto.spec.model import Spec, fault, require_different, resolve_path

NAME = r"^[A-Za-z][A-Za-z0-9_]*$"
"""Pattern of names that are valid as a ROS name, a file name and a column heading."""

RESERVED_NAMES = (
    *("campaign", "trial", "world", "world_index", "planner", "repetition", "seed", "outcome"),
    *("detail", "attempts", "wall_s", "finished_at", "trajectory"),
)
"""Columns of exported tables, whose names a metric must not have."""

RESERVED_PREFIX = "world_"
"""Prefix of the columns with the published numbers of worlds."""

TOPIC = r"^/?[A-Za-z~][A-Za-z0-9_/]*$"
FIELD = r"^[a-z][A-Za-z0-9_]*(\[\d+\])?(\.[a-z][A-Za-z0-9_]*(\[\d+\])?)*$"
FILE_PREFIXES = ("./", "../", "package://", "file://")

# A navigation that runs at less than four fifths of its required speed plans late, executes old
# commands, and collides where it would otherwise reach the goal. The remaining fifth allows for the
# slow start of a trial.
MIN_REAL_TIME_FACTOR = 0.8
"""Real-time factor below which a navigation stack counts as overloaded."""

PLACEHOLDERS = {
    "world": "the trial's .world file, obstacles included",
    "world_name": "the name of the world",
    "map": "map_server's YAML of the static map, without the random obstacles",
    "start_x": "x of the robot's start (m, world frame)",
    "start_y": "y of the robot's start (m)",
    "start_yaw": "yaw of the robot's start (rad)",
    "goal_x": "x of the goal, the last of several (m, world frame)",
    "goal_y": "y of the goal (m)",
    "goal_yaw": "yaw of the goal (rad)",
    "goal_tolerance": "the goal's tolerance (m)",
    "seed": "the trial's seed, equal for all planners in a world",
    "robot": "robot.name, the name of the robot's model in the simulator",
    "robot_model": "robot.model, empty if the campaign has none",
    "planner": "the planner's name",
    "trial": "the trial's name, valid as a file name",
    "control_period": "control_period_s (s)",
    "logs": "a directory for the files of the trial's processes",
}

PER_TRIAL = ("world", "world_name", "seed", "trial", "logs")
"""The placeholders that differ between the trials of one launch. A warm run keeps the values of its
first trial."""

_WORD = re.compile(r"\{\{|\}\}|\{([A-Za-z_][A-Za-z0-9_]*)\}")

Argument = Union[bool, int, float, str, Path]


def fill(text: str, values: Mapping[str, object]) -> str:
    """Replace each placeholder ``{word}`` in ``text`` by its value. ``{{`` and ``}}`` become single
    braces. Other braces, as in ``{a: 1}``, do not change. Raises ``UnknownNameError`` for an
    unknown word."""

    def value(match: "re.Match[str]") -> str:
        word = match.group(1)
        if word is None:
            return match.group(0)[0]
        if word not in values:
            fault_text = unknown_name(
                "placeholder", "{" + word + "}", ["{" + w + "}" for w in values]
            )
            raise UnknownNameError(f"{fault_text}; to include a literal brace, write it twice")
        return str(values[word])

    return _WORD.sub(value, text)


def _check_placeholders(value: Any) -> Any:
    if isinstance(value, str):
        try:
            fill(value, PLACEHOLDERS)
        except UnknownNameError as error:
            raise fault(f"has an {error}") from error
    return value


def with_files(values: Any, info: ValidationInfo) -> Any:
    """Return the parameters of a planner with absolute paths. A value that starts with ``./``,
    ``../``, ``package://`` or ``file://`` is the path of a file."""
    if not isinstance(values, dict):
        return values
    return {
        name: str(resolve_path(value, info))
        if isinstance(value, str) and value.startswith(FILE_PREFIXES)
        else value
        for name, value in values.items()
    }


class LaunchSpec(Spec):
    """A launch file with arguments."""

    package: Optional[str] = None
    """The ROS package of the launch file. By default, ``file`` is a path."""
    file: Optional[Union[str, Path]] = None
    """Name of the launch file in ``package``, or its path."""
    args: Dict[str, Argument] = Field(default_factory=dict)
    """Arguments of the launch file, which can contain placeholders. An argument that starts with
    ``./``, ``../``, ``package://`` or ``file://`` names a file relative to the campaign file."""

    @field_validator("file", mode="before")
    @classmethod
    def _resolve_file(cls, value: Any, info: ValidationInfo) -> Any:
        return value if info.data.get("package") else resolve_path(value, info)

    @field_validator("args", mode="before")
    @classmethod
    def _resolve_args(cls, args: Any, info: ValidationInfo) -> Any:
        if not isinstance(args, dict):
            return args
        return {name: _resolve_argument(name, value, info) for name, value in args.items()}

    @model_validator(mode="after")
    def _require_file_in_package(self) -> "LaunchSpec":
        if self.package is not None and self.file is None:
            raise ValueError(
                f"package {self.package} is set without 'file'; add the name of the launch file"
            )
        return self

    @property
    def named(self) -> str:
        """Return the name of the launch file as users write it."""
        return f"{self.package}/{self.file}" if self.package else str(self.file)

    def overridden_by(self, other: "LaunchSpec") -> "LaunchSpec":
        """Return ``other`` if it has a launch file, otherwise this launch with the arguments of
        ``other`` added."""
        if other.file is not None:
            return other
        return self.model_copy(update={"args": {**self.args, **other.args}})


def _resolve_argument(name: Any, value: Any, info: ValidationInfo) -> Any:
    try:
        if isinstance(value, str) and value.startswith(FILE_PREFIXES) and "{" not in value:
            return resolve_path(value, info)
        if isinstance(value, str) and value.startswith("/") and os.path.isfile(Path(value)):
            return Path(value)  # campaign.json contains absolute paths
        return _check_placeholders(value)
    except PydanticCustomError as error:
        raise fault(f".{name} {error.context['reason'] if error.context else error}") from error


class PartSpec(LaunchSpec):
    """The launch file of a part of the stack, such as the simulator."""

    @model_validator(mode="after")
    def _require_file(self) -> "PartSpec":
        if self.file is None:
            raise ValueError("no launch file is set; add 'package' and 'file', or 'file' as a path")
        return self


class NumberTopicSpec(Spec):
    """A numeric field in the messages of a ROS topic."""

    topic: str = Field(pattern=TOPIC)
    """Name of the topic."""
    field: str = Field("data", pattern=FIELD)
    """Path of the field in the message, such as ``data``, ``pose.position.x`` or ``values[0]``."""
    type: Optional[str] = None
    """Type of the message, as ``package/Message``; default: the type that the publisher
    advertises."""


def is_reserved(name: str) -> bool:
    """Return whether a column of exported tables, except metrics, has this name."""
    return name in RESERVED_NAMES or name.startswith(RESERVED_PREFIX)


class StackMetricSpec(NumberTopicSpec):
    """A published number of the stack that is reduced to one value per trial and reported as a
    metric."""

    name: str = Field(pattern=NAME)
    """Name of the metric in results."""

    @field_validator("name")
    @classmethod
    def _reject_column_name(cls, name: str) -> str:
        if is_reserved(name):
            raise fault(f"is {name!r}, the name of a column of the results; use another name")
        return name

    reduce: Literal["last", "mean", "max", "min", "sum"] = "last"
    """The method that reduces the messages of a trial to one value."""
    unit: str = ""
    """The unit of the metric in reports."""
    better: Literal["lower", "higher", "neither"] = "neither"
    """The better values: ``lower`` or ``higher`` ones, or ``neither``."""


class BagSpec(Spec):
    """The rosbag files of trials, in ``bags/`` of the results directory."""

    topics: List[Annotated[str, Field(pattern=TOPIC)]] = Field(default_factory=list)
    """The topics that rosbag records; default: all."""
    when: Literal["failed", "always"] = "failed"
    """The trials with bags: all, or only those that did not reach the goal."""


class StackNamesSpec(Spec):
    """Names of the stack's topics, services and action, resolved in the global namespace."""

    scan: str = Field("/scan", pattern=TOPIC)
    """Topic of the lidar's scans (sensor_msgs/LaserScan)."""
    odom: str = Field("/odom", pattern=TOPIC)
    """Topic of the robot's odometry (nav_msgs/Odometry)."""
    cmd_vel: str = Field("/cmd_vel", pattern=TOPIC)
    """Topic on which the navigation publishes velocity commands (geometry_msgs/Twist)."""
    action: str = Field("/move_base", pattern=TOPIC)
    """The action to which goals are sent (move_base_msgs/MoveBaseAction)."""
    recovery: str = Field("/move_base/recovery_status", pattern=TOPIC)
    """Topic of the recovery behaviors (move_base_msgs/RecoveryStatus), if a node publishes it."""
    initial_pose: str = Field("/initialpose", pattern=TOPIC)
    """Topic of the initial pose for the localizer, published before each trial
    (geometry_msgs/PoseWithCovarianceStamped)."""
    clear_costmaps: str = Field("/move_base/clear_costmaps", pattern=TOPIC)
    """The service (std_srvs/Empty) that clears the costmaps, called before each trial if it
    exists."""
    contacts: str = Field("/contacts", pattern=TOPIC)
    """Topic of the robot's contacts (gazebo_msgs/ContactsState), if a node publishes it."""
    costmap: Optional[str] = Field("/move_base/local_costmap/costmap", pattern=TOPIC)
    """Topic of the costmap (nav_msgs/OccupancyGrid). If a node publishes it, the costmap must
    contain the obstacles of the world before the goal is sent; null: no check."""
    global_plan: List[str] = Field(
        default_factory=lambda: ["/move_base/NavfnROS/plan", "/move_base/GlobalPlanner/plan"]
    )
    """Possible topics of the global planner's plan (nav_msgs/Path)."""
    local_plan: List[str] = Field(
        default_factory=lambda: [
            "/move_base/DWAPlannerROS/local_plan",
            "/move_base/TebLocalPlannerROS/local_plan",
            "/move_base/TrajectoryPlannerROS/local_plan",
        ]
    )
    """Possible topics of the local planner's plan (nav_msgs/Path)."""
    objects: str = Field("/objects", pattern=TOPIC)
    """Topic of tracked objects (gz_testauto/TrackedObjects), published if the campaign has
    ``tracking``."""
    obstacles: str = Field("/move_base/TebLocalPlannerROS/obstacles", pattern=TOPIC)
    """Topic of tracked objects as obstacles (costmap_converter/ObstacleArrayMsg), published if the
    campaign has ``tracking``."""
    road: str = Field("/road", pattern=TOPIC)
    """Topic of the road (gz_testauto/Road), published if the campaign has a ``road``."""
    planner_time: Optional[NumberTopicSpec] = None
    """Topic and field of the wall time (s) of a cycle of the local planner."""


class FramesSpec(Spec):
    """Names of tf frames."""

    map: str = "map"
    """The map frame, which must coincide with the world frame."""
    base: str = "base_link"
    """The robot's base frame."""


class StackSpec(Spec):
    """The navigation stack under test."""

    run: Literal["fresh", "warm"] = "fresh"
    """``fresh``: all processes, including roscore, are restarted for every trial. ``warm``: the
    simulator and the stack keep running, while the world is changed and the robot is moved to its
    start."""
    simulator: PartSpec
    """The launch file of the simulator."""
    robot: Optional[PartSpec] = None
    """The launch file that spawns the robot; default: that of the simulator."""
    navigation: Optional[PartSpec] = None
    """The launch file of the navigation, whose arguments each planner can change. By default, each
    planner has a separate launch file."""
    names: StackNamesSpec = StackNamesSpec()
    """The stack's topics, services and action."""
    frames: FramesSpec = FramesSpec()
    """The stack's tf frames."""
    start_timeout_s: float = Field(90.0, gt=0)
    """Largest wall time (s) from a launch until the expected topics and services exist."""
    max_localization_error_m: Optional[float] = Field(0.5, gt=0)
    """Largest distance (m) between the robot's pose in tf and its true pose when the goal is sent;
    null: no check."""
    max_real_time_factor: Optional[float] = Field(1.0, gt=0)
    """Upper limit of the real-time factor, so that the stack can keep up with the simulation; null:
    the limit of the simulator."""
    min_real_time_factor: Optional[float] = Field(MIN_REAL_TIME_FACTOR, gt=0)
    """Real-time factor below which a trial is invalid, and is repeated while no other trial runs;
    null: no limit. If ``max_real_time_factor`` is below 1, the default is 0.8 times its value."""
    max_truth_gap_s: float = Field(1.0, gt=0)
    """Largest simulated time (s) between two observations of the true state. A trial with a larger
    interval is invalid, since events can be missed."""
    metrics: List[StackMetricSpec] = Field(default_factory=list)
    """Published numbers that the campaign reports as metrics."""
    bag: Optional[BagSpec] = None
    """The rosbag files to store."""

    @model_validator(mode="before")
    @classmethod
    def _set_default_min_factor(cls, data: Any) -> Any:
        if isinstance(data, dict) and "min_real_time_factor" not in data:
            cap = data.get("max_real_time_factor")
            if isinstance(cap, (int, float)) and 0.0 < cap < 1.0:
                return {**data, "min_real_time_factor": MIN_REAL_TIME_FACTOR * cap}
        return data

    @field_validator("min_real_time_factor")
    @classmethod
    def _require_factor_below_cap(
        cls, min_factor: Optional[float], info: ValidationInfo
    ) -> Optional[float]:
        cap = info.data.get("max_real_time_factor")
        if min_factor is not None and cap is not None and min_factor >= cap:
            raise fault(f"is {min_factor:g}; it must be below max_real_time_factor, {cap:g}")
        return min_factor

    @field_validator("metrics")
    @classmethod
    def _require_different_names(cls, metrics: List[StackMetricSpec]) -> List[StackMetricSpec]:
        require_different([metric.name for metric in metrics])
        return metrics
