"""The check that a robot follows velocity commands in a simulator."""

import pytest

from gz_testauto.base.observation import Twist2D
from gz_testauto.base.resources import share_directory
from gz_testauto.extras.robot_check.motion_check import (
    MeasuredMotion,
    measure_motions,
    motion_problems,
)
from gz_testauto.sdf.drives import DriveDescription
from gz_testauto.sdf.robot import read_robot
from gz_testauto.simulators import SIMULATORS

DRIVE = DriveDescription("", ("a", "b"), ("c", "d"), 0.6, 0.2)


def motions(speed, yaw_rate):
    """Return motions with the ratios of measured to commanded speeds."""
    commands = (Twist2D(0.3, 0.0), Twist2D(0.0, 0.5), Twist2D(0.3, 0.5))
    return [
        MeasuredMotion(one, speed * one.linear_mps, yaw_rate * one.angular_radps)
        for one in commands
    ]


def test_small_differences_are_no_problem():
    assert motion_problems(motions(0.95, 1.09), DRIVE, "gazebo") == []


def test_separation_that_corrects_the_yaw_rate_is_proposed():
    (problem,) = motion_problems(motions(1.0, 1.5), DRIVE, "gazebo")
    for part in ("yaw rate in gazebo is 1.50", "[a, b]", "[c, d]", "wheel_separation_m: 0.4,"):
        assert part in problem


def test_diameter_that_corrects_the_speed_is_proposed():
    problem, _ = motion_problems(motions(0.8, 0.8), DRIVE, "gazebo")
    assert "wheel_diameter_m: 0.16" in problem
    assert "wheel_separation_m: 0.6," in problem  # the diameter also corrects the yaw rate


def test_robot_that_does_not_turn_gets_no_sizes():
    (problem,) = motion_problems(motions(1.0, 0.1), DRIVE, "gazebo")
    assert "wheel_separation_m" not in problem and "friction" in problem


def test_steering_is_the_cause_of_a_missing_yaw_rate_only():
    steering = "joint left_steering_hinge"
    (problem,) = motion_problems(motions(1.0, 0.1), DRIVE, "gazebo", steering)
    assert "Ackermann steering (joint left_steering_hinge)" in problem
    problem, _ = motion_problems(motions(0.1, 0.1), DRIVE, "gazebo", steering)
    assert "Ackermann" not in problem and "friction" in problem


def test_speeds_are_measured_along_the_heading():
    robot = read_robot(share_directory() / "models" / "wheelchair")
    simulator = SIMULATORS.get("kinematic")()
    try:
        found = measure_motions(simulator, robot, (0.2, 0.4))
    finally:
        simulator.close()
    assert [motion.command for motion in found] == [
        Twist2D(0.2, 0.0),
        Twist2D(0.0, 0.4),
        Twist2D(0.2, 0.4),
    ]
    assert found[0].linear_mps == pytest.approx(0.2, rel=0.02)
    assert found[1].angular_radps == pytest.approx(0.4, rel=0.02)
    assert (found[2].linear_mps, found[2].angular_radps) == (
        pytest.approx(0.2, rel=0.02),
        pytest.approx(0.4, rel=0.02),
    )
