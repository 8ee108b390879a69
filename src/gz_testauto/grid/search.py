"""Find and simplify shortest paths on an occupancy grid. For a robot, inflate the grid by its
radius first."""

import math
from typing import Optional, Tuple

import numpy as np

from gz_testauto.grid.occupancy import OccupancyGrid

MAX_SEARCHED_CELLS = 1e7  # a square of 300 m at 0.1 m, which needs 0.1 GB of memory


def shortest_path(
    grid: OccupancyGrid, start_xy: Tuple[float, float], goal_xy: Tuple[float, float]
) -> Optional[np.ndarray]:
    """Return the shortest 8-connected path, or None if no path exists or an end is not free.

    The points (n, 2) are the start, the centers of cells, and the goal, in the world frame.
    """
    from gz_testauto.grid.cell_search import shortest_cells  # loads numba

    if not (grid.is_free(*start_xy) and grid.is_free(*goal_xy)):
        return None
    columns = grid.occupied.shape[1]
    start, goal = (
        row * columns + column for row, column in (grid.cell_of(*xy) for xy in (start_xy, goal_xy))
    )
    cells = shortest_cells(grid.occupied, start, goal)
    if not len(cells):
        return None
    centers = [grid.center_of(*divmod(cell, columns)) for cell in cells[::-1].tolist()]
    return np.array([start_xy, *centers[1:-1], goal_xy], dtype=float)


def simplify(grid: OccupancyGrid, path: np.ndarray) -> np.ndarray:
    """Return a shorter path (n, 2) in free cells, with straight lines instead of sections of
    ``path``. An 8-connected path is up to 8 % too long."""
    path = np.asarray(path, dtype=float)
    for _ in range(3):  # forward and backward until nothing changes
        shorter = _shortcut(grid, _shortcut(grid, path)[::-1])[::-1]
        if len(shorter) == len(path):
            break
        path = shorter
    return path


def path_length_m(path: np.ndarray) -> float:
    steps = np.diff(np.asarray(path, dtype=float), axis=0)
    return float(np.hypot(steps[:, 0], steps[:, 1]).sum())


def line_is_free(
    grid: OccupancyGrid, first_xy: Tuple[float, float], second_xy: Tuple[float, float]
) -> bool:
    """Return whether a straight line (m, world frame) crosses only free cells inside the grid."""
    # Sorted, so that rounding at a corner of cells does not depend on the direction.
    (x0, y0), (x1, y1) = sorted((first_xy, second_xy))
    cell = grid.resolution_m
    u0, v0 = (x0 - grid.origin_x_m) / cell, (y0 - grid.origin_y_m) / cell
    u1, v1 = (x1 - grid.origin_x_m) / cell, (y1 - grid.origin_y_m) / cell
    # Parameters at which the line crosses cell borders; between two of them it is in one cell.
    crossings = np.concatenate([[0.0, 1.0], _crossings(u0, u1), _crossings(v0, v1)])
    crossings.sort()
    middle = (crossings[1:] + crossings[:-1]) / 2
    columns = np.floor(u0 + middle * (u1 - u0)).astype(int)
    rows = np.floor(v0 + middle * (v1 - v0)).astype(int)
    height, width = grid.occupied.shape
    if rows.min() < 0 or columns.min() < 0 or rows.max() >= height or columns.max() >= width:
        return False
    return not grid.occupied[rows, columns].any()


def _crossings(first: float, second: float) -> np.ndarray:
    """Return the parameters in (0, 1) at which a coordinate between ``first`` and ``second`` is an
    integer."""
    if first == second:
        return np.empty(0)
    low, high = sorted((first, second))
    integers = np.arange(math.ceil(low), math.floor(high) + 1)
    parameters = (integers - first) / (second - first)
    return parameters[(parameters > 0) & (parameters < 1)]


def _shortcut(grid: OccupancyGrid, path: np.ndarray) -> np.ndarray:
    """Return the path without the points that are not needed: each remaining point is followed by
    the farthest point that is visible from it."""
    kept_indices = [0]
    last = len(path) - 1
    while kept_indices[-1] < last:
        start = kept_indices[-1]
        # Doubling, then halving the step finds the farthest visible point with few line checks.
        reach, step = start + 1, 1
        while step and reach < last:
            candidate = min(reach + step, last)
            if line_is_free(grid, tuple(path[start]), tuple(path[candidate])):
                reach, step = candidate, step * 2
            else:
                step //= 2
        kept_indices.append(reach)
    return path[kept_indices]
