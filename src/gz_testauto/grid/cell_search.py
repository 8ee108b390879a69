"""The compiled inner loop of :func:`gz_testauto.grid.search.shortest_path`."""

import math
from heapq import heappop, heappush

import numpy as np

from gz_testauto.base.compiled import compiled

_DIAGONAL = math.hypot(1.0, 1.0)


@compiled
def shortest_cells(occupied, start, goal):  # type: ignore[no-untyped-def]
    """Return the free cells of the shortest 8-connected path, from ``goal`` back to ``start``, as
    indices in the flat grid. The result is empty if no path exists. Paths do not cut corners.

    Among cells with the same distance from ``start``, that with the lowest index is visited first.
    """
    rows, columns = occupied.shape
    distances = np.full(rows * columns, np.inf)
    steps = np.zeros(rows * columns, dtype=np.int8)  # to each cell, as 3 * rows + columns + 4
    distances[start] = 0.0
    heap = [(0.0, start)]
    while heap:
        distance, cell = heappop(heap)
        if cell == goal:
            break
        if distance > distances[cell]:
            continue
        row, column = cell // columns, cell % columns
        for near_row in range(max(row - 1, 0), min(row + 2, rows)):
            for near_column in range(max(column - 1, 0), min(column + 2, columns)):
                if (
                    occupied[near_row, near_column]
                    or occupied[row, near_column]
                    or occupied[near_row, column]
                ):
                    continue
                is_diagonal = near_row != row and near_column != column
                near_distance = distance + (_DIAGONAL if is_diagonal else 1.0)
                near_cell = near_row * columns + near_column
                if near_distance < distances[near_cell]:
                    distances[near_cell] = near_distance
                    steps[near_cell] = 3 * (near_row - row) + near_column - column + 4
                    heappush(heap, (near_distance, near_cell))
    if not math.isfinite(distances[goal]):
        return np.empty(0, dtype=np.int64)
    cells = [goal]
    while cells[-1] != start:
        step = int(steps[cells[-1]])
        cells.append(cells[-1] - (step // 3 - 1) * columns - (step % 3 - 1))
    return np.array(cells)
