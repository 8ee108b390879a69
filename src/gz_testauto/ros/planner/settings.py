"""Parameters of the ``planner`` node: reading them once, and writing them for a planner node.

Both the campaign node, which starts planners, and the planner node use the names defined here.
Names and units are those of ``campaign.yaml``.
"""

from dataclasses import dataclass, field
from typing import Any, Dict, Optional

import rospy

from gz_testauto.base.errors import SpecError
from gz_testauto.grid.map_server import read_map
from gz_testauto.grid.occupancy import OccupancyGrid
from gz_testauto.planners.interface import RobotLimits
from gz_testauto.ros import parameters
from gz_testauto.sdf.robot import read_robot

SEED = "seed"
"""The private parameter with the seed."""


@dataclass(frozen=True, eq=False)
class PlannerSettings:
    """A planner plug-in with its options, the robot's limits, and the handling of goals."""

    plugin: str
    limits: RobotLimits
    options: Dict[str, Any] = field(default_factory=dict)
    goal_tolerance_m: float = 0.5
    margin_m: float = 0.2
    period_s: float = 0.1
    startup_timeout_s: float = 10.0
    base_frame: str = "base_link"
    static_map: Optional[OccupancyGrid] = None
    tracking: bool = False
    """True if ``objects`` has tracked objects, for planners that use them."""
    max_object_age_s: float = 0.0
    """Largest allowed age of tracked objects relative to the odometry, in seconds."""
    seed: int = 0
    """Seed of the planner's random numbers; :func:`seed_for_goal` reads it for each goal."""
    on_road: bool = False
    """True if ``road`` has lanes, along which the robot drives to its goals."""


def parameters_of(settings: PlannerSettings) -> Dict[str, Any]:
    """Return the private parameters from which :func:`read_settings` reads these settings, without
    the map, which is published on a topic."""
    limits = settings.limits
    return {
        "plugin": settings.plugin,
        "parameters": dict(settings.options),
        "footprint": [list(point) for point in limits.footprint_m],
        "max_linear_mps": limits.max_linear_mps,
        "max_angular_radps": limits.max_angular_radps,
        "max_linear_accel_mps2": limits.max_linear_accel_mps2,
        "max_angular_accel_radps2": limits.max_angular_accel_radps2,
        "can_reverse": limits.can_reverse,
        "goal_tolerance_m": settings.goal_tolerance_m,
        "margin_m": settings.margin_m,
        "period": settings.period_s,
        "startup_timeout": settings.startup_timeout_s,
        "base_frame": settings.base_frame,
        "tracking": settings.tracking,
        "max_object_age": settings.max_object_age_s,
        "on_road": settings.on_road,
        SEED: settings.seed,
        "wheelbase_m": limits.wheelbase_m,
        "max_steer_rad": limits.max_steer_rad,
    }


def read_settings() -> PlannerSettings:
    """Read this node's private parameters. Raises ``SpecError``."""
    map_file = parameters.read_path("map", "")
    return PlannerSettings(
        plugin=parameters.read("plugin", str),
        limits=_read_limits(),
        options=parameters.read("parameters", dict, {}),
        goal_tolerance_m=parameters.read("goal_tolerance_m", float, 0.5),
        margin_m=parameters.read("margin_m", float, 0.2),
        period_s=parameters.read("period", float, 0.1),
        startup_timeout_s=parameters.read("startup_timeout", float, 10.0),
        base_frame=parameters.read("base_frame", str, "base_link"),
        static_map=None if map_file is None else read_map(map_file),
        tracking=parameters.read("tracking", bool, False),
        max_object_age_s=parameters.read("max_object_age", float, 0.0),
        on_road=parameters.read("on_road", bool, False),
        seed=seed_for_goal(),
    )


def seed_for_goal() -> int:
    """Return the present value of the private parameter for the planner's seed; a client can set it
    before each goal. Raises ``SpecError``."""
    seed = parameters.read(SEED, int, 0)
    if not 0 <= seed < 2**31:
        raise SpecError(
            f"parameter {rospy.resolve_name('~' + SEED)} is {seed}; it must be from 0 to 2147483647"
        )
    return seed


def _read_limits() -> RobotLimits:
    return RobotLimits(
        footprint_m=_read_footprint(),
        max_linear_mps=parameters.read("max_linear_mps", float, 1.0),
        max_angular_radps=parameters.read("max_angular_radps", float, 1.5),
        max_linear_accel_mps2=parameters.read("max_linear_accel_mps2", float, 1.0),
        max_angular_accel_radps2=parameters.read("max_angular_accel_radps2", float, 3.0),
        can_reverse=parameters.read("can_reverse", bool, False),
        wheelbase_m=parameters.read("wheelbase_m", float, 0.0),
        max_steer_rad=parameters.read("max_steer_rad", float, 0.0),
    )


def _read_footprint() -> tuple:
    """Return ``~footprint`` as [[x, y], …], or the outline of ``~robot_model``."""
    points = parameters.read("footprint", list, [])
    if not points:
        model = parameters.read_path("robot_model", "")
        if model is None:
            raise SpecError(
                f"neither {rospy.resolve_name('~footprint')} ([[x, y], ...] in meters) nor "
                f"{rospy.resolve_name('~robot_model')} (a model SDF) is set; set one"
            )
        return read_robot(model).footprint_m
    try:
        return tuple((float(x), float(y)) for x, y in points)
    except (TypeError, ValueError) as error:
        raise SpecError(
            f"parameter {rospy.resolve_name('~footprint')} is {points!r}; it must be a list of "
            "[x, y] in meters"
        ) from error
