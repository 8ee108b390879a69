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
from gz_testauto.grid.visibility import (
    PathBounds,
    free_region,
    inflate,
    shortest_path_in,
    shortest_path_through,
)

AREA = shapely.box(-10, -10, 10, 10)


def path_among(blocked, start, goal, area=AREA):
    free = free_region(area, blocked, start, goal)
    return None if free is None else shortest_path_in(free, start, goal)


def test_path_without_obstacles_is_straight():
    path = path_among(shapely.Polygon(), (-5, -5), (5, 4))
    assert np.array_equal(path, [(-5, -5), (5, 4)])


def test_path_around_a_box_bends_at_its_corners():
    path = path_among(shapely.box(-1, -3, 1, 2), (-5, 0), (5, 0))
    assert np.array_equal(path, [(-5, 0), (-1, 2), (1, 2), (5, 0)])


def test_path_around_a_disc_is_two_tangents_and_an_arc():
    disc = inflate(np.array([shapely.Point(0, 0)]), 2.0)[0]
    length = path_length_m(path_among(disc, (-5, 0), (5, 0)))
    tangent = math.sqrt(25 - 4)
    exact = 2 * tangent + 2 * (math.pi - 2 * math.acos(2 / 5))
    assert exact <= length <= exact * 1.003


def test_inflated_shape_covers_all_points_within_the_radius():
    wide = inflate(np.array([shapely.box(0, 0, 1, 1)]), 0.7)[0]
    assert wide.covers(shapely.box(0, 0, 1, 1).buffer(0.7, quad_segs=64))
    assert shapely.box(0, 0, 1, 1).buffer(0.7 * 1.01, quad_segs=64).covers(wide)


def test_path_can_follow_aligned_walls():
    walls = shapely.union_all([shapely.box(x, 0, x + 1, 9) for x in (-6, -3, 0, 3)])
    path = path_among(walls, (-8, 1), (8, 1))
    assert path_length_m(path) == pytest.approx(2 + 10 + 4 + 0.0, abs=0.5)
    assert not walls.buffer(-1e-9).intersects(shapely.LineString(path))


def test_path_leads_out_of_a_concave_obstacle():
    concave = shapely.Polygon([(2, -3), (3, -3), (3, 3), (-2, 3), (-2, 2), (2, 2)])
    path = path_among(concave, (0, 0), (6, 0))
    assert np.array_equal(path, [(0, 0), (2, -3), (3, -3), (6, 0)])


@pytest.mark.parametrize(
    "blocked",
    [
        shapely.box(-1, -11, 1, 11),
        shapely.Point(0, 0).buffer(6).difference(shapely.Point(0, 0).buffer(4)),
        shapely.Point(7, 7).buffer(1),
        shapely.Point(-3, 0).buffer(1),
    ],
)
def test_no_path_exists_if_an_end_is_enclosed_or_covered(blocked):
    assert path_among(blocked, (-3, 0), (7, 7)) is None


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.integers(0, 100_000))
def test_path_is_free_and_not_longer_than_on_a_fine_grid(seed):
    rng = np.random.default_rng(seed)
    shapes = [
        shapely.affinity.rotate(shapely.box(x - w, y - h, x + w, y + h), turn, use_radians=True)
        for x, y, w, h, turn in rng.uniform([-7, -7, 0.2, 0.2, 0], [7, 7, 2, 2, 3], (10, 5))
    ]
    blocked = shapely.union_all(inflate(np.array(shapes), 0.3))
    start, goal = (-9.5, -9.5), (9.5, 9.5)
    path = path_among(blocked, start, goal)
    grid = OccupancyGrid.rasterize(list(shapely.get_parts(blocked)), AREA.bounds, 0.1)
    on_grid = shortest_path(grid, start, goal)
    if path is None:
        assert on_grid is None
        return
    assert AREA.difference(blocked).buffer(1e-7).covers(shapely.LineString(path))
    assert path_length_m(path) >= math.hypot(19, 19) - 1e-9
    if on_grid is not None:
        assert path_length_m(path) <= path_length_m(simplify(grid, on_grid)) + 1e-9


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 100_000))
def test_path_has_the_same_length_in_both_directions(seed):
    rng = np.random.default_rng(seed)
    discs = inflate(shapely.points(rng.uniform(-6, 6, (8, 2))), rng.uniform(0.3, 2.0, 8))
    blocked = shapely.union_all(discs)
    there, back = (path_among(blocked, *ends) for ends in (((-9, -9), (9, 9)), ((9, 9), (-9, -9))))
    assert path_length_m(there) == pytest.approx(path_length_m(back))


@pytest.mark.parametrize("seed", range(5))
def test_path_has_the_length_of_the_full_visibility_graph(seed):
    rng = np.random.default_rng(seed)
    discs = inflate(shapely.points(rng.uniform(-7, 7, (8, 2))), rng.uniform(0.3, 2.0, 8))
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
    assert path_length_m(path_among(blocked, *ends)) == pytest.approx(shortest_m, rel=1e-9)
    bounds = PathBounds(free_region(AREA, blocked, *ends), list(map(tuple, ends)), 0.01)
    bounds_m = bounds.of(tuple(ends[1]))[bounds.numbers(corners)]
    is_known = np.isfinite(bounds_m)
    assert is_known.sum() > 100
    exact_m = dijkstra(graph, directed=False, indices=goal)[is_known]
    assert (bounds_m[is_known] <= exact_m).all()
    assert (bounds_m[is_known] >= exact_m - 0.25).all()
    assert (bounds_m[is_known] < exact_m - 1e-6).mean() > 0.5


@pytest.mark.parametrize("seed", range(12))
def test_bounds_of_an_area_with_fewer_obstacles_do_not_change_the_path(seed):
    rng = np.random.default_rng(seed)
    centers, sizes = rng.uniform(-8, 8, (40, 2)), rng.uniform(0.1, 1.5, (40, 2))
    blocked = inflate(shapely.box(*(centers - sizes).T, *(centers + sizes).T), 0.2)
    points = (-9.5, -9.5), (9.5, -9.5), (-9.5, 9.5)
    walls = free_region(AREA, shapely.union_all(blocked[:20]), *points)
    free = free_region(AREA, shapely.union_all(blocked), *points)
    if free is None:
        pytest.skip("no path")
    bounds = PathBounds(walls, points, 0.05)
    path = shortest_path_through(free, *points, bounds=bounds)
    assert np.array_equal(path, shortest_path_through(free, *points))


def test_path_around_an_outline_with_many_corners_is_found():
    angles = np.linspace(0, 2 * math.pi, 2401)[:-1]
    radius = 6 + 0.5 * np.cos(60 * angles)
    flower = shapely.Polygon(np.column_stack([radius * np.cos(angles), radius * np.sin(angles)]))
    started = time.process_time()
    path = path_among(flower, (-9, 0), (9, 0))
    assert time.process_time() - started < 60
    # The path is about that around a disc with the radius of the petals' tips.
    disc = 2 * math.sqrt(81 - 6.5**2) + 6.5 * (math.pi - 2 * math.acos(6.5 / 9))
    assert path_length_m(path) == pytest.approx(disc, rel=0.01)
