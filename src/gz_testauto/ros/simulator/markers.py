"""RViz markers of the simulator node: collision shapes, areas of metrics, and actors."""

from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Tuple

import numpy as np
import rospy
import shapely
from genpy import Time
from geometry_msgs.msg import Point, Vector3
from shapely.geometry.base import BaseGeometry
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from gz_testauto.base.errors import SdfError
from gz_testauto.base.observation import ModelState
from gz_testauto.base.pose import Pose
from gz_testauto.base.ros_messages import WORLD_FRAME, header, pose_message
from gz_testauto.ros.graph import advertise
from gz_testauto.ros.simulator import interface
from gz_testauto.sdf.meshes.surfaces import Mesh
from gz_testauto.sdf.scene import CollisionShape, SceneModel, placed_model, read_scene
from gz_testauto.sdf.shapes import Box, Capsule, Cylinder, Ellipsoid, Geometry, Polyline, Sphere
from gz_testauto.simulators.interface import Scene, Simulation
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.regions import union_of
from gz_testauto.trial.actors import TrialActors

# width of lines, and their height above the ground, which would otherwise hide them
LINE_WIDTH_M, LINE_HEIGHT_M = 0.05, 0.03
TEXT_HEIGHT_M = 0.3
ACTOR_COLOR, TEXT_COLOR = ColorRGBA(0.25, 0.45, 0.7, 0.8), ColorRGBA(1.0, 1.0, 1.0, 1.0)
STATIC_COLOR, MOVABLE_COLOR = ColorRGBA(0.6, 0.6, 0.6, 0.5), ColorRGBA(0.9, 0.5, 0.1, 0.6)
AREA_COLOR = ColorRGBA(0.1, 0.7, 0.2, 1.0)


def solid_markers(shape: Geometry, pose: Pose, color: ColorRGBA) -> List[Marker]:
    """Return the markers of a shape: three for a capsule, and none for a plane or terrain."""
    if isinstance(shape, Capsule):
        width = 2 * shape.radius
        rod = _marker(Marker.CYLINDER, pose, (width, width, shape.length), color)
        ends = (pose * Pose((0.0, 0.0, side * shape.length / 2)) for side in (-1.0, 1.0))
        return [rod, *(_marker(Marker.SPHERE, end, (width,) * 3, color) for end in ends)]
    if isinstance(shape, Box):
        return [_marker(Marker.CUBE, pose, shape.size, color)]
    if isinstance(shape, Cylinder):
        width = 2 * shape.radius
        return [_marker(Marker.CYLINDER, pose, (width, width, shape.length), color)]
    if isinstance(shape, Sphere):
        return [_marker(Marker.SPHERE, pose, (2 * shape.radius,) * 3, color)]
    if isinstance(shape, Ellipsoid):
        return [_marker(Marker.SPHERE, pose, tuple(2 * radius for radius in shape.radii), color)]
    if isinstance(shape, Mesh):
        return [_surface_marker(shape.surface.triangles, pose, color)]
    if isinstance(shape, Polyline):
        return [_surface_marker(shape.triangles, pose, color)]
    return []


def _shape_markers(shapes: Iterable[CollisionShape], pose: Pose, color: ColorRGBA) -> List[Marker]:
    return [
        marker
        for shape in shapes
        for marker in solid_markers(shape.geometry, pose * shape.local_pose, color)
    ]


def line_markers(lines: BaseGeometry, color: ColorRGBA) -> List[Marker]:
    markers = []
    for part in shapely.get_parts(lines).tolist():
        rings = [part.exterior, *part.interiors] if part.geom_type == "Polygon" else [part]
        for ring in rings:
            marker = _marker(Marker.LINE_STRIP, Pose(), (LINE_WIDTH_M, 0.0, 0.0), color)
            marker.points = [Point(x_m, y_m, LINE_HEIGHT_M) for x_m, y_m in ring.coords]
            markers.append(marker)
    return markers


def publish(
    topic: rospy.Publisher, markers: List[Marker], stamp: Time, frame: str = WORLD_FRAME
) -> None:
    for marker in markers:
        marker.header = header(stamp, frame)
    topic.publish(MarkerArray(markers))


def _surface_marker(triangles: np.ndarray, pose: Pose, color: ColorRGBA) -> Marker:
    marker = _marker(Marker.TRIANGLE_LIST, pose, (1.0, 1.0, 1.0), color)
    marker.points = [Point(*corner) for corner in triangles.reshape(-1, 3).tolist()]
    return marker


def _marker(kind: int, pose: Pose, size: Tuple[float, ...], color: ColorRGBA) -> Marker:
    return Marker(type=kind, pose=pose_message(pose), scale=Vector3(*size), color=color)


