"""The fixed part of a world for the placement of obstacles: walls, keep-outs, and the required
mission."""

import functools
import math
from dataclasses import dataclass, field
from typing import Callable, Dict, Iterable, List, Optional, Sequence, Tuple

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from gz_testauto.base.errors import PlacementError
from gz_testauto.grid.visibility import (
    PathBounds,
    free_region,
    inflate,
    shortest_path_through,
)
from gz_testauto.sdf.floor import ANY_ROBOT, Heights
from gz_testauto.sdf.scene import WorldScene, footprints
from gz_testauto.spec.regions import KeepOut

Point = Tuple[float, float]

# Tolerance of outlines for lower bounds of path lengths, as a share of the robot's radius: walls,
# which are enlarged by the radius, remain closed.
OUTLINE_TOLERANCE = 0.25

OPEN_MARGIN_M = 10.0  # width of the margin around a world that a path can use


@dataclass(frozen=True)
class RequiredMission:
    """The mission that must be possible in a world.

    ``radius_m`` is the radius of the circle around the origin of the robot's base frame that
    contains the robot's outline. A shape at ``heights`` obstructs the robot. ``via`` are the goals
    before the final goal, in order.
    """

    start: Point
    goal: Point
    radius_m: float
    heights: Heights = ANY_ROBOT
    via: Tuple[Point, ...] = ()

    @property
    def goals(self) -> Tuple[Point, ...]:
        return (*self.via, self.goal)

    @property
    def points(self) -> Tuple[Point, ...]:
        return (self.start, *self.goals)


def circumscribed_radius_m(footprint_m: Iterable[Point]) -> float:
    return max(math.hypot(x, y) for x, y in footprint_m)


@dataclass(frozen=True, eq=False)
class Site:
    """The outlines of the base world (m, world frame), and the mission.

    Obstacles are placed with a gap to ``walls``. ``mission_walls`` are the walls that obstruct the
    robot of the mission, by default all. ``before_step`` is called before each long computation,
    and can raise an exception to stop it.
    """

    walls: Tuple[BaseGeometry, ...] = ()
    mission: Optional[RequiredMission] = None
    mission_walls: Optional[Tuple[BaseGeometry, ...]] = None
    before_step: Callable[[], None] = field(default=lambda: None, repr=False)
    _base_areas: Dict[float, BaseGeometry] = field(default_factory=dict, init=False, repr=False)
    _path_bounds: Dict[float, PathBounds] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(
        cls,
        scene: WorldScene,
        mission: Optional[RequiredMission],
        excluded_names: Iterable[str] = (),
        before_step: Callable[[], None] = lambda: None,
    ) -> "Site":
        heights, excluded_set = (
            ANY_ROBOT if mission is None else mission.heights,
            set(excluded_names),
        )
        highest_m = max(ANY_ROBOT.high_m, heights.high_m)
        walls = walls_of(scene, Heights(ANY_ROBOT.low_m, highest_m), excluded_set)
        return cls(walls, mission, walls_of(scene, heights, excluded_set), before_step)

    @property
    def obstructing(self) -> Tuple[BaseGeometry, ...]:
        return self.walls if self.mission_walls is None else self.mission_walls

    @functools.cached_property
    def wall_union(self) -> BaseGeometry:
        self.before_step()
        union = shapely.union_all(list(self.walls))
        shapely.prepare(union)
        return union

    @functools.cached_property
    def _bounds_of_walls(self) -> List[BaseGeometry]:
        if not self.obstructing:
            return []
        return [shapely.box(*shapely.total_bounds(np.array(self.obstructing, dtype=object)))]

    def free_area_m2(self, ground: BaseGeometry) -> float:
        return float(shapely.difference(ground, self.wall_union).area)

    def blocked(self, margin_m: float) -> BaseGeometry:
        """Return the area that the robot's center must not enter: nearer to a wall than the sum of
        the robot's radius and ``margin_m``."""
        assert self.mission is not None
        walls = np.array(self.obstructing, dtype=object)
        return shapely.union_all(inflate(walls, self.mission.radius_m + margin_m))

    def base_area(self, margin_m: float) -> BaseGeometry:
        """Return the area of :func:`check_base`, computed once per margin."""
        if margin_m not in self._base_areas:
            self.before_step()
            self._base_areas[margin_m] = check_base(self, margin_m)
        return self._base_areas[margin_m]

    def path_bounds(self, margin_m: float) -> PathBounds:
        if margin_m not in self._path_bounds:
            self.before_step()
            free_area, mission = self.free_region(self.base_area(margin_m)), self.mission
            assert free_area is not None and mission is not None  # checked by check_base
            self._path_bounds[margin_m] = PathBounds(
                free_area, mission.points, OUTLINE_TOLERANCE * mission.radius_m
            )
        return self._path_bounds[margin_m]

    def free_region(
        self, blocked_area: BaseGeometry, obstacles: Sequence[BaseGeometry] = ()
    ) -> Optional[shapely.Polygon]:
        """Return the connected area outside of ``blocked_area`` that contains the start and all
        goals, or None. The search area contains the walls and ``obstacles``."""
        assert self.mission is not None
        return free_region(self.area(obstacles), blocked_area, *self.mission.points)

    def shortest_path(
        self,
        blocked_area: BaseGeometry,
        obstacles: Sequence[BaseGeometry] = (),
        bounds: Optional[PathBounds] = None,
    ) -> Optional[np.ndarray]:
        """Return the corners of the shortest path in :meth:`free_region`, shape (n, 2), or None if
        no path exists.

        ``bounds`` are those of an area that contains this region.
        """
        assert self.mission is not None
        free_area = self.free_region(blocked_area, obstacles)
        if free_area is None:
            return None
        return shortest_path_through(free_area, *self.mission.points, bounds=bounds)

    def keep_out(self, zones: Sequence[KeepOut]) -> "List[Tuple[BaseGeometry, float]]":
        """Return the core and the radius (m) of each keep-out. Raises ``PlacementError`` for a
        keep-out around a start or goal of an unknown mission."""
        cores_and_radii = []
        for zone in zones:
            if zone.shape is not None:
                cores_and_radii.append((zone.shape.geometry, 0.0))
                continue
            if self.mission is None:
                raise PlacementError(
                    f"keep_out is around the {zone.center}, which is not known; set 'mission' with "
                    "its start and goal, or use a circle"
                )
            mission = self.mission
            centers = (mission.start,) if zone.center == "start" else mission.goals
            radius_m = float(zone.radius_m or 0.0)
            cores_and_radii += [(shapely.Point(center), radius_m) for center in centers]
        return cores_and_radii

    def area(self, obstacles: Sequence[BaseGeometry] = ()) -> shapely.Polygon:
        """Return the rectangle around the mission, all walls and ``obstacles``, with a margin."""
        assert self.mission is not None
        points = map(shapely.Point, self.mission.points)
        geometries = np.array([*self._bounds_of_walls, *obstacles, *points], dtype=object)
        x_min, y_min, x_max, y_max = shapely.total_bounds(geometries)
        margin = OPEN_MARGIN_M + self.mission.radius_m
        return shapely.box(x_min - margin, y_min - margin, x_max + margin, y_max + margin)


