"""The difficulty measures of the BARN dataset along a path on a grid.


Source: D. Perille, A. Truong, X. Xiao and P. Stone, Benchmarking Metric Ground Navigation, SSRR
2020, and its program ``difficulty_quant.py`` in github.com/dperille/jackal-map-creation, whose
values they equal.
"""

from typing import NamedTuple, Optional

import numpy as np

from gz_testauto.base.compiled import compiled

_EIGHT = np.array([(0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1)])
_AXES, _OPPOSITE = slice(0, 4), slice(4, 8)
# The directions of the dispersion. As in the program, (-1, -2) and (-2, -1) are exchanged.
_SIXTEEN = np.array(
    [
        (0, 1), (1, 2), (1, 1), (2, 1), (1, 0), (2, -1), (1, -1), (1, -2),
        (0, -1), (-2, -1), (-1, -1), (-1, -2), (-1, 0), (-2, 1), (-1, 1), (-1, 2),
    ]
)  # fmt: skip
# Steps within which an obstacle counts for the dispersion. As in the program, they are 2 for a
# component of 2, and 3 for others, also for -2.
_STEPS = np.where(_SIXTEEN.max(axis=1) == 2, 2, 3)


class PathMeasures(NamedTuple):
    """Means over the cells of a path. Lengths are in cells.

    - ``visibility``: the mean length of the free cells in eight directions, including the cell of
      the path.
    - ``dispersion``: the changes between free and obstructed among sixteen directions.
    - ``dimension``: the smallest of the free lengths along four axes.
    """

    visibility: float
    dispersion: float
    dimension: float


def path_measures(
    occupied: np.ndarray, cells: np.ndarray, reach: Optional[int] = None
) -> PathMeasures:
    """Return the measures of a path.

    ``occupied`` (rows, columns), bool, are the cells that the robot's center must not enter.
    ``cells`` (n, 2) are (row, column) of the path. Lines of free cells end after ``reach`` cells.
    """
    cells = np.asarray(cells, dtype=np.int64)
    max_cells = max(occupied.shape) if reach is None else reach
    runs = _free_cells(occupied, cells, _EIGHT, max_cells)
    visibility = (runs * np.hypot(*_EIGHT.T)).mean(axis=1)
    across = (runs[:, _AXES] + runs[:, _OPPOSITE] - 2) * np.hypot(*_EIGHT[_AXES].T)
    is_free = ~occupied[cells[:, 0], cells[:, 1]]
    dimension = np.where(is_free, across.min(axis=1), -1.0)
    is_obstructed = _are_obstructed(occupied, cells, _SIXTEEN, _STEPS)
    changes = (is_obstructed != np.roll(is_obstructed, 1, axis=1)).sum(axis=1)
    dispersion = np.where(is_free, changes, -1)
    return PathMeasures(float(visibility.mean()), float(dispersion.mean()), float(dimension.mean()))


@compiled
def _free_cells(occupied, cells, moves, max_cells):  # type: ignore[no-untyped-def]
    """Return the number of free cells from each of ``cells`` (n, 2) in each direction of ``moves``
    (k, 2), including the cell, shape (n, k). The counts are limited by ``max_cells``."""
    rows, columns = occupied.shape
    free_counts = np.zeros((len(cells), len(moves)), dtype=np.int64)
    for index in range(len(cells)):
        for number in range(len(moves)):
            row, column = cells[index, 0], cells[index, 1]
            while (
                free_counts[index, number] <= max_cells
                and 0 <= row < rows
                and 0 <= column < columns
                and not occupied[row, column]
            ):
                free_counts[index, number] += 1
                row += moves[number, 0]
                column += moves[number, 1]
    return free_counts


@compiled
def _are_obstructed(occupied, cells, moves, steps):  # type: ignore[no-untyped-def]
    """Return whether a cell within ``steps[j]`` moves in direction ``moves[j]`` of each of
    ``cells`` (n, 2) is occupied, shape (n, k)."""
    rows, columns = occupied.shape
    is_obstructed = np.zeros((len(cells), len(moves)), dtype=np.bool_)
    for index in range(len(cells)):
        for number in range(len(moves)):
            row, column = cells[index, 0], cells[index, 1]
            for _ in range(steps[number]):
                row += moves[number, 0]
                column += moves[number, 1]
                if not (0 <= row < rows and 0 <= column < columns):
                    break
                if occupied[row, column]:
                    is_obstructed[index, number] = True
                    break
    return is_obstructed
