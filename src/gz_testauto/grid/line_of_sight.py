"""Compiled inner loops of :mod:`gz_testauto.grid.visibility`.

Outlines consist of directed edges with the free side on their left. Edge ``e`` leads from
``tails[e]`` to ``tails[next_edges[e]]`` (m).
"""

import math
from typing import NamedTuple

import numpy as np

from gz_testauto.base.compiled import compiled

TOUCH_M = 1e-9
_PAD_M = 1e-6  # width by which a segment is enlarged when its cells are looked up, for rounding


class EdgeGrid(NamedTuple):
    """Edges, and a grid of square cells that lists the edges near each cell.

    Cell ``c = column * rows + row`` contains the edges ``edges_by_cell[first[c] : first[c + 1]]``.
    """

    tails: np.ndarray
    next_edges: np.ndarray
    low_x: float
    low_y: float
    cell_m: float
    columns: int
    rows: int
    first: np.ndarray
    edges_by_cell: np.ndarray


class Nodes(NamedTuple):
    """The ends of a path and the corners at which it can bend, shape (n, 2), in m. ``start_edges``
    are the edges that start there, -1 at an end of the path; ``incoming`` and ``outgoing`` are the
    vectors of the edges that end and start there, or 0."""

    points: np.ndarray
    start_edges: np.ndarray
    incoming: np.ndarray
    outgoing: np.ndarray


def edge_grid(tails: np.ndarray, next_edges: np.ndarray) -> EdgeGrid:
    """Return a grid with about as many cells as edges."""
    low, high = tails.min(axis=0), tails.max(axis=0)
    width, height = (high - low).tolist()
    cell_m = max(math.sqrt(width * height / len(tails)), _PAD_M)
    columns, rows = int(width / cell_m) + 1, int(height / cell_m) + 1
    nothing = np.zeros(0, dtype=np.int64)
    grid = EdgeGrid(
        tails, next_edges, float(low[0]), float(low[1]), cell_m, columns, rows, nothing, nothing
    )
    return grid._replace(**dict(zip(("first", "edges_by_cell"), _list_edges(grid))))


@compiled
def _list_edges(grid):  # type: ignore[no-untyped-def]
    """Return ``first`` and ``edges_by_cell`` of an :class:`EdgeGrid`."""
    first = np.zeros(grid.columns * grid.rows + 1, np.int64)
    edges_by_cell = np.zeros(0, np.int64)
    for is_counting in (True, False):
        if not is_counting:
            first = np.cumsum(first)
            edges_by_cell = np.empty(first[-1], np.int64)
        for edge in range(len(grid.tails)):
            head = grid.next_edges[edge]
            x, y, end_x, end_y = (
                grid.tails[edge, 0],
                grid.tails[edge, 1],
                grid.tails[head, 0],
                grid.tails[head, 1],
            )
            low_column, high_column = _columns(x, end_x, grid)
            for column in range(low_column, high_column + 1):
                low_row, high_row = _rows(x, y, end_x, end_y, column, grid)
                for cell in range(column * grid.rows + low_row, column * grid.rows + high_row + 1):
                    if is_counting:
                        first[cell] += 1
                    else:  # from the last entry of the cell to its first one
                        first[cell] -= 1
                        edges_by_cell[first[cell]] = edge
    return first, edges_by_cell


@compiled
def _columns(x, end_x, grid):  # type: ignore[no-untyped-def]
    """Return the first and the last column that a segment passes."""
    low = math.floor((min(x, end_x) - _PAD_M - grid.low_x) / grid.cell_m)
    high = math.floor((max(x, end_x) + _PAD_M - grid.low_x) / grid.cell_m)
    return max(0, int(low)), min(grid.columns - 1, int(high))


