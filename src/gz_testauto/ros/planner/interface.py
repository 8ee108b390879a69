"""Parameters, topics and actions of the ``planner`` node.

The parameters have the same names and units as in ``campaign.yaml``.
"""

from dataclasses import fields
from typing import Any, Dict, List

from pydantic import Field
from typing_extensions import Annotated

from gz_testauto.base.errors import SpecError
from gz_testauto.planners.interface import RobotLimits
from gz_testauto.ros.interface import Node, NodeParameters, OptionalPath
from gz_testauto.sdf.robot import read_outline
from gz_testauto.spec.model import Point

Seed = Annotated[int, Field(ge=0, lt=2**31)]


class SeedParameter(NodeParameters):
    """The parameter ``seed``, which is read again for each goal, so that a client can change it."""

    seed: Seed = 0
    """Seed of the planner's random numbers, read for each goal. A campaign sets it for each
    trial."""


class PlannerParameters(SeedParameter):
    """The parameters of the ``planner`` node: planner, limits of the base, handling of goals."""

    plugin: str
    """Name of the local planner, see ``docs/planners.md``."""
    parameters: Dict[str, Any] = Field(default_factory=dict)
    """Parameters of the local planner."""
    map: OptionalPath = None
    """YAML file of map_server with the static map. The default is the map on the topic ``map``."""
    footprint_m: List[Point] = Field(default_factory=list)
    """The robot's outline ``[[x, y], …]`` (m). The default is the outline of ``robot_model``."""
    robot_model: OptionalPath = None
    """Model of the robot. It is required if ``footprint_m`` is not set, and for a planner that
    reads further sensors, which the node finds in the model by their names. The node subscribes to
    their topics, see ``docs/ros.md``."""
    sensor_delays_s: Dict[str, float] = Field(default_factory=dict)
    """Time (s) from a measurement of a further sensor until its message arrives, by the name of the
    sensor. The node does not wait for newer messages. The default is 0."""
    scan_delay_s: float = Field(0.0, ge=0)
    """Time (s) from the measurement of a scan until its message arrives."""
    max_linear_mps: float = Field(1.0, gt=0)
    """Largest speed (m/s) of the base."""
    max_angular_radps: float = Field(1.5, gt=0)
    """Largest yaw rate (rad/s) of the base."""
    max_linear_accel_mps2: float = Field(1.0, gt=0)
    """Largest linear acceleration (m/s²) of the base."""
    max_angular_accel_radps2: float = Field(3.0, gt=0)
    """Largest angular acceleration (rad/s²) of the base."""
    can_reverse: bool = False
    """True if the base can drive backwards."""
    wheelbase_m: float = Field(0.0, ge=0)
    """Distance (m) between the axles of a base with Ackermann steering. With 0, the base can
    turn in place."""
    max_steer_rad: float = Field(0.0, ge=0)
    """Largest steering angle (rad) of the front wheels."""
    goal_tolerance_m: float = Field(0.5, gt=0)
    """Distance (m) from the goal within which the goal is reached."""
    arrival_s: float = Field(0.0, ge=0)
    """Time (s) between the first pose in tf within ``goal_tolerance_m`` and the end of the goal, in
    which the planner continues."""
    margin_m: float = Field(0.2, ge=0)
    """Distance (m) of the robot's circumscribed circle from the walls of the map in a global
    plan."""
    tracking: bool = False
    """Wait in each control period for tracked objects on ``objects``, if the planner uses them."""
    max_object_age: float = Field(0.0, ge=0)
    """Largest age (s) of tracked objects relative to the odometry. Two control periods are suitable
    for a stack."""
    on_road: bool = False
    """Drive along the lanes on ``road`` instead of through the map."""
    period: float = Field(0.1, gt=0)
    """Control period (s)."""
    startup_timeout: float = Field(10.0, gt=0)
    """Wall time (s) to wait for odometry that is not older than the goal."""
    base_frame: str = "base_link"
    """Name of the frame of the velocity commands."""

    @property
    def limits(self) -> RobotLimits:
        """The outline and the limits of the base. Raises ``SpecError`` without an outline."""
        outline = tuple(self.footprint_m)
        if not outline:
            if self.robot_model is None:
                raise SpecError(
                    "neither ~footprint_m ([[x, y], ...] in meters) nor ~robot_model (a model SDF) "
                    "is set; set one"
                )
            outline = read_outline(self.robot_model).footprint_m
        names = {limit.name for limit in fields(RobotLimits)} - {"footprint_m"}
        return RobotLimits(outline, **{name: getattr(self, name) for name in names})


NODE = Node(
    "planner",
    "A ``move_base`` action server with a local planner of this package.",
    PlannerParameters,
)

ODOM = NODE.subscribes(
    "odom", "nav_msgs/Odometry", "the first message of each control period starts a cycle"
)
SCAN = NODE.subscribes(
    "scan",
    "sensor_msgs/LaserScan",
    "the newest scan is used, and the node waits up to 0.25 s for a scan that is due",
)
NODE.subscribes("/tf", "tf2_msgs/TFMessage", "robot in the map, sensors on the robot")
NODE.subscribes("/tf_static", "tf2_msgs/TFMessage", "constant transforms")
MAP = NODE.subscribes("map", "nav_msgs/OccupancyGrid", "static map, unless ``~map`` is set")
OBJECTS = NODE.subscribes(
    "objects",
    "gz_testauto/TrackedObjects",
    "tracked objects, with ``~tracking`` and a planner that uses them",
)
ROAD = NODE.subscribes("road", "gz_testauto/Road", "lanes, with ``~on_road``")
SIMPLE_GOAL = NODE.subscribes("move_base_simple/goal", "geometry_msgs/PoseStamped", "goal of RViz")
FORWARDED_GOAL = NODE.publishes(
    "move_base/goal",
    "move_base_msgs/MoveBaseActionGoal",
    "goals of ``move_base_simple/goal``, which the node sends to its own action",
)
CMD_VEL = NODE.publishes(
    "cmd_vel",
    "geometry_msgs/Twist",
    "velocity command of each cycle, which is zero at the end of a goal",
)
PLAN = NODE.publishes(
    "~plan", "nav_msgs/Path", "global plan on the static map or the road", latched=True
)
CYCLE_TIME = NODE.publishes(
    "~cycle_time",
    "gz_testauto/PlannerCycle",
    "duration and command of each cycle, before the command",
)
MOVE_BASE = NODE.serves_action(
    "move_base",
    "move_base_msgs/MoveBaseAction",
    "drives to a goal, and a new goal replaces the current one",
)
