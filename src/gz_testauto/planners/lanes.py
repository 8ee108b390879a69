"""Lanes as a planner has them: the one that the route makes, and those beside it.

Owns the joining of a route's lanes to one, and the way along it from place to place.
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
"""A goal must be so far along the route from where the robot is."""


def lanes_of(road: RoadSpec) -> Tuple[Lane, ...]:
    """The route's lanes, joined, and all that are beside one of them, or beside those."""
    lanes = road.by_name
    route = [lanes[name] for name in road.route]
    beside: Dict[str, LaneSpec] = {}
    asked: List[LaneSpec] = list(route)
    while asked:
        lane = asked.pop(0)
        for name in (lane.left, lane.right):
            if name is not None and name not in beside and name not in road.route:
                beside[name] = lanes[name]
                asked.append(lanes[name])
    return (_joined(route), *(_joined([lane]) for lane in beside.values()))


def _joined(lanes: Sequence[LaneSpec]) -> Lane:
    """Lanes that follow one another as one; where one ends and the next begins is one point."""
    centers = [np.array(lane.center_m, dtype=float) for lane in lanes]
    widths = [np.array(lane.widths_m, dtype=float) for lane in lanes]
    center, width = centers[0], widths[0]
    for points, wide in zip(centers[1:], widths[1:]):
        same = int(np.hypot(*(points[0] - center[-1])) < 1e-6)
        center = np.vstack([center, points[same:]])
        width = np.append(width, wide[same:])
    return Lane(center, width)


def ways_along(
    lane: Lane, start: Pose2D, goals: Sequence[Pose2D], names: Sequence[str]
) -> Tuple[np.ndarray, ...]:
    """Way-points along a lane's center to each goal, from the start or the goal before, shapes
    (n, 2). Raises ``SpecError`` for a goal that does not lie after the place before it, saying its
    name; ``names`` are the start's and the goals'."""
    line = shapely.LineString(lane.center_m)
    arc_m = float(line.project(shapely.Point(start.x_m, start.y_m)))
    ways: List[np.ndarray] = []
    before = names[0]
    for goal, name in zip(goals, names[1:]):
        rest = substring(line, arc_m, line.length)
        ends_m = arc_m + float(rest.project(shapely.Point(goal.x_m, goal.y_m)))
        if ends_m < arc_m + LEAST_LEG_M:
            raise SpecError(
                f"{name} ({goal.x_m:g}, {goal.y_m:g}) does not lie after {before} along the road's "
                "route; move it on, or lead the route to it"
            )
        way = resample(shapely.get_coordinates(substring(line, arc_m, ends_m)), SPACING_M)
        way.setflags(write=False)
        ways.append(way)
        arc_m, before = ends_m, name
    return tuple(ways)


def aside_m(lanes: Sequence[Lane], places_m: np.ndarray) -> np.ndarray:
    """How far places (n, 2) are from the nearest lane's center, (n,)."""
    points = shapely.points(places_m)
    lines = [shapely.LineString(lane.center_m) for lane in lanes]
    return np.asarray(np.min([shapely.distance(line, points) for line in lines], axis=0))
