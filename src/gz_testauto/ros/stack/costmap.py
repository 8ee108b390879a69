"""The published grid of a costmap_2d costmap, and the parameters of its obstacle layers.

:mod:`~gz_testauto.ros.stack.costmap_check` decides which cells must be marked.
"""

from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

import numpy as np
import rosgraph
import rospy
from nav_msgs.msg import OccupancyGrid

from gz_testauto.base.ros_messages import pose_of

LETHAL = 100
"""Published value of a cell that a sensor or the map has marked."""
OBSTACLE_RANGE_M, MIN_HEIGHT_M, MAX_HEIGHT_M = 2.5, 0.0, 2.0
"""Default values of an obstacle layer."""
OBSERVING = ("costmap_2d::ObstacleLayer", "costmap_2d::VoxelLayer")
ANSWER_S = 10.0
"""Wall time in which a costmap with a publisher must be received."""


class ObservationSource(NamedTuple):
    """An observation source of an obstacle layer: its topic, the range (m) up to which it marks,
    and the heights (m, in the costmap's frame) between which it marks."""

    topic: str
    obstacle_range_m: float
    heights_m: Tuple[float, float]


class CostmapLayers(NamedTuple):
    """The names of a costmap's layers, the names of its obstacle and voxel layers, and all
    observation sources. costmap_2d reads the parameters of a layer only in its own namespace."""

    names: List[str]
    observing: List[str]
    sources: List[ObservationSource]


def receive_costmap(topic: str) -> Optional[OccupancyGrid]:
    """Return the present costmap, which costmap_2d sends to each new subscriber, or None if no node
    publishes it."""
    if rospy.resolve_name(topic) not in {name for name, _ in rospy.get_published_topics()}:
        return None
    try:
        return rospy.wait_for_message(topic, OccupancyGrid, timeout=ANSWER_S)
    except rospy.ROSException:
        return None


def marked_points(grid: OccupancyGrid) -> np.ndarray:
    """Return the centers of the lethal cells, shape (n, 2), in meters in the costmap's frame."""
    info = grid.info
    cells = np.asarray(grid.data, dtype=int).reshape(info.height, info.width)
    rows, columns = np.nonzero(cells >= LETHAL)
    local_m = np.column_stack([columns + 0.5, rows + 0.5]) * info.resolution
    return pose_of(info.origin).apply(_lifted(local_m))[:, :2]


def inside_window(grid: OccupancyGrid, points_m: np.ndarray, rim_m: float) -> np.ndarray:
    """Return which points, shape (n, 2) in the costmap's frame, are in its window and more than
    ``rim_m`` from its edge; bool, shape (n,)."""
    info = grid.info
    local_m = pose_of(info.origin).inverse().apply(_lifted(points_m))[:, :2]
    size_m = np.array([info.width, info.height]) * info.resolution
    return ((local_m > rim_m) & (local_m < size_m - rim_m)).all(axis=1)


def layers_of(topic: str) -> CostmapLayers:
    """Return the layers of the costmap at ``topic``, from the parameter server."""
    costmap = rosgraph.names.namespace(rospy.resolve_name(topic))
    node = rospy.get_param(rosgraph.names.namespace(costmap), {})
    parameters = rospy.get_param(costmap, {})
    if not isinstance(parameters, dict) or not isinstance(node, dict):
        return CostmapLayers([], [], [])
    return read_layers(parameters, node.get("obstacle_range", OBSTACLE_RANGE_M))


def read_layers(parameters: Dict[str, Any], range_m: Any) -> CostmapLayers:
    """Return the layers in a costmap's parameters. ``range_m`` is the default of
    ``obstacle_range``."""
    plugins = parameters.get("plugins")
    kinds = {str(each["name"]): str(each["type"]) for each in plugins or ()}
    inherited_m = parameters.get("obstacle_range", range_m)
    sources = [
        source
        for name in kinds
        if isinstance(parameters.get(name), dict)
        for source in _sources_in(parameters[name], inherited_m)
    ]
    observing = [name for name, kind in kinds.items() if kind in OBSERVING]
    return CostmapLayers(list(kinds), observing, sources)


def _sources_in(layer: Dict[str, Any], range_m: Any) -> Iterator[ObservationSource]:
    """Yield the observation sources of a layer that mark obstacles."""
    range_m = layer.get("obstacle_range", range_m)
    highest_m = layer.get("max_obstacle_height", MAX_HEIGHT_M)
    for name in str(layer.get("observation_sources", "")).split():
        source = layer.get(name)
        source = source if isinstance(source, dict) else {}
        if source.get("marking", True):
            yield ObservationSource(
                str(source.get("topic", name)),
                float(source.get("obstacle_range", range_m)),
                (
                    float(source.get("min_obstacle_height", MIN_HEIGHT_M)),
                    min(float(highest_m), float(source.get("max_obstacle_height", MAX_HEIGHT_M))),
                ),
            )


def _lifted(points_m: np.ndarray) -> np.ndarray:
    return np.column_stack([points_m, np.zeros(len(points_m))])
