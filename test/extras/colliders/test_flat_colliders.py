"""Boxes, circles and polygons on the ground, against what is known on paper."""

import math

import numpy as np
import pytest

from gz_testauto.base.errors import SpecError
from gz_testauto.base.pose import Pose2D
from gz_testauto.extras.colliders.flat import FlatCollider

QUARTER = math.pi / 2


def square(x, y, yaw=0.0):
    return FlatCollider.box(2.0, 2.0, Pose2D(x, y, yaw))


def test_an_oblique_ray_intersects_a_box():
    box = square(5.0, 5.0)
    assert box.raycast([0, 0], [1, 1])[0] == pytest.approx(math.hypot(4, 4), abs=1e-9)
    assert box.raycast([0, 0], [1, 0])[0] == math.inf
    assert box.raycast([0, 0], [4, 6])[0] == pytest.approx(math.hypot(4, 6), abs=1e-9)  # a corner


def test_a_ray_does_not_intersect_a_shape_behind_its_origin():
    behind = (square(-5, 0), FlatCollider.circle(1, (-5, 0)))
    for collider in behind:
        assert collider.raycast([0, 0], [1, 0])[0] == math.inf
        assert collider.raycast([0, 0], [-1, 0])[0] == pytest.approx(4.0, abs=1e-9)


def test_a_ray_from_inside_a_shape_intersects_its_border():
    assert square(0, 0).raycast([0.5, 0], [3, 0])[0] == pytest.approx(0.5, abs=1e-9)
    assert FlatCollider.circle(2).raycast([1, 0], [1, 0])[0] == pytest.approx(1.0)


def test_a_ray_along_an_edge_intersects_its_near_end_within_range():
    assert square(5, 0).raycast([0, 1], [1, 0])[0] == pytest.approx(4.0, abs=1e-9)
    assert square(5, 0).raycast([0, 0], [1, 0], range_max_m=3.9)[0] == math.inf


def test_the_distance_to_a_circle_is_exact():
    angles = np.linspace(0, 2 * math.pi, 1000)
    towards = np.column_stack([np.cos(angles), np.sin(angles)])
    found = FlatCollider.circle(0.7, (1, 2)).raycast(np.array([1, 2]) - 3 * towards, towards)
    assert np.abs(found - 2.3).max() < 1e-12


def test_a_polygon_rotates_about_its_own_origin():
    corner = [(0, 0), (2, 0), (2, 1), (0, 1)]
    turned = FlatCollider.polygon(corner, Pose2D(0, 0, QUARTER))
    inside = turned.contains([(-0.5, 1.0), (-0.99, 1.99), (0.5, 0.5), (1.0, 0.5)])
    assert inside.tolist() == [True, True, False, False]
    moved = FlatCollider.polygon(corner, Pose2D(10, 0, QUARTER))
    assert moved.contains([(9.5, 1.0), (10.5, 0.5)]).tolist() == [True, False]


def test_touching_shapes_intersect_and_separate_shapes_have_a_distance():
    assert square(0, 0).intersects(square(2, 0))
    assert not square(0, 0).intersects(square(2.001, 0))
    assert square(0, 0).distance_m(FlatCollider.circle(1, (5, 0))) == pytest.approx(3.0)
    assert FlatCollider.circle(1).distance_m(FlatCollider.circle(2, (3, 4))) == pytest.approx(2.0)
    assert square(0, 0).intersects(FlatCollider.circle(0.1))  # all within
    # a box on its corner reaches sqrt(2)
    assert square(0, 0, QUARTER / 2).distance_m(square(4, 0)) == pytest.approx(3 - math.sqrt(2))


def test_a_moved_collider_is_at_the_pose_of_its_frame():
    base = FlatCollider.box(2, 1, Pose2D(1, 0))
    moved = base.moved(Pose2D(0, 0, QUARTER)).moved(Pose2D(3, 0))
    assert moved.contains([(3, 1.9), (3, -0.1), (3.6, 1)]).tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: FlatCollider.box(0, 1), "size_x_m is 0; it must be > 0"),
        (lambda: FlatCollider.box(1, math.nan), "size_y_m is nan; it must be > 0"),
        (lambda: FlatCollider.circle(-1), "radius_m is -1; it must be > 0"),
        (lambda: FlatCollider.polygon([(0, 0), (1, 1)]), r"at least 3 .*not 2"),
        (lambda: FlatCollider.polygon([(0, 0), (1, 1), (2, 2)]), "polygon is invalid"),
        (lambda: FlatCollider.polygon([(0, 0), (1, 1), (1, 0), (0, 1)]), "polygon is invalid"),
        (lambda: FlatCollider.polygon([(0, 0), (1, 1), (math.inf, 0)]), "finite"),
        (lambda: square(0, math.nan), "a pose must be finite"),
    ],
)
def test_an_invalid_shape_is_rejected(make, complaint):
    with pytest.raises(SpecError, match=complaint):
        make()


def test_a_ray_without_direction_is_rejected():
    with pytest.raises(ValueError, match="that is not zero"):
        square(0, 0).raycast([0, 0], [0, 0])
