"""The ``obstacle_spawner`` node: random obstacles in a running Gazebo, by service calls.

Owns the services and topics; :mod:`~gz_testauto.worlds.spawner` places. Works against
whoever serves ``/gazebo/*``. ``docs/ros.md`` lists every parameter.
"""

import threading
from pathlib import Path
from typing import Callable

import rospy
from visualization_msgs.msg import MarkerArray

from gz_testauto import srv
from gz_testauto.base.errors import GzTestautoError
from gz_testauto.base.truncation import log_in_full
from gz_testauto.msg import ObstacleSet
from gz_testauto.ros import parameters
from gz_testauto.ros.node import run_node
from gz_testauto.ros.obstacles.messages import markers, obstacle_message
from gz_testauto.ros.obstacles.spec_argument import label_of, read_set
from gz_testauto.simulators.gazebo_ros import GazeboRosClient
from gz_testauto.worlds.spawner import Draw, ObstacleSpawner


class ObstacleSpawnerNode:
    """The spawner's services, one at a time, and the set that stands as latched topics."""

    def __init__(self, spawner: ObstacleSpawner) -> None:
        self._spawner = spawner
        self._turn = threading.Lock()
        self._set = rospy.Publisher("~obstacles", ObstacleSet, queue_size=1, latch=True)
        self._markers = rospy.Publisher("~markers", MarkerArray, queue_size=1, latch=True)
        self._services = [
            rospy.Service("~spawn", srv.SpawnObstacles, self._spawn),
            rospy.Service("~clear", srv.ClearObstacles, self._clear),
            rospy.Service("~respawn", srv.RespawnObstacles, self._respawn),
            rospy.Service("~save_world", srv.SaveWorld, self._save_world),
            rospy.Service("~list", srv.ListObstacles, self._list),
        ]

    def _spawn(self, request: srv.SpawnObstaclesRequest) -> srv.SpawnObstaclesResponse:
        def spawn() -> srv.SpawnObstaclesResponse:
            draw = Draw(read_set(request.spec), label_of(request.spec), request.seed)
            placed = self._spawner.spawn(draw, request.replace)
            return srv.SpawnObstaclesResponse(
                True, f"placed {len(placed)} obstacles", [obstacle_message(o) for o in placed]
            )

        return self._serve(spawn, srv.SpawnObstaclesResponse)

    def _respawn(self, request: srv.RespawnObstaclesRequest) -> srv.RespawnObstaclesResponse:
        def respawn() -> srv.RespawnObstaclesResponse:
            placed = self._spawner.respawn()
            draw = self._spawner.draw
            return srv.RespawnObstaclesResponse(
                True,
                f"placed {len(placed)} obstacles",
                0 if draw is None else draw.number,
                [obstacle_message(obstacle) for obstacle in placed],
            )

        return self._serve(respawn, srv.RespawnObstaclesResponse)

    def _clear(self, request: srv.ClearObstaclesRequest) -> srv.ClearObstaclesResponse:
        def clear() -> srv.ClearObstaclesResponse:
            return srv.ClearObstaclesResponse(True, f"deleted {self._spawner.clear()} obstacles")

        return self._serve(clear, srv.ClearObstaclesResponse)

    def _save_world(self, request: srv.SaveWorldRequest) -> srv.SaveWorldResponse:
        def save() -> srv.SaveWorldResponse:
            path = parameters.user_directory() / Path(request.path).expanduser()
            self._spawner.save_world(path)
            return srv.SaveWorldResponse(True, f"wrote {path}", str(path))

        return self._serve(save, srv.SaveWorldResponse)

    def _list(self, request: srv.ListObstaclesRequest) -> srv.ListObstaclesResponse:
        with self._turn:
            try:
                standing = self._standing()
            except GzTestautoError as error:
                rospy.logerr("%s", error)
                log_in_full(error.full)
                raise rospy.ServiceException(str(error)) from error
        return srv.ListObstaclesResponse(
            standing.spec, standing.seed, standing.draw, standing.obstacles
        )

    def _serve(self, do: Callable[[], object], response_type: type) -> object:
        """Do it, say why when it cannot be done, and publish what stands then."""
        with self._turn:
            try:
                response = do()
            except (GzTestautoError, OSError) as error:
                rospy.logerr("%s", error)
                log_in_full(str(getattr(error, "full", error)))
                response = response_type(success=False, message=str(error))
            try:
                self._publish()
            except GzTestautoError as error:
                rospy.logwarn("what stands now is not known: %s", error)
        return response

    def _standing(self) -> ObstacleSet:
        message = ObstacleSet()
        if self._spawner.draw is not None:
            draw = self._spawner.draw
            message.spec, message.seed, message.draw = draw.label, draw.seed, draw.number
        message.header.stamp, message.header.frame_id = rospy.Time.now(), "map"
        message.obstacles = [obstacle_message(o) for o in self._spawner.obstacles()]
        return message

    def _publish(self) -> None:
        self._set.publish(self._standing())
        self._markers.publish(markers(self._spawner.obstacles(), rospy.Time.now()))


def start() -> int:
    """Offer the services until shut down."""
    base_world = parameters.read_path("base_world", "")
    client = GazeboRosClient(
        answer_timeout_s=parameters.read("limit", float, 30.0),
        effect_timeout_s=parameters.read("patience", float, 10.0),
    )
    spawner = ObstacleSpawner(client, base_world, parameters.read("keep_off_m", float, 1.0))
    ObstacleSpawnerNode(spawner)
    rospy.spin()
    return 0


def main() -> int:
    """Entry point of the script."""
    return run_node("obstacle_spawner", start)
