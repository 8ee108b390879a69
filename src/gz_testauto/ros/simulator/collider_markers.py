"""Collision shapes of a scene and areas of a campaign's metrics as RViz markers on ``~colliders``.

Each model has a namespace with its collision shapes at their present poses. Gates, track and
regions of the campaign's metrics are lines. Static models are published once and to each new
subscriber, the others in every control period if there are subscribers.
"""

import itertools
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Tuple

import rospy
import shapely
from genpy import Time
from shapely.geometry.base import BaseGeometry
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker

from gz_testauto.base.errors import SdfError
from gz_testauto.base.observation import ModelState
from gz_testauto.base.pose import Pose
from gz_testauto.ros.graph import advertise
from gz_testauto.ros.simulator import interface
from gz_testauto.ros.simulator.shape_markers import line_markers, publish, solid_markers
from gz_testauto.sdf.scene import SceneModel, placed_model, read_scene
from gz_testauto.simulators.interface import Scene, Simulation
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.regions import union_of

FIXED, MOVABLE = ColorRGBA(0.6, 0.6, 0.6, 0.5), ColorRGBA(0.9, 0.5, 0.1, 0.6)
TASKS = ColorRGBA(0.1, 0.7, 0.2, 1.0)


class ColliderMarkers(rospy.SubscribeListener):  # type: ignore[misc]
    """Publisher of the topic ``~colliders``. ``simulation`` returns the current simulation."""

    def __init__(
        self, simulation: Callable[[], Simulation], campaign: Optional[CampaignSpec]
    ) -> None:
        super().__init__()
        self._topic = advertise(interface.COLLIDERS, listener=self)
        self._simulation = simulation
        self._tasks = {} if campaign is None else _tasks(campaign)
        self._scene: Optional[Scene] = None
        self._models: Dict[str, SceneModel] = {}
        self._shown: Optional[Tuple[str, ...]] = None

    def start_scene(self, scene: Scene) -> None:
        """Use a new scene from now on."""
        self._scene, self._models, self._shown = scene, {}, None

    def peer_subscribe(self, topic_name: str, topic_publish: Any, peer_publish: Any) -> None:
        """Publish static models again; rospy calls this for each new subscriber."""
        self._shown = None

    def publish(self, states: Mapping[str, ModelState], stamp: Time) -> None:
        """Publish all models at their present poses if there are subscribers."""
        if not self._topic.get_num_connections() or self._scene is None:
            return
        there = tuple(states)
        new = there != self._shown
        self._shown = there
        try:
            models = self._read(there)
        except SdfError as error:
            rospy.logwarn(f"~colliders: {error}")
            self._scene = None  # do not repeat the warning in the next period
            return
        found: List[Marker] = []
        for name, state in states.items():
            model = models.get(name)
            if model is None or (model.static and not new):
                continue
            color = FIXED if model.static else MOVABLE
            shapes = [shape for shape in model.collisions if not shape.is_ground]
            _add(
                found,
                name,
                itertools.chain.from_iterable(
                    solid_markers(shape.geometry, state.pose * shape.local_pose, color)
                    for shape in shapes
                ),
            )
        if new:
            for name, lines in self._tasks.items():
                _add(found, name, line_markers(lines, TASKS))
            found.insert(0, Marker(action=Marker.DELETEALL))
        publish(self._topic, found, stamp)

    def _read(self, names: Tuple[str, ...]) -> Mapping[str, SceneModel]:
        """Return the models with these names whose shapes could be read."""
        if any(name not in self._models for name in names):
            assert self._scene is not None
            if not self._models:
                self._models.update(read_scene(self._scene.world).models)
            spawned_sdf = self._simulation().spawned_sdf
            for name in names:
                if name in spawned_sdf and name not in self._models:
                    self._models[name] = placed_model(spawned_sdf[name], name, Pose())
        return self._models


def _add(found: List[Marker], name: str, markers: Iterable[Marker]) -> None:
    for number, marker in enumerate(markers):
        marker.ns, marker.id = name, number
        found.append(marker)


def _tasks(campaign: CampaignSpec) -> Dict[str, BaseGeometry]:
    """Return gates, track and regions of the campaign's metrics by name (m, world frame)."""
    wanted = campaign.metrics
    tasks: Dict[str, BaseGeometry] = {
        f"gate {number}": shapely.LineString(gate) for number, gate in enumerate(wanted.gates_m, 1)
    }
    if wanted.track is not None:
        tasks["track"] = union_of(wanted.track)
    tasks.update((f"region {name}", union_of(region)) for name, region in wanted.regions.items())
    return tasks