def walls_of(
    scene: WorldScene, heights: Heights = ANY_ROBOT, excluded_names: Iterable[str] = ()
) -> Tuple[BaseGeometry, ...]:
    """Return the outlines, at ``heights``, of all models except the ground and ``excluded_names``,
    as one polygon per connected part."""
    excluded_set = set(excluded_names)
    shapes = [
        shape
        for name, model in scene.models.items()
        if name not in excluded_set
        for shape in model.collisions
        if not shape.is_ground
    ]
    parts = shapely.get_parts(footprints(shapes, *heights))
    return tuple(parts[shapely.area(parts) > 0])


def check_base(site: Site, margin_m: float) -> BaseGeometry:
    """Return the area that the robot's center must not enter.

    Raises ``PlacementError`` with the cause if no path exists even without obstacles, or if no
    mission is specified.
    """
    mission = site.mission
    if mission is None:
        raise PlacementError(
            "'solvable' needs a mission; set 'mission' with start, goal, and robot or footprint_m"
        )
    radius = mission.radius_m + margin_m
    walls = np.array(site.obstructing, dtype=object)
    ends = [("start", mission.start), *(("goal", goal) for goal in mission.goals)]
    for name, point in ends:
        distance = shapely.distance(walls, shapely.Point(point)).min(initial=math.inf)
        if distance < radius:
            raise PlacementError(
                f"the {name} ({point[0]:g}, {point[1]:g}) is {distance:.2f} m from the base "
                f"world's walls, and the robot's circle with margin_m has a radius of "
                f"{radius:.2f} m; move the {name}"
                + (", or lower margin_m" if distance >= mission.radius_m else "")
            )
    blocked_area = site.blocked(margin_m)
    if site.free_region(blocked_area) is None:
        raise PlacementError(
            f"no path {2 * radius:.2f} m wide leads from start {mission.start} to goal "
            f"{' to goal '.join(map(str, mission.goals))} even without obstacles; move start or "
            "goal" + (", or lower margin_m" if margin_m > 0 else "")
        )
    return blocked_area