class ColliderMarkers(rospy.SubscribeListener):  # type: ignore[misc]
    """The publisher of ``~colliders``, with a namespace per model.

    Static models are published once, and again for each new subscriber.
    """

    def __init__(
        self, simulation: Callable[[], Simulation], campaign: Optional[CampaignSpec]
    ) -> None:
        super().__init__()
        self._topic = advertise(interface.COLLIDERS, listener=self)
        self._simulation = simulation
        self._areas = {} if campaign is None else _metric_areas(campaign)
        self._scene: Optional[Scene] = None
        self._models: Dict[str, SceneModel] = {}
        self._shown_names: Optional[Tuple[str, ...]] = None

    def start_scene(self, scene: Scene) -> None:
        self._scene, self._models, self._shown_names = scene, {}, None

    def peer_subscribe(self, topic_name: str, topic_publish: Any, peer_publish: Any) -> None:
        # rospy calls this method for each new subscriber.
        self._shown_names = None

    def publish(self, states: Mapping[str, ModelState], stamp: Time) -> None:
        if not self._topic.get_num_connections() or self._scene is None:
            return
        existing = tuple(states)
        is_new = existing != self._shown_names
        self._shown_names = existing
        try:
            models = self._read_models(existing)
        except SdfError as error:
            rospy.logwarn(f"~colliders: {error}")
            self._scene = None  # do not repeat the warning in the next period
            return
        markers: List[Marker] = []
        for name, state in states.items():
            model = models.get(name)
            if model is None or (model.static and not is_new):
                continue
            color = STATIC_COLOR if model.static else MOVABLE_COLOR
            shapes = [shape for shape in model.collisions if not shape.is_ground]
            _add_named(markers, name, _shape_markers(shapes, state.pose, color))
        if is_new:
            for name, lines in self._areas.items():
                _add_named(markers, name, line_markers(lines, AREA_COLOR))
            markers.insert(0, Marker(action=Marker.DELETEALL))
        publish(self._topic, markers, stamp)

    def _read_models(self, names: Tuple[str, ...]) -> Mapping[str, SceneModel]:
        if any(name not in self._models for name in names):
            assert self._scene is not None
            if not self._models:
                self._models.update(read_scene(self._scene.world).models)
            spawned_sdf = self._simulation().spawned_sdf
            for name in names:
                if name in spawned_sdf and name not in self._models:
                    self._models[name] = placed_model(spawned_sdf[name], name, Pose())
        return self._models


def _add_named(markers: List[Marker], name: str, new_markers: Iterable[Marker]) -> None:
    for number, marker in enumerate(new_markers):
        marker.ns, marker.id = name, number
        markers.append(marker)


def _metric_areas(campaign: CampaignSpec) -> Dict[str, BaseGeometry]:
    metrics = campaign.metrics
    areas: Dict[str, BaseGeometry] = {
        f"gate {number}": shapely.LineString(gate) for number, gate in enumerate(metrics.gates_m, 1)
    }
    if metrics.track is not None:
        areas["track"] = union_of(metrics.track)
    areas.update((f"region {name}", union_of(region)) for name, region in metrics.regions.items())
    return areas


class ActorMarkers:
    def __init__(self) -> None:
        self._topic = advertise(interface.ACTORS)
        self._actors = TrialActors()
        self._shapes: Mapping[str, Tuple[CollisionShape, ...]] = {}
        self._shown_names: Optional[Tuple[str, ...]] = None

    def start_scene(self, actors: TrialActors) -> None:
        self._actors, self._shown_names = actors, None
        self._shapes = {
            model.name: placed_model(model.sdf, model.name, Pose()).collisions
            for model in actors.all_models
        }

    def publish(self, states: Mapping[str, ModelState], stamp: Time) -> None:
        if not self._topic.get_num_connections():
            return
        all_markers: List[Marker] = []
        activities = self._actors.activities
        existing = tuple(name for name in activities if name in states)
        if existing != self._shown_names:  # a new scene, or an actor was deleted
            all_markers.append(Marker(action=Marker.DELETEALL))
            self._shown_names = existing
        for name in existing:
            pose = states[name].pose
            markers = _shape_markers(self._shapes[name], pose, ACTOR_COLOR)
            last_marker = markers[-1] if markers else Marker(pose=pose_message(pose))
            _add_named(
                all_markers, name, [*markers, _label_marker(name, activities[name], last_marker)]
            )
        publish(self._topic, all_markers, stamp)


def _label_marker(name: str, activity: str, last_marker: Marker) -> Marker:
    marker = Marker(type=Marker.TEXT_VIEW_FACING, color=TEXT_COLOR)
    marker.text = f"{name}: {activity}" if activity else name
    marker.scale.z = TEXT_HEIGHT_M
    position = last_marker.pose.position
    marker.pose = pose_message(
        Pose((position.x, position.y, position.z + last_marker.scale.z / 2 + TEXT_HEIGHT_M))
    )
    return marker
