"""Draw missions in a world: a start and goals between which a path exists.

A point is drawn uniformly in the free area. All points of a mission are drawn again until a path of
a permitted length leads through them.
"""

import math
from dataclasses import dataclass
from typing import List, Optional, Sequence, Tuple

import numpy as np
import shapely

from gz_testauto.base.errors import PlacementError, SpecError
from gz_testauto.grid.search import path_length_m
from gz_testauto.grid.visibility import inflate, shortest_path_through
from gz_testauto.sampling.difficulty import Difficulty, DifficultyEvaluator
from gz_testauto.sampling.site import OPEN_MARGIN_M, RequiredMission, Site, walls_of
from gz_testauto.sdf.floor import Heights
from gz_testauto.sdf.scene import WorldScene
from gz_testauto.spec.missions import MissionsSpec, Place
from gz_testauto.spec.regions import union_of

CLEARANCE_M = 0.3  # default distance between the robot's circle and all shapes

# Numbers of draws, and of shortest paths that are computed for them, until an error is raised.
MOST_DRAWS = 20_000
MOST_PATHS = 300
MOST_POINTS = 200_000  # points that are drawn in the bounds of an area until one is inside

Point = Tuple[float, float]
DrawnPose = Tuple[float, float, float]
"""x (m), y (m) and yaw (rad) in the world frame."""


@dataclass(frozen=True)
class DrawnMission:
    """A mission in a world. ``start`` and ``goals`` are in the world frame, and ``shortest_path_m``
    is the length of the shortest path of the robot's circumscribed circle through all goals."""

    start: DrawnPose
    goals: Tuple[DrawnPose, ...]
    shortest_path_m: float
    difficulty: Difficulty


@dataclass(frozen=True)
class MissionRobot:
    """The robot of drawn missions: the radius of its circumscribed circle, the heights at which
    shapes obstruct it, and the distance from a goal at which it has reached the goal."""

    radius_m: float
    heights: Heights
    tolerance_m: float


