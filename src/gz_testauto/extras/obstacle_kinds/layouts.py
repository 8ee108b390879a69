"""The obstacle kinds ``maze`` and ``cave``, whose cells are random. The size ``layout`` determines
all random choices, so that the same size always results in the same boxes."""

from typing import Any, ClassVar, List, Optional, Tuple

import numpy as np
from pydantic import AfterValidator, model_validator
from typing_extensions import Annotated, Literal

from gz_testauto.extras.obstacle_kinds.assembled import AssembledKind, BoxPart
from gz_testauto.grid.occupancy import rectangles_of, runs_of
from gz_testauto.sampling.models import Size
from gz_testauto.sampling.seeds import LAYOUT, child_generator
from gz_testauto.spec.distributions import (
    Distribution,
    PositiveDistribution,
    ShareDistribution,
    Uniform,
    is_constant,
)
from gz_testauto.spec.model import fault
from gz_testauto.spec.obstacles import size_key

MOST_CELLS = 100
MOST_PASSES = 20
LAYOUTS = 1_000_000
_FILLING = 5  # occupied neighbors from which a cell of a cave becomes occupied
_CLEARING = 1  # occupied neighbors up to which a cell of a cave becomes free


def _support_between(low: float, high: float) -> Any:
    def check(distribution: Any) -> Any:
        for bound in distribution.support:
            if not low <= bound <= high:
                raise fault(f"can be {bound:g}; it must be between {low:g} and {high:g}")
        return distribution

    return AfterValidator(check)


CellCount = Annotated[Distribution, _support_between(2, MOST_CELLS)]
"""A number of cells, which is rounded."""
PassCount = Annotated[Distribution, _support_between(0, MOST_PASSES)]
"""A number of smoothing passes, which is rounded."""
LayoutNumber = Annotated[Distribution, _support_between(0, LAYOUTS)]
"""The number of a layout, without its fraction."""

ANY_LAYOUT = Uniform(min=0, max=LAYOUTS)


class LayoutKind(AssembledKind):
    """The base class of obstacle kinds with a random layout of cells."""

    can_be_pushed: ClassVar[bool] = False
    color: ClassVar[str] = "0.62 0.6 0.56 1"
    density_default_kgpm3: ClassVar[float] = 100.0

    @model_validator(mode="after")
    def _require_position(self) -> "LayoutKind":
        positions = (self.x_m, self.y_m)
        if self.count.max > 1 and self.x_m is not None and all(map(is_constant, positions)):
            raise ValueError(
                f"count can be {self.count.max}, but x_m and y_m are constant; the {self.type}s "
                "would overlap. Set count to 1, or use a region"
            )
        return self


class MazeObstacles(LayoutKind):
    """Mazes of square cells, with one entrance in the wall at the smallest x and one in the wall at
    the largest x.

    The passages are a random spanning tree of the cells, found by depth-first search, so that
    exactly one path connects two cells. ``loops`` removes further walls.
    """

    part_name: ClassVar[str] = "wall"
    fits: ClassVar[Tuple[Tuple[float, str, str], ...]] = ((1, "thickness_m", "cell_m"),)

    type: Literal["maze"]
    cells_x: Optional[CellCount] = size_key(6.0)
    """Number of cells along x, rounded to an integer between 2 and 100."""
    cells_y: Optional[CellCount] = size_key(6.0)
    """Number of cells along y, rounded to an integer between 2 and 100."""
    cell_m: Optional[PositiveDistribution] = size_key(1.5)
    """Side (m) of a cell."""
    thickness_m: Optional[PositiveDistribution] = size_key(0.1)
    """Thickness (m) of the walls. Passages have the width ``cell_m`` minus ``thickness_m``."""
    height_m: Optional[PositiveDistribution] = size_key(1.0)
    """Height (m) of the walls."""
    loops: Optional[ShareDistribution] = size_key(0.0)
    """Share of the inner walls of the spanning tree that are removed; 0 is exactly one path between
    two cells."""
    layout: LayoutNumber = size_key(0.0, ANY_LAYOUT)
    """Number that selects the layout, from 0 to 1,000,000. By default, each obstacle has another
    random layout."""

    @classmethod
    def parts_of(cls, size: Size) -> List[BoxPart]:
        # Each wall is as long as possible, since simulators are slow with many boxes.
        columns, rows = _columns_and_rows(size)
        _, _, cell, thickness, height, loops, layout = size
        along_x, along_y = _maze(columns, rows, loops, layout)
        half_x_m, half_y_m = columns * cell / 2, rows * cell / 2
        parts = []
        for line, first, last in runs_of(along_x):
            length = (last - first) * cell + thickness
            center = (first + last) / 2 * cell - half_x_m
            parts.append(
                BoxPart(center, line * cell - half_y_m, height / 2, length, thickness, height)
            )
        padded = np.pad(along_x, ((0, 0), (1, 1)))
        corner_is_in_wall = padded[:, 1:] | padded[:, :-1]  # whether a wall along x contains it
        for line, first, last in runs_of(along_y):
            ends = [-0.5 if corner_is_in_wall[end, line] else 0.5 for end in (first, last)]
            low = first * cell - ends[0] * thickness - half_y_m
            high = last * cell + ends[1] * thickness - half_y_m
            x = line * cell - half_x_m
            parts.append(BoxPart(x, (low + high) / 2, height / 2, thickness, high - low, height))
        return parts


