"""Occupancy grids. Row 0 has the lowest y and column 0 the lowest x, in the world frame."""

import math
from dataclasses import dataclass
from typing import Dict, Iterable, List, NamedTuple, Tuple

import numpy as np
import shapely

_TILES = (64, 16, 4, 1)  # sides (cells) of the tiles that are tested against a large shape
_MAX_TILES = 50_000  # in one array; each needs a few hundred bytes


@dataclass(frozen=True, eq=False)
class OccupancyGrid:
    """A grid of square cells that are occupied or free, aligned with the world frame.

    ``occupied`` is a read-only bool array (rows, columns). The origin is the outer corner of cell
    (0, 0).
    """

    occupied: np.ndarray
    resolution_m: float
    origin_x_m: float
    origin_y_m: float

    def __post_init__(self) -> None:
        occupied = np.array(self.occupied, dtype=bool)
        if occupied.ndim != 2 or 0 in occupied.shape:
            raise ValueError(
                f"a grid must have at least one row and one column; its shape is {occupied.shape}"
            )
        if not self.resolution_m > 0:
            raise ValueError(f"resolution_m is {self.resolution_m}; it must be > 0")
        occupied.setflags(write=False)
        object.__setattr__(self, "occupied", occupied)

    @classmethod
    def rasterize(
        cls,
        shapes: Iterable[shapely.Geometry],
        bounds: Tuple[float, float, float, float],
        resolution_m: float,
    ) -> "OccupancyGrid":
        """Return a grid in which a cell is occupied if it touches a shape, so that thin walls have
        no holes.

        ``bounds`` is (x_min, y_min, x_max, y_max) in meters. The upper corner is rounded up to a
        border of cells.
        """
        x_min, y_min, x_max, y_max = map(float, bounds)
        if not resolution_m > 0:
            raise ValueError(f"resolution_m is {resolution_m}; it must be > 0")
        if not (x_max > x_min and y_max > y_min):
            raise ValueError(
                f"bounds {bounds} have no area; specify x_min < x_max and y_min < y_max"
            )
        columns = _cell_count(x_max - x_min, resolution_m)
        rows = _cell_count(y_max - y_min, resolution_m)
        occupied = np.zeros((rows, columns), dtype=bool)
        outlines = np.array([shape for shape in shapes if not shape.is_empty], dtype=object)
        _CellMarker(occupied, outlines, np.array((y_min, x_min)), float(resolution_m)).mark()
        return cls(occupied, float(resolution_m), x_min, y_min)

    @property
    def bounds(self) -> Tuple[float, float, float, float]:
        """Return (x_min, y_min, x_max, y_max) in meters."""
        rows, columns = self.occupied.shape
        return (
            self.origin_x_m,
            self.origin_y_m,
            self.origin_x_m + columns * self.resolution_m,
            self.origin_y_m + rows * self.resolution_m,
        )

    def cell_of(self, x_m: float, y_m: float) -> Tuple[int, int]:
        """Return (row, column) of the cell that contains a point. It can be outside the grid."""
        return (
            math.floor((y_m - self.origin_y_m) / self.resolution_m),
            math.floor((x_m - self.origin_x_m) / self.resolution_m),
        )

    def center_of(self, row: int, column: int) -> Tuple[float, float]:
        """Return (x, y) of the center of a cell in meters."""
        return (
            self.origin_x_m + (column + 0.5) * self.resolution_m,
            self.origin_y_m + (row + 0.5) * self.resolution_m,
        )

    def contains(self, row: int, column: int) -> bool:
        rows, columns = self.occupied.shape
        return 0 <= row < rows and 0 <= column < columns

    def is_free(self, x_m: float, y_m: float) -> bool:
        row, column = self.cell_of(x_m, y_m)
        return self.contains(row, column) and not self.occupied[row, column]

    def clearance_m(self) -> np.ndarray:
        """Return the distance (m) from each cell to the nearest occupied cell, center to center,
        shape (rows, columns). It is infinite if no cell is occupied."""
        from scipy import ndimage

        if not self.occupied.any():
            return np.full(self.occupied.shape, np.inf)
        return ndimage.distance_transform_edt(~self.occupied) * self.resolution_m

    def inflate(self, radius_m: float) -> "OccupancyGrid":
        """Return a grid in which all cells within ``radius_m`` of an occupied cell, center to
        center, are occupied."""
        if radius_m < 0:
            raise ValueError(f"radius_m is {radius_m}; it must be >= 0")
        blocked_cells = cells_within(self.occupied, self.resolution_m, radius_m + 1e-9)
        return OccupancyGrid(blocked_cells, self.resolution_m, self.origin_x_m, self.origin_y_m)


