"""The difficulty measures of BARN on grids whose values are known on paper."""

import math

import numpy as np
import pytest
import shapely

from gz_testauto.grid.occupancy import cells_with_center_inside
from gz_testauto.grid.path_measures import path_measures

ROOT = math.sqrt(2)


def grid(*rows):
    return np.array([[letter == "#" for letter in row] for row in rows])


@pytest.mark.slow
def test_lengths_in_a_corridor_are_those_on_paper():
    wall = ["#######"] * 3
    found = path_measures(grid(*wall, ".......", *wall), [(3, 2)])
    # 3 and 5 cells to the sides, including the own one; in the six other directions 1 cell.
    assert found.visibility == pytest.approx((3 + 5 + 1 + 1 + 4 * ROOT) / 8)
    assert found.dimension == 0.0
    # 16 directions: free to the right, obstructed below, free to the left, obstructed above.
    assert found.dispersion == 4


def test_dimension_is_the_smallest_free_length_without_the_own_cell():
    wide = np.zeros((9, 9), dtype=bool)
    wide[0] = wide[8] = True
    found = path_measures(wide, [(4, 4)])
    assert found.dimension == pytest.approx(6.0)  # 3 cells on both sides, and 3 √2 on diagonals
    wide[6, 6] = wide[2, 2] = True  # on one diagonal: 1 cell on both sides
    assert path_measures(wide, [(4, 4)]).dimension == pytest.approx(2 * ROOT)


@pytest.mark.parametrize(
    ("down", "right", "changes"),
    [
        (0, 3, 2), (0, 4, 0), (3, 3, 2), (4, 4, 0), (2, 4, 2), (3, 6, 0), (-4, -2, 2),
        (-6, -3, 2), (3, -6, 2), (6, 3, 0), (1, 3, 0),
    ],
)  # fmt: skip
def test_dispersion_sees_obstacles_within_the_steps_of_the_program(down, right, changes):
    occupied = np.zeros((21, 21), dtype=bool)
    occupied[10 + down, 10 + right] = True
    assert path_measures(occupied, [(10, 10)]).dispersion == changes


def test_measures_are_averaged_over_the_path_and_limited_by_the_reach():
    free = np.zeros((41, 41), dtype=bool)
    found = path_measures(free, [(20, 20), (20, 21)], reach=10)
    assert found.visibility == pytest.approx((4 * 11 + 4 * 11 * ROOT) / 8)
    assert (found.dispersion, found.dimension) == (0.0, 20.0)
    without = path_measures(free, [(20, 20)])
    assert without.visibility == pytest.approx((4 * 21 + 4 * 21 * ROOT) / 8)
    free[20, 20] = True
    both = path_measures(free, [(20, 20), (20, 30)], reach=3)
    assert both.dimension == pytest.approx((-1 + 6) / 2)
    assert both.dispersion == pytest.approx((-1 + 0) / 2)


def test_cells_with_their_center_inside_a_shape_are_found():
    ring = shapely.box(0, 0, 6, 6).difference(shapely.box(2, 2, 4, 4))
    turned = [
        shapely.reverse(ring),
        shapely.box(5.2, 1.0, 7.6, 2.0),
        shapely.Point(3, 9).buffer(1.3),
    ]
    shapes = np.array([shapely.MultiPolygon([ring, turned[2]]), *turned], dtype=object)
    found = cells_with_center_inside(shapes, (-0.9, -0.7), (37, 31), 0.31)
    x = -0.9 + (np.arange(31) + 0.5) * 0.31
    y = -0.7 + (np.arange(37) + 0.5) * 0.31
    union = shapely.union_all(shapes)
    assert (found == shapely.contains_xy(union, *np.meshgrid(x, y))).all()
    cropped = cells_with_center_inside(shapes, (2.5, 2.6), (4, 5), 0.31)
    x, y = 2.5 + (np.arange(5) + 0.5) * 0.31, 2.6 + (np.arange(4) + 0.5) * 0.31
    assert (cropped == shapely.contains_xy(union, *np.meshgrid(x, y))).all()


def test_no_shape_gives_no_occupied_cell():
    none = np.array([shapely.Polygon()], dtype=object)
    assert not cells_with_center_inside(none, (0.0, 0.0), (3, 4), 1.0).any()
