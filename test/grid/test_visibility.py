import math
import time

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra

from gz_testauto.grid.occupancy import OccupancyGrid
from gz_testauto.grid.search import path_length_m, shortest_path, simplify
from gz_testauto.grid.visibility import free_region, shortest_way, widen

AREA = shapely.box(-10, -10, 10, 10)


def way_among(blocked, start, goal, area=AREA):
    free = free_region(area, blocked, start, goal)
    return None if free is None else shortest_way(free, start, goal)


def test_way_through_the_open_is_straight():
    way = way_among(shapely.Polygon(), (-5, -5), (5, 4))
    assert np.array_equal(way, [(-5, -5), (5, 4)])


def test_way_around_a_box_bends_at_its_corners():
    way = way_among(shapely.box(-1, -3, 1, 2), (-5, 0), (5, 0))
    assert np.array_equal(way, [(-5, 0), (-1, 2), (1, 2), (5, 0)])


def test_way_around_a_disc_is_two_tangents_and_an_arc():
    disc = widen(np.array([shapely.Point(0, 0)]), 2.0)[0]
    length = path_length_m(way_among(disc, (-5, 0), (5, 0)))
    tangent = math.sqrt(25 - 4)
    exact = 2 * tangent + 2 * (math.pi - 2 * math.acos(2 / 5))
    assert exact <= length <= exact * 1.003


def test_widened_shape_holds_everything_within_the_radius():
    wide = widen(np.array([shapely.box(0, 0, 1, 1)]), 0.7)[0]
    assert wide.covers(shapely.box(0, 0, 1, 1).buffer(0.7, quad_segs=64))
    assert shapely.box(0, 0, 1, 1).buffer(0.7 * 1.01, quad_segs=64).covers(wide)


def test_way_may_run_along_aligned_walls():
    walls = shapely.union_all([shapely.box(x, 0, x + 1, 9) for x in (-6, -3, 0, 3)])
    way = way_among(walls, (-8, 1), (8, 1))
    assert path_length_m(way) == pytest.approx(2 + 10 + 4 + 0.0, abs=0.5)
    assert not walls.buffer(-1e-9).intersects(shapely.LineString(way))


def test_way_leads_out_of_a_pocket():
    pocket = shapely.Polygon([(2, -3), (3, -3), (3, 3), (-2, 3), (-2, 2), (2, 2)])
    way = way_among(pocket, (0, 0), (6, 0))
    assert np.array_equal(way, [(0, 0), (2, -3), (3, -3), (6, 0)])


@pytest.mark.parametrize(
    "blocked",
    [
        shapely.box(-1, -11, 1, 11),
        shapely.Point(0, 0).buffer(6).difference(shapely.Point(0, 0).buffer(4)),
        shapely.Point(7, 7).buffer(1),
        shapely.Point(-3, 0).buffer(1),
    ],
)
def test_no_way_when_walled_off_or_covered(blocked):
    assert way_among(blocked, (-3, 0), (7, 7)) is None


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.integers(0, 100_000))
def test_way_is_free_and_never_longer_than_what_a_fine_grid_finds(seed):
    rng = np.random.default_rng(seed)
    shapes = [
        shapely.affinity.rotate(shapely.box(x - w, y - h, x + w, y + h), turn, use_radians=True)
        for x, y, w, h, turn in rng.uniform([-7, -7, 0.2, 0.2, 0], [7, 7, 2, 2, 3], (10, 5))
    ]
    blocked = shapely.union_all(widen(np.array(shapes), 0.3))
    start, goal = (-9.5, -9.5), (9.5, 9.5)
    way = way_among(blocked, start, goal)
    grid = OccupancyGrid.rasterize(list(shapely.get_parts(blocked)), AREA.bounds, 0.1)
    on_grid = shortest_path(grid, start, goal)
    if way is None:
        assert on_grid is None
        return
    assert AREA.difference(blocked).buffer(1e-7).covers(shapely.LineString(way))
    assert path_length_m(way) >= math.hypot(19, 19) - 1e-9
    if on_grid is not None:
        assert path_length_m(way) <= path_length_m(simplify(grid, on_grid)) + 1e-9


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 100_000))
def test_way_is_as_long_backwards(seed):
    rng = np.random.default_rng(seed)
    discs = widen(shapely.points(rng.uniform(-6, 6, (8, 2))), rng.uniform(0.3, 2.0, 8))
    blocked = shapely.union_all(discs)
    there, back = (way_among(blocked, *ends) for ends in (((-9, -9), (9, 9)), ((9, 9), (-9, -9))))
    assert path_length_m(there) == pytest.approx(path_length_m(back))


@pytest.mark.parametrize("seed", range(5))
def test_way_is_the_shortest_of_all_lines_that_keep_clear(seed):
    rng = np.random.default_rng(seed)
    discs = widen(shapely.points(rng.uniform(-7, 7, (8, 2))), rng.uniform(0.3, 2.0, 8))
    blocked = shapely.union_all(discs)
    ends = np.array([(-9.0, -9.0), (9.0, 9.0)])
    corners = np.unique(np.concatenate([ends, shapely.get_coordinates(blocked)]), axis=0)
    i, j = np.triu_indices(len(corners), 1)
    lines = shapely.linestrings(np.stack([corners[i], corners[j]], axis=1))
    inside = shapely.buffer(blocked, -1e-9)
    shapely.prepare(inside)
    clear = ~shapely.intersects(inside, lines)
    graph = csr_matrix((shapely.length(lines[clear]), (i[clear], j[clear])), (len(corners),) * 2)
    start, goal = (np.flatnonzero((corners == end).all(axis=1))[0] for end in ends)
    shortest_m = dijkstra(graph, directed=False, indices=start)[goal]
    assert path_length_m(way_among(blocked, *ends)) == pytest.approx(shortest_m, rel=1e-9)


def test_outline_of_very_many_corners_takes_seconds_at_most_and_little_memory():
    angles = np.linspace(0, 2 * math.pi, 2401)[:-1]
    radius = 6 + 0.5 * np.cos(60 * angles)
    flower = shapely.Polygon(np.column_stack([radius * np.cos(angles), radius * np.sin(angles)]))
    started = time.process_time()
    way = way_among(flower, (-9, 0), (9, 0))
    assert time.process_time() - started < 60
    # round a disc of the petals' reach, but for what the string spans between petals
    disc = 2 * math.sqrt(81 - 6.5**2) + 6.5 * (math.pi - 2 * math.acos(6.5 / 9))
    assert path_length_m(way) == pytest.approx(disc, rel=0.01)
