"""Parameters, topics and services of the ``simulator`` node."""

import math
from typing import Any, Dict, Optional, Tuple, Union

from pydantic import BeforeValidator, Field, field_validator
from pydantic_core import PydanticCustomError
from typing_extensions import Annotated, Literal

from gz_testauto.base.sensors import Sensor
from gz_testauto.ros.interface import Endpoint, Node, NodeParameters, OptionalPath
from gz_testauto.spec.model import Bounded, as_tuple

LOCKSTEP: Literal["lockstep"] = "lockstep"
COMMAND_TIMEOUT_S, START_TIMEOUT_S = 5.0, 10.0


class RealTimeFactorParameters(NodeParameters):
    """Parameters that determine the real-time factor of a simulator node."""

    real_time_factor: Union[Literal["lockstep"], float] = 1.0
    """Real-time factor. 0 means no limit. With ``lockstep``, simulated time waits for each command,
    see ``docs/ros.md``."""
    command_timeout: float = Field(COMMAND_TIMEOUT_S, gt=0)
    """Wall time (s) to wait for a command in each control period, with ``lockstep``."""
    start_timeout: float = Field(START_TIMEOUT_S, gt=0)
    """Wall time (s) to wait for the first command of a scene, with ``lockstep``."""

    @field_validator("real_time_factor", mode="before")
    @classmethod
    def _is_a_factor(cls, value: Any) -> Any:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if value == LOCKSTEP or (is_number and 0 <= value < math.inf):
            return value
        raise PydanticCustomError("must", "must be 'lockstep' or a real-time factor, 0 or more")


class SimulatorParameters(RealTimeFactorParameters):
    """The parameters of the ``simulator`` node: the simulator, its first scene, and frames."""

    campaign: OptionalPath = None
    """YAML file of a campaign whose simulator, simulator options, stall timeout and control period
    are the defaults of the other parameters."""
    simulator: str = ""
    """Name of the simulator, see ``docs/simulators.md``. The default is the simulator of the
    campaign, or ``auto``: ``gazebo`` if it is installed, otherwise ``embedded``."""
    simulator_options: Optional[Dict[str, Any]] = None
    """Options of the simulator. The default is the options of the campaign."""
    world: OptionalPath = None
    """World file of the first scene, also in xacro. By default, no world is loaded before
    ``~load_scene``."""
    robot_model: OptionalPath = None
    """Model SDF of the robot in the first scene. By default, the scene contains no robot."""
    robot_name: str = "robot"
    """Name of the robot in the world."""
    robot_lidar: str = ""
    """Name of the ray sensor for scans: ``SENSOR`` or ``LINK::SENSOR``. It is required if the robot
    has several ray sensors with a single row."""
    robot_sensors: str = ""
    """Names of further sensors of the robot to simulate and publish, separated by commas, or
    ``all``. Their topics and frames are those of the plug-ins in the model, see
    ``docs/sensors.md``."""
    start: Annotated[Tuple[Bounded, Bounded, Bounded], BeforeValidator(as_tuple)] = (0.0, 0.0, 0.0)
    """Start pose of the robot: ``[x (m), y (m), yaw (rad)]``."""
    seed: int = 0
    """Seed of the random numbers of the simulator."""
    period: Optional[float] = Field(None, gt=0)
    """Control period (s). The default is the control period of the campaign, or 0.1."""
    base_frame: str = "base_link"
    """Name of the frame of the robot's base."""
    odom_frame: str = "odom"
    """Name of the frame of the odometry."""
    odom_origin: Literal["world", "start"] = "world"
    """Origin of the odometry frame: the origin of the world, or the robot's pose at the start of
    the scene."""
    map_to_odom: bool = True
    """Publish the transform from ``odom_frame`` to ``map``. Set it to false if a localizer, such as
    amcl, publishes this transform."""
    localization: Optional[Dict[str, Any]] = None
    """Errors of the odometry and of the transform from ``odom_frame`` to ``map``, with the keys of
    ``localization`` in a campaign, see ``docs/localization.md``. The default is that of the
    campaign, or none."""
    gui: bool = False
    """Open gzclient, Gazebo's window. This requires a display."""


NODE = Node(
    "simulator",
    "A simulator with the interface of gazebo_ros. The node sets ``~identity`` (name, version and "
    "``repeatable`` of the simulator) and ``~error``.",
    SimulatorParameters,
)

