"""Lanes for a planner: the joined lane of the route, and the lanes next to it.

Owns the joining of a route's lanes, and the path along it through the goals.
"""

from typing import Dict, List, Sequence, Tuple

import numpy as np
import shapely
from shapely.ops import substring

from gz_testauto.base.errors import SpecError
from gz_testauto.base.pose import Pose2D
from gz_testauto.planners.global_plan import SPACING_M, resample
from gz_testauto.planners.interface import Lane
from gz_testauto.spec.road import LaneSpec, RoadSpec

LEAST_LEG_M = 1.0
"""Least distance along the route from one position to the next goal."""


def lanes_of(road: RoadSpec) -> Tuple[Lane, ...]:
    """Return the route's lanes, joined, and all lanes next to one of them, directly or
    indirectly."""
    lanes = road.by_name
    route = [lanes[name] for name in road.route]
    adjacent: Dict[str, LaneSpec] = {}
    pending: List[LaneSpec] = list(route)
    while pending:
        lane = pending.pop(0)
        for name in (lane.left, lane.right):
            if name is not None and name not in adjacent and name not in road.route:
                adjacent[name] = lanes[name]
                pending.append(lanes[name])
    return (_joined(route), *(_joined([lane]) for lane in adjacent.values()))


def _joined(lanes: Sequence[LaneSpec]) -> Lane:
    """Return consecutive lanes as one; the common point of two lanes appears once."""
    centers = [np.array(lane.center_m, dtype=float) for lane in lanes]
    widths = [np.array(lane.widths_m, dtype=float) for lane in lanes]
    center, width = centers[0], widths[0]
    for points, wide in zip(centers[1:], widths[1:]):
        same = int(np.hypot(*(points[0] - center[-1])) < 1e-6)
        center = np.vstack([center, points[same:]])
        width = np.append(width, wide[same:])
    return Lane(center, width)


def waypoints_along(
    lane: Lane, start: Pose2D, goals: Sequence[Pose2D], names: Sequence[str]
) -> Tuple[np.ndarray, ...]:
    """Return waypoints along a lane's center to each goal, from the start or the previous goal,
    shapes (n, 2).

    Raises ``SpecError`` with the name of a goal that is not after the position before it; ``names``
    are the names of the start and the goals.
    """
    line = shapely.LineString(lane.center_m)
    arc_m = float(line.project(shapely.Point(start.x_m, start.y_m)))
    paths: List[np.ndarray] = []
    before = names[0]
    for goal, name in zip(goals, names[1:]):
        rest = substring(line, arc_m, line.length)
        ends_m = arc_m + float(rest.project(shapely.Point(goal.x_m, goal.y_m)))
        if ends_m < arc_m + LEAST_LEG_M:
            raise SpecError(
                f"{name} ({goal.x_m:g}, {goal.y_m:g}) is not after {before} along the road's "
                "route; move the goal, or extend the route"
            )
        path = resample(shapely.get_coordinates(substring(line, arc_m, ends_m)), SPACING_M)
        path.setflags(write=False)
        paths.append(path)
        arc_m, before = ends_m, name
    return tuple(paths)


def lateral_offset_m(lanes: Sequence[Lane], places_m: np.ndarray) -> np.ndarray:
    """Return the distance of positions (n, 2) from the nearest lane's center, (n,)."""
    points = shapely.points(places_m)
    lines = [shapely.LineString(lane.center_m) for lane in lanes]
    return np.asarray(np.min([shapely.distance(line, points) for line in lines], axis=0))
