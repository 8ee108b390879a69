"""The nodes ``obstacle_spawner`` and ``world_multiplier``.

``obstacle_spawner`` works with any node that offers the services ``/gazebo/*``.
"""

import functools
import threading
import time
import zlib
from typing import Any, Callable, Sequence

import rospy
from genpy import Time
from geometry_msgs.msg import Point, Vector3
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from gz_testauto import srv
from gz_testauto.base import resources
from gz_testauto.base.errors import GzTestautoError, SpecError
from gz_testauto.base.pose import Pose
from gz_testauto.base.ros_messages import header, pose_message
from gz_testauto.msg import Obstacle as ObstacleMessage
from gz_testauto.msg import ObstacleSet
from gz_testauto.ros.graph import advertise, offer
from gz_testauto.ros.interface import existing_file, user_directory
from gz_testauto.ros.node import read_parameters, run_node
from gz_testauto.ros.obstacles import interface
from gz_testauto.ros.obstacles.spec_argument import label_of, read_set, read_spec
from gz_testauto.sampling.placement import Obstacle
from gz_testauto.simulators.gazebo_ros import GazeboRosClient
from gz_testauto.worlds.multiply import multiply
from gz_testauto.worlds.spawner import Draw, ObstacleSpawner

COLOR = ColorRGBA(0.85, 0.45, 0.2, 0.8)
MAX_WORLDS = 10_000  # of one call, which its client cannot cancel
# held while worlds are written, so that the node stops after they are removed
_MULTIPLYING = threading.Lock()


