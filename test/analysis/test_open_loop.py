"""Two recordings of the same commands."""

import math

import numpy as np
import pytest

from gz_testauto.analysis.open_loop import imu_mean, imu_range, open_loop_agreement
from gz_testauto.trial.open_loop import OpenLoopRun


def drive(pose, imu=None, box=None):
    pose = np.array(pose, dtype=float)
    nothing = np.full((len(pose), 6), np.nan)
    return OpenLoopRun(
        "straight",
        pose,
        np.full((len(pose), 2), np.nan) if box is None else np.array(box, dtype=float),
        nothing if imu is None else np.array(imu, dtype=float),
    )


def test_mean_and_range_are_those_of_the_paper():
    # 200 samples: the highest and lowest hundredth are two samples each
    imu = np.zeros((200, 6))
    imu[:, 0] = np.arange(200)
    imu[7, 1] = 10.0
    assert imu_mean(imu)[:2] == pytest.approx([99.5, 0.05])
    assert imu_range(imu)[:2] == pytest.approx([198.5 - 0.5, 5.0])
    assert imu_range(imu[:20])[0] == 19.0  # fewer than a hundred: one of each


def test_errors_are_magnitudes_summed_over_sequences():
    zero, one = np.zeros((3, 6)), np.zeros((3, 6))
    one[:, 2] = [0.1, 0.2, 0.6]  # mean 0.3, range 0.5
    still = [[0, 0, 0]] * 3
    first = [drive(still, zero), drive(still, one)]
    second = [drive(still, one), drive(still, zero)]
    axes = open_loop_agreement(first, second).axes
    assert [axis.axis for axis in axes][2] == "angular z"
    assert (axes[2].mean, axes[2].range, axes[2].total) == pytest.approx((0.6, 1.0, 1.6))
    assert axes[0].total == 0.0


def test_ways_are_compared_where_they_are_farthest_apart():
    first = drive([[0, 0, 0], [3, 4, 0.5], [3, 4, 1.0]], box=[[1, 0], [1, 0], [4, 4]])
    second = drive([[0, 0, 0], [3, 3, 1.5], [3, 4, 1.0]], box=[[1, 0], [1, 0], [1, 0]])
    (found,) = open_loop_agreement([first], [second]).drives
    assert found.driven_m == pytest.approx((5.0, math.hypot(3, 3) + 1.0))
    assert found.turned_rad == pytest.approx((1.0, 1.0))
    assert (found.apart_m, found.apart_rad) == pytest.approx((1.0, 1.0))
    assert found.pushed_m == (5.0, 0.0)


def test_without_an_imu_or_a_box_there_is_nothing_to_compare():
    found = open_loop_agreement([drive([[0, 0, 0]] * 2)], [drive([[0, 0, 0]] * 2)])
    assert math.isnan(found.axes[0].total)
    assert math.isnan(found.drives[0].pushed_m[0])
