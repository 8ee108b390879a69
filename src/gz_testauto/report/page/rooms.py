"""Find the rooms and doors between the walls of a map, and those that trajectories have passed.

A room is an area in which a circle of :data:`DOOR_M` fits; narrower passages are doors.
"""

import math
from dataclasses import dataclass, replace
from typing import Dict, List, Optional, Sequence, Set, Tuple

import numpy as np
import shapely
from scipy import ndimage
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra

from gz_testauto.grid.occupancy import OccupancyGrid

DOOR_M = 1.3  # smallest width of a passage that does not separate two rooms
FURNITURE_M = 3.0  # largest width and length of obstacles that do not separate rooms

_CELL_M, _MOST_CELLS = 0.1, 1_000_000
_LEAST_CORE_M2 = 0.5  # smallest area of the centers of circles that fit into a room

Point = Tuple[float, float]
Pair = Tuple[int, int]
Doors = Dict[Pair, List[Tuple[int, int]]]
"""The middle cells of the doors between each pair of rooms."""


@dataclass(frozen=True)
class Rooms:
    """A point (m, world frame) in each room and each door of a map. Rooms are those that a
    trajectory has entered and the remaining rooms, and doors those that it has passed or not."""

    entered: List[Point]
    never_entered: List[Point]
    passed: List[Point]
    never_passed: List[Point]


def find_rooms(
    rings_m: Sequence[np.ndarray],
    bounds_m: Tuple[float, float, float, float],
    lines_m: Sequence[np.ndarray],
) -> Optional[Rooms]:
    """Return the rooms and doors in the area that is connected with the trajectories, or None if
    there are fewer than two rooms.

    ``rings_m`` are the outlines of walls, and ``lines_m`` the trajectories with steps of at most
    0.1 m, each of shape (n, 2). ``bounds_m`` is (x_min, y_min, x_max, y_max).
    """
    if not len(rings_m):
        return None
    x_min, y_min, x_max, y_max = bounds_m
    cell_m = max(_CELL_M, math.sqrt((x_max - x_min) * (y_max - y_min) / _MOST_CELLS))
    rings = [shapely.LinearRing(ring_m) for ring_m in rings_m if len(ring_m) > 2]
    # Without a width, a line along the border between cells would occupy none of them.
    walls = shapely.buffer(rings, cell_m / 4, quad_segs=1)
    grid = _without_furniture(OccupancyGrid.rasterize(walls, bounds_m, cell_m))
    cells_of_lines = [_cells(grid, line_m) for line_m in lines_m]
    labels, clearance_m = _label_rooms(grid, np.concatenate(cells_of_lines))
    if labels.max() < 2:
        return None
    doors = _find_doors(labels)
    entered, passed = _visited(labels, doors, cells_of_lines)
    rooms = range(1, labels.max() + 1)
    middles = ndimage.maximum_position(clearance_m, labels, rooms)
    room_points: Dict[bool, List[Point]] = {True: [], False: []}
    for room, middle in zip(rooms, middles):
        room_points[room in entered].append(grid.center_of(*middle))
    door_points: Dict[bool, List[Point]] = {True: [], False: []}
    for pair, door_cells in doors.items():
        for index, cell in enumerate(door_cells):
            door_points[(pair, index) in passed].append(grid.center_of(*cell))
    return Rooms(room_points[True], room_points[False], door_points[True], door_points[False])


def _visited(
    labels: np.ndarray, doors: Doors, cells_of_lines: Sequence[np.ndarray]
) -> Tuple[Set[int], Set[Tuple[Pair, int]]]:
    """Return the rooms that a line entered, and the doors that it passed: the pair of rooms, and
    the index of the door between them."""
    entered, passed = set(), set()
    for cells in cells_of_lines:
        rooms = labels[cells[:, 0], cells[:, 1]]
        cells, rooms = cells[rooms > 0], rooms[rooms > 0]
        entered.update(rooms.tolist())
        for step in np.flatnonzero(rooms[1:] != rooms[:-1]):
            low, high = sorted(rooms[step : step + 2].tolist())
            if (low, high) in doors:
                distances = np.hypot(*(np.array(doors[low, high]) - cells[step]).T)
                passed.add(((low, high), int(distances.argmin())))
    return entered, passed


