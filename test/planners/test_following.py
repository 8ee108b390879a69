"""Progress along the way-points, and the way-points themselves."""

import math

import numpy as np
import pytest

from gz_testauto.base.pose import Pose2D
from gz_testauto.grid.occupancy import OccupancyGrid
from gz_testauto.planners.following import WaypointFollower, in_base_frame
from gz_testauto.planners.global_plan import SPACING_M, plan_waypoints, resample
from gz_testauto.planners.interface import RobotLimits

LINE = np.array([[0.0, 0.0], [4.0, 0.0], [10.0, 0.0]])
LIMITS = RobotLimits(footprint_m=((-0.3, -0.3), (0.3, -0.3), (0.3, 0.3), (-0.3, 0.3)))


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
def test_path_without_length_ends_at_its_point(points):
    assert WaypointFollower(np.array(points), 2.0).target(0.0, 0.0) == pytest.approx((1.0, 2.0))


def test_base_frame_has_x_ahead_and_y_to_the_left():
    assert in_base_frame(Pose2D(1.0, 1.0, math.pi / 2), 1.0, 3.0) == pytest.approx((2.0, 0.0))
    assert in_base_frame(Pose2D(1.0, 1.0, math.pi / 2), 0.0, 1.0) == pytest.approx((0.0, 1.0))


def test_resampling_keeps_corners_and_spacing():
    path = resample(np.array([[0.0, 0.0], [1.2, 0.0], [1.2, 0.4]]), 0.5)
    np.testing.assert_allclose(path, [[0, 0], [0.4, 0], [0.8, 0], [1.2, 0], [1.2, 0.4]])


def room(door_width_m):
    """10 m x 6 m with a wall at x = 5 m that leaves a door at its upper end."""
    occupied = np.zeros((60, 100), dtype=bool)
    occupied[[0, -1], :] = True
    occupied[:, [0, -1]] = True
    occupied[: 59 - round(door_width_m / 0.1), 50] = True
    return OccupancyGrid(occupied, 0.1, 0.0, 0.0)


def test_waypoints_pass_the_door_with_clearance_for_the_robot():
    grid, start, goal = room(2.0), Pose2D(2.0, 2.0), Pose2D(8.0, 2.0)
    waypoints = plan_waypoints(grid, start, goal, LIMITS, 0.2)
    np.testing.assert_allclose(waypoints[[0, -1]], [[2.0, 2.0], [8.0, 2.0]])
    steps = np.hypot(*np.diff(waypoints, axis=0).T)
    assert steps.max() <= SPACING_M + 1e-9
    clearance = grid.clearance_m()
    nearest = min(clearance[grid.cell_of(x, y)] for x, y in waypoints)
    assert nearest > LIMITS.circumscribed_radius_m + 0.2 - 0.1
    assert waypoints[:, 1].max() > 4.0


def test_missing_path_returns_none():
    assert plan_waypoints(room(0.0), Pose2D(2, 2), Pose2D(8, 2), LIMITS, 0.2) is None
    assert plan_waypoints(room(0.3), Pose2D(2, 2), Pose2D(8, 2), LIMITS, 0.2) is None


def test_start_near_a_wall_has_a_path_without_the_margin():
    start = Pose2D(0.6, 3.0)
    waypoints = plan_waypoints(room(2.0), start, Pose2D(8, 2), LIMITS, 0.5)
    np.testing.assert_allclose(waypoints[0], [0.6, 3.0])
