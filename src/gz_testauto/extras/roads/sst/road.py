"""The section of road that is used for one plan, as grids that are computed from lanes."""

import math
from typing import NamedTuple, Optional, Sequence, Tuple

import numpy as np
from scipy import ndimage
from scipy.spatial import cKDTree

from gz_testauto.base.compiled import compiled
from gz_testauto.extras.roads.center_line import CenterLine
from gz_testauto.planners.interface import Lane

SPACING_M = 0.25  # distance between the points of the center line of a lane

BLOCK = 16  # side length (cells) of the blocks that are processed together

BEYOND_M = 3.0  # length of the lane after the goal that belongs to the section of road

INSIDE, OFF_ROAD = 98.0, 100.0
"""Largest valid penalty on a lane, and penalty off the road; a vehicle can drive between lanes."""


class RoadSection(NamedTuple):
    """A section of road as grids, in the format of the compiled search.

    The grids have one row per step of ``cell_m`` along y from ``origin_m``. ``arc_m`` is the arc
    length along the lane, ``free_distance_m`` the distance to the nearest static point. The points
    ``line_m`` (k, 2) of the center line follow every ``SPACING_M`` from ``line_arc_m``.
    ``aside_m`` (2,) are the offsets of the right and the left edge of the road.
    """

    origin_m: np.ndarray
    cell_m: float
    penalty: np.ndarray
    arc_m: np.ndarray
    free_distance_m: np.ndarray
    line_m: np.ndarray
    headings_rad: np.ndarray
    line_arc_m: float
    aside_m: np.ndarray


def road_section(
    lanes: Sequence[Lane],
    start_m: float,
    goal_m: float,
    cell_m: float = 0.1,
    behind_m: float = 2.0,
    points_m: Optional[np.ndarray] = None,
) -> RoadSection:
    """Return the section from ``behind_m`` before ``start_m`` to ``BEYOND_M`` after ``goal_m``.

    Both are arc lengths of the first lane. ``points_m`` (n, 2) are static points.
    """
    lane = lanes[0]
    center = CenterLine(lane.center_m)
    count = int(np.ceil((goal_m + BEYOND_M - (start_m - behind_m)) / SPACING_M)) + 1
    arcs = start_m - behind_m + SPACING_M * np.arange(count)
    line, headings = center.at(arcs)
    aside = _road_sides(lanes, line, headings)
    reach = max(-aside[0], aside[1]) + cell_m
    low, high = line.min(axis=0) - reach, line.max(axis=0) + reach
    columns, rows = (np.ceil((high - low) / cell_m).astype(int) + 1).tolist()
    grid = (low, cell_m, rows, columns)
    widths = center.between(lane.width_m, arcs)
    penalty, along, nearest = _lane_grids(line, np.cos(headings), np.sin(headings), widths, *grid)
    for other in lanes[1:]:
        center = CenterLine(other.center_m)
        places = np.arange(0.0, center.length_m + SPACING_M, SPACING_M)
        points, turns = center.at(places)
        widths = center.between(other.width_m, places)
        other_grids = _lane_grids(points, np.cos(turns), np.sin(turns), widths, *grid)
        penalty = np.minimum(penalty, other_grids[0])
    ends = (nearest == 0) | (nearest == count - 1)
    penalty[ends & (np.abs(along) > SPACING_M)] = OFF_ROAD
    free_distance_m = np.full((rows, columns), np.inf)
    if points_m is not None and len(points_m):
        free_distance_m = _distances_to_points(points_m, low, cell_m, (rows, columns))
    return RoadSection(
        low,
        cell_m,
        penalty,
        arcs[nearest] + along,
        free_distance_m,
        np.ascontiguousarray(line),
        headings,
        float(arcs[0]),
        aside,
    )