def cells_within(
    occupied: np.ndarray, resolution_m: float, distance_m: float, to_edges: bool = False
) -> np.ndarray:
    """Return a bool array of the cells within ``distance_m`` of an occupied cell.

    The distance is between the centers of both cells, or with ``to_edges`` between the center of a
    cell and the edges of the occupied cell.
    """
    # It compiles its loop with numba, which takes time to import.
    from gz_testauto.grid.dilation import dilate

    rows, columns = occupied.shape
    half_cell = 0.5 if to_edges else 0.0
    row_offsets = np.maximum(
        np.arange(int(min(distance_m / resolution_m, rows)) + 3) - half_cell, 0
    )
    column_offsets = np.maximum(np.arange(columns) - half_cell, 0)
    squared_offsets = row_offsets[:, None] ** 2 + column_offsets**2
    are_near = np.sqrt(squared_offsets) * resolution_m <= distance_m
    return np.asarray(dilate(occupied, are_near.sum(axis=1)))


def cells_with_center_inside(
    shapes: np.ndarray, origin_m: Tuple[float, float], count: Tuple[int, int], resolution_m: float
) -> np.ndarray:
    """Return the cells whose centers are in a polygon, bool, shape ``count`` (rows, columns).

    ``origin_m`` is the outer corner (x, y) of cell (0, 0). This is faster than
    :meth:`OccupancyGrid.rasterize`, but can miss small shapes.
    """
    rows, columns = count
    rings, polygon = shapely.get_rings(shapely.get_parts(shapes), return_index=True)
    if not len(rings):
        return np.zeros(count, dtype=bool)
    # The winding number of each center: the edges to its left, with the sign of their direction.
    is_outer = np.concatenate([[True], polygon[1:] != polygon[:-1]])
    sense = np.where(shapely.is_ccw(rings) == is_outer, 1, -1)
    points, ring = shapely.get_coordinates(rings, return_index=True)
    x, y = ((points - origin_m) / resolution_m - 0.5).T
    edge = np.flatnonzero(ring[1:] == ring[:-1])
    first, last = (
        np.clip(np.ceil(end), 0, rows).astype(int)
        for end in (np.minimum(y[edge], y[edge + 1]), np.maximum(y[edge], y[edge + 1]))
    )
    row_counts = last - first
    row = np.repeat(first, row_counts) + np.arange(row_counts.sum())
    row -= np.repeat(np.cumsum(row_counts) - row_counts, row_counts)
    edge = np.repeat(edge, row_counts)
    crossing_x = x[edge] + (row - y[edge]) / (y[edge + 1] - y[edge]) * (x[edge + 1] - x[edge])
    column = np.clip(np.ceil(crossing_x), 0, columns).astype(int)
    weight = np.where(y[edge + 1] > y[edge], -1, 1) * sense[ring[edge]]
    index = row * (columns + 1) + column
    windings = np.bincount(index, weight, rows * (columns + 1)).reshape(rows, columns + 1)
    return np.asarray(np.cumsum(windings, axis=1)[:, :columns] > 0.5)


class CellRectangle(NamedTuple):
    """A rectangle of cells: its first row and column, and its numbers of rows and columns."""

    row: int
    column: int
    rows: int
    columns: int


def runs_of(cells: np.ndarray) -> List[Tuple[int, int, int]]:
    """Return the runs of True in rows: row, first column, and end (exclusive)."""
    change = np.diff(np.pad(cells.astype(np.int8), ((0, 0), (1, 1))), axis=1)
    (row, first), (_, end) = np.nonzero(change == 1), np.nonzero(change == -1)
    return list(zip(row.tolist(), first.tolist(), end.tolist()))


def rectangles_of(cells: np.ndarray) -> List[CellRectangle]:
    """Return disjoint rectangles that cover exactly the True cells of a bool array."""
    runs_by_row: List[List[Tuple[int, int]]] = [[] for _ in range(len(cells) + 1)]
    for row, first, end in runs_of(cells):
        runs_by_row[row].append((first, end))
    rectangles: List[CellRectangle] = []
    first_rows: Dict[Tuple[int, int], int] = {}
    # A run of cells in a row is joined with equal runs in the next rows.
    for row, runs in enumerate(runs_by_row):
        present = set(runs)
        for run in [run for run in first_rows if run not in present]:
            first = first_rows.pop(run)
            rectangles.append(CellRectangle(first, run[0], row - first, run[1] - run[0]))
        for run in runs:
            first_rows.setdefault(run, row)
    return rectangles


