"""Create the static maps of a campaign, and plan global paths on them.

Worlds that are multiplied from one base world share a map; other worlds have separate maps.
"""

import functools
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np
import shapely

from gz_testauto.base.errors import SpecError
from gz_testauto.base.pose import Pose2D
from gz_testauto.grid.occupancy import OccupancyGrid
from gz_testauto.grid.search import MAX_SEARCHED_CELLS, shortest_path
from gz_testauto.planners.global_plan import lanes_of, plan_legs, waypoints_along
from gz_testauto.planners.interface import Lane, RobotLimits
from gz_testauto.sampling.naming import is_obstacle
from gz_testauto.sampling.regions import places_of, with_bands
from gz_testauto.sampling.site import OPEN_MARGIN_M
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.includes import read_world
from gz_testauto.sdf.robot import RobotBody, RobotModel
from gz_testauto.sdf.scene import WorldScene, read_scene
from gz_testauto.spec.campaign import BuiltinCampaignSpec, CampaignSpec
from gz_testauto.worlds.record import WorldRecord
from gz_testauto.worlds.source import Mission, xacro_input
from gz_testauto.worlds.static_map import DEFAULT_HEIGHT_M, Bounds, bounds_of, map_of

Leg = Tuple[Pose2D, Pose2D]  # the start of a part of the mission, and its goal


class MapInputs(NamedTuple):
    """The inputs of a static map: the world file ``base``, and the start and the goals (world
    frame), which the map must contain."""

    base: Path
    start: Pose2D
    goals: Tuple[Pose2D, ...]

    @property
    def legs(self) -> Tuple[Leg, ...]:
        return tuple(zip((self.start, *self.goals), self.goals))

    def named(self, pose: Pose2D) -> str:
        """Return the name of the start or of a goal for messages."""
        if pose is self.start:
            return "robot.start"
        if len(self.goals) == 1:
            return "goal"
        return f"goal {self.goals.index(pose) + 1} of {len(self.goals)}"


class GlobalPlan(NamedTuple):
    bounds: Bounds
    waypoints_m: Tuple[np.ndarray, ...]


