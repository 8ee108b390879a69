"""Enlarge the occupied area of a grid."""

import numpy as np

from gz_testauto.base.compiled import compiled


@compiled
def dilate(occupied, widths):  # type: ignore[no-untyped-def]
    """Return the cells near an occupied cell, bool. At a distance of ``k`` rows, these are the
    cells less than ``widths[k]`` columns away."""
    rows, columns = occupied.shape
    away = np.full((rows, columns), columns, np.int32)
    for row in range(rows):
        for order in (range(columns), range(columns - 1, -1, -1)):
            distance = columns
            for column in order:
                distance = 0 if occupied[row, column] else distance + 1
                away[row, column] = min(away[row, column], distance)
    near = np.zeros((rows, columns), np.bool_)
    for row in range(rows):
        for other in range(max(0, row - len(widths) + 1), min(rows, row + len(widths))):
            width = widths[abs(other - row)]
            for column in range(columns):
                near[row, column] |= away[other, column] < width
    return near
