"""The goal tolerance of move_base is compared with the goal tolerance of the campaign."""

import math

import pytest

pytest.importorskip("rospy", reason="the modules use ROS")

from gz_testauto.base.pose import Pose2D
from gz_testauto.ros.stack.goal_tolerance import (
    recovery_warning,
    tolerance_warning,
    tolerances_in,
)
from gz_testauto.ros.stack.localization import EstimatedPoses

PARAMETERS = {
    "base_local_planner": "dwa_local_planner/DWAPlannerROS",
    "DWAPlannerROS": {"xy_goal_tolerance": 0.2, "max_vel_x": 0.5},
    "TrajectoryPlannerROS": {"xy_goal_tolerance": 0.3},
    "NavfnROS": {"default_tolerance": 0.1},
    "controller_frequency": 5.0,
}


def test_tolerance_of_the_active_local_planner_is_used():
    name = "/move_base/DWAPlannerROS/xy_goal_tolerance"
    assert tolerances_in(PARAMETERS, "/move_base") == {name: 0.2}


@pytest.mark.parametrize("active", ["", "my_planner/Unknown"])
def test_all_tolerances_are_used_if_the_active_planner_is_unknown(active):
    found = tolerances_in({**PARAMETERS, "base_local_planner": active}, "/nav")
    assert found == {
        "/nav/DWAPlannerROS/xy_goal_tolerance": 0.2,
        "/nav/TrajectoryPlannerROS/xy_goal_tolerance": 0.3,
    }


def test_stack_without_tolerances_causes_no_warning():
    assert tolerances_in({}, "/move_base") == {}
    assert tolerance_warning({}, 0.1, 1.0) == ""


@pytest.mark.parametrize(
    ("goal_m", "error_m", "warns"),
    [(0.3, 0.1, False), (0.3, 0.11, True), (0.29, 0.1, True), (0.2, 0.0, False), (0.19, 0.0, True)],
)
def test_warning_appears_if_tolerance_and_error_exceed_the_goal_tolerance(goal_m, error_m, warns):
    warning = tolerance_warning({"/a/xy_goal_tolerance": 0.2}, goal_m, error_m)
    assert bool(warning) == warns
    if warns:
        needed = f"{0.2 + error_m:.2f}"
        assert all(
            part in warning for part in ("/a/xy_goal_tolerance is 0.2", f"{goal_m:g}", needed)
        )


@pytest.mark.parametrize(
    ("parameters", "warns"),
    [
        ({"controller_patience": 15.0}, True),
        ({"controller_patience": 14}, False),
        ({"controller_patience": 15.0, "recovery_behavior_enabled": False}, False),
        ({}, False),
    ],
)
def test_window_of_stuck_that_ends_before_a_recovery_is_reported(parameters, warns):
    warning = recovery_warning(parameters, "/move_base", 15.0)
    assert bool(warning) == warns
    if warns:
        assert "limits.stuck_window_s is 15, but /move_base/controller_patience is 15" in warning


def test_poses_in_tf_are_requested_when_their_transforms_are_complete():
    class Transforms:
        def __init__(self):
            self.newest_s, self.requested = 0.0, []

        def estimated_pose(self, time_s):
            self.requested.append(time_s)
            return Pose2D(time_s, 0.0, 0.5) if time_s <= self.newest_s else None

    localization = Transforms()
    poses = EstimatedPoses(localization)
    for time_s in (1.0, 1.2, 1.4, 1.6):
        localization.newest_s = time_s - 0.3
        poses.add(time_s)
    assert localization.requested == [1.0]
    assert poses.array()[:, 0] == pytest.approx([1.0, 1.2, math.nan, math.nan], nan_ok=True)
    poses.begin()
    assert poses.array().shape == (0, 3)
