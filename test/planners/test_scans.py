"""Points from scans, and the memory of those that left the view."""

import math

import numpy as np
import pytest

from gz_testauto.base.observation import LaserScan
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.planners.scans import CELL_M, ScanMemory, _one_of_each_cell, obstacle_points

HALF_VIEW = 0.75 * math.pi


def scan(ranges, mount=None):
    mount = Pose((0.5, 0.0, 0.3)) if mount is None else mount
    return LaserScan(0.0, -HALF_VIEW, HALF_VIEW, 0.1, 10.0, np.asarray(ranges, float), mount)


def test_points_are_in_the_base_frame():
    ahead = scan([np.inf, 2.0, np.inf])
    assert obstacle_points(ahead) == pytest.approx(np.array([[2.5, 0.0]]))


def test_sensor_mounted_upside_down_swaps_left_and_right():
    upside_down = Pose.from_rpy(0.5, 0.0, 0.3, math.pi, 0.0, 0.0)
    (point,) = obstacle_points(scan([1.0, np.inf, np.inf], upside_down))
    assert point == pytest.approx((0.5 - math.sqrt(0.5), math.sqrt(0.5)))


def test_compiled_points_equal_those_of_numpy_bit_by_bit():
    generator = np.random.default_rng(6)
    mount = Pose.from_rpy(*generator.uniform(-0.5, 0.5, 6))
    ranges, angles = generator.uniform(0.1, 9.0, 541), np.linspace(-HALF_VIEW, HALF_VIEW, 541)
    hits = np.stack([ranges * np.cos(angles), ranges * np.sin(angles), np.zeros(541)], axis=1)
    expected = np.ascontiguousarray(mount.apply(hits)[:, :2])
    assert obstacle_points(scan(ranges, mount)).tobytes() == expected.tobytes()


def test_special_values_follow_rep_117():
    points = obstacle_points(scan([-np.inf, np.nan, np.inf, 10.0, 0.05]))
    assert np.hypot(points[:, 0] - 0.5, points[:, 1]) == pytest.approx([0.1, 0.1])


def test_passed_points_are_remembered_until_they_are_in_view_again():
    memory = ScanMemory(1.5)
    nothing = scan([np.inf] * 541)
    post = np.full(541, np.inf)
    post[np.argmin(np.abs(np.linspace(-HALF_VIEW, HALF_VIEW, 541) - math.pi / 2))] = 0.6
    assert len(memory.points(scan(post), Pose2D(0.0, 0.0))) == 1  # at (0.5, 0.6)
    passed = memory.points(nothing, Pose2D(1.2, 0.0))
    assert passed == pytest.approx(np.array([[-0.7, 0.6]]), abs=0.01)
    assert len(memory.points(nothing, Pose2D(1.2, 0.0))) == 1
    # Turned to the left, the sensor would see it, and has no return there.
    assert len(memory.points(nothing, Pose2D(1.2, 0.0, math.pi / 2))) == 0
    assert len(memory.points(nothing, Pose2D(1.2, 0.0))) == 0


def test_distant_points_are_forgotten():
    memory = ScanMemory(1.5)
    memory.points(scan([2.0] * 541), Pose2D(0.0, 0.0))
    assert len(memory.points(scan([np.inf] * 541), Pose2D(0.0, 0.0))) == 0


def test_first_points_are_kept_over_many_cycles_along_a_wall():
    memory = ScanMemory(1.5)
    ranges = np.full(541, 0.8)
    first = memory.points(scan(ranges), Pose2D(0.0, 0.0))
    for _ in range(20):
        memory.points(scan(ranges), Pose2D(0.0, 0.0))
    kept = memory.points(scan([np.inf] * 541), Pose2D(0.8, 0.0))
    behind = first - (0.8, 0.0)
    local = behind - (0.5, 0.0)
    hidden = behind[np.abs(np.arctan2(local[:, 1], local[:, 0])) > HALF_VIEW]
    for point in hidden[np.hypot(*hidden.T) < 1.4]:
        assert np.hypot(*(kept - point).T).min() < 0.08


def test_one_point_of_each_cell_is_remembered_in_the_order_of_the_cells():
    generator = np.random.default_rng(2)
    points = generator.uniform(-0.3, 0.3, (200, 2))
    row, column = np.floor(points / CELL_M).astype(np.int64).T
    _, first = np.unique((row << 32) + column, return_index=True)
    assert _one_of_each_cell(points, CELL_M).tobytes() == points[first].tobytes()
