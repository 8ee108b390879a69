"""Compiled loops over the cells that rays cross. Coordinates are in cells of the grid."""

import math

import numpy as np

from gz_testauto.base.compiled import compiled

STEP = 0.5  # cells between two points of a ray


@compiled
def mark_passes(passes, starts, ends):  # type: ignore[no-untyped-def]
    """Add 1 to each cell of ``passes`` (rows, columns) for each ray that crosses it. ``starts`` and
    ``ends`` are x and y, shape (n, 2)."""
    rows, columns = passes.shape
    for ray in range(len(starts)):
        x, y = starts[ray]
        length = math.hypot(ends[ray, 0] - x, ends[ray, 1] - y)
        count = int(length / STEP)
        before = -1
        for step in range(count + 1):
            share = step * STEP / length if length > 0 else 0.0
            column = math.floor(x + share * (ends[ray, 0] - x))
            row = math.floor(y + share * (ends[ray, 1] - y))
            if 0 <= row < rows and 0 <= column < columns and row * columns + column != before:
                before = row * columns + column
                passes[row, column] += 1


@compiled
def cast_rays(occupied, starts, directions, longest):  # type: ignore[no-untyped-def]
    """Return the distance (cells) to the first occupied cell along each ray, or inf beyond
    ``longest``. ``directions`` (n, 2) are unit vectors."""
    rows, columns = occupied.shape
    distances = np.full(len(starts), np.inf)
    for ray in range(len(starts)):
        x, y = starts[ray]
        dx, dy = directions[ray]
        column, row = math.floor(x), math.floor(y)
        step_x, step_y = (1 if dx > 0 else -1), (1 if dy > 0 else -1)
        delta_x = abs(1.0 / dx) if dx != 0 else np.inf
        delta_y = abs(1.0 / dy) if dy != 0 else np.inf
        next_x = (column + (dx > 0) - x) / dx if dx != 0 else np.inf
        next_y = (row + (dy > 0) - y) / dy if dy != 0 else np.inf
        distance = 0.0
        while distance <= longest:
            if 0 <= row < rows and 0 <= column < columns and occupied[row, column]:
                distances[ray] = distance
                break
            if next_x < next_y:
                distance = next_x
                next_x += delta_x
                column += step_x
            else:
                distance = next_y
                next_y += delta_y
                row += step_y
    return distances
