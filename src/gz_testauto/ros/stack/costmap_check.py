"""A check, before a goal is sent, that move_base's costmap marks the obstacles of the world.

Otherwise the trial does not measure the planner. One marked point per obstacle is sufficient.
"""

import time
from dataclasses import replace
from typing import (
    Any,
    Callable,
    Dict,
    Iterable,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
)

import numpy as np
import rosgraph
import rospy
import shapely
from nav_msgs.msg import OccupancyGrid
from scipy.spatial import cKDTree
from sensor_msgs.msg import LaserScan
from shapely.geometry.base import BaseGeometry

from gz_testauto.base.errors import ConfigurationError, NavigatorError
from gz_testauto.base.observation import ModelState
from gz_testauto.base.pose import Pose
from gz_testauto.base.ros_messages import pose_of
from gz_testauto.ros.stack.localization import Localization
from gz_testauto.sampling.naming import is_obstacle
from gz_testauto.sdf.scene import SceneModel, WorldScene, placed_model
from gz_testauto.simulators.interface import NamedModel
from gz_testauto.trial.testbed import StackTestBed
from gz_testauto.trial.trial import Trial

LETHAL = 100  # published value of a costmap cell that a sensor or the map has marked
# defaults of an obstacle layer in costmap_2d
OBSTACLE_RANGE_M, MIN_HEIGHT_M, MAX_HEIGHT_M = 2.5, 0.0, 2.0
OBSERVING = ("costmap_2d::ObstacleLayer", "costmap_2d::VoxelLayer")
ANSWER_S = 10.0  # wall time within which a costmap must be received if its topic has a publisher
SOURCE_S = 2.0  # wall time within which the scan of an observation source must be received
ENOUGH_RAYS = 3  # least number of rays on obstacles for a check
PLAIN_RAYS = 5  # least number of rays on an obstacle for a separate check
WITHIN_M = 0.25  # distance of a mark from its obstacle: cell size, noise, settling obstacles
RIM_M = 0.1  # width of the border of the costmap's window, in which marks can be missing
LEVEL = 0.999  # smallest upward component of the axis of a lidar with a level scan plane
Look = Callable[[Sequence[str]], Mapping[str, ModelState]]
SWITCH = "stack.names.costmap: null disables this check"
# simulated time within which a costmap must mark obstacles, and wall time between checks
WAIT_S, POLL_S = 5.0, 0.2


class RayHit(NamedTuple):
    """The first point (m, world frame) at which the ray with this index hits an obstacle."""

    name: str
    ray: int
    x_m: float
    y_m: float
    distance_m: float


class ObservationSource(NamedTuple):
    """An observation source of a costmap; heights are in the costmap's frame."""

    topic: str
    obstacle_range_m: float
    heights_m: Tuple[float, float]


class CostmapLayers(NamedTuple):
    names: List[str]
    observing: List[str]
    sources: List[ObservationSource]


def cast_rays(
    scene: WorldScene,
    height_m: float,
    origin_m: Tuple[float, float],
    directions_rad: np.ndarray,
    reach_m: float,
    poses: Mapping[str, Pose],
) -> Tuple[RayHit, ...]:
    """Return the first hit of each ray of an ideal lidar at ``origin_m`` and ``height_m``.

    Rays have the directions ``directions_rad``, shape (n,), and the length ``reach_m``. They hit
    the models of ``scene`` at ``poses``. All inputs are in the world frame.
    """
    lidar = shapely.Point(origin_m)
    directions = np.column_stack([np.cos(directions_rad), np.sin(directions_rad)])
    ends = np.asarray(origin_m) + reach_m * directions
    rays = shapely.linestrings(np.stack([np.broadcast_to(origin_m, ends.shape), ends], axis=1))
    nearest_m = np.full(len(directions_rad), np.inf)
    names = np.full(len(directions_rad), "", dtype=object)
    for name, pose in poses.items():
        outline = _obstacle_outline(scene.models[name], pose, height_m)
        if outline.is_empty or outline.distance(lidar) > reach_m:
            continue
        distances_m = shapely.distance(lidar, shapely.intersection(rays, outline))
        nearer = distances_m < nearest_m  # NaN if the ray hits nothing
        nearest_m[nearer], names[nearer] = distances_m[nearer], name
    return tuple(
        RayHit(
            str(names[ray]),
            int(ray),
            float(origin_m[0] + nearest_m[ray] * directions[ray, 0]),
            float(origin_m[1] + nearest_m[ray] * directions[ray, 1]),
            float(nearest_m[ray]),
        )
        for ray in np.flatnonzero(np.isfinite(nearest_m))
    )


