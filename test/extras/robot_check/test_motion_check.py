"""The check that a robot follows velocity commands in a simulator."""

from types import SimpleNamespace

import pytest

from gz_testauto.base.observation import Twist2D
from gz_testauto.base.pose import Pose2D
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
    assert "wheel_separation_m" not in problem
    assert "friction" in problem and "joints that steer wheels" in problem


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


class SwivelingRobot:
    """A simulator of a robot whose yaw rate (rad/s) rises to ``final`` within ``rise_s``."""

    def __init__(self, rise_s, final):
        self.rise_s, self.final, self.time_s, self.yaw_rad, self.name = rise_s, final, 0.0, 0.0, "r"

    def load(self, scene):
        return SwivelingRobot(self.rise_s, self.final)

    def drive(self, command):
        self.command = command

    def step(self, duration_s):
        self.time_s += duration_s
        rate = self.final * min(self.time_s / self.rise_s, 1.0) if self.command.angular_radps else 0
        self.yaw_rad += rate * duration_s
        x_m = 0.0 if rate else self.command.linear_mps * self.time_s
        pose = Pose2D(x_m, 0.0, self.yaw_rad).to_pose()
        return SimpleNamespace(models={"r": SimpleNamespace(pose=pose)})


@pytest.mark.parametrize(
    ("rise_s", "final", "settled_s", "says"),
    [
        (0.5, 0.5, 2.0, None),
        (0.5, 0.05, 2.0, "is 0.10 of the commanded yaw rate; check"),
        (12.0, 0.4, 10.0, "is 0.77 of the commanded yaw rate, and only 10 s after the command"),
    ],
)
def test_a_robot_is_measured_until_its_yaw_rate_is_steady(rise_s, final, settled_s, says):
    found = measure_motions(SwivelingRobot(rise_s, final), SimpleNamespace(name="r"))
    assert found[1].settled_s == settled_s
    assert found[1].angular_radps == pytest.approx(final, rel=0.05)
    problems = motion_problems(found, DRIVE, "embedded")
    assert [says in problem for problem in problems] == [True] * (says is not None)


class SlowlyStartingRobot(SwivelingRobot):
    """A simulator of a robot whose acceleration is constant for ``rise_s``, and then stops."""

    def load(self, scene):
        return SlowlyStartingRobot(self.rise_s, self.final)

    def step(self, duration_s):
        self.time_s += duration_s
        accelerating_s = min(self.time_s, self.rise_s)
        x_m = self.command.linear_mps * (self.time_s - accelerating_s / 2)
        pose = Pose2D(x_m, 0.0, self.command.angular_radps * self.time_s).to_pose()
        return SimpleNamespace(models={"r": SimpleNamespace(pose=pose)})


@pytest.mark.parametrize(("rise_s", "is_late"), [(0.7, False), (1.2, True)])
def test_slipping_at_the_start_is_a_problem(rise_s, is_late):
    robot = SimpleNamespace(name="r")
    straight = measure_motions(SlowlyStartingRobot(rise_s, 0.0), robot)[0]
    assert straight.lag_s == pytest.approx(rise_s / 2, abs=1e-9)
    _, *turns = motions(1.0, 1.0)
    problems = motion_problems([straight, *turns], DRIVE, "gazebo")
    assert ["in gazebo as if it started 0.6 s late" in problem for problem in problems] == (
        [True] if is_late else []
    )