class MissionSampler:
    """A generator of missions in one world.

    The robot does not start or end in ``occupied`` (m, world frame). Raises ``SpecError`` for a
    clearance below the robot's radius, and ``PlacementError`` if an area has no free part.
    """

    def __init__(
        self,
        scene: WorldScene,
        spec: MissionsSpec,
        robot: MissionRobot,
        occupied: Sequence[shapely.Geometry] = (),
    ) -> None:
        self._spec, self._robot = spec, robot
        clearance_m = spec.clearance_m or robot.radius_m + CLEARANCE_M
        if clearance_m < robot.radius_m:
            raise SpecError(
                f"worlds.missions.clearance_m is {clearance_m:g}, but the radius of the robot's "
                f"circumscribed circle is {robot.radius_m:.3g} m; increase it"
            )
        self._walls = walls_of(scene, robot.heights)
        if not self._walls and "free" in (spec.start, spec.goal):
            raise PlacementError(
                "worlds.missions: the world has no shape that bounds the free area; set start and "
                "goal to regions"
            )
        walls = np.array(self._walls, dtype=object)
        places = [union_of(place) for place in (spec.start, spec.goal) if place != "free"]
        low_x, low_y, high_x, high_y = shapely.total_bounds([*self._walls, *places])
        inside = shapely.box(low_x, low_y, high_x, high_y)
        area = inside.buffer(OPEN_MARGIN_M + robot.radius_m, join_style="mitre")
        blocked_area = shapely.union_all(inflate(walls, robot.radius_m))
        parts = shapely.get_parts(shapely.difference(area, blocked_area))
        sizes_m2 = shapely.area(shapely.intersection(parts, inside))
        is_enclosed = ~shapely.intersects(parts, area.exterior)
        if len(parts) and is_enclosed[sizes_m2.argmax()]:
            parts = parts[is_enclosed]
        self._parts: List[shapely.Polygon] = list(parts)
        shapely.prepare(parts)
        near_walls = shapely.union_all([*inflate(walls, clearance_m), *occupied])
        allowed = shapely.difference(shapely.union_all(parts), near_walls)
        self._evaluator: Optional[DifficultyEvaluator] = None
        self._starts, self._goals = (
            self._area_of(name, place, shapely.intersection(allowed, inside), clearance_m)
            for name, place in (("start", spec.start), ("goal", spec.goal))
        )

    def draw(self, random: np.random.Generator) -> DrawnMission:
        """Return a random mission. Raises ``PlacementError`` if no drawn mission is valid."""
        spec, (shortest_m, longest_m) = self._spec, self._spec.path_m
        path_count = 0
        for _ in range(MOST_DRAWS):
            areas = (self._starts, *[self._goals] * (spec.via + 1))
            points = [_point_in(area, random) for area in areas]
            part = self._part_of(points)
            distances_m = [math.dist(*ends) for ends in zip(points, points[1:])]
            is_trivial = min(distances_m) <= self._robot.tolerance_m
            if part is None or is_trivial or sum(distances_m) > longest_m:
                continue
            path = shortest_path_through(part, *points)
            if path is not None and shortest_m <= path_length_m(path) <= longest_m:
                return self._mission(points, path, random)
            path_count += 1
            if path_count == MOST_PATHS:
                break
        raise PlacementError(
            f"worlds.missions: no start and goals with a path of {shortest_m:g} to {longest_m:g} m "
            "were found: (1) widen path_m, (2) enlarge the regions of start and goal, (3) lower "
            "clearance_m, (4) use fewer or smaller random obstacles"
        )

    def _area_of(
        self, name: str, place: Place, allowed: shapely.Geometry, clearance_m: float
    ) -> shapely.Geometry:
        area = allowed if place == "free" else shapely.intersection(allowed, union_of(place))
        if not area.area > 0:
            raise PlacementError(
                f"worlds.missions.{name}: no position is {clearance_m:.3g} m from all shapes; "
                "enlarge the region, or lower clearance_m"
            )
        shapely.prepare(area)
        return area

    def _part_of(self, points: Sequence[Point]) -> Optional[shapely.Polygon]:
        xs, ys = zip(*points)
        for part in self._parts:
            if shapely.contains_xy(part, xs, ys).all():
                return part
        return None

    def _mission(
        self, points: Sequence[Point], path: np.ndarray, random: np.random.Generator
    ) -> DrawnMission:
        headings = random.uniform(-math.pi, math.pi, len(points)).tolist()
        if self._spec.heading == "along_path":
            headings = _headings_along(path, points)
        start, *goals = ((*point, round(yaw, 6)) for point, yaw in zip(points, headings))
        if self._evaluator is None:  # it depends only on the walls and the robot
            start_m, *via, goal_m = points
            mission = RequiredMission(
                start_m, goal_m, self._robot.radius_m, self._robot.heights, tuple(via)
            )
            ground = shapely.box(*shapely.total_bounds(self._parts))
            self._evaluator = DifficultyEvaluator(Site(self._walls, mission), 0.0, ground)
        difficulty = self._evaluator.difficulty([], None, path)
        return DrawnMission(start, tuple(goals), path_length_m(path), difficulty)


def _point_in(area: shapely.Geometry, random: np.random.Generator) -> Point:
    low_x, low_y, high_x, high_y = area.bounds
    for _ in range(MOST_POINTS):
        x, y = random.random(2).tolist()
        x, y = round(low_x + (high_x - low_x) * x, 6), round(low_y + (high_y - low_y) * y, 6)
        if shapely.contains_xy(area, x, y):
            return x, y
    raise PlacementError("worlds.missions: the free part of an area is too small; enlarge it")


def _headings_along(path: np.ndarray, points: Sequence[Point]) -> List[float]:
    """Return the direction (rad) in which the path leaves the start and reaches each goal."""
    end_indices, index = [1], 0
    for point in points[1:]:
        index += 1
        while tuple(path[index]) != point:
            index += 1
        end_indices.append(index)
    steps = (path[end_indices] - path[np.array(end_indices) - 1]).tolist()
    return [math.atan2(y_m, x_m) for x_m, y_m in steps]