CLOCK = NODE.publishes(
    "/clock",
    "rosgraph_msgs/Clock",
    "never decreases, except after ``reset_simulation``",
    latched=True,
)
SCAN = NODE.publishes(
    "scan", "sensor_msgs/LaserScan", "scans in the frame with the name of the lidar's sensor"
)
IMU = NODE.publishes(
    "imu", "sensor_msgs/Imu", "IMU samples in the frame with the name of the IMU's sensor"
)
ODOM = NODE.publishes(
    "odom",
    "nav_msgs/Odometry",
    "true pose and velocity, or with the errors and covariances of the localization",
    latched=True,
)
TF = NODE.publishes(
    "/tf",
    "tf2_msgs/TFMessage",
    "the robot in ``~odom_frame``; with localization errors also ``~odom_frame`` in ``map``",
    latched=True,
)
TF_STATIC = NODE.publishes(
    "/tf_static",
    "tf2_msgs/TFMessage",
    "sensors on the robot, and ``~odom_frame`` in ``map`` with ``~map_to_odom`` and without "
    "localization errors",
    latched=True,
)
CONTACTS = NODE.publishes(
    "contacts", "gazebo_msgs/ContactsState", "all contacts of the period, in the world frame"
)
MODEL_STATES = NODE.publishes(
    "/gazebo/model_states", "gazebo_msgs/ModelStates", "once per control period"
)
LINK_STATES = NODE.publishes(
    "/gazebo/link_states", "gazebo_msgs/LinkStates", "once per control period"
)
GROUND_TRUTH = NODE.publishes(
    "~ground_truth", "nav_msgs/Odometry", "true pose in the map frame", latched=True
)
SCENE_TIME = NODE.publishes(
    "~scene_time", "std_msgs/Float64", "time since the start of the scene (s)", latched=True
)
SNAPSHOT = NODE.publishes(
    "~snapshot", "gz_testauto/Snapshot", "ground truth of a control period in one message"
)
FAILURE = NODE.publishes(
    "~failure", "std_msgs/String", "the simulation has stopped, with the cause"
)
ACTORS = NODE.publishes(
    "~actors",
    "visualization_msgs/MarkerArray",
    "shapes, names and activities of actors (the last ticked node for a behavior tree)",
)
COLLIDERS = NODE.publishes(
    "~colliders",
    "visualization_msgs/MarkerArray",
    "collision shapes except ground, and gates, track and regions of the campaign's ``metrics``",
)
OBJECTS = NODE.publishes(
    "~objects", "gz_testauto/TrackedObjects", "tracked objects, if the campaign has ``tracking``"
)
OBSTACLE_ARRAY = NODE.publishes(
    "~obstacle_array",
    "costmap_converter/ObstacleArrayMsg",
    "tracked objects for ``teb_local_planner``, if ``costmap_converter`` is installed",
)
TRACKED = NODE.publishes(
    "~tracked", "visualization_msgs/MarkerArray", "outlines and predictions of tracked objects"
)
CMD_VEL = NODE.subscribes(
    "cmd_vel", "geometry_msgs/Twist", "velocity command, from the next control period on"
)
SET_MODEL_STATE_TOPIC = NODE.subscribes(
    "/gazebo/set_model_state", "gazebo_msgs/ModelState", "as the service of this name"
)

NODE.serves(
    "~load_scene",
    "gz_testauto/LoadScene",
    "loads another world with a robot, paused at scene time 0, in the same simulator",
)
for _name, _type, _purpose in (
    ("get_model_states", "GetModelStates", "returns the states of all or of the named models"),
    ("set_model_states", "SetModelStates", "sets the states of several models, or of none"),
    ("spawn_models", "SpawnModels", "spawns several models, or none, much faster than one by one"),
    ("delete_models", "DeleteModels", "deletes several models, or none"),
    ("set_visuals", "SetVisuals", "changes several visuals, or none"),
    ("set_lights", "SetLights", "changes several lights, or none"),
):
    NODE.serves(f"~{_name}", f"gz_testauto/{_type}", _purpose)

SET_MODEL_STATE = NODE.serves(
    "/gazebo/set_model_state",
    "gazebo_msgs/SetModelState",
    "a twist is rejected if the simulator cannot set one",
)
for _name, _type, _purpose in (
    ("spawn_sdf_model", "gazebo_msgs/SpawnModel", ""),
    ("spawn_urdf_model", "gazebo_msgs/SpawnModel", ""),
    ("delete_model", "gazebo_msgs/DeleteModel", ""),
    ("get_model_state", "gazebo_msgs/GetModelState", ""),
    ("get_link_state", "gazebo_msgs/GetLinkState", ""),
    ("set_link_state", "gazebo_msgs/SetLinkState", ""),
    ("get_model_properties", "gazebo_msgs/GetModelProperties", ""),
    ("set_model_configuration", "gazebo_msgs/SetModelConfiguration", ""),
    ("get_world_properties", "gazebo_msgs/GetWorldProperties", ""),
    ("get_link_properties", "gazebo_msgs/GetLinkProperties", ""),
    (
        "set_link_properties",
        "gazebo_msgs/SetLinkProperties",
        "sets the mass, and the inertia in proportion",
    ),
    ("get_light_properties", "gazebo_msgs/GetLightProperties", ""),
    ("set_light_properties", "gazebo_msgs/SetLightProperties", ""),
    ("apply_body_wrench", "gazebo_msgs/ApplyBodyWrench", "accepts only the world as its frame"),
    ("get_physics_properties", "gazebo_msgs/GetPhysicsProperties", ""),
    (
        "set_physics_properties",
        "gazebo_msgs/SetPhysicsProperties",
        "changes ``max_update_rate``, which is the speed of time, and with Gazebo also step and "
        "gravity; rejects other changes",
    ),
    ("pause_physics", "std_srvs/Empty", ""),
    ("unpause_physics", "std_srvs/Empty", ""),
    ("reset_world", "std_srvs/Empty", ""),
    ("reset_simulation", "std_srvs/Empty", ""),
):
    NODE.serves(f"/gazebo/{_name}", _type, _purpose or "as in gazebo_ros")

SENSOR_TYPES = {
    "scan": "sensor_msgs/LaserScan",
    "cloud": "sensor_msgs/PointCloud2",
    "range": "sensor_msgs/Range",
    "contact": "gazebo_msgs/ContactsState",
}
"""The type of the messages of each kind of sensor."""


def sensor_topic(sensor: Sensor) -> str:
    """Return the topic of the sensor's plug-in, or ``LINK/SENSOR`` if this topic is a fixed topic
    of the node."""
    used_names = {topic.name.lstrip("/") for topic in (*NODE.published, *NODE.subscribed)}
    return sensor.scoped_topic if sensor.topic.lstrip("/") in used_names else sensor.topic


def sensor_endpoint(sensor: Sensor) -> Endpoint:
    """Return the topic of a sensor, which is latched: a node can subscribe while time is held."""
    kind = SENSOR_TYPES[sensor.kind]
    return Endpoint(sensor_topic(sensor), kind, "readings of a sensor", latched=True)
