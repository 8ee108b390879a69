"""Find and simplify shortest paths on an occupancy grid. For a robot, inflate the grid by its
radius first."""

import math
from typing import TYPE_CHECKING, Dict, Iterable, Optional, Tuple

import numpy as np

from gz_testauto.grid.occupancy import OccupancyGrid

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

MAX_SEARCHED_CELLS = 1e7
"""A square of 300 m at 0.1 m, which needs 2 GB of memory."""

Leg = Tuple[Tuple[float, float], Tuple[float, float]]
"""The start and the goal (m, world frame) of a path."""

# Each pair of neighbors once: right, up, up-right, up-left, as (rows, columns).
_STEPS = ((0, 1), (1, 0), (1, 1), (1, -1))


def shortest_path(
    grid: OccupancyGrid, start_xy: Tuple[float, float], goal_xy: Tuple[float, float]
) -> Optional[np.ndarray]:
    """Return the shortest 8-connected path, or None if no path exists or an end is not free.

    The points (n, 2) are the start, the centers of cells, and the goal, in the world frame.
    """
    return shortest_paths(grid, [(start_xy, goal_xy)]).get((start_xy, goal_xy))


def shortest_paths(grid: OccupancyGrid, legs: Iterable[Leg]) -> Dict[Leg, np.ndarray]:
    """Return the path of :func:`shortest_path` for each of ``legs`` that has one."""
    free_legs = [leg for leg in legs if all(grid.is_free(*end) for end in leg)]
    graph = _graph(grid.occupied) if free_legs else None
    paths = {leg: _path_in(graph, grid, *leg) for leg in dict.fromkeys(free_legs)}
    return {leg: path for leg, path in paths.items() if path is not None}


def _path_in(
    graph: "csr_matrix",
    grid: OccupancyGrid,
    start_xy: Tuple[float, float],
    goal_xy: Tuple[float, float],
) -> Optional[np.ndarray]:
    from scipy.sparse.csgraph import dijkstra

    start, goal = grid.cell_of(*start_xy), grid.cell_of(*goal_xy)
    columns = grid.occupied.shape[1]
    source, target = start[0] * columns + start[1], goal[0] * columns + goal[1]
    distances, predecessors = dijkstra(
        graph, directed=False, indices=source, return_predecessors=True
    )
    if not math.isfinite(distances[target]):
        return None
    cells = [target]
    while cells[-1] != source:
        cells.append(int(predecessors[cells[-1]]))
    centers = [grid.center_of(*divmod(cell, columns)) for cell in reversed(cells)]
    return np.array([start_xy, *centers[1:-1], goal_xy], dtype=float)


def simplify(grid: OccupancyGrid, path: np.ndarray) -> np.ndarray:
    """Return a path (n, 2) in free cells in which straight lines replace sections of ``path``,
    which is up to 8 % too long."""
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
    """Return whether a straight line, in the world frame (m), crosses only free cells."""
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


def _graph(occupied: np.ndarray) -> "csr_matrix":
    """Return the sparse matrix of the edges between free neighbors, weighted by their length in
    cells."""
    from scipy.sparse import coo_matrix

    is_free = ~occupied
    rows, columns = is_free.shape
    index = np.arange(rows * columns, dtype=np.int32).reshape(rows, columns)
    tails, heads, weights = [], [], []
    for dr, dc in _STEPS:
        tail_slices = (slice(0, rows - dr), slice(max(0, -dc), columns - max(0, dc)))
        head_slices = (slice(dr, rows), slice(max(0, dc), columns + min(0, dc)))
        open_ = is_free[tail_slices] & is_free[head_slices]
        if dr and dc:
            # both adjacent cells must be free, so that paths do not cut corners
            has_free_corner = (
                is_free[tail_slices[0], head_slices[1]] & is_free[head_slices[0], tail_slices[1]]
            )
            open_ = open_ & has_free_corner
        tails.append(index[tail_slices][open_])
        heads.append(index[head_slices][open_])
        weights.append(np.full(len(tails[-1]), math.hypot(dr, dc)))
    edges = (np.concatenate(weights), (np.concatenate(tails), np.concatenate(heads)))
    return coo_matrix(edges, shape=(rows * columns,) * 2).tocsr()