@compiled
def _rows(x, y, end_x, end_y, column, grid):  # type: ignore[no-untyped-def]
    """Return the first and the last row that a segment passes in a column."""
    along = end_x - x
    share, end_share = 0.0, 1.0
    if abs(along) > 1000.0 * _PAD_M:  # otherwise the shares are imprecise
        left = grid.low_x + column * grid.cell_m - _PAD_M
        right = left + grid.cell_m + 2.0 * _PAD_M
        share = min(max((left - x) / along, 0.0), 1.0)
        end_share = min(max((right - x) / along, 0.0), 1.0)
    first_y, last_y = y + share * (end_y - y), y + end_share * (end_y - y)
    low = math.floor((min(first_y, last_y) - _PAD_M - grid.low_y) / grid.cell_m)
    high = math.floor((max(first_y, last_y) + _PAD_M - grid.low_y) / grid.cell_m)
    return max(0, int(low)), min(grid.rows - 1, int(high))


@compiled
def _touches(x, y, end_x, end_y, tail_x, tail_y, head_x, head_y, margin):  # type: ignore[no-untyped-def]
    """Return whether the segment from (x, y) to (end_x, end_y) touches the edge from its tail to
    its head, or is closer to it than the tolerance. ``margin`` is ``TOUCH_M`` times the length of
    the segment."""
    # Without this tolerance, a segment could pass through a corner into collinear outlines.
    along_x, along_y = end_x - x, end_y - y
    level = along_x * y - along_y * x
    tail_side = along_x * tail_y - along_y * tail_x - level
    head_side = along_x * head_y - along_y * head_x - level
    if tail_side > margin and head_side > margin:
        return False
    if tail_side < -margin and head_side < -margin:
        return False
    edge_x, edge_y = head_x - tail_x, head_y - tail_y
    edge_margin = TOUCH_M * math.hypot(edge_x, edge_y)
    start_side = edge_x * (y - tail_y) - edge_y * (x - tail_x)
    end_side = edge_x * (end_y - tail_y) - edge_y * (end_x - tail_x)
    if min(start_side, end_side) > edge_margin or max(start_side, end_side) < -edge_margin:
        return False
    # Collinear segments touch only if they overlap.
    low = (tail_x - x) * along_x + (tail_y - y) * along_y
    high = (head_x - x) * along_x + (head_y - y) * along_y
    return max(low, high) >= 0 and min(low, high) <= along_x * along_x + along_y * along_y


@compiled
def _is_blocking(edge, x, y, end_x, end_y, own_start, own_end, grid):  # type: ignore[no-untyped-def]
    """Return whether the segment from (x, y) to (end_x, end_y) touches an edge. Edges at the
    corners ``own_start`` and ``own_end`` are ignored, since the segment is tangent there."""
    head = grid.next_edges[edge]
    if edge in (own_start, own_end) or head in (own_start, own_end):
        return False
    tails, margin = grid.tails, TOUCH_M * math.hypot(end_x - x, end_y - y)
    tail_x, tail_y = tails[edge, 0], tails[edge, 1]
    return _touches(x, y, end_x, end_y, tail_x, tail_y, tails[head, 0], tails[head, 1], margin)


@compiled
def _blocking_edge(x, y, end_x, end_y, own_start, own_end, grid):  # type: ignore[no-untyped-def]
    """Return an edge that blocks a segment (:func:`_is_blocking`), or -1."""
    low_column, high_column = _columns(x, end_x, grid)
    for column in range(low_column, high_column + 1):
        low_row, high_row = _rows(x, y, end_x, end_y, column, grid)
        if low_row <= high_row:
            cell = column * grid.rows
            for number in range(grid.first[cell + low_row], grid.first[cell + high_row + 1]):
                edge = grid.edges_by_cell[number]
                if _is_blocking(edge, x, y, end_x, end_y, own_start, own_end, grid):
                    return edge
    return -1


@compiled
def touches_any(path, grid):  # type: ignore[no-untyped-def]
    """Return whether a path (n, 2) touches any edge."""
    for start in range(len(path) - 1):
        x, y, end_x, end_y = path[start, 0], path[start, 1], path[start + 1, 0], path[start + 1, 1]
        if _blocking_edge(x, y, end_x, end_y, -1, -1, grid) >= 0:
            return True
    return False


