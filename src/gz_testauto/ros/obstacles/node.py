"""The ``obstacle_spawner`` node: random obstacles in a running Gazebo, by service calls.

Defines the services and topics; :mod:`~gz_testauto.worlds.spawner` places the obstacles. It works
with any node that serves ``/gazebo/*``. ``docs/ros.md`` lists every parameter.
"""

import threading
from pathlib import Path
from typing import Any, Callable, Sequence

import rospy
from visualization_msgs.msg import MarkerArray

from gz_testauto import srv
from gz_testauto.base.errors import GzTestautoError
from gz_testauto.base.ros_messages import WORLD_FRAME
from gz_testauto.msg import ObstacleSet
from gz_testauto.ros import parameters
from gz_testauto.ros.node import run_node
from gz_testauto.ros.obstacles.messages import markers, obstacle_message
from gz_testauto.ros.obstacles.spec_argument import label_of, read_set
from gz_testauto.ros.services import Services, offer
from gz_testauto.sampling.placement import Obstacle
from gz_testauto.simulators.gazebo_ros import GazeboRosClient
from gz_testauto.worlds.spawner import Draw, ObstacleSpawner


class ObstacleSpawnerNode:
    """Serves one call at a time and publishes the current obstacle set on latched topics."""

    def __init__(self, spawner: ObstacleSpawner) -> None:
        self._spawner = spawner
        self._call = threading.Lock()
        self._set = rospy.Publisher("~obstacles", ObstacleSet, queue_size=1, latch=True)
        self._markers = rospy.Publisher("~markers", MarkerArray, queue_size=1, latch=True)

    @property
    def services(self) -> Services:
        """Return the services of the node."""
        return {
            "~spawn": (srv.SpawnObstacles, self._publishing(self.spawn)),
            "~clear": (srv.ClearObstacles, self._publishing(self.clear)),
            "~respawn": (srv.RespawnObstacles, self._publishing(self.respawn)),
            "~save_world": (srv.SaveWorld, self._publishing(self.save_world)),
            "~list": (srv.ListObstacles, self.list),
        }

    def spawn(self, request: srv.SpawnObstaclesRequest) -> srv.SpawnObstaclesResponse:
        """Draw an obstacle set and place it."""
        draw = Draw(read_set(request.spec), label_of(request.spec), request.seed)
        placed = self._spawner.spawn(draw, request.replace)
        return srv.SpawnObstaclesResponse(
            True, f"placed {len(placed)} obstacles", [obstacle_message(o) for o in placed]
        )

    def respawn(self, request: srv.RespawnObstaclesRequest) -> srv.RespawnObstaclesResponse:
        """Replace the obstacles by the next set of the same draw."""
        placed = self._spawner.respawn()
        assert self._spawner.draw is not None
        return srv.RespawnObstaclesResponse(
            True,
            f"placed {len(placed)} obstacles",
            self._spawner.draw.number,
            [obstacle_message(obstacle) for obstacle in placed],
        )

    def clear(self, request: srv.ClearObstaclesRequest) -> srv.ClearObstaclesResponse:
        """Delete all random obstacles."""
        return srv.ClearObstaclesResponse(True, f"deleted {self._spawner.clear()} obstacles")

    def save_world(self, request: srv.SaveWorldRequest) -> srv.SaveWorldResponse:
        """Write the base world with the obstacles."""
        path = parameters.user_directory() / Path(request.path).expanduser()
        self._spawner.save_world(path)
        return srv.SaveWorldResponse(True, f"wrote {path}", str(path))

    def list(self, request: srv.ListObstaclesRequest) -> srv.ListObstaclesResponse:
        """Return the obstacles at their current poses."""
        with self._call:
            found = self._message(self._spawner.obstacles())
        return srv.ListObstaclesResponse(found.spec, found.seed, found.draw, found.obstacles)

    def _publishing(self, handler: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Return a handler that publishes the obstacle set after the call. If the call fails, the
        remaining obstacles are requested from the simulator."""

        def call(request: Any) -> Any:
            with self._call:
                try:
                    response = handler(request)
                except (GzTestautoError, OSError):
                    self._publish_after_failure()
                    raise
                self._publish(self._spawner.last_known)
            return response

        return call

    def _publish_after_failure(self) -> None:
        try:
            self._publish(self._spawner.obstacles())
        except GzTestautoError as error:
            rospy.logwarn("the obstacles cannot be published: %s", error)

    def _publish(self, obstacles: Sequence[Obstacle]) -> None:
        message = self._message(obstacles)
        self._set.publish(message)
        self._markers.publish(markers(obstacles, message.header.stamp))

    def _message(self, obstacles: Sequence[Obstacle]) -> ObstacleSet:
        message = ObstacleSet()
        if self._spawner.draw is not None:
            draw = self._spawner.draw
            message.spec, message.seed, message.draw = draw.label, draw.seed, draw.number
        message.header.stamp, message.header.frame_id = rospy.Time.now(), WORLD_FRAME
        message.obstacles = [obstacle_message(obstacle) for obstacle in obstacles]
        return message


def start() -> int:
    """Offer the services until shut down."""
    base_world = parameters.read_path("base_world", "")
    client = GazeboRosClient(
        answer_timeout_s=parameters.read("service_timeout", float, 30.0),
        effect_timeout_s=parameters.read("effect_timeout", float, 10.0),
    )
    spawner = ObstacleSpawner(client, base_world, parameters.read("keep_out_radius_m", float, 1.0))
    offer(ObstacleSpawnerNode(spawner).services)
    rospy.spin()
    return 0


def main() -> int:
    """Run the node; the entry point of the script."""
    return run_node("obstacle_spawner", start)