def _obstacle_outline(model: SceneModel, pose: Pose, height_m: float) -> BaseGeometry:
    if np.allclose(pose.matrix, model.pose.matrix, atol=1e-3):
        return model.obstacle_footprint(height_m, height_m)
    return model.footprint_at(pose, height_m, height_m)


def receive_costmap(topic: str) -> Optional[OccupancyGrid]:
    """Return the current costmap; None without a publisher, or after a timeout of
    :data:`ANSWER_S` of wall time."""
    if rospy.resolve_name(topic) not in {name for name, _ in rospy.get_published_topics()}:
        return None
    # costmap_2d sends the costmap to each new subscriber
    try:
        return rospy.wait_for_message(topic, OccupancyGrid, timeout=ANSWER_S)
    except rospy.ROSException:
        return None


def receive_scan(topic: str) -> Optional[LaserScan]:
    """Return the next scan of a topic; None if it has another type, or after a timeout of
    :data:`SOURCE_S` of wall time."""
    if dict(rospy.get_published_topics()).get(rospy.resolve_name(topic)) != LaserScan._type:
        return None
    try:
        return rospy.wait_for_message(topic, LaserScan, timeout=SOURCE_S)
    except rospy.ROSException:
        return None


def marked_points(grid: OccupancyGrid) -> np.ndarray:
    """Return the centers (m) of marked cells, shape (n, 2), in the costmap's frame."""
    info = grid.info
    cells = np.asarray(grid.data, dtype=int).reshape(info.height, info.width)
    rows, columns = np.nonzero(cells >= LETHAL)
    local_m = np.column_stack([columns + 0.5, rows + 0.5]) * info.resolution
    return pose_of(info.origin).apply(_with_zero_height(local_m))[:, :2]


def inside_window(grid: OccupancyGrid, points_m: np.ndarray, rim_m: float) -> np.ndarray:
    """Return whether each of n points (n, 2) is more than ``rim_m`` inside the costmap's window."""
    info = grid.info
    local_m = pose_of(info.origin).inverse().apply(_with_zero_height(points_m))[:, :2]
    size_m = np.array([info.width, info.height]) * info.resolution
    return ((local_m > rim_m) & (local_m < size_m - rim_m)).all(axis=1)


def layers_of(topic: str) -> CostmapLayers:
    costmap = rosgraph.names.namespace(rospy.resolve_name(topic))
    node = rospy.get_param(rosgraph.names.namespace(costmap), {})
    parameters = rospy.get_param(costmap, {})
    if not isinstance(parameters, dict) or not isinstance(node, dict):
        return CostmapLayers([], [], [])
    return read_layers(parameters, node.get("obstacle_range", OBSTACLE_RANGE_M))


def read_layers(parameters: Dict[str, Any], range_m: Any) -> CostmapLayers:
    """Return the layers of a costmap; ``range_m`` is the default of ``obstacle_range``."""
    plugins = parameters.get("plugins")
    kinds = {str(plugin["name"]): str(plugin["type"]) for plugin in plugins or ()}
    inherited_m = parameters.get("obstacle_range", range_m)
    sources = [
        source
        for name in kinds
        if isinstance(parameters.get(name), dict)
        for source in _read_sources(parameters[name], inherited_m)
    ]
    observing = [name for name, kind in kinds.items() if kind in OBSERVING]
    return CostmapLayers(list(kinds), observing, sources)