def _cell_count(extent_m: float, resolution_m: float) -> int:
    # the tolerance is for rounding errors
    return max(1, math.ceil(extent_m / resolution_m - 1e-9))


class _CellMarker:
    """A marker that sets the cells of ``occupied`` that any of n ``shapes`` touches. ``origin_m``
    is y and x of the outer corner of cell (0, 0), and ``cell_m`` the side of a cell."""

    def __init__(
        self, occupied: np.ndarray, shapes: np.ndarray, origin_m: np.ndarray, cell_m: float
    ) -> None:
        self._occupied, self._shapes, self._origin_m = occupied, shapes, origin_m
        self._cell_m = cell_m
        low_x, low_y, high_x, high_y = shapely.bounds(shapes).reshape(-1, 4).T
        first = np.floor((np.column_stack([low_y, low_x]) - origin_m) / cell_m + 1e-9)
        end = np.ceil((np.column_stack([high_y, high_x]) - origin_m) / cell_m - 1e-9)
        # the cells within the bounds of each shape, shape (n, 2): rows, columns
        self._first = np.clip(first, 0, occupied.shape).astype(int)
        # a shape of zero thickness has a cell
        self._end = np.clip(end, self._first + 1, occupied.shape).astype(int)
        # A shape whose boundary is on a cell's border does not touch the adjacent cell.
        self._inset_m = 1e-9 * max(1.0, *np.abs(origin_m))
        shapely.prepare(shapes)

    def mark(self) -> None:
        is_large = (self._end - self._first).prod(axis=1) > _MAX_TILES
        for size, is_selected in ((1, ~is_large), (_TILES[0], is_large)):
            counts = -(-(self._end - self._first) // size)  # of tiles, shape (n, 2)
            tile_counts = counts.prod(axis=1)
            selected = np.flatnonzero(is_selected)
            batch = np.cumsum(tile_counts[selected]) // _MAX_TILES
            for owners in np.split(selected, np.flatnonzero(np.diff(batch)) + 1):
                before = np.cumsum(tile_counts[owners]) - tile_counts[owners]
                owner = np.repeat(owners, tile_counts[owners])
                number = np.arange(len(owner)) - np.repeat(before, tile_counts[owners])
                tiles = np.column_stack(np.divmod(number, counts[owner, 1]))
                self._mark_tiles(self._first[owner] + tiles * size, owner, size)

    def _mark_tiles(self, tiles: np.ndarray, owner: np.ndarray, size: int) -> None:
        """Mark the cells within square tiles of ``size`` cells that their shapes touch. ``tiles``
        (n, 2) are (row, column) of their lowest cells, and ``owner`` the index of their shapes."""
        for start in range(0, len(tiles), _MAX_TILES):
            part, part_owner = (array[start : start + _MAX_TILES] for array in (tiles, owner))
            boxes = self._boxes(part, part_owner, size)
            is_touched = shapely.intersects(self._shapes[part_owner], boxes)
            part, part_owner, boxes = part[is_touched], part_owner[is_touched], boxes[is_touched]
            if size == 1:
                self._occupied[part[:, 0], part[:, 1]] = True
                continue
            is_covered = shapely.covers(self._shapes[part_owner], boxes)
            ends = np.minimum(part + size, self._end[part_owner])
            for (row, column), (end_row, end_column) in zip(part[is_covered], ends[is_covered]):
                self._occupied[row:end_row, column:end_column] = True
            smaller_size = _TILES[_TILES.index(size) + 1]
            steps = np.arange(0, size, smaller_size)
            inner = np.stack(np.meshgrid(steps, steps, indexing="ij"), axis=-1).reshape(-1, 2)
            inner_owner = np.repeat(part_owner[~is_covered], len(inner))
            inner = (part[~is_covered][:, None] + inner).reshape(-1, 2)
            is_inside = (inner < self._end[inner_owner]).all(axis=1)
            self._mark_tiles(inner[is_inside], inner_owner[is_inside], smaller_size)

    def _boxes(self, tiles: np.ndarray, owner: np.ndarray, size: int) -> np.ndarray:
        last = np.minimum(tiles + size, self._end[owner]) - 1
        low_y, low_x = (self._origin_m + tiles * self._cell_m + self._inset_m).T
        high_y, high_x = (self._origin_m + last * self._cell_m + self._cell_m - self._inset_m).T
        return np.asarray(shapely.box(low_x, low_y, high_x, high_y))
