"""Enlarge the occupied area of a grid."""

import numpy as np

from gz_testauto.base.compiled import compiled


@compiled
def dilate(occupied, widths):  # type: ignore[no-untyped-def]
    """Return a bool array of the cells near an occupied cell. A cell ``k`` rows away from it is
    near if it is less than ``widths[k]`` columns away."""
    rows, columns = occupied.shape
    column_distances = np.full((rows, columns), columns, np.int32)
    for row in range(rows):
        for order in (range(columns), range(columns - 1, -1, -1)):
            distance = columns
            for column in order:
                distance = 0 if occupied[row, column] else distance + 1
                column_distances[row, column] = min(column_distances[row, column], distance)
    near = np.zeros((rows, columns), np.bool_)
    for row in range(rows):
        for other_row in range(max(0, row - len(widths) + 1), min(rows, row + len(widths))):
            width = widths[abs(other_row - row)]
            for column in range(columns):
                near[row, column] |= column_distances[other_row, column] < width
    return near