def _read_sources(layer: Dict[str, Any], range_m: Any) -> Iterator[ObservationSource]:
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


def _with_zero_height(points_m: np.ndarray) -> np.ndarray:
    return np.column_stack([points_m, np.zeros(len(points_m))])


class CostmapCheck:
    def __init__(self, bed: StackTestBed, localization: Localization) -> None:
        self._bed = bed
        self._stack = bed.spec.stack
        self._localization = localization

    def require_marks(
        self,
        trial: Trial,
        look: Look,
        latest_scan: Callable[[], Optional[LaserScan]],
        check_health: Callable[[], None],
        extra_models: Sequence[NamedModel] = (),
    ) -> str:
        """Wait until the costmap has marked each clearly visible obstacle. Return "", or a text
        about the missing topic or transform if no check is possible.

        A single marked cell is sufficient if a topic other than ``stack.names.scan`` marks the
        costmap, or if only shapes of the static map are visible. ``look`` returns the true states
        of the robot and of the named models. The world file does not contain ``extra_models``.
        Raises ``NavigatorError`` after :data:`WAIT_S` of simulated time or
        ``stack.start_timeout_s`` of wall time. If the parameters of the costmap or the transforms
        exclude a mark, it raises ``ConfigurationError``.
        """
        topic = self._stack.names.costmap
        if topic is None:
            return ""
        deadline_s = rospy.get_rostime().to_sec() + WAIT_S
        deadline_wall_s = time.monotonic() + self._stack.start_timeout_s
        scene = self._bed.world_scene(trial.world)
        models = {
            model.name: placed_model(model.sdf, model.name, model.pose) for model in extra_models
        }
        scene = replace(scene, models={**scene.models, **models})
        while True:
            check_health()
            scan = latest_scan()
            grid = None if scan is None else receive_costmap(topic)
            view = None if scan is None or grid is None else self._view(scene, look, scan, grid)
            if scan is None:
                return f"no sensor_msgs/LaserScan on {self._stack.names.scan}"
            if grid is None:
                return f"no nav_msgs/OccupancyGrid on {topic}"
            if view is None:
                return f"no transform between {scan.header.frame_id} and {grid.header.frame_id}"
            if not view.targets:
                self._require_possible_marks(scan, view)
                return ""
            missing_targets = [target for target in view.targets if not target.marked]
            if not missing_targets:
                return ""
            if rospy.get_rostime().to_sec() > deadline_s or time.monotonic() > deadline_wall_s:
                fault = self._fault_text(scan, view)
                raise (ConfigurationError if fault else NavigatorError)(
                    f"{topic} {self._missing_marks_text(scan, view, missing_targets, fault)}"
                )
            time.sleep(POLL_S)

    def _view(
        self, scene: WorldScene, look: Look, scan: LaserScan, grid: OccupancyGrid
    ) -> Optional["_View"]:
        """Compare obstacles in view of the lidar with the marks; return None without transforms."""
        frames = self._stack.frames
        lidar = self._localization.pose_of(scan.header.frame_id, frames.base)
        base = self._localization.pose_of(frames.base, grid.header.frame_id)
        if lidar is None or base is None:
            return None
        layers = layers_of(str(self._stack.names.costmap))
        ranges_m = [source.obstacle_range_m for source in layers.sources] or [OBSTACLE_RANGE_M]
        obstacles = [name for name, model in scene.models.items() if not model.is_ground]
        poses = {name: state.pose for name, state in look(obstacles).items()}
        robot = poses.pop(self._bed.robot.name)
        hits = cast_rays(
            scene,
            self._bed.static_map.scan_height_m,
            (robot * lidar).position[:2],
            ray_directions(scan, robot * lidar),
            min(scan.range_max, *ranges_m) - WITHIN_M,
            poses,
        )
        points_m = _in_costmap_frame(base * robot.inverse(), hits)
        pattern = self._bed.spec.worlds.obstacle_pattern
        is_usable = inside_window(grid, points_m, RIM_M)
        is_usable &= _bool_array(hit.distance_m > scan.range_min for hit in hits)
        is_off_static_map = is_usable & _bool_array(is_obstacle(hit.name, pattern) for hit in hits)
        checks_each_model = is_off_static_map.sum() >= ENOUGH_RAYS
        if checks_each_model:  # other marks can be those of the static map
            is_usable = is_off_static_map
            checks_each_model = self._scan_is_only_source(layers)
        marked = _has_mark_nearby(points_m, marked_points(grid))
        groups: Dict[str, List[int]] = {}
        for index in np.flatnonzero(is_usable):
            groups.setdefault(hits[index].name if checks_each_model else "", []).append(index)
        min_ray_count = PLAIN_RAYS if checks_each_model else ENOUGH_RAYS
        targets = [
            _Target(
                [hits[index] for index in group],
                bool(marked[group].any()),
                _agrees_with_most(scan, [hits[index] for index in group]),
            )
            for group in groups.values()
            if len(group) >= min_ray_count
        ]
        return _View(targets, base, base * lidar, grid.header.frame_id, layers)

    def _scan_is_only_source(self, layers: CostmapLayers) -> bool:
        topics = {rospy.resolve_name(source.topic) for source in layers.sources}
        return topics == {rospy.resolve_name(self._stack.names.scan)}

    def _missing_marks_text(
        self, scan: LaserScan, view: "_View", missing: Sequence["_Target"], fault: str
    ) -> str:
        target = min(missing, key=lambda candidate: candidate.nearest.distance_m)
        nearest = target.nearest
        marked_count = len(view.targets) - len(missing)
        return (
            f"has no mark at {nearest.name}, {nearest.distance_m:.2f} m from the lidar at "
            f"({nearest.x_m:.2f}, {nearest.y_m:.2f}), or at any other of {len(target.hits)} "
            f"points where it should have one"
            + (
                f" ({marked_count} of {len(view.targets)} visible ones are marked)"
                if marked_count
                else ""
            )
            + f": {self._cause_text(scan, view, target, marked_count, fault)} ({SWITCH})"
        )

    def _cause_text(
        self, scan: LaserScan, view: "_View", target: "_Target", marked_count: int, fault: str
    ) -> str:
        topic, height_m = self._stack.names.scan, self._bed.static_map.scan_height_m
        if not target.scan_agrees and marked_count:
            return (
                f"{topic} does not see it at the position in the simulator. Does it reach up "
                f"to robot.scan_height_m = {height_m:g} m?"
            )
        if not target.scan_agrees:
            return (
                f"{topic} does not see them either. Does the sensor work (a gpu_ray needs a "
                f"display), and does it scan at robot.scan_height_m = {height_m:g} m?"
            )
        layers = view.layers
        if fault or not layers.sources:
            cause = fault or _no_sources_text(layers)
        else:
            cause = _out_of_height(scan.header.frame_id, view.lidar, layers.sources, view.frame)
        topics = ", ".join(sorted({source.topic for source in layers.sources}))
        cause = cause or f"the costmap's observation_sources are on {topics}"
        return f"{topic} sees {'it' if marked_count else 'them'}, but {cause}"

    def _require_possible_marks(self, scan: LaserScan, view: "_View") -> None:
        fault = self._fault_text(scan, view)
        if fault:
            raise ConfigurationError(
                f"{self._stack.names.costmap} will not mark the obstacles that "
                f"{self._stack.names.scan} detects: {fault} ({SWITCH})"
            )

    def _fault_text(self, scan: LaserScan, view: "_View") -> str:
        """Return why the configuration excludes marks in each attempt, or ""."""
        if view.layers.observing and not view.layers.sources:
            return _no_sources_text(view.layers)
        faults = []
        sources_of: Dict[str, List[ObservationSource]] = {}
        for source in view.layers.sources:
            sources_of.setdefault(rospy.resolve_name(source.topic), []).append(source)
        for topic, sources in sources_of.items():
            is_scan = topic == rospy.resolve_name(self._stack.names.scan)
            source_scan = scan if is_scan else receive_scan(topic)
            if source_scan is None:  # for example, a camera
                return ""
            frame = source_scan.header.frame_id
            lidar = self._localization.pose_of(frame, self._stack.frames.base)
            if lidar is None:
                return ""
            faults.append(_out_of_height(frame, view.base * lidar, sources, view.frame))
        return faults[0] if faults and all(faults) else ""


