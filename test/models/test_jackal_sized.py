"""The model for benchmarks that use a Jackal: its size, lidar and motion."""

import math

import numpy as np
import pytest

from gz_testauto.base.observation import Twist2D
from gz_testauto.base.pose import Pose2D, wrap_angle
from gz_testauto.base.resources import share_directory
from gz_testauto.sdf.robot import read_robot
from gz_testauto.simulators import open_simulator
from gz_testauto.simulators.interface import Scene

MODEL = share_directory() / "models" / "jackal_sized" / "model.sdf"
ARENA = share_directory() / "worlds" / "arena.world"


@pytest.fixture(scope="module")
def robot():
    return read_robot(MODEL)


def test_jackal_model_has_the_size_of_a_jackal(robot):
    outline = np.array(robot.footprint_m)
    assert outline.max(axis=0) - outline.min(axis=0) == pytest.approx((0.508, 0.43))
    assert robot.height_m == pytest.approx((0.0, 0.25), abs=2e-3)


def test_jackal_model_has_the_lidar_of_the_barn_challenge(robot):
    lidar = robot.lidar
    assert lidar.samples == 720
    assert lidar.angle_max_rad - lidar.angle_min_rad == pytest.approx(math.radians(270))
    assert lidar.mount.position[2] > robot.height_m[1]


def test_jackal_model_has_the_wheel_size_and_separation_of_a_jackal(robot):
    assert robot.drive.wheel_separation_m == pytest.approx(0.37559)
    assert robot.drive.wheel_diameter_m == pytest.approx(2 * 0.098)


def test_model_references_no_other_files():
    text = MODEL.read_text(encoding="utf-8")
    for missing in ("<mesh", "<script", "<texture", "model://"):
        assert missing not in text


@pytest.mark.parametrize("name", ["embedded", pytest.param("gazebo", marks=pytest.mark.gazebo)])
def test_jackal_model_executes_commands_at_two_meters_per_second(robot, name):
    def pose():
        return simulation.snapshot().models[robot.name].pose.planar

    def ramp(linear_mps, angular_radps):
        for tenth in range(1, 11):
            simulation.drive(Twist2D(linear_mps * tenth / 10, angular_radps * tenth / 10))
            simulation.step(0.1)

    with open_simulator(name) as simulator:
        simulation = simulator.load(Scene(ARENA, robot, Pose2D(-8.0, 0.0, 0.0)))
        simulation.step(0.5)
        ramp(2.0, 0.0)
        start = pose()
        simulation.step(2.0)
        assert start.distance_to(pose().x_m, pose().y_m) == pytest.approx(4.0, rel=0.02)
        assert pose().yaw_rad == pytest.approx(0.0, abs=0.01)
        ramp(0.0, 0.0)
        for rate in (2.0, -2.0):
            ramp(0.0, rate)
            start = pose()
            simulation.step(1.0)
            assert wrap_angle(pose().yaw_rad - start.yaw_rad) == pytest.approx(rate, rel=0.03)
            ramp(0.0, 0.0)


@pytest.mark.gazebo
def test_lidar_of_the_jackal_model_does_not_detect_the_robot_in_a_curve(robot):
    """With a level lidar, some rays would end at the chassis below them."""
    with open_simulator("gazebo") as simulator:
        simulation = simulator.load(Scene(ARENA, robot, Pose2D(-8.0, 0.0, 1.57)))
        for period in range(1, 31):
            simulation.drive(Twist2D(min(2.0, 0.3 * period), 0.5))
            assert simulation.step(0.1).scan.ranges_m.min() > 1.0
