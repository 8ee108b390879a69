"""What can be collided with in a scene, and what a campaign's tasks are about, as RViz markers.

Owns one topic, ``~colliders``: the collision shapes of all models where they are, each model in a
namespace of its own, and gates, track and regions of the campaign's metrics as lines. What cannot
move is published once and to each new listener, the rest with every period while somebody listens.
"""

import itertools
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Tuple

import rospy
import shapely
from genpy import Time
from shapely.geometry.base import BaseGeometry
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from gz_testauto.base.errors import SdfError
from gz_testauto.base.observation import ModelState
from gz_testauto.base.pose import Pose
from gz_testauto.ros.simulator.shape_markers import line_markers, publish, solid_markers
from gz_testauto.sdf.scene import SceneModel, placed_model, read_scene
from gz_testauto.simulators.interface import Scene, Simulation
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.regions import union_of

FIXED, MOVABLE = ColorRGBA(0.6, 0.6, 0.6, 0.5), ColorRGBA(0.9, 0.5, 0.1, 0.6)
TASKS = ColorRGBA(0.1, 0.7, 0.2, 1.0)


class ColliderMarkers(rospy.SubscribeListener):  # type: ignore[misc]
    """The topic and what is shown on it. ``simulation`` tells the current one."""

    def __init__(
        self, simulation: Callable[[], Simulation], campaign: Optional[CampaignSpec]
    ) -> None:
        super().__init__()
        self._topic = rospy.Publisher(
            "~colliders", MarkerArray, queue_size=1, subscriber_listener=self
        )
        self._simulation = simulation
        self._tasks = {} if campaign is None else _tasks(campaign)
        self._scene: Optional[Scene] = None
        self._models: Dict[str, SceneModel] = {}
        self._shown: Optional[Tuple[str, ...]] = None

    def scene_began(self, scene: Scene) -> None:
        """Show a new scene from now on."""
        self._scene, self._models, self._shown = scene, {}, None

    def peer_subscribe(self, topic_name: str, topic_publish: Any, peer_publish: Any) -> None:
        """Called by rospy for each new listener."""
        self._shown = None

    def show(self, states: Mapping[str, ModelState], stamp: Time) -> None:
        """Publish what is where, if anybody listens."""
        if not self._topic.get_num_connections() or self._scene is None:
            return
        there = tuple(states)
        new = there != self._shown
        self._shown = there
        try:
            models = self._read(there)
        except SdfError as error:
            rospy.logwarn(f"~colliders: {error}")
            self._scene = None  # it will not read better in the next period
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
        """The models of these names, as far as their shapes are known."""
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
    """What the campaign's metrics are about, by a name for it (m, world frame)."""
    wanted = campaign.metrics
    tasks: Dict[str, BaseGeometry] = {
        f"gate {number}": shapely.LineString(gate) for number, gate in enumerate(wanted.gates_m, 1)
    }
    if wanted.track is not None:
        tasks["track"] = union_of(wanted.track)
    tasks.update((f"region {name}", union_of(region)) for name, region in wanted.regions.items())
    return tasks
