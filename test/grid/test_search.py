import math

import numpy as np
import pytest
import shapely
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gz_testauto.grid.occupancy import OccupancyGrid
from gz_testauto.grid.search import line_is_free, path_length_m, shortest_path, simplify


def open_grid(rows=20, columns=20):
    return OccupancyGrid(np.zeros((rows, columns)), 1.0, 0.0, 0.0)


def test_way_through_the_open_is_octile_and_pulled_taut_straight():
    path = shortest_path(open_grid(), (0.5, 0.5), (10.5, 5.5))
    assert path_length_m(path) == pytest.approx(5 * math.sqrt(2) + 5)
    taut = simplify(open_grid(), path)
    assert path_length_m(taut) == pytest.approx(math.hypot(10, 5))
    assert len(taut) == 2


def test_way_begins_and_ends_exactly_where_asked():
    path = shortest_path(open_grid(), (0.6, 0.7), (9.1, 3.3))
    assert tuple(path[0]) == (0.6, 0.7)
    assert tuple(path[-1]) == (9.1, 3.3)


def test_no_way_through_a_closed_wall():
    occupied = np.zeros((10, 10), dtype=bool)
    occupied[:, 5] = True
    grid = OccupancyGrid(occupied, 1.0, 0, 0)
    assert shortest_path(grid, (1.5, 1.5), (8.5, 1.5)) is None


def test_way_does_not_slip_between_two_cells_that_touch_at_a_corner():
    occupied = np.zeros((10, 10), dtype=bool)
    occupied[:5, 5] = True
    occupied[5:, 4] = True
    assert shortest_path(OccupancyGrid(occupied, 1.0, 0, 0), (1.5, 1.5), (8.5, 8.5)) is None


@pytest.mark.parametrize("end", [(-1.0, 1.0), (5.5, 5.5)])
def test_no_way_to_what_is_outside_or_occupied(end):
    occupied = np.zeros((10, 10), dtype=bool)
    occupied[5, 5] = True
    grid = OccupancyGrid(occupied, 1.0, 0, 0)
    assert shortest_path(grid, (0.5, 0.5), end) is None
    assert shortest_path(grid, end, (0.5, 0.5)) is None


def test_start_that_is_the_goal_has_no_length():
    path = shortest_path(open_grid(), (3.5, 3.5), (3.5, 3.5))
    assert path_length_m(path) == 0.0


def dijkstra_by_hand(grid, start, goal):
    """The textbook algorithm, to hold the library's against."""
    import heapq

    best, queue = {start: 0.0}, [(0.0, start)]
    while queue:
        cost, cell = heapq.heappop(queue)
        if cell == goal:
            return cost
        if cost > best[cell]:
            continue
        for dr in (-1, 0, 1):
            for dc in (-1, 0, 1):
                near = (cell[0] + dr, cell[1] + dc)
                steps = [near, (cell[0] + dr, cell[1]), (cell[0], cell[1] + dc)]
                if any(not grid.contains(*s) or grid.occupied[s] for s in steps):
                    continue
                if cost + math.hypot(dr, dc) < best.get(near, math.inf) - 1e-12:
                    best[near] = cost + math.hypot(dr, dc)
                    heapq.heappush(queue, (best[near], near))
    return None


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.05, 0.45))
@example(569, 0.1875)  # a line through a corner of cells
def test_way_is_as_short_as_the_textbook_says_and_free(seed, share):
    occupied = np.random.default_rng(seed).random((15, 12)) < share
    occupied[0, 0] = occupied[14, 11] = False
    grid = OccupancyGrid(occupied, 1.0, 0, 0)
    path = shortest_path(grid, (0.5, 0.5), (11.5, 14.5))
    by_hand = dijkstra_by_hand(grid, (0, 0), (14, 11))
    if by_hand is None:
        assert path is None
        return
    assert path_length_m(path) == pytest.approx(by_hand)
    taut = simplify(grid, path)
    assert path_length_m(taut) <= path_length_m(path) + 1e-9
    assert all(line_is_free(grid, tuple(a), tuple(b)) for a, b in zip(taut[:-1], taut[1:]))


@given(*[st.floats(0.01, 9.99)] * 4)
def test_line_is_free_exactly_when_it_misses_the_cell(x0, y0, x1, y1):
    occupied = np.zeros((10, 10), dtype=bool)
    occupied[5, 5] = True
    grid = OccupancyGrid(occupied, 1.0, 0, 0)
    distance = shapely.box(5, 5, 6, 6).distance(shapely.LineString([(x0, y0), (x1, y1)]))
    deep = shapely.box(5.001, 5.001, 5.999, 5.999)
    if distance > 1e-6:
        assert line_is_free(grid, (x0, y0), (x1, y1))
    elif deep.intersects(shapely.LineString([(x0, y0), (x1, y1)])):
        assert not line_is_free(grid, (x0, y0), (x1, y1))