class StaticMaps:
    """The static maps of a campaign, with the waypoints from the start to the goals in each world.

    Maps show the collision shapes at ``scan_height_m`` (world frame), the height of the lidar.
    """

    def __init__(self, spec: CampaignSpec, robot: RobotBody, limits: RobotLimits) -> None:
        self._spec, self._limits = spec, limits
        self.scan_height_m = scan_height_m(spec, robot)
        self.plans: Dict[MapInputs, GlobalPlan] = {}

    def waypoints(self, world: WorldRecord, mission: Mission) -> Tuple[np.ndarray, ...]:
        """Return the waypoints to each goal from the previous goal or the start.

        The shape of each array is (n, 2) (m, world frame). On a road, they are along its route.
        Raises ``SpecError`` if the static map has no path.
        """
        lanes, inputs = self.lanes(mission), self.inputs(world, mission)
        if not lanes:
            return self._plan(inputs).waypoints_m
        names = [inputs.named(pose) for pose in (inputs.start, *inputs.goals)]
        return waypoints_along(lanes[0], inputs.start, inputs.goals, names)

    def adopt(self, plans: Dict[MapInputs, GlobalPlan]) -> None:
        """Add plans that another process computed. Their waypoints become read-only."""
        for plan in plans.values():
            for path in plan.waypoints_m:
                path.setflags(write=False)  # pickle makes arrays writable
        self.plans.update(plans)

    def lanes(self, mission: Mission) -> Tuple[Lane, ...]:
        """Return the lanes of the mission's road: first the route, then the lanes next to it."""
        return () if mission.road is None else lanes_of(mission.road)

    def inputs(self, world: WorldRecord, mission: Mission) -> MapInputs:
        base = self._spec.worlds.base or world.path
        return MapInputs(base, mission.start, mission.goals)

    def bounds(self, world: WorldRecord, mission: Mission) -> Bounds:
        return self._plan(self.inputs(world, mission)).bounds

    def grid(self, inputs: MapInputs) -> OccupancyGrid:
        """Return the static map as an occupancy grid, or raise the errors of :meth:`waypoints`."""
        return self._make_map(self._read_base_scene(inputs), self._plan(inputs).bounds)

    def _read_base_scene(self, inputs: MapInputs) -> WorldScene:
        worlds = self._spec.worlds
        source: Union[SdfDocument, Path] = inputs.base
        xacro = None if worlds.base is None else xacro_input(worlds, worlds.base)
        if xacro is not None:
            source = read_world(inputs.base, worlds.repair, xacro)
        return read_scene(source, repair=worlds.repair, allow_missing=worlds.allow_missing)

    def _make_map(self, scene: WorldScene, bounds: Bounds) -> OccupancyGrid:
        resolution_m = self._spec.global_plan.resolution_m
        pattern = self._spec.worlds.obstacle_pattern
        return _last_map_of(scene, resolution_m, self.scan_height_m, pattern, bounds)

    def _plan(self, inputs: MapInputs) -> GlobalPlan:
        if inputs not in self.plans:
            self.plans[inputs] = self._new_plan(inputs)
        return self.plans[inputs]

    def _new_plan(self, inputs: MapInputs) -> GlobalPlan:
        spec, limits = self._spec, self._limits
        resolution, plan_margin_m = spec.global_plan.resolution_m, spec.global_plan.margin_m
        margin_m = limits.circumscribed_radius_m + plan_margin_m
        if self._is_for_stack:
            margin_m += OPEN_MARGIN_M
        scene = self._read_base_scene(inputs)
        if spec.global_plan.bounds_m is not None:
            return self._plan_within(inputs, scene, (self._configured_bounds(inputs),))
        areas = self._required_areas(inputs)
        bounds = bounds_of(scene, resolution, areas, margin_m, MAX_SEARCHED_CELLS)
        x_min, y_min, x_max, y_max = bounds
        # If the bounds contain no path, the robot can drive around them within a wider margin.
        border_m = OPEN_MARGIN_M + margin_m
        wider = (x_min - border_m, y_min - border_m, x_max + border_m, y_max + border_m)
        areas = {"the path around the world": wider}
        widest = bounds_of(scene, resolution, areas, 0.0, MAX_SEARCHED_CELLS)
        return self._plan_within(inputs, scene, (bounds, widest))

    def _plan_within(
        self, inputs: MapInputs, scene: WorldScene, candidate_bounds: Sequence[Bounds]
    ) -> GlobalPlan:
        """Return the plan within the first of ``candidate_bounds`` in which all legs have a path,
        or raise ``SpecError``."""
        for bounds in candidate_bounds:
            grid = self._make_map(scene, bounds)
            paths = _paths(
                grid.occupied.tobytes(),
                grid.occupied.shape,
                (grid.resolution_m, grid.origin_x_m, grid.origin_y_m),
                inputs.legs,
                self._limits,
                self._spec.global_plan.margin_m,
            )
            waypoints_m = tuple(path for path in paths if path is not None)
            if len(waypoints_m) == len(paths):
                for path in waypoints_m:
                    path.setflags(write=False)
                return GlobalPlan(bounds, waypoints_m)
            leg = next(leg for leg, path in zip(inputs.legs, paths) if path is None)
        raise SpecError(f"{inputs.base}: {self._no_path_message(inputs, leg, scene, grid)}")

    def _configured_bounds(self, inputs: MapInputs) -> Bounds:
        bounds = self._spec.global_plan.bounds_m
        assert bounds is not None
        x_min, y_min, x_max, y_max = bounds
        for pose in (inputs.start, *inputs.goals):
            # the upper edges are not part of the last cells
            if not (x_min <= pose.x_m < x_max and y_min <= pose.y_m < y_max):
                raise SpecError(
                    f"global_plan.bounds_m is {list(bounds)}, but {inputs.named(pose)} "
                    f"({pose.x_m:g}, {pose.y_m:g}) is not inside; enlarge or remove it"
                )
        return bounds

    @property
    def _is_for_stack(self) -> bool:
        # A navigation stack cannot plan outside of the map.
        return not isinstance(self._spec, BuiltinCampaignSpec)

    def _required_areas(self, inputs: MapInputs) -> Dict[str, Bounds]:
        areas = {
            inputs.named(pose): (pose.x_m, pose.y_m, pose.x_m, pose.y_m)
            for pose in (inputs.start, *inputs.goals)
        }
        obstacles = self._spec.worlds.obstacles
        if obstacles is not None:
            # Only walls, which are in the map, make the path longer than these straight lines.
            straight_path = [(pose.x_m, pose.y_m) for pose in (inputs.start, *inputs.goals)]
            obstacles = with_bands(obstacles, straight_path)
            for group in obstacles.obstacles:
                places = places_of(obstacles, group)
                if not places.is_empty:
                    areas[f"the region of obstacles {group.label!r}"] = places.bounds
        for actor in self._spec.actors if self._is_for_stack else ():
            if actor.ground is not None and not actor.ground.is_empty:
                areas[f"the area of the actor {actor.name!r}"] = actor.ground.bounds
        return areas

    def _no_path_message(
        self,
        inputs: MapInputs,
        leg: Tuple[Pose2D, Pose2D],
        scene: WorldScene,
        grid: OccupancyGrid,
    ) -> str:
        start, goal = leg
        start_name, goal_name = map(inputs.named, leg)
        radius_m = min(self._limits.circumscribed_radius_m, self._limits.half_width_m)
        inflated_grid = grid.inflate(radius_m)
        for name, pose in ((start_name, start), (goal_name, goal)):
            if not inflated_grid.is_free(pose.x_m, pose.y_m):
                model, distance_m = self._nearest_model(scene, pose)
                finer = ", or lower global_plan.resolution_m" if distance_m > radius_m else ""
                return (
                    f"{name} ({pose.x_m:g}, {pose.y_m:g}) is {distance_m:.2f} m from model "
                    f"{model} at a height of {self.scan_height_m:.2f} m, too near for a robot of "
                    f"half width {radius_m:.2f} m on a map of {grid.resolution_m:g} m cells; move "
                    f"{name}{finer}"
                )
        problem = (
            f"the static map has no path from ({start.x_m:g}, {start.y_m:g}) to ({goal.x_m:g}, "
            f"{goal.y_m:g})"
        )
        if shortest_path(grid, (start.x_m, start.y_m), (goal.x_m, goal.y_m)) is None:
            return (
                f"{problem}: at a height of {self.scan_height_m:.2f} m, models of the world "
                f"separate the two positions; move {start_name} or {goal_name}"
            )
        return (
            f"{problem} for a robot {2 * radius_m:.2f} m wide, but it has a path for a narrower "
            f"robot; move {start_name} or {goal_name}, make the robot's footprint narrower, or "
            "lower global_plan.resolution_m"
        )

    def _nearest_model(self, scene: WorldScene, pose: Pose2D) -> Tuple[str, float]:
        point, height_m = shapely.Point(pose.x_m, pose.y_m), self.scan_height_m
        pattern = self._spec.worlds.obstacle_pattern
        nearest: Optional[Tuple[float, str]] = None
        for name, model in scene.models.items():
            outline = model.obstacle_footprint(height_m, height_m)
            if not outline.is_empty and not is_obstacle(name, pattern):
                distance_m = float(outline.distance(point))
                nearest = min(nearest or (distance_m, name), (distance_m, name))
        assert nearest is not None  # a model occupies the cell
        return nearest[1], nearest[0]


_last_map_of = functools.lru_cache(maxsize=1)(map_of)  # the HTML page uses the map again


# Worlds of one directory often have the same static map.
@functools.lru_cache(maxsize=1)
def _paths(
    occupied: bytes,
    shape: Tuple[int, int],
    placement_m: Tuple[float, float, float],
    legs: Tuple[Leg, ...],
    limits: RobotLimits,
    margin_m: float,
) -> List[Optional[np.ndarray]]:
    """Return the paths of :func:`plan_legs` on a grid. ``placement_m`` are its resolution and
    origin."""
    grid = OccupancyGrid(np.frombuffer(occupied, bool).reshape(shape), *placement_m)
    return plan_legs(grid, legs, limits, margin_m)


def scan_height_m(spec: CampaignSpec, robot: RobotBody) -> float:
    """Return the height (m) at which the map shows obstacles: by default that of the lidar, or
    :data:`DEFAULT_HEIGHT_M` without a lidar."""
    if spec.robot.scan_height_m is not None:
        return spec.robot.scan_height_m
    lidar = robot.lidar if isinstance(robot, RobotModel) else None
    return DEFAULT_HEIGHT_M if lidar is None else lidar.mount.position[2]
