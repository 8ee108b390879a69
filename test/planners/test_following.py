"""Progress along the waypoints."""

import math

import numpy as np
import pytest

from gz_testauto.base.pose import Pose2D
from gz_testauto.planners.following import WaypointFollower, in_base_frame

LINE = np.array([[0.0, 0.0], [4.0, 0.0], [10.0, 0.0]])


def test_target_is_the_lookahead_beyond_the_nearest_point():
    assert WaypointFollower(LINE, 2.0).target(1.0, 1.5) == pytest.approx((3.0, 0.0))


def test_target_ends_at_the_last_waypoint():
    follower = WaypointFollower(LINE, 2.0)
    for x in np.arange(0.0, 9.6, 0.5):
        target = follower.target(x, 0.2)
    assert target == pytest.approx((10.0, 0.0))
    assert follower.remaining_m == pytest.approx(0.5)


def test_progress_never_decreases():
    follower = WaypointFollower(LINE, 2.0)
    follower.target(3.0, 0.0)
    assert follower.target(1.0, 0.0) == pytest.approx((5.0, 0.0))


def test_progress_ignores_a_later_section_that_passes_nearby():
    hairpin = np.array([[0.0, 0.0], [10.0, 0.0], [10.0, 1.0], [0.0, 1.0]])
    x, y = WaypointFollower(hairpin, 2.0).target(1.0, 0.9)
    assert (x, y) == pytest.approx((3.0, 0.0))


def test_lookahead_rounds_corners():
    corner = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 5.0]])
    assert WaypointFollower(corner, 3.0).target(1.0, 0.0) == pytest.approx((2.0, 2.0))


@pytest.mark.parametrize("points", [[[1.0, 2.0]], [[1.0, 2.0], [1.0, 2.0]]])
def test_target_on_a_path_of_one_point_is_this_point(points):
    assert WaypointFollower(np.array(points), 2.0).target(0.0, 0.0) == pytest.approx((1.0, 2.0))


def test_base_frame_has_x_ahead_and_y_to_the_left():
    assert in_base_frame(Pose2D(1.0, 1.0, math.pi / 2), 1.0, 3.0) == pytest.approx((2.0, 0.0))
    assert in_base_frame(Pose2D(1.0, 1.0, math.pi / 2), 0.0, 1.0) == pytest.approx((0.0, 1.0))