class _Target(NamedTuple):
    """An obstacle, or all visible shapes of the static map, that the costmap should mark."""

    hits: List[RayHit]
    marked: bool
    scan_agrees: bool

    @property
    def nearest(self) -> RayHit:
        return min(self.hits, key=lambda hit: hit.distance_m)


class _View(NamedTuple):
    targets: List[_Target]
    base: Pose
    """The pose of the robot's base in the costmap's frame."""
    lidar: Pose
    """The pose of the lidar in the costmap's frame."""
    frame: str
    layers: CostmapLayers


def _no_sources_text(layers: CostmapLayers) -> str:
    names = ", ".join(layers.names) or "none"
    return f"no layer of the costmap (plugins: {names}) has observation_sources in its namespace"


def _out_of_height(
    frame: str, lidar: Pose, sources: Sequence[ObservationSource], costmap_frame: str
) -> str:
    """Return an error text if a level scan plane is outside of the marked heights, or "".

    ``lidar`` is the pose of the lidar with this frame in the frame of the costmap.
    """
    z_m = lidar.position[2]
    low_m = min(source.heights_m[0] for source in sources)
    high_m = max(source.heights_m[1] for source in sources)
    if low_m <= z_m <= high_m or abs(lidar.rotation[2, 2]) < LEVEL:
        return ""
    return (
        f"tf has the frame {frame} at z = {z_m:.2f} m of {costmap_frame}, and the "
        f"costmap marks from min_obstacle_height {low_m:g} m to max_obstacle_height {high_m:g} m: "
        "correct the transforms or these parameters"
    )