class CaveObstacles(LayoutKind):
    """Caves of a cellular automaton, as in the BARN dataset, which are open towards -x and +x.

    Cells are occupied with the probability ``fill``. In each smoothing pass, a cell with at least 5
    occupied neighbors of 8 becomes occupied, and a cell with at most 1 becomes free. The rows of
    cells at the smallest and largest y are occupied. Source: D. Perille, A. Truong, X. Xiao and
    P. Stone, Benchmarking Metric Ground Navigation, SSRR 2020, and its program.
    """

    part_name: ClassVar[str] = "rock"

    type: Literal["cave"]
    cells_x: Optional[CellCount] = size_key(30.0)
    """Number of cells along x, rounded to an integer between 2 and 100."""
    cells_y: Optional[CellCount] = size_key(30.0)
    """Number of cells along y, rounded to an integer between 2 and 100."""
    cell_m: Optional[PositiveDistribution] = size_key(0.15)
    """Side (m) of a cell."""
    height_m: Optional[PositiveDistribution] = size_key(1.0)
    """Height (m) of the rocks."""
    fill: Optional[ShareDistribution] = size_key(0.2)
    """Share of the cells that are occupied before smoothing. BARN has 0.15 to 0.3."""
    passes: Optional[PassCount] = size_key(4.0)
    """Number of smoothing passes, rounded to an integer. BARN has 2 to 4."""
    layout: LayoutNumber = size_key(0.0, ANY_LAYOUT)
    """Number that selects the layout, from 0 to 1,000,000. By default, each obstacle has another
    random layout."""

    @classmethod
    def parts_of(cls, size: Size) -> List[BoxPart]:
        columns, rows = _columns_and_rows(size)
        _, _, cell, height, fill, passes, layout = size
        generator = child_generator(int(layout), LAYOUT)
        occupied = cave(generator.random((rows, columns)), fill, round(passes))
        x_m, y_m = columns * cell / 2, rows * cell / 2
        return [
            BoxPart.between(
                (column * cell - x_m, row * cell - y_m, 0.0),
                ((column + columns) * cell - x_m, (row + rows) * cell - y_m, height),
            )
            for row, column, rows, columns in rectangles_of(occupied)
        ]


def cave(numbers: np.ndarray, fill: float, passes: int) -> np.ndarray:
    """Return which cells are occupied, as bool, for random ``numbers`` (rows, columns) in [0, 1).

    The share ``fill`` of the cells is occupied at first. Each of the ``passes`` fills cells with
    many occupied neighbors, and clears those with few.
    """
    occupied = numbers < fill
    occupied[[0, -1]] = True
    for _ in range(passes):
        padded = np.pad(occupied.astype(int), 1)
        # cells beyond the first and last row count as occupied, those beyond the columns as free
        padded[[0, -1]] = 1
        of_three = padded[:-2] + padded[1:-1] + padded[2:]
        neighbors = of_three[:, :-2] + of_three[:, 1:-1] + of_three[:, 2:] - occupied
        occupied = (neighbors >= _FILLING) | (occupied & (neighbors > _CLEARING))
    return occupied


def _maze(columns: int, rows: int, loops: float, layout: float) -> Tuple[np.ndarray, np.ndarray]:
    """Return the walls along x, shape (rows + 1, columns), and along y, shape (columns + 1, rows),
    as bool arrays."""
    draw = child_generator(int(layout), LAYOUT).random
    along_x = np.ones((rows + 1, columns), dtype=bool)
    along_y = np.ones((columns + 1, rows), dtype=bool)
    is_visited = np.zeros((rows, columns), dtype=bool)
    row, column = int(draw() * rows), int(draw() * columns)
    stack = [(row, column)]
    is_visited[row, column] = True
    while stack:
        row, column = stack[-1]
        steps = [
            (row + down, column + right)
            for down, right in ((0, 1), (1, 0), (0, -1), (-1, 0))
            if 0 <= row + down < rows
            and 0 <= column + right < columns
            and not is_visited[row + down, column + right]
        ]
        if not steps:
            stack.pop()
            continue
        to_row, to_column = steps[int(draw() * len(steps))]
        if row == to_row:
            along_y[max(column, to_column), row] = False
        else:
            along_x[max(row, to_row), column] = False
        is_visited[to_row, to_column] = True
        stack.append((to_row, to_column))
    for walls in (along_x, along_y):
        inner = walls[1:-1]
        inner &= draw(inner.shape) >= loops
    along_y[0, int(draw() * rows)] = False
    along_y[-1, int(draw() * rows)] = False
    return along_x, along_y


def _columns_and_rows(size: Size) -> Tuple[int, int]:
    return round(size[0]), round(size[1])
