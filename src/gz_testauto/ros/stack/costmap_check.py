"""Whether move_base's costmap has marks where the world has obstacles, before a goal is sent.

Owns the comparison of a costmap with the world's collision geometry, as the lidar should see it
from where the robot truly stands, and what is told when an obstacle in plain sight has no mark:
a planner that is not shown an obstacle is no planner that failed. One marked place of each is
enough; how good a costmap is, is not judged here.
"""

import time
from dataclasses import replace
from typing import Callable, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import numpy as np
import rospy
from nav_msgs.msg import OccupancyGrid
from scipy.spatial import cKDTree
from sensor_msgs.msg import LaserScan

from gz_testauto.base.errors import NavigatorError
from gz_testauto.base.observation import ModelState
from gz_testauto.base.pose import Pose
from gz_testauto.ros.stack.costmap import (
    OBSTACLE_RANGE_M,
    Layers,
    heard_costmap,
    inside_window,
    layers_of,
    marked_points,
)
from gz_testauto.ros.stack.localization import Localization
from gz_testauto.sampling.naming import is_obstacle
from gz_testauto.sdf.scene import WorldScene, placed_model
from gz_testauto.simulators.interface import NamedModel
from gz_testauto.trial.lidar_view import Sighting, lidar_view, seen_models
from gz_testauto.trial.plan import Trial
from gz_testauto.trial.setup import PreparedStack

ENOUGH_RAYS = 3
"""Fewer rays on obstacles are no evidence."""
PLAIN_RAYS = 5
"""An obstacle that as many rays meet is in plain sight: it is asked for by itself."""
WITHIN_M = 0.25
"""How far from its place a mark may be: cells, noise, and obstacles that settled."""
RIM_M = 0.1
"""What is nearer to the edge of the costmap's window than this may be marked beyond it."""
LEVEL = 0.999
"""Least upward component of the axis of a lidar that sees in a level plane."""
Look = Callable[[Sequence[str]], Mapping[str, ModelState]]
SWITCH = "stack.names.costmap: null leaves this check out"
WAIT_S, POLL_S = 5.0, 0.2
"""Simulated time for a slow costmap to mark what it sees; wall time between two looks."""


