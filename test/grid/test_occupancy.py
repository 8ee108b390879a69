import math

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gz_testauto.grid import occupancy
from gz_testauto.grid.occupancy import OccupancyGrid, rectangles_of


def test_cells_are_occupied_exactly_if_a_shape_touches_them():
    grid = OccupancyGrid.rasterize([shapely.box(1.0, 2.0, 2.0, 2.5)], (0, 0, 4, 4), 0.5)
    rows, columns = np.nonzero(grid.occupied)
    assert set(zip(rows, columns)) == {(4, 2), (4, 3)}


@settings(max_examples=50)
@given(
    st.floats(-3, 3), st.floats(-3, 3), st.floats(0.01, 2), st.floats(0, math.pi),
    st.sampled_from([0.05, 0.1, 0.25]),
)  # fmt: skip
def test_occupied_cells_cover_the_shape_within_one_cell_diagonal(x, y, size, turn, resolution):
    shape = shapely.affinity.rotate(shapely.box(x, y, x + size, y + 0.03), turn, use_radians=True)
    grid = OccupancyGrid.rasterize([shape], (-6, -6, 6, 6), resolution)
    cells = [
        shapely.box(
            cx - resolution / 2, cy - resolution / 2, cx + resolution / 2, cy + resolution / 2
        )
        for cx, cy in (grid.center_of(r, c) for r, c in zip(*np.nonzero(grid.occupied)))
    ]
    covered = shapely.union_all(cells)
    assert covered.buffer(1e-6).covers(shape)
    assert shape.buffer(resolution * math.sqrt(2) + 1e-6).covers(covered)


def test_thin_wall_has_no_holes_on_the_grid():
    wall = shapely.LineString([(0.3, 0.1), (9.7, 7.9)])
    grid = OccupancyGrid.rasterize([wall], (0, 0, 10, 8), 0.1)
    free = OccupancyGrid(grid.occupied, 0.1, 0, 0)
    from scipy import ndimage

    labels, _ = ndimage.label(free.occupied, structure=np.ones((3, 3)))
    assert labels[free.cell_of(0.31, 0.11)] == labels[free.cell_of(9.69, 7.89)] > 0


def test_cell_of_is_the_inverse_of_center_of():
    grid = OccupancyGrid(np.zeros((7, 5)), 0.2, -1.0, 3.0)
    for row in range(7):
        for column in range(5):
            assert grid.cell_of(*grid.center_of(row, column)) == (row, column)


def test_points_outside_the_grid_are_not_free():
    grid = OccupancyGrid(np.zeros((4, 4)), 1.0, 0.0, 0.0)
    assert grid.is_free(0.5, 0.5)
    assert not grid.is_free(-0.1, 0.5)
    assert not grid.is_free(0.5, 4.1)


def test_inflation_occupies_cells_within_the_radius():
    occupied = np.zeros((21, 21), dtype=bool)
    occupied[10, 10] = True
    inflated = OccupancyGrid(occupied, 0.1, 0, 0).inflate(0.5)
    distance = np.hypot(*np.mgrid[-10:11, -10:11]) * 0.1
    assert np.array_equal(inflated.occupied, distance <= 0.5 + 1e-9)


def test_empty_grid_has_infinite_clearance():
    grid = OccupancyGrid(np.zeros((3, 3)), 1.0, 0, 0)
    assert np.isinf(grid.clearance_m()).all()
    assert not grid.inflate(5.0).occupied.any()


def test_grid_is_read_only():
    grid = OccupancyGrid(np.zeros((3, 3)), 1.0, 0, 0)
    with pytest.raises(ValueError, match="read-only"):
        grid.occupied[0, 0] = True


@pytest.mark.parametrize("bad", [{"resolution_m": 0.0}, {"occupied": np.zeros(3)}])
def test_invalid_grid_is_rejected(bad):
    values = {"occupied": np.zeros((3, 3)), "resolution_m": 1.0, "origin_x_m": 0, "origin_y_m": 0}
    with pytest.raises(ValueError, match=r"grid|resolution"):
        OccupancyGrid(**{**values, **bad})


@pytest.mark.parametrize("most_tiles", [1, 37, 50_000])
@pytest.mark.parametrize("turn_degrees", [0, 37])
def test_large_shape_marks_the_cells_that_it_touches(monkeypatch, most_tiles, turn_degrees):
    monkeypatch.setattr(occupancy, "_MAX_TILES", most_tiles)
    ring = shapely.box(1.0, 1.0, 9.0, 7.5).difference(shapely.box(2.0, 2.0, 8.5, 7.0))
    shape = shapely.affinity.rotate(ring, turn_degrees)
    grid = OccupancyGrid.rasterize([shape], (0.0, 0.0, 9.3, 8.2), 0.1)
    rows, columns = np.indices(grid.occupied.shape)
    cells = shapely.box(
        columns * 0.1 + 1e-9, rows * 0.1 + 1e-9, columns * 0.1 + 0.1 - 1e-9, rows * 0.1 + 0.1 - 1e-9
    )
    assert np.array_equal(grid.occupied, shapely.intersects(shape, cells))


@pytest.mark.parametrize("radius_m", [0.0, 0.1, 0.25, 0.5, 3.0])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.3])
def test_inflation_is_that_of_the_distances_to_occupied_cells(radius_m, share):
    cells = np.random.default_rng(1).random((53, 17)) < share
    grid = OccupancyGrid(cells, 0.1, 0.0, 0.0)
    expected = grid.clearance_m() <= radius_m + 1e-9
    assert np.array_equal(grid.inflate(radius_m).occupied, expected)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(arrays(bool, st.tuples(st.integers(1, 9), st.integers(1, 9))))
def test_rectangles_cover_each_cell_once(cells):
    count = np.zeros(cells.shape, dtype=int)
    for row, column, rows, columns in rectangles_of(cells):
        count[row : row + rows, column : column + columns] += 1
    assert np.array_equal(count, cells.astype(int))
