"""Global plans: waypoints along the shortest path on the static map, or along a route's lanes."""

import math
from typing import Dict, List, Optional, Sequence, Tuple

import numpy as np
import shapely
from shapely.ops import substring

from gz_testauto.base.errors import SpecError
from gz_testauto.base.pose import Pose2D
from gz_testauto.grid.occupancy import OccupancyGrid
from gz_testauto.grid.search import shortest_path, simplify
from gz_testauto.planners.interface import Lane, RobotLimits
from gz_testauto.spec.road import LaneSpec, RoadSpec

SPACING_M = 0.5  # largest distance between two consecutive waypoints
LEAST_LEG_M = 1.0  # least distance along the route between start and consecutive goals


def plan_waypoints(
    grid: OccupancyGrid,
    start: Pose2D,
    goal: Pose2D,
    limits: RobotLimits,
    margin_m: float,
) -> Optional[np.ndarray]:
    """Return waypoints in the world frame, shape (n, 2), or None without a path.

    Walls are inflated by the circumscribed radius and ``margin_m``, or less if start or goal is
    nearer to a wall.
    """
    return plan_legs(grid, [(start, goal)], limits, margin_m)[0]


def plan_legs(
    grid: OccupancyGrid,
    legs: Sequence[Tuple[Pose2D, Pose2D]],
    limits: RobotLimits,
    margin_m: float,
) -> List[Optional[np.ndarray]]:
    """Return the waypoints of :func:`plan_waypoints` for each start and goal. Repeated legs share
    an array."""
    radius_m = limits.circumscribed_radius_m
    ends = [(start[:2], goal[:2]) for start, goal in legs]
    waypoints: Dict[object, np.ndarray] = {}
    for inflation_m in (radius_m + margin_m, radius_m, min(radius_m, limits.half_width_m)):
        remaining_legs = [leg for leg in ends if leg not in waypoints]
        if not remaining_legs:
            break
        inflated_grid = grid.inflate(inflation_m)
        for leg in dict.fromkeys(remaining_legs):
            path = shortest_path(inflated_grid, *leg)
            if path is not None:
                waypoints[leg] = resample(simplify(inflated_grid, path), SPACING_M)
    return [waypoints.get(leg) for leg in ends]


def resample(path: np.ndarray, spacing_m: float) -> np.ndarray:
    """Return the corners of a polyline and evenly spaced points between them, at most ``spacing_m``
    apart, shape (n, 2)."""
    path = np.asarray(path, dtype=float)
    pieces = [path[:1]]
    for begin, end in zip(path[:-1], path[1:]):
        point_count = max(1, math.ceil(math.hypot(*(end - begin)) / spacing_m - 1e-9))
        fractions = np.arange(1, point_count + 1)[:, None] / point_count
        pieces.append(begin + fractions * (end - begin))
    return np.concatenate(pieces)


def lanes_of(road: RoadSpec) -> Tuple[Lane, ...]:
    """Return the joined lane of the route, then the lanes next to it, and next to these."""
    lanes = road.by_name
    route = [lanes[name] for name in road.route]
    adjacent: Dict[str, LaneSpec] = {}
    pending_lanes: List[LaneSpec] = list(route)
    while pending_lanes:
        lane = pending_lanes.pop(0)
        for name in (lane.left, lane.right):
            if name is not None and name not in adjacent and name not in road.route:
                adjacent[name] = lanes[name]
                pending_lanes.append(lanes[name])
    return (join_lanes(route), *(join_lanes([lane]) for lane in adjacent.values()))


def join_lanes(lanes: Sequence[LaneSpec]) -> Lane:
    """Return consecutive lanes as one lane. A point that two lanes share occurs once."""
    centers = [np.array(lane.center_m, dtype=float) for lane in lanes]
    widths = [np.array(lane.widths_m, dtype=float) for lane in lanes]
    center, width = centers[0], widths[0]
    for points, lane_width in zip(centers[1:], widths[1:]):
        shared_points = int(np.hypot(*(points[0] - center[-1])) < 1e-6)
        center = np.vstack([center, points[shared_points:]])
        width = np.append(width, lane_width[shared_points:])
    return Lane(center, width)


def waypoints_along(
    lane: Lane, start: Pose2D, goals: Sequence[Pose2D], names: Sequence[str]
) -> Tuple[np.ndarray, ...]:
    """Return the waypoints along the lane to each goal, shape (n, 2), from the previous position.

    ``names`` are those of start and goals. Raises ``SpecError`` if a goal is not after the previous
    position along the lane.
    """
    line = shapely.LineString(lane.center_m)
    arc_m = float(line.project(shapely.Point(start.x_m, start.y_m)))
    paths: List[np.ndarray] = []
    from_name = names[0]
    for goal, name in zip(goals, names[1:]):
        remaining_line = substring(line, arc_m, line.length)
        end_m = arc_m + float(remaining_line.project(shapely.Point(goal.x_m, goal.y_m)))
        if end_m < arc_m + LEAST_LEG_M:
            raise SpecError(
                f"{name} ({goal.x_m:g}, {goal.y_m:g}) is not after {from_name} along the road's "
                "route; move the goal, or extend the route"
            )
        path = resample(shapely.get_coordinates(substring(line, arc_m, end_m)), SPACING_M)
        path.setflags(write=False)
        paths.append(path)
        arc_m, from_name = end_m, name
    return tuple(paths)


def lateral_offset_m(lanes: Sequence[Lane], positions_m: np.ndarray) -> np.ndarray:
    """Return the distance (m) of each position, shape (n, 2), from the nearest center line."""
    points = shapely.points(positions_m)
    lines = [shapely.LineString(lane.center_m) for lane in lanes]
    return np.asarray(np.min([shapely.distance(line, points) for line in lines], axis=0))