class CostmapCheck:
    """Looks at the costmap before each trial's goal. Where ``stack.names.costmap`` is null or
    nobody publishes it, there is nothing to look at."""

    def __init__(self, campaign: PreparedStack, localization: Localization) -> None:
        self._campaign = campaign
        self._stack = campaign.spec.stack
        self._localization = localization

    def require_marks(
        self,
        trial: Trial,
        look: Look,
        heard_scan: Callable[[], Optional[LaserScan]],
        meanwhile: Callable[[], None],
        beside: Sequence[NamedModel] = (),
    ) -> None:
        """Return once the costmap has a mark at each obstacle that is in plain sight; where the
        costmap is marked by another topic than ``stack.names.scan``, which may look elsewhere, and
        where only the known map is in sight, once it has a mark at all. ``beside`` are models that
        stand there beside those of the world's file. ``look`` tells the true states of the robot
        and of the models named, ``heard_scan`` the latest scan. Raises ``NavigatorError`` that says
        what there is instead after 5 s of simulated time or
        ``stack.start_timeout_s`` of wall time."""
        topic = self._stack.names.costmap
        if topic is None:
            return
        deadline_s = rospy.get_rostime().to_sec() + WAIT_S
        deadline_wall_s = time.monotonic() + self._stack.start_timeout_s
        scene = self._campaign.world_scene(self._campaign.world(trial))
        models = {one.name: placed_model(one.sdf, one.name, one.pose) for one in beside}
        scene = replace(scene, models={**scene.models, **models})
        while True:
            meanwhile()
            scan = heard_scan()
            grid = None if scan is None else heard_costmap(topic)
            view = None if scan is None or grid is None else self._view(scene, look, scan, grid)
            if scan is None or view is None:
                return
            if not view.targets:
                self._require_that_it_could(scan, view)
                return
            missing = [target for target in view.targets if not target.marked]
            if not missing:
                return
            if rospy.get_rostime().to_sec() > deadline_s or time.monotonic() > deadline_wall_s:
                raise NavigatorError(f"{topic} {self._told(scan, view, missing)}")
            time.sleep(POLL_S)

    def _view(
        self, scene: WorldScene, look: Look, scan: LaserScan, grid: OccupancyGrid
    ) -> Optional["_View"]:
        """What the lidar should see, beside what it and the costmap have. None where tf does
        not say where the lidar is."""
        frames = self._stack.frames
        lidar = self._localization.pose_of(scan.header.frame_id, frames.base)
        base = self._localization.pose_of(frames.base, grid.header.frame_id)
        if lidar is None or base is None:
            return None
        layers = layers_of(str(self._stack.names.costmap))
        ranges_m = [source.obstacle_range_m for source in layers.sources] or [OBSTACLE_RANGE_M]
        poses = {name: state.pose for name, state in look(seen_models(scene)).items()}
        robot = poses.pop(self._campaign.robot.name)
        seen = lidar_view(
            scene,
            self._campaign.known_map.scan_height_m,
            (robot * lidar).position[:2],
            ray_directions(scan, robot * lidar),
            min(scan.range_max, *ranges_m) - WITHIN_M,
            poses,
        )
        places_m = _carried(base * robot.inverse(), seen)
        pattern = self._campaign.spec.worlds.obstacle_pattern
        usable = inside_window(grid, places_m, RIM_M)
        usable &= _each(sighting.distance_m > scan.range_min for sighting in seen)
        unknown = usable & _each(is_obstacle(sighting.name, pattern) for sighting in seen)
        one_by_one = unknown.sum() >= ENOUGH_RAYS
        if one_by_one:  # a costmap may have those of the known map from there
            usable = unknown
            one_by_one = self._marked_by(layers)
        marked = _near(places_m, marked_points(grid))
        groups: Dict[str, List[int]] = {}
        for index in np.flatnonzero(usable):
            groups.setdefault(seen[index].name if one_by_one else "", []).append(index)
        enough = PLAIN_RAYS if one_by_one else ENOUGH_RAYS
        targets = [
            _Target(
                [seen[index] for index in group],
                bool(marked[group].any()),
                _most_agree(scan, [seen[index] for index in group]),
            )
            for group in groups.values()
            if len(group) >= enough
        ]
        return _View(targets, base * lidar, grid.header.frame_id, layers)

    def _marked_by(self, layers: Layers) -> bool:
        """Whether the scan, and nothing else, is what marks the costmap."""
        topics = {rospy.resolve_name(source.topic) for source in layers.sources}
        return topics == {rospy.resolve_name(self._stack.names.scan)}

    def _told(self, scan: LaserScan, view: "_View", missing: Sequence["_Target"]) -> str:
        """What is there instead of marks, with the nearest obstacle as the example."""
        target = min(missing, key=lambda each: each.nearest.distance_m)
        nearest = target.nearest
        others = len(view.targets) - len(missing)
        return (
            f"has no mark at {nearest.name}, {nearest.distance_m:.2f} m from the lidar at "
            f"({nearest.x_m:.2f}, {nearest.y_m:.2f}), nor at any other of {len(target.sightings)} "
            f"places where it should have one"
            + (f" ({others} of {len(view.targets)} in plain sight are marked)" if others else "")
            + f": {self._cause(scan, view, target, others)} ({SWITCH})"
        )

    def _cause(self, scan: LaserScan, view: "_View", target: "_Target", others: int) -> str:
        topic, height_m = self._stack.names.scan, self._campaign.known_map.scan_height_m
        if not target.scan_agrees and others:
            return (
                f"{topic} does not see it where the simulator says that it is. Does it reach up "
                f"to robot.scan_height_m = {height_m:g} m?"
            )
        if not target.scan_agrees:
            return (
                f"{topic} does not see them either. Does the sensor work (a gpu_ray needs a "
                f"display), and does it look at robot.scan_height_m = {height_m:g} m?"
            )
        layers = view.layers
        cause = _without_sources(layers) if not layers.sources else _out_of_height(scan, view)
        topics = ", ".join(sorted({source.topic for source in layers.sources}))
        cause = cause or f"the costmap's observation_sources are on {topics}"
        return f"{topic} sees {'it' if others else 'them'}, but {cause}"

    def _require_that_it_could(self, scan: LaserScan, view: "_View") -> None:
        """With nothing in sight: raise ``NavigatorError`` where parameters and tf alone say that
        nothing will ever be marked."""
        layers, topic = view.layers, self._stack.names.scan
        cause = ""
        if layers.observing and not layers.sources:
            cause = _without_sources(layers)
        elif self._marked_by(layers):
            cause = _out_of_height(scan, view)
        if cause:
            raise NavigatorError(
                f"{self._stack.names.costmap} will have no mark of what {topic} sees: {cause} "
                f"({SWITCH})"
            )


