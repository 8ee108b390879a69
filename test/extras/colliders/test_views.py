"""Planes and frustums."""

import math

import numpy as np
import pytest

from gz_testauto.base.errors import SpecError
from gz_testauto.base.pose import Pose
from gz_testauto.extras.colliders.views import Frustum, HalfSpace

VIEW = Frustum(Pose.from_rpy(1, 2, 3, 0, 0, math.pi / 2), math.radians(90), 2.0, 0.5, 10.0)


def test_rays_intersect_a_plane_from_both_sides():
    plane = HalfSpace.through((0, 0, 2), (0, 0, 3))
    assert plane.normal == (0, 0, 1) and plane.height_m(np.array([(5, 5, 5)])).tolist() == [3]
    found = plane.raycast(
        [(0, 0, 0), (0, 0, 5), (0, 0, 0), (0, 0, 0)], [(0, 3, 4), (0, 0, -1), (1, 0, 0), (0, 0, -1)]
    )
    assert found.tolist() == [2.5, 3.0, math.inf, math.inf]


def test_a_frustum_contains_points_in_front_of_it_only():
    seen = VIEW.contains([(1, 4, 3), (1, 0, 3), (1, 2.4, 3), (1, 12.1, 3), (1, 2.6, 3)])
    assert seen.tolist() == [True, False, False, False, True]
    sideways = VIEW.contains([(2.9, 4, 3), (3.1, 4, 3), (1, 4, 3.9), (1, 4, 4.1)])
    assert sideways.tolist() == [True, False, True, False]


def test_projected_points_are_recovered_from_the_image():
    points = np.random.default_rng(1).uniform((-1, 3, 2), (3, 9, 4), (1000, 3))
    image, ahead = VIEW.project(points)
    back = np.array(VIEW.pose.position) + VIEW.rays(image) * ahead[:, None]
    assert np.abs(back - points).max() < 1e-12
    within = ((image >= 0) & (image <= 1)).all(axis=1) & (ahead >= 0.5) & (ahead <= 10)
    assert (VIEW.contains(points) == within).all() and 0 < within.sum() < 1000


def test_points_left_of_and_above_the_axis_are_projected_to_these_sides():
    (middle, left, above, behind), ahead = VIEW.project(
        [(1, 4, 3), (0, 4, 3), (1, 4, 3.5), (1, 0, 3)]
    )
    assert middle == pytest.approx((0.5, 0.5)) and left == pytest.approx((0.25, 0.5))
    assert above == pytest.approx((0.5, 0.25)) and np.isnan(behind).all()
    assert ahead == pytest.approx([2, 2, 2, -2])


def test_spheres_outside_the_frustum_are_not_in_view():
    points = np.random.default_rng(2).uniform(-12, 12, (5000, 3))
    heights = np.stack([plane.height_m(points) for plane in VIEW.planes])
    assert (VIEW.contains(points) == (heights <= 0).all(axis=0)).all()
    assert VIEW.may_see(points, 0.0).sum() == VIEW.contains(points).sum() > 0
    assert VIEW.may_see(np.array([(1, 1, 3)]), np.array([1.6])).all()
    assert not VIEW.may_see(np.array([(1, 1, 3)]), np.array([1.4])).any()


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"horizontal_fov_rad": math.pi}, "horizontal_fov_rad is 3.14159"),
        ({"aspect": 0.0}, "aspect is 0"),
        ({"near_m": 5.0, "far_m": 5.0}, "near_m is 5 and far_m is 5"),
        ({"far_m": math.inf}, "far_m is inf"),
    ],
)
def test_an_invalid_view_is_rejected(change, complaint):
    with pytest.raises(SpecError, match=complaint):
        Frustum(**{"pose": Pose(), "horizontal_fov_rad": 1.0, **change})


def test_a_plane_without_normal_is_rejected():
    with pytest.raises(SpecError, match="that is not zero"):
        HalfSpace((0, 0, 0))
