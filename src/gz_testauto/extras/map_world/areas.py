"""Find distant cells of the largest connected area of a grid, in compiled code."""

from typing import Optional, Tuple

import numpy as np

from gz_testauto.base.compiled import compiled


def ends_of_largest_area(free: np.ndarray) -> Optional[Tuple[int, int, int]]:
    """Return a start, a distant goal, and the number of cells of the largest area of 4-connected
    True cells, or None if no two cells are connected.

    ``free`` is contiguous, bool, shape (rows, columns). Cells are indices in the flat array. The
    start is the farthest from the first cell of the area, and the goal the farthest from the start.
    """
    columns = free.shape[1]
    queue = np.empty(free.size, dtype=np.int32)
    size, start = _largest_area(free.ravel().copy(), columns, queue)
    if size < 2:
        return None
    _, goal = _flood(free.ravel().copy(), columns, start, queue)
    return int(start), int(goal), int(size)


@compiled
def _largest_area(remaining, columns, queue):  # type: ignore[no-untyped-def]
    """Return the size of the largest area, and its cell that is farthest from its first cell."""
    largest, farthest = 0, -1
    for first in range(remaining.size):
        if remaining[first]:
            size, end = _flood(remaining, columns, first, queue)
            if size > largest:
                largest, farthest = size, end
    return largest, farthest


@compiled
def _flood(remaining, columns, first, queue):  # type: ignore[no-untyped-def]
    """Set the cells that are connected to ``first`` to False. Return their number and the farthest
    of them; of several, that with the lowest index. ``queue`` has space for all cells."""
    queue[0] = first
    remaining[first] = False
    size, layer, farthest = 1, 0, first
    while layer < size:
        layer_end = size
        farthest = queue[layer]
        for position in range(layer, layer_end):
            cell = queue[position]
            farthest = min(farthest, cell)
            column = cell % columns
            if column > 0 and remaining[cell - 1]:
                remaining[cell - 1] = False
                queue[size] = cell - 1
                size += 1
            if column < columns - 1 and remaining[cell + 1]:
                remaining[cell + 1] = False
                queue[size] = cell + 1
                size += 1
            if cell >= columns and remaining[cell - columns]:
                remaining[cell - columns] = False
                queue[size] = cell - columns
                size += 1
            if cell + columns < remaining.size and remaining[cell + columns]:
                remaining[cell + columns] = False
                queue[size] = cell + columns
                size += 1
        layer = layer_end
    return size, farthest
