"""Compute the difficulty measures of the BARN dataset along a path on a grid.

Source: D. Perille, A. Truong, X. Xiao and P. Stone, Benchmarking Metric Ground Navigation, SSRR
2020, and its program ``difficulty_quant.py`` in github.com/dperille/jackal-map-creation. The values
equal those of the program. The fifth measure, the distance to the closest obstacle, is
:meth:`~gz_testauto.grid.occupancy.OccupancyGrid.clearance_m`, and tortuosity is the length of the
path divided by the distance of its ends.
"""

from typing import NamedTuple, Optional, Sequence, Tuple

import numpy as np

_EIGHT = tuple((down, right) for down in (-1, 0, 1) for right in (-1, 0, 1) if down or right)
_AXES = ((0, 1), (1, 1), (1, 0), (1, -1))
_SIXTEEN = (
    (0, 1), (1, 2), (1, 1), (2, 1), (1, 0), (2, -1), (1, -1), (1, -2),
    (0, -1), (-2, -1), (-1, -1), (-1, -2), (-1, 0), (-2, 1), (-1, 1), (-1, 2),
)  # fmt: skip
"""The directions of the dispersion, in the order of the program. It exchanges (-1, -2) and
(-2, -1)."""
DISPERSION_STEPS = 3
"""Number of steps up to which an obstacle counts for the dispersion. Directions with a component of
2 have 2 steps, and those with a component of -2 have 3, as in the program."""


class PathMeasures(NamedTuple):
    """Measures of a path, averaged over its cells. Lengths are in cells.

    - ``visibility``: the mean length of the free cells in eight directions, including the cell of
      the path.
    - ``dispersion``: the number of changes between free and obstructed among sixteen directions,
      within 3 steps.
    - ``dimension``: the characteristic dimension, which is the smallest of the free lengths along
      four axes.
    """

    visibility: float
    dispersion: float
    dimension: float


def path_measures(
    occupied: np.ndarray, cells: np.ndarray, reach: Optional[int] = None
) -> PathMeasures:
    """Return the measures of a path.

    ``occupied`` contains the cells that the center of the robot must not enter, shape (rows,
    columns), bool. ``cells`` are (row, column) of the path, shape (n, 2). Lines end at the border
    of the grid, and after ``reach`` cells if it is specified.
    """
    cells = np.asarray(cells)
    most = max(occupied.shape) if reach is None else reach
    runs = {move: _free_cells(occupied, cells, move, most) for move in _EIGHT}
    lengths = [runs[move] * np.hypot(*move) for move in _EIGHT]
    across = [(runs[axis] + runs[(-axis[0], -axis[1])] - 2) * np.hypot(*axis) for axis in _AXES]
    is_free = ~occupied[cells[:, 0], cells[:, 1]]
    dimension = np.where(is_free, np.min(across, axis=0), -1.0)
    obstructed = np.array([_is_obstructed(occupied, cells, move) for move in _SIXTEEN])
    changes = (obstructed != np.roll(obstructed, 1, axis=0)).sum(axis=0)
    dispersion = np.where(is_free, changes, -1)
    return PathMeasures(float(np.mean(lengths)), float(dispersion.mean()), float(dimension.mean()))


def _line(
    occupied: np.ndarray, cells: np.ndarray, move: Tuple[int, int], steps: Sequence[int]
) -> Tuple[np.ndarray, np.ndarray]:
    """Return whether the cells at some steps from each cell are in the grid, and whether they are
    occupied, each of shape (n, len(steps))."""
    at = cells[:, None] + np.multiply.outer(np.asarray(steps), move)
    inside = ((at >= 0) & (at < occupied.shape)).all(axis=2)
    rows, columns = np.where(inside[..., None], at, 0).transpose(2, 0, 1)
    return inside, occupied[rows, columns] & inside


def _free_cells(
    occupied: np.ndarray, cells: np.ndarray, move: Tuple[int, int], most: int
) -> np.ndarray:
    """Return the number of free cells from each cell in one direction, including the cell."""
    inside, found = _line(occupied, cells, move, range(most + 1))
    return np.asarray(np.logical_and.accumulate(inside & ~found, axis=1).sum(axis=1))


def _is_obstructed(occupied: np.ndarray, cells: np.ndarray, move: Tuple[int, int]) -> np.ndarray:
    steps = 2 if max(move) == 2 else DISPERSION_STEPS
    return np.asarray(_line(occupied, cells, move, range(1, steps + 1))[1].any(axis=1))
