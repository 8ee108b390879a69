import math

import numpy as np
import pytest
import shapely
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gz_testauto.grid.occupancy import OccupancyGrid
from gz_testauto.grid.search import line_is_free, path_length_m, shortest_path, simplify


def empty_grid(rows=20, columns=20):
    return OccupancyGrid(np.zeros((rows, columns)), 1.0, 0.0, 0.0)


def test_path_on_an_empty_grid_is_simplified_to_a_line():
    path = shortest_path(empty_grid(), (0.5, 0.5), (10.5, 5.5))
    assert path_length_m(path) == pytest.approx(5 * math.sqrt(2) + 5)
    simplified = simplify(empty_grid(), path)
    assert path_length_m(simplified) == pytest.approx(math.hypot(10, 5))
    assert len(simplified) == 2


def test_path_starts_and_ends_at_the_given_points():
    path = shortest_path(empty_grid(), (0.6, 0.7), (9.1, 3.3))
    assert tuple(path[0]) == (0.6, 0.7)
    assert tuple(path[-1]) == (9.1, 3.3)


def test_no_path_leads_through_a_closed_wall():
    occupied = np.zeros((10, 10), dtype=bool)
    occupied[:, 5] = True
    grid = OccupancyGrid(occupied, 1.0, 0, 0)
    assert shortest_path(grid, (1.5, 1.5), (8.5, 1.5)) is None


def test_path_does_not_pass_between_diagonal_neighbors():
    occupied = np.zeros((10, 10), dtype=bool)
    occupied[:5, 5] = True
    occupied[5:, 4] = True
    assert shortest_path(OccupancyGrid(occupied, 1.0, 0, 0), (1.5, 1.5), (8.5, 8.5)) is None


@pytest.mark.parametrize("end", [(-1.0, 1.0), (5.5, 5.5)])
def test_no_path_leads_outside_the_grid_or_to_an_occupied_cell(end):
    occupied = np.zeros((10, 10), dtype=bool)
    occupied[5, 5] = True
    grid = OccupancyGrid(occupied, 1.0, 0, 0)
    assert shortest_path(grid, (0.5, 0.5), end) is None
    assert shortest_path(grid, end, (0.5, 0.5)) is None


def test_path_to_the_start_has_zero_length():
    path = shortest_path(empty_grid(), (3.5, 3.5), (3.5, 3.5))
    assert path_length_m(path) == 0.0


def reference_length(grid, start, goal):
    """Return the length of the shortest path in cells, by Dijkstra's algorithm, or None."""
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
def test_path_has_the_length_of_a_reference_implementation_and_is_free(seed, share):
    occupied = np.random.default_rng(seed).random((15, 12)) < share
    occupied[0, 0] = occupied[14, 11] = False
    grid = OccupancyGrid(occupied, 1.0, 0, 0)
    path = shortest_path(grid, (0.5, 0.5), (11.5, 14.5))
    expected = reference_length(grid, (0, 0), (14, 11))
    if expected is None:
        assert path is None
        return
    assert path_length_m(path) == pytest.approx(expected)
    simplified = simplify(grid, path)
    assert path_length_m(simplified) <= path_length_m(path) + 1e-9
    segments = zip(simplified[:-1], simplified[1:])
    assert all(line_is_free(grid, tuple(a), tuple(b)) for a, b in segments)


@given(*[st.floats(0.01, 9.99)] * 4)
def test_line_is_free_exactly_if_it_misses_the_occupied_cell(x0, y0, x1, y1):
    occupied = np.zeros((10, 10), dtype=bool)
    occupied[5, 5] = True
    grid = OccupancyGrid(occupied, 1.0, 0, 0)
    distance = shapely.box(5, 5, 6, 6).distance(shapely.LineString([(x0, y0), (x1, y1)]))
    deep = shapely.box(5.001, 5.001, 5.999, 5.999)
    if distance > 1e-6:
        assert line_is_free(grid, (x0, y0), (x1, y1))
    elif deep.intersects(shapely.LineString([(x0, y0), (x1, y1)])):
        assert not line_is_free(grid, (x0, y0), (x1, y1))


def test_path_between_any_two_free_cells_is_the_shortest():
    generator = np.random.default_rng(1)
    for _ in range(100):
        grid = OccupancyGrid(generator.random((25, 25)) < 0.3, 1.0, 0.0, 0.0)
        start, goal = map(tuple, generator.choice(np.argwhere(~grid.occupied), 2).tolist())
        path = shortest_path(grid, grid.center_of(*start), grid.center_of(*goal))
        length_m = None if path is None else pytest.approx(path_length_m(path))
        assert reference_length(grid, start, goal) == length_m


def test_the_first_of_two_equally_short_paths_is_that_of_lower_cells():
    occupied = np.zeros((7, 7), dtype=bool)
    occupied[2:5, 3] = True
    path = shortest_path(OccupancyGrid(occupied, 1.0, 0.0, 0.0), (0.5, 3.5), (6.5, 3.5))
    assert path[:, 1].min() == 1.5
    assert path[:, 1].max() == 3.5