def _road_sides(lanes: Sequence[Lane], line: np.ndarray, headings: np.ndarray) -> np.ndarray:
    """Return the right and the left border of all lanes, as offsets to the left of ``line``."""
    right, left = np.inf, -np.inf
    tree = cKDTree(line)
    for lane in lanes:
        center = CenterLine(lane.center_m)
        arcs = np.arange(0.0, center.length_m, SPACING_M)
        points, _ = center.at(arcs)
        _, nearest = tree.query(points)
        is_beside = (nearest > 0) & (nearest < len(line) - 1)
        if not is_beside.any():
            continue
        dx, dy = (points[is_beside] - line[nearest[is_beside]]).T
        heading = headings[nearest[is_beside]]
        offset = np.cos(heading) * dy - np.sin(heading) * dx
        half = center.between(lane.width_m, arcs)[is_beside] / 2
        right = min(right, float((offset - half).min()))
        left = max(left, float((offset + half).max()))
    return np.array([right, left])


@compiled
def _lane_grids(line, cosines, sines, widths_m, origin_m, cell_m, rows, columns):  # type: ignore[no-untyped-def]
    """Return the penalty, the arc offset and the nearest center point of each cell for one lane.

    ``line`` (k, 2), ``cosines``, ``sines`` and ``widths_m`` (k,) describe the center line. The
    penalty is 0 at the center, 98 at the edge of the lane and 100 outside. The arc offset (m) is
    relative to the nearest center point.
    """
    penalty, along = np.empty((rows, columns)), np.empty((rows, columns))
    nearest = np.empty((rows, columns), dtype=np.int64)
    candidates, far = np.empty(len(line), dtype=np.int64), np.empty(len(line))
    around_m = math.sqrt(2.0) * BLOCK * cell_m
    for top in range(0, rows, BLOCK):
        for left in range(0, columns, BLOCK):
            x = origin_m[0] + cell_m * (left + 0.5 * (BLOCK - 1))
            y = origin_m[1] + cell_m * (top + 0.5 * (BLOCK - 1))
            for number in range(len(line)):
                far[number] = math.hypot(line[number, 0] - x, line[number, 1] - y)
            # only these points can be nearest to a cell of the block
            most, count = far.min() + around_m, 0
            for number in range(len(line)):
                if far[number] <= most:
                    candidates[count] = number
                    count += 1
            for row in range(top, min(top + BLOCK, rows)):
                for column in range(left, min(left + BLOCK, columns)):
                    x, y = origin_m[0] + cell_m * column, origin_m[1] + cell_m * row
                    best, least = 0, np.inf
                    for place in range(count):
                        number = candidates[place]
                        dx, dy = x - line[number, 0], y - line[number, 1]
                        if dx * dx + dy * dy < least:
                            best, least = number, dx * dx + dy * dy
                    dx, dy = x - line[best, 0], y - line[best, 1]
                    ahead = cosines[best] * dx + sines[best] * dy
                    off = abs(cosines[best] * dy - sines[best] * dx)
                    if abs(ahead) > SPACING_M:
                        off = math.sqrt(least)
                    share = off / (0.5 * widths_m[best])
                    price = min(100.0 * share, INSIDE) if share <= 1.0 else OFF_ROAD
                    penalty[row, column], along[row, column] = price, ahead
                    nearest[row, column] = best
    return penalty, along, nearest


def _distances_to_points(
    points_m: np.ndarray, origin_m: np.ndarray, cell_m: float, shape: Tuple[int, int]
) -> np.ndarray:
    """Return the distance of each cell to the nearest point; infinite without points."""
    cells = np.round((points_m - origin_m) / cell_m).astype(int)
    inside = ((cells >= 0) & (cells < np.array(shape[::-1]))).all(axis=1)
    free = np.ones(shape, dtype=bool)
    free[cells[inside, 1], cells[inside, 0]] = False
    if free.all():
        return np.full(shape, np.inf)
    return np.asarray(ndimage.distance_transform_edt(free, sampling=cell_m))
