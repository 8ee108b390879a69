"""Shortest ways through an occupancy grid.

Owns the search over the eight neighbours of a cell, optimal on the grid, and the pulling taut
of what it finds, which removes the grid's detours (a way along a grid is up to 8 % longer
than the straight line). Refuses to know robots: inflate the grid first.
"""

import math
from typing import TYPE_CHECKING, Optional, Tuple

import numpy as np

from gz_testauto.grid.occupancy import OccupancyGrid

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

MOST_SEARCHED_CELLS = 1e7
"""A square of 300 m at 0.1 m, in which a search takes 2 GB."""

# Each pair of neighbours once: right, up, up-right, up-left, as (rows, columns).
_STEPS = ((0, 1), (1, 0), (1, 1), (1, -1))


def shortest_path(
    grid: OccupancyGrid, start_xy: Tuple[float, float], goal_xy: Tuple[float, float]
) -> Optional[np.ndarray]:
    """The shortest 8-connected way from start to goal, or None when there is none.

    Returns points in metres in the world frame, shape (n, 2): the start, the centres of the
    cells between, the goal. A diagonal step needs both cells beside it free, so that nothing
    cuts a corner. None also when start or goal lies outside or in an occupied cell.
    """
    from scipy.sparse.csgraph import dijkstra

    if not (grid.is_free(*start_xy) and grid.is_free(*goal_xy)):
        return None
    start, goal = grid.cell_of(*start_xy), grid.cell_of(*goal_xy)
    columns = grid.occupied.shape[1]
    source, target = start[0] * columns + start[1], goal[0] * columns + goal[1]
    distances, predecessors = dijkstra(
        _graph(grid.occupied), directed=False, indices=source, return_predecessors=True
    )
    if not math.isfinite(distances[target]):
        return None
    cells = [target]
    while cells[-1] != source:
        cells.append(int(predecessors[cells[-1]]))
    centers = [grid.center_of(*divmod(cell, columns)) for cell in reversed(cells)]
    return np.array([start_xy, *centers[1:-1], goal_xy], dtype=float)


def simplify(grid: OccupancyGrid, path: np.ndarray) -> np.ndarray:
    """Pull a way taut: drop every point that a straight free line makes needless.

    ``path`` has shape (n, 2) in metres and lies in free cells; so does the result, which has
    the same ends and is never longer.
    """
    path = np.asarray(path, dtype=float)
    for _ in range(3):  # from both ends in turn, until it stays as it is
        shorter = _pull(grid, _pull(grid, path)[::-1])[::-1]
        if len(shorter) == len(path):
            break
        path = shorter
    return path


def path_length_m(path: np.ndarray) -> float:
    """Length of a polyline, shape (n, 2) in metres."""
    steps = np.diff(np.asarray(path, dtype=float), axis=0)
    return float(np.hypot(steps[:, 0], steps[:, 1]).sum())


def line_is_free(
    grid: OccupancyGrid, first_xy: Tuple[float, float], second_xy: Tuple[float, float]
) -> bool:
    """Whether every cell that the straight line between two points passes is free."""
    # In one order, so that rounding at a corner of cells gives one answer for there and back.
    (x0, y0), (x1, y1) = sorted((first_xy, second_xy))
    cell = grid.resolution_m
    u0, v0 = (x0 - grid.origin_x_m) / cell, (y0 - grid.origin_y_m) / cell
    u1, v1 = (x1 - grid.origin_x_m) / cell, (y1 - grid.origin_y_m) / cell
    # Where the line crosses cell borders; between two crossings it is in one cell.
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
    """Parameters in (0, 1) at which a coordinate going first to second is whole."""
    if first == second:
        return np.empty(0)
    low, high = sorted((first, second))
    whole = np.arange(math.ceil(low), math.floor(high) + 1)
    parameters = (whole - first) / (second - first)
    return parameters[(parameters > 0) & (parameters < 1)]


def _pull(grid: OccupancyGrid, path: np.ndarray) -> np.ndarray:
    """One pass from the first point on: go straight for as long as that is free."""
    kept = [0]
    last = len(path) - 1
    while kept[-1] < last:
        here = kept[-1]
        # Doubling, then halving: the farthest visible point is found in few line checks.
        reach, step = here + 1, 1
        while step and reach < last:
            ahead = min(reach + step, last)
            if line_is_free(grid, tuple(path[here]), tuple(path[ahead])):
                reach, step = ahead, step * 2
            else:
                step //= 2
        kept.append(reach)
    return path[kept]


def _graph(occupied: np.ndarray) -> "csr_matrix":
    """Edges between free neighbours, each once, weighted by their length in cells."""
    from scipy.sparse import coo_matrix

    free = ~occupied
    rows, columns = free.shape
    index = np.arange(rows * columns, dtype=np.int32).reshape(rows, columns)
    tails, heads, weights = [], [], []
    for dr, dc in _STEPS:
        here = (slice(0, rows - dr), slice(max(0, -dc), columns - max(0, dc)))
        there = (slice(dr, rows), slice(max(0, dc), columns + min(0, dc)))
        open_ = free[here] & free[there]
        if dr and dc:
            beside = free[here[0], there[1]] & free[there[0], here[1]]
            open_ = open_ & beside
        tails.append(index[here][open_])
        heads.append(index[there][open_])
        weights.append(np.full(len(tails[-1]), math.hypot(dr, dc)))
    edges = (np.concatenate(weights), (np.concatenate(tails), np.concatenate(heads)))
    return coo_matrix(edges, shape=(rows * columns,) * 2).tocsr()