@compiled
def _is_tangent(along_x, along_y, nodes, node):  # type: ignore[no-untyped-def]
    """Return whether the outline at a node is on one side of a line in the direction (``along_x``,
    ``along_y``), so that a shortest path can bend there."""
    into_side = along_x * nodes.incoming[node, 1] - along_y * nodes.incoming[node, 0]
    out_side = along_x * nodes.outgoing[node, 1] - along_y * nodes.outgoing[node, 0]
    return into_side * out_side >= -TOUCH_M * TOUCH_M


@compiled
def shortest_paths(nodes, grid, ahead, target, bend_count):  # type: ignore[no-untyped-def]
    """Return the lengths (m) of the shortest paths from node 0 to each node, and the previous node
    on each path. Unknown lengths are inf, and unknown nodes are -1.

    The algorithm is A*. It stops when the path to ``target`` is known, or if ``target`` is -1, when
    all paths are known.

    ``ahead`` are lower bounds of the distances (m) from each node to the target. They need not be
    consistent: a shorter path to a node expands the node again. Paths bend only at the
    first ``bend_count`` nodes.
    """
    points = nodes.points
    count = len(points)
    path_lengths, predecessors = np.full(count, np.inf), np.full(count, -1)
    is_open = np.zeros(count, np.bool_)
    path_lengths[0], is_open[0] = 0.0, True
    while True:
        min_length, current_node = np.inf, -1
        for node in range(bend_count):
            if is_open[node] and path_lengths[node] + ahead[node] < min_length:
                min_length, current_node = path_lengths[node] + ahead[node], node
        if current_node in (-1, target):
            return path_lengths, predecessors
        is_open[current_node] = False
        blocking = -1  # the edge that hides one node often hides the next
        for node in range(count):
            along_x = points[node, 0] - points[current_node, 0]
            along_y = points[node, 1] - points[current_node, 1]
            # the cheapest tests first
            if path_lengths[current_node] >= path_lengths[node]:
                continue
            if not _is_tangent(along_x, along_y, nodes, current_node):
                continue
            path_length = path_lengths[current_node] + math.hypot(along_x, along_y)
            if path_length >= path_lengths[node]:
                continue
            if target >= 0 and path_length + ahead[node] >= path_lengths[target]:
                continue
            if target >= 0 and not _is_tangent(along_x, along_y, nodes, node):
                continue  # without a target, paths can end at a corner without a bend
            i, j = min(current_node, node), max(current_node, node)
            x, y, end_x, end_y = points[i, 0], points[i, 1], points[j, 0], points[j, 1]
            own_start, own_end = nodes.start_edges[i], nodes.start_edges[j]
            if blocking >= 0 and _is_blocking(
                blocking, x, y, end_x, end_y, own_start, own_end, grid
            ):
                continue
            edge = _blocking_edge(x, y, end_x, end_y, own_start, own_end, grid)
            if edge < 0:
                path_lengths[node], predecessors[node] = path_length, current_node
                is_open[node] = node < bend_count
            else:
                blocking = edge


@compiled
def distances(points, corners, first):  # type: ignore[no-untyped-def]
    """Return the distances (m) from points (n, 2) to m outlines, shape (n, m). The points must be
    outside all outlines.

    The corners of outline k are ``corners[first[k]:first[k + 1]]``. The last corner repeats the
    first one, unless the outline is a point.
    """
    result = np.empty((len(points), len(first) - 1))
    for outline in range(len(first) - 1):
        low, high = first[outline], first[outline + 1]
        for row in range(len(points)):
            min_square = np.inf
            for corner in range(low, max(low + 1, high - 1)):
                tail_x, tail_y = corners[corner, 0], corners[corner, 1]
                next_corner = min(corner + 1, high - 1)
                edge_x, edge_y = corners[next_corner, 0] - tail_x, corners[next_corner, 1] - tail_y
                x, y = points[row, 0] - tail_x, points[row, 1] - tail_y
                square = max(edge_x * edge_x + edge_y * edge_y, 1e-300)
                share = min(max((x * edge_x + y * edge_y) / square, 0.0), 1.0)
                x, y = x - share * edge_x, y - share * edge_y
                min_square = min(min_square, x * x + y * y)
            result[row, outline] = math.sqrt(min_square)
    return result