class _Target(NamedTuple):
    """One obstacle that should be marked, or all that is in sight of the known map."""

    sightings: List[Sighting]
    marked: bool
    scan_agrees: bool

    @property
    def nearest(self) -> Sighting:
        return min(self.sightings, key=lambda sighting: sighting.distance_m)


class _View(NamedTuple):
    """What should be marked, and by what."""

    targets: List[_Target]
    lidar: Pose
    """In the costmap's frame."""
    frame: str
    layers: Layers


def _without_sources(layers: Layers) -> str:
    names = ", ".join(layers.names) or "none"
    return f"no layer of the costmap (plugins: {names}) has observation_sources in its namespace"


def _out_of_height(scan: LaserScan, view: _View) -> str:
    """That the plane of a level lidar is not among the heights that are marked; else nothing."""
    sources, z_m = view.layers.sources, view.lidar.position[2]
    low_m = min(source.heights_m[0] for source in sources)
    high_m = max(source.heights_m[1] for source in sources)
    if low_m <= z_m <= high_m or abs(view.lidar.rotation[2, 2]) < LEVEL:
        return ""
    return (
        f"tf has the frame {scan.header.frame_id} at z = {z_m:.2f} m of {view.frame}, and the "
        f"costmap marks from min_obstacle_height {low_m:g} m to max_obstacle_height {high_m:g} m: "
        "mend the transforms, or these"
    )


def ray_directions(scan: LaserScan, lidar: Pose) -> np.ndarray:
    """Where the rays of a scan point, seen from above: shape (n,), rad, in the frame in which
    ``lidar`` is given; the lidar may hang upside down."""
    angles = scan.angle_min + scan.angle_increment * np.arange(len(scan.ranges))
    rays = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(len(angles))])
    pointing = rays @ lidar.rotation.T
    return np.arctan2(pointing[:, 1], pointing[:, 0])


def _carried(world_to_costmap: Pose, seen: Tuple[Sighting, ...]) -> np.ndarray:
    points_m = np.array([(sighting.x_m, sighting.y_m, 0.0) for sighting in seen])
    return world_to_costmap.apply(points_m.reshape(-1, 3))[:, :2]


def _each(answers: Iterable[bool]) -> np.ndarray:
    return np.fromiter(answers, dtype=bool)


def _most_agree(scan: LaserScan, sightings: Sequence[Sighting]) -> bool:
    """Whether the scan has most of what should be seen, where it should."""
    agree = _each(
        abs(scan.ranges[sighting.ray] - sighting.distance_m) <= WITHIN_M for sighting in sightings
    )
    return bool(2 * agree.sum() > len(agree))


def _near(places_m: np.ndarray, marks_m: np.ndarray) -> np.ndarray:
    """Which places, shape (n, 2), have a mark beside them; bool, shape (n,)."""
    if len(places_m) == 0 or len(marks_m) == 0:
        return np.zeros(len(places_m), dtype=bool)
    return cKDTree(marks_m).query(places_m)[0] <= WITHIN_M