def _publish_afterwards(handler: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Decorate a service handler so that the node publishes the obstacle set after each call, also
    after an error."""

    @functools.wraps(handler)
    def call(node: "ObstacleSpawnerNode", request: Any) -> Any:
        with node._call:
            try:
                response = handler(node, request)
            except (GzTestautoError, OSError):
                node._publish_after_failure()
                raise
            node._publish(node._spawner.last_known)
        return response

    return call


class ObstacleSpawnerNode:
    """The handlers of the node's services, which execute one call at a time."""

    def __init__(self, spawner: ObstacleSpawner) -> None:
        self._spawner = spawner
        self._call = threading.Lock()
        self._set = advertise(interface.OBSTACLES)
        self._markers = advertise(interface.MARKERS)

    @_publish_afterwards
    def spawn(self, request: srv.SpawnObstaclesRequest) -> srv.SpawnObstaclesResponse:
        began_s = time.monotonic()
        draw = Draw(read_set(request.spec), label_of(request.spec), request.seed)
        placed_obstacles = self._spawner.spawn(draw, request.replace)
        message = _log_result("spawned", len(placed_obstacles), began_s)
        return srv.SpawnObstaclesResponse(
            True, message, [obstacle_message(o) for o in placed_obstacles]
        )

    @_publish_afterwards
    def respawn(self, request: srv.RespawnObstaclesRequest) -> srv.RespawnObstaclesResponse:
        began_s = time.monotonic()
        placed_obstacles = self._spawner.respawn()
        assert self._spawner.draw is not None
        return srv.RespawnObstaclesResponse(
            True,
            _log_result("spawned", len(placed_obstacles), began_s),
            self._spawner.draw.number,
            [obstacle_message(obstacle) for obstacle in placed_obstacles],
        )

    @_publish_afterwards
    def clear(self, request: srv.ClearObstaclesRequest) -> srv.ClearObstaclesResponse:
        began_s = time.monotonic()
        deleted_count = self._spawner.clear()
        return srv.ClearObstaclesResponse(True, _log_result("deleted", deleted_count, began_s))

    @_publish_afterwards
    def save_world(self, request: srv.SaveWorldRequest) -> srv.SaveWorldResponse:
        path = resources.resolve(request.path, user_directory())
        self._spawner.save_world(path)
        return srv.SaveWorldResponse(True, f"wrote {path}", str(path))

    def list(self, request: srv.ListObstaclesRequest) -> srv.ListObstaclesResponse:
        with self._call:
            message = self._message(self._spawner.obstacles())
        return srv.ListObstaclesResponse(
            message.spec, message.seed, message.draw, message.obstacles
        )

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
        message.header = header(rospy.Time.now())
        message.obstacles = [obstacle_message(obstacle) for obstacle in obstacles]
        return message


def _log_result(action: str, obstacle_count: int, began_s: float) -> str:
    result = f"{action} {obstacle_count} obstacles in {time.monotonic() - began_s:.1f} s"
    rospy.loginfo(result)
    return result


def obstacle_message(obstacle: Obstacle) -> ObstacleMessage:
    low, high = obstacle.model.bounds(obstacle.size).T
    return ObstacleMessage(
        name=obstacle.name,
        type=obstacle.type,
        pose=pose_message(obstacle.pose),
        size=Vector3(*(high - low)),
        mass=obstacle.mass_kg,
        is_static=obstacle.static,
    )


def markers(obstacles: Sequence[Obstacle], stamp: Time) -> MarkerArray:
    clear = Marker(header=header(stamp), action=Marker.DELETEALL)
    return MarkerArray([clear, *(_marker(obstacle, stamp) for obstacle in obstacles)])


def _marker(obstacle: Obstacle, stamp: Time) -> Marker:
    kind = obstacle.model.kind
    marker = Marker(ns=obstacle.type, type=getattr(Marker, kind.marker), color=COLOR)
    marker.header = header(stamp)
    marker.text = obstacle.name
    marker.id = zlib.crc32(obstacle.name.encode()) & 0x7FFFFFFF
    triangles = kind.triangles(obstacle.size)
    if triangles is not None:
        marker.points = [Point(*corner) for corner in triangles.reshape(-1, 3).tolist()]
        marker.scale = Vector3(1.0, 1.0, 1.0)
        marker.pose = pose_message(obstacle.pose)
        return marker
    low, high = obstacle.model.bounds(obstacle.size).T
    marker.scale = Vector3(*(high - low))
    x, y, z = map(float, (low + high) / 2)
    marker.pose = pose_message(obstacle.pose * Pose((x, y, z)))
    return marker


def start() -> int:
    parameters = read_parameters(interface.SpawnerParameters)
    client = GazeboRosClient(parameters.service_timeout, parameters.effect_timeout)
    spawner = ObstacleSpawner(
        client, parameters.base_world, parameters.keep_out_radius_m, rospy.loginfo
    )
    node = ObstacleSpawnerNode(spawner)
    offer(interface.SPAWNER.services, functools.partial(getattr, node))
    rospy.spin()
    return 0


def main() -> int:
    return run_node("obstacle_spawner", start)


def write_worlds(request: srv.MultiplyWorldRequest) -> srv.MultiplyWorldResponse:
    if not request.out:
        raise SpecError("the field 'out' is empty; set it to the directory for the worlds")
    if request.count > MAX_WORLDS:
        raise SpecError(
            f"count is {request.count}; it must be at most {MAX_WORLDS}. The command gz_testauto "
            "multiply has no limit"
        )
    out = resources.resolve(request.out, user_directory())
    world = existing_file(request.world, "world")
    with _MULTIPLYING:
        worlds = multiply(
            world,
            read_spec(request.spec),
            request.count,
            request.seed,
            out,
            progress=_end_at_shutdown,
        )
    paths = [str(entry.path) for entry in worlds]
    return srv.MultiplyWorldResponse(True, f"{len(paths)} worlds in {out}", paths)


def _end_at_shutdown(done_count: int, total_count: int) -> None:
    if rospy.is_shutdown():
        raise GzTestautoError(
            f"the node stopped after {done_count} of {total_count} worlds, which were removed"
        )


def start_multiplier() -> int:
    """Offer the service ``~multiply`` until shutdown, which cancels a running call and removes its
    worlds. Return the exit status."""
    offer(interface.MULTIPLIER.services, {"multiply": write_worlds}.__getitem__)
    rospy.spin()
    with _MULTIPLYING:
        return 0


def multiplier_main() -> int:
    return run_node("world_multiplier", start_multiplier)
