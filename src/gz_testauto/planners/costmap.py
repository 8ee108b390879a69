"""A local costmap that moves with the robot, with the layers and costs of
https://wiki.ros.org/costmap_2d.
"""

import math
from typing import Tuple

import numpy as np

from gz_testauto.base.arithmetic import matrix_product
from gz_testauto.base.compiled import compiled, compiled_for
from gz_testauto.base.elementary import exp
from gz_testauto.base.pose import Pose2D
from gz_testauto.planners.sweep import ConvexFootprint

LETHAL = 254
INSCRIBED = 253

LAST_BUCKET = 4095  # index of the last bucket in a path search; a step costs less, at most 14 · 252


class LocalCostmap:
    """A square grid around the robot whose cells are aligned with the world frame.

    Obstacles that have left the lidar's field of view remain. ``costs`` has shape (n, n); rows are
    y, columns are x. A cost is 254 for an obstacle, and 253 within the inscribed radius r of the
    footprint. Up to ``inflation_radius`` (m), it is 252 exp(−``cost_scaling_factor`` (d − r)),
    rounded down, at the distance d (m) from the nearest obstacle. Unknown cells are free.
    """

    def __init__(
        self,
        footprint: ConvexFootprint,
        width: float,
        resolution: float,
        inflation_radius: float,
        cost_scaling_factor: float,
    ) -> None:
        self.resolution = resolution
        self._footprint = footprint
        self._cells = max(3, round(width / resolution))
        self._corner: Tuple[int, int] = (0, 0)
        self._marked = np.zeros((self._cells, self._cells), np.uint8)
        self.costs = self._marked
        self._stamp = _inflation_stamp(
            resolution, footprint.inscribed_radius_m, inflation_radius, cost_scaling_factor
        )

    @property
    def origin_m(self) -> Tuple[float, float]:
        """The lower left corner of the first cell (m, world frame)."""
        return self._corner[0] * self.resolution, self._corner[1] * self.resolution

    @property
    def reach_m(self) -> float:
        """The distance (m) from the robot within which each point is on the map."""
        # half a cell is for rounding errors
        return ((self._cells - 1) // 2 - 0.5) * self.resolution

    def move_to(self, pose: Pose2D) -> None:
        """Center the map on the robot, and clear the cells below its footprint."""
        corner = (self._first_cell_index(pose.x_m), self._first_cell_index(pose.y_m))
        if corner != self._corner:
            self._shift_origin(corner[1] - self._corner[1], corner[0] - self._corner[0])
        self._corner = corner
        self._clear_footprint(pose, self._marked)

    def _shift_origin(self, rows: int, columns: int) -> None:
        """Move the first cell of the map."""
        self._marked = shifted(self._marked, rows, columns)

    def _first_cell_index(self, position_m: float) -> int:
        """Return the index, along one axis of the world, of the first cell of a map around
        ``position_m``."""
        return math.floor(position_m / self.resolution) - self._cells // 2

    def _clear_footprint(self, pose: Pose2D, grid: np.ndarray) -> None:
        """Clear the cells of ``grid`` below the footprint."""
        reach = math.ceil(self._footprint.radius_m / self.resolution) + 1
        first = max(0, self._cells // 2 - reach)
        window = grid[first : first + 2 * reach + 1, first : first + 2 * reach + 1]
        rows, columns = np.nonzero(window)
        if len(rows) == 0:
            return
        x_m = (columns + first + self._corner[0] + 0.5) * self.resolution - pose.x_m
        y_m = (rows + first + self._corner[1] + 0.5) * self.resolution - pose.y_m
        cos, sin = math.cos(pose.yaw_rad), math.sin(pose.yaw_rad)
        cells_in_robot_m = np.column_stack([cos * x_m + sin * y_m, cos * y_m - sin * x_m])
        excess_m = (
            matrix_product(cells_in_robot_m, self._footprint.normals.T) - self._footprint.offsets_m
        )
        # the center of a cell can be inside although the obstacle in it is outside
        is_inside = (excess_m < -self.resolution).all(axis=1)
        window[rows[is_inside], columns[is_inside]] = 0

    def add_scan(self, sensor_m: np.ndarray, ends_m: np.ndarray, hits: np.ndarray) -> None:
        """Clear the cells along each ray, then mark the cells in which rays end at an obstacle.

        ``sensor_m`` (2,) and ``ends_m`` (n, 2) are in the world frame. ``hits`` (n,) is true for
        the rays with a return.
        """
        cells = np.floor(np.vstack([sensor_m, ends_m]) / self.resolution).astype(np.int64)
        cells -= np.array(self._corner)
        _trace(self._marked, cells, np.ascontiguousarray(hits, dtype=np.bool_))

    def inflate(self) -> None:
        """Compute ``costs`` from the marked cells."""
        self.costs = _inflated(self._occupied_cells(), self._stamp)

    def _occupied_cells(self) -> np.ndarray:
        return self._marked

    def cells_of(self, points_m: np.ndarray) -> np.ndarray:
        """Return row and column of the cell of each point (world frame), shape (n, 2). A cell can
        be outside of the map."""
        cells = np.floor((points_m - np.array(self.origin_m)) / self.resolution)
        return np.asarray(cells[:, ::-1].astype(np.int64))

    def contains(self, cells: np.ndarray) -> np.ndarray:
        """Return whether each cell, shape (n, 2), is on the map, shape (n,)."""
        return np.asarray(((cells >= 0) & (cells < self._cells)).all(axis=1))

    def distances(self, targets: np.ndarray) -> np.ndarray:
        """Return the number of steps from each cell to the nearest target cell, shape (n, n).

        A step leads to one of four neighbors, and not to a cell whose cost is 253 or more. With N
        cells on the map, the value is N for such a cell next to a reached one, and N + 1 for any
        other cell without a path. Targets have shape (k, 2), and can be obstacles.
        """
        return np.asarray(_distances(self.costs, np.ascontiguousarray(targets)))

    def path(self, start: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return the cheapest path between two cells, row and column, shape (n, 2).

        A step leads to one of eight neighbors, and costs its length times 50 + 0.8 c, for the cost
        c of the neighbor, as in ``navfn``. It must not enter a cell whose cost is 254, or 253
        unless the step starts in a cell of cost 253 or more. If no path exists, the result ends at
        the reachable cell nearest to the target.
        """
        return np.asarray(_path(self.costs, *start.tolist(), *target.tolist()))

    def centers_m(self, cells: np.ndarray) -> np.ndarray:
        """Return the centers (m) of cells, row and column, in the world frame, shape (n, 2)."""
        return np.asarray((cells[:, ::-1] + np.array(self._corner) + 0.5) * self.resolution)


def _inflation_stamp(
    resolution_m: float, inscribed_m: float, radius_m: float, decay_perm: float
) -> np.ndarray:
    """Return the costs, shape (k, k), that an obstacle in the middle cell causes around it."""
    reach = max(math.floor(radius_m / resolution_m), 0)
    offset = np.arange(-reach, reach + 1)
    away_m = np.hypot(offset[:, None], offset) * resolution_m
    decay = exp(-decay_perm * (away_m - inscribed_m).ravel()).reshape(away_m.shape)
    cost = np.floor((INSCRIBED - 1) * decay)
    cost = np.where(away_m <= inscribed_m, INSCRIBED, cost)
    cost[away_m == 0.0] = LETHAL
    return np.where(away_m <= radius_m, cost, 0.0).astype(np.uint8)


def shifted(grid: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """Return a grid of the same shape whose first cell is the cell (rows, columns) of ``grid``.
    Cells outside of ``grid`` are 0."""
    shifted_grid = np.zeros_like(grid)
    size = len(grid)
    if abs(rows) < size and abs(columns) < size:
        shifted_grid[
            max(0, -rows) : size - max(0, rows), max(0, -columns) : size - max(0, columns)
        ] = grid[max(0, rows) : size - max(0, -rows), max(0, columns) : size - max(0, -columns)]
    return shifted_grid


@compiled
def next_cell(x, y, error, over_x, over_y, step_x, step_y):  # type: ignore[no-untyped-def]
    """Return column, row and accumulated error of the cell after (x, y) on a line of Bresenham's
    algorithm. The whole line extends over ``over_x`` and ``over_y`` cells along the axes, in the
    directions ``step_x`` and ``step_y`` (1 or -1)."""
    if over_x >= over_y:
        x += step_x
        error += over_y
        if error >= over_x:
            error -= over_x
            y += step_y
    else:
        y += step_y
        error += over_x
        if error >= over_y:
            error -= over_y
            x += step_x
    return x, y, error


@compiled_for("void(u1[:, ::1], i8[:, ::1], b1[::1])")
def _trace(marked_cells, cells, hits):  # type: ignore[no-untyped-def]
    """Clear the cells of ``marked_cells`` on each line, without its end. Then mark the ends of the
    lines for which ``hits``, shape (n,), is true. ``cells``, shape (n + 1, 2), are (x, y) of the
    common start of the lines and of each end."""
    height, width = marked_cells.shape
    start_x, start_y = cells[0, 0], cells[0, 1]
    for ray in range(len(hits)):
        end_x, end_y = cells[ray + 1, 0], cells[ray + 1, 1]
        over_x, over_y = abs(end_x - start_x), abs(end_y - start_y)
        step_x = 1 if end_x >= start_x else -1
        step_y = 1 if end_y >= start_y else -1
        steps = max(over_x, over_y)
        x, y = start_x, start_y
        error = steps // 2
        for _ in range(steps):
            if not (0 <= x < width and 0 <= y < height):
                break
            marked_cells[y, x] = 0
            x, y, error = next_cell(x, y, error, over_x, over_y, step_x, step_y)
    # Cells are marked after all lines, so that no line clears the end of another one.
    for ray in range(len(hits)):
        x, y = cells[ray + 1, 0], cells[ray + 1, 1]
        if hits[ray] and 0 <= x < width and 0 <= y < height:
            marked_cells[y, x] = 1


@compiled_for("u1[:, ::1](u1[:, ::1], u1[:, ::1])")
def _inflated(marked_cells, stamp):  # type: ignore[no-untyped-def]
    """Return the largest cost that a marked cell causes in each cell, shape (n, n). A marked cell
    causes the costs of ``stamp`` around it (:func:`_inflation_stamp`)."""
    height, width = marked_cells.shape
    reach = len(stamp) // 2
    costs = np.zeros((height, width), np.uint8)
    for row in range(height):
        for column in range(width):
            if marked_cells[row, column]:
                top, bottom = max(0, row - reach), min(height, row + reach + 1)
                left, right = max(0, column - reach), min(width, column + reach + 1)
                # Cells beyond a marked neighbor are nearer to it, and costs decrease with distance.
                if row > 0 and marked_cells[row - 1, column]:
                    top = row
                if row + 1 < height and marked_cells[row + 1, column]:
                    bottom = row + 1
                if column > 0 and marked_cells[row, column - 1]:
                    left = column
                if column + 1 < width and marked_cells[row, column + 1]:
                    right = column + 1
                for y in range(top, bottom):
                    # with slices, the compiler processes many cells per instruction
                    line = costs[y, left:right]
                    caused = stamp[y - row + reach, left - column + reach :]
                    for x in range(len(line)):
                        line[x] = max(line[x], caused[x])
    return costs


@compiled_for("i8[:, ::1](u1[:, ::1], i8[:, ::1])")
def _distances(costs, targets):  # type: ignore[no-untyped-def]
    """Return the steps of :meth:`LocalCostmap.distances` by a breadth-first search."""
    height, width = costs.shape
    cells = height * width
    # The border, which no step enters, saves tests of the row and of the column.
    padded = np.zeros((height + 2, width + 2), np.int64)
    padded[1:-1, 1:-1] = cells + 1
    steps, span = padded.ravel(), width + 2
    blocked = np.ones((height + 2, width + 2), np.bool_)
    blocked[1:-1, 1:-1] = costs >= 253
    is_blocked = blocked.ravel()
    queue = np.empty(cells, np.int32)
    queue_end = 0
    for number in range(len(targets)):
        cell = (targets[number, 0] + 1) * span + targets[number, 1] + 1
        if steps[cell] != 0:
            steps[cell] = 0
            queue[queue_end] = cell
            queue_end += 1
    queue_start = 0
    while queue_start < queue_end:
        cell = queue[queue_start]
        queue_start += 1
        for neighbor in (cell - span, cell + span, cell - 1, cell + 1):
            if steps[neighbor] == cells + 1:
                if is_blocked[neighbor]:
                    steps[neighbor] = cells
                else:
                    steps[neighbor] = steps[cell] + 1
                    queue[queue_end] = neighbor
                    queue_end += 1
    return padded[1:-1, 1:-1].copy()


@compiled_for("i8[:, ::1](u1[:, ::1], i8, i8, i8, i8)")
def _path(costs, start_row, start_column, target_row, target_column):  # type: ignore[no-untyped-def]
    """Return the row and column of each cell on the path of :meth:`LocalCostmap.path`, shape (n,
    2)."""
    # Dijkstra's algorithm with buckets (R. Dial, 1969). The index of a cell's bucket is its cost
    # modulo the number of buckets, which is larger than the cost of any step. A bucket is a linked
    # list of entries. A cell whose cost decreases has a second entry, and its first is ignored.
    height, width = costs.shape
    cells = costs.ravel()
    start, target = start_row * width + start_column, target_row * width + target_column
    unreached = np.iinfo(np.int64).max
    costs_so_far = np.full(height * width, unreached, np.int64)
    previous_cells = np.full(height * width, -1, np.int32)
    first = np.full(LAST_BUCKET + 1, -1, np.int32)
    entries = np.empty((8 * height * width + 1, 2), np.int32)  # cell, and next entry of the bucket
    prices = 50 + 4 * np.arange(256) // 5
    costs_so_far[start] = 0
    entries[0, 0], entries[0, 1], first[0] = start, -1, 0
    entry_count, queue_length, level = 1, 1, 0
    end, nearest_distance = start, unreached
    while queue_length > 0:
        entry = first[level & LAST_BUCKET]
        if entry < 0:
            level += 1
            continue
        cell, first[level & LAST_BUCKET] = entries[entry, 0], entries[entry, 1]
        if costs_so_far[cell] != level:
            continue
        queue_length -= 1
        row, column = cell // width, cell % width
        goal_distance = (row - target_row) ** 2 + (column - target_column) ** 2
        if goal_distance < nearest_distance:
            end, nearest_distance = cell, goal_distance
        if cell == target:
            break
        for y in range(max(0, row - 1), min(height, row + 2)):
            for x in range(max(0, column - 1), min(width, column + 2)):
                neighbor = y * width + x
                cost = cells[neighbor]
                if cost >= 253 and not (cost == 253 and cells[cell] >= 253):
                    continue
                length = 10 if y == row or x == column else 14
                total = level + length * prices[cost]
                if total < costs_so_far[neighbor]:
                    queue_length += costs_so_far[neighbor] == unreached
                    bucket = total & LAST_BUCKET
                    entries[entry_count, 0], entries[entry_count, 1] = neighbor, first[bucket]
                    first[bucket] = entry_count
                    entry_count += 1
                    costs_so_far[neighbor] = total
                    previous_cells[neighbor] = cell
    count = 1
    cell = end
    while previous_cells[cell] >= 0:
        cell = previous_cells[cell]
        count += 1
    path = np.empty((count, 2), np.int64)
    cell = end
    for number in range(count - 1, -1, -1):
        path[number, 0], path[number, 1] = cell // width, cell % width
        cell = previous_cells[cell]
    return path