def _without_furniture(grid: OccupancyGrid) -> OccupancyGrid:
    parts, _ = ndimage.label(grid.occupied, np.ones((3, 3)))
    is_wall = [False] + [
        max(axis.stop - axis.start for axis in part) * grid.resolution_m > FURNITURE_M
        for part in ndimage.find_objects(parts)
    ]
    return replace(grid, occupied=np.array(is_wall)[parts])


def _cells(grid: OccupancyGrid, line_m: np.ndarray) -> np.ndarray:
    """Return the cells (n, 2) of the points of a line that are in the grid."""
    origin_m = (grid.origin_x_m, grid.origin_y_m)
    cells = np.floor((line_m - origin_m) / grid.resolution_m).astype(int)[:, ::-1]
    return cells[((cells >= 0) & (cells < grid.occupied.shape)).all(axis=1)]


def _label_rooms(grid: OccupancyGrid, visited: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
    """Return the number of each cell's room, from 1, or 0 outside rooms, and the distance (m) of
    its center to the nearest wall. Areas that are open to the border of the grid, or not connected
    with the cells ``visited``, shape (n, 2), belong to no room."""
    clearance_m = grid.clearance_m()
    cores, core_count = ndimage.label(clearance_m > DOOR_M / 2)
    is_room = np.bincount(cores.ravel()) * grid.resolution_m**2 >= _LEAST_CORE_M2
    for border in (cores[0], cores[-1], cores[:, 0], cores[:, -1]):
        is_room[border] = False
    parts, _ = ndimage.label(~grid.occupied)
    reachable = np.isin(parts, np.setdiff1d(parts[visited[:, 0], visited[:, 1]], [0]))
    is_room &= np.bincount(cores[reachable], minlength=core_count + 1) > 0
    is_room[0] = False
    numbers = np.where(is_room, np.cumsum(is_room), 0)
    return _grown(numbers[cores], reachable), clearance_m


def _grown(labels: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Return ``labels`` with new labels for those ``allowed`` cells that have none (0). A new label
    is that of the nearest labeled cell, along paths of adjacent allowed cells. Cells without a path
    remain 0. Cells that are not allowed become 0."""
    index = np.full(labels.shape, -1, dtype=np.int32)  # dijkstra of SciPy 1.13 rejects int64
    index[allowed] = np.arange(allowed.sum())
    edges = [
        (first[is_edge], second[is_edge])
        for first, second in ((index[:-1], index[1:]), (index[:, :-1], index[:, 1:]))
        for is_edge in [(first >= 0) & (second >= 0)]
    ]
    first, second = (np.concatenate(ends) for ends in zip(*edges))
    values = labels[allowed]
    is_needed = (values[first] == 0) | (values[second] == 0)  # not between two labeled cells
    first, second = first[is_needed], second[is_needed]
    sources = np.unique(np.concatenate([first, second]))
    sources = sources[values[sources] > 0]
    if len(sources):
        graph = coo_array((np.ones(len(first)), (first, second)), shape=2 * values.shape)
        _, _, nearest = dijkstra(
            graph.tocsr(), False, sources, unweighted=True, min_only=True, return_predecessors=True
        )
        is_new = (values == 0) & (nearest >= 0)
        values[is_new] = values[nearest[is_new]]
    grown = np.zeros_like(labels)
    grown[allowed] = values
    return grown


def _find_doors(labels: np.ndarray) -> Doors:
    cells: Dict[Pair, List[np.ndarray]] = {}
    for axis in (0, 1):
        first = labels[:-1] if axis == 0 else labels[:, :-1]
        second = labels[1:] if axis == 0 else labels[:, 1:]
        for cell in np.argwhere((first != second) & (first > 0) & (second > 0)):
            low, high = sorted((int(first[tuple(cell)]), int(second[tuple(cell)])))
            cells.setdefault((low, high), []).append(cell)
    doors: Doors = {}
    for pair, boundary in cells.items():
        boundary_cells = np.array(boundary)
        first_cell = boundary_cells.min(axis=0)
        window = boundary_cells - first_cell
        is_boundary = np.zeros(window.max(axis=0) + 1, dtype=bool)
        is_boundary[tuple(window.T)] = True
        parts, count = ndimage.label(is_boundary, np.ones((3, 3)))
        door = parts[tuple(window.T)]
        middles = [boundary_cells[door == number].mean(axis=0) for number in range(1, count + 1)]
        doors[pair] = [(round(row), round(column)) for row, column in middles]
    return doors
