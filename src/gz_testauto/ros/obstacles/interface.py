"""Parameters, topics and services of the nodes ``obstacle_spawner`` and ``world_multiplier``."""

from pydantic import Field

from gz_testauto.ros.interface import Node, NodeParameters, OptionalPath


class SpawnerParameters(NodeParameters):
    """The parameters of the ``obstacle_spawner`` node: the world of the simulator, and timeouts."""

    base_world: OptionalPath = None
    """World file that the simulator has loaded. Obstacles keep a distance from the walls of this
    world, and ``~save_world`` writes it with the obstacles."""
    keep_out_radius_m: float = Field(1.0, ge=0)
    """Radius (m) of the free area around each model that is not in the base world, such as a
    robot."""
    effect_timeout: float = Field(10.0, gt=0)
    """Wall time (s) within which a model must appear or disappear."""
    service_timeout: float = Field(30.0, gt=0)
    """Wall time (s) within which a service of the simulator must respond."""


SPAWNER = Node("obstacle_spawner", "Places random obstacles by service call.", SpawnerParameters)

OBSTACLES = SPAWNER.publishes(
    "~obstacles", "gz_testauto/ObstacleSet", "the present obstacles", latched=True
)
MARKERS = SPAWNER.publishes(
    "~markers", "visualization_msgs/MarkerArray", "the present obstacles for RViz", latched=True
)
for _name, _type, _purpose in (
    (
        "spawn",
        "SpawnObstacles",
        "places obstacles. ``spec`` is the name of a file in ``config/`` (``obstacles``), a path, "
        "YAML text, or a Scenic scenario. ``replace`` replaces the present obstacles",
    ),
    (
        "respawn",
        "RespawnObstacles",
        "replaces the obstacles by the next draw of the same specification and seed",
    ),
    (
        "clear",
        "ClearObstacles",
        "deletes all random obstacles, which it recognizes by their names, also those of other "
        "nodes",
    ),
    ("list", "ListObstacles", "returns the obstacles at their poses in the simulator"),
    (
        "save_world",
        "SaveWorld",
        "writes base world and obstacles as one ``.world`` file, for Gazebo and for ``multiply``",
    ),
):
    SPAWNER.serves(f"~{_name}", f"gz_testauto/{_type}", _purpose)

MULTIPLIER = Node("world_multiplier", "``gz_testauto multiply`` as a service.", NodeParameters)
MULTIPLIER.serves(
    "~multiply",
    "gz_testauto/MultiplyWorld",
    "writes variants of a world; ``spec`` as for the spawner, without scenarios. When the node "
    "stops, a running call is cancelled and its worlds are removed",
)