def ray_directions(scan: LaserScan, lidar: Pose) -> np.ndarray:
    """Return the horizontal directions (rad) of a scan's rays, shape (n,).

    They are in the reference frame of the pose ``lidar``, which can be upside down.
    """
    angles = scan.angle_min + scan.angle_increment * np.arange(len(scan.ranges))
    rays = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(len(angles))])
    pointing = rays @ lidar.rotation.T
    return np.arctan2(pointing[:, 1], pointing[:, 0])


def _in_costmap_frame(world_to_costmap: Pose, hits: Tuple[RayHit, ...]) -> np.ndarray:
    points_m = np.array([(hit.x_m, hit.y_m, 0.0) for hit in hits])
    return world_to_costmap.apply(points_m.reshape(-1, 3))[:, :2]


def _bool_array(answers: Iterable[bool]) -> np.ndarray:
    return np.fromiter(answers, dtype=bool)


def _agrees_with_most(scan: LaserScan, hits: Sequence[RayHit]) -> bool:
    agree = _bool_array(abs(scan.ranges[hit.ray] - hit.distance_m) <= WITHIN_M for hit in hits)
    return bool(2 * agree.sum() > len(agree))


def _has_mark_nearby(points_m: np.ndarray, marks_m: np.ndarray) -> np.ndarray:
    if len(points_m) == 0 or len(marks_m) == 0:
        return np.zeros(len(points_m), dtype=bool)
    return cKDTree(marks_m).query(points_m)[0] <= WITHIN_M
