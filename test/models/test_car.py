"""The model of a car for roads: its size, and its motion as a bicycle model."""

import math

import numpy as np
import pytest

from gz_testauto.base.observation import Twist2D
from gz_testauto.base.pose import Pose2D
from gz_testauto.base.resources import share_directory
from gz_testauto.sdf.robot import read_robot
from gz_testauto.simulators import open_simulator
from gz_testauto.simulators.interface import Scene

MODEL = share_directory() / "models" / "car" / "model.sdf"
PLAIN = share_directory() / "worlds" / "plain.world"


@pytest.fixture(scope="module")
def robot():
    return read_robot(MODEL)


def test_car_model_has_its_origin_on_the_rear_axle_and_the_size_of_a_car(robot):
    outline = np.array(robot.footprint_m)
    assert outline.min(axis=0) == pytest.approx((-0.9, -0.9), abs=0.051)
    assert outline.max(axis=0) == pytest.approx((3.6, 0.9), abs=0.051)
    assert robot.height_m == pytest.approx((0.0, 1.45), abs=3e-3)


def test_model_references_no_other_files():
    text = MODEL.read_text(encoding="utf-8")
    for missing in ("<mesh", "<script", "<texture", "model://"):
        assert missing not in text


@pytest.mark.parametrize("name", ["embedded", pytest.param("gazebo", marks=pytest.mark.gazebo)])
def test_car_executes_commands_to_drive_brake_and_turn(robot, name):
    with open_simulator(name) as simulator:
        simulation = simulator.load(Scene(PLAIN, robot, Pose2D(0.0, 0.0, 0.0)))
        for period in range(30):
            simulation.drive(Twist2D(min(5.0, 0.4 * (period + 1))))
            snapshot = simulation.step(0.1)
        before = snapshot.models[robot.name].pose.planar
        assert abs(before.y_m) < 0.1
        for _ in range(20):  # R = 10 m, two seconds of it
            simulation.drive(Twist2D(5.0, 0.5))
            snapshot = simulation.step(0.1)
            assert snapshot.models[robot.name].pose.tilt_rad < 0.01
        turned = snapshot.models[robot.name].pose.yaw_rad - before.yaw_rad
        assert turned == pytest.approx(1.0, abs=0.08)
        state = snapshot.models[robot.name]
        speed = math.hypot(*state.linear_mps[:2])
        assert speed == pytest.approx(5.0, abs=0.1)
        assert state.angular_radps[2] == pytest.approx(0.5, abs=0.03)
        for period in range(20):
            simulation.drive(Twist2D(max(0.0, 5.0 - 0.4 * (period + 1))))
            snapshot = simulation.step(0.1)
        stopped = snapshot.models[robot.name]
        assert math.hypot(*stopped.linear_mps[:2]) < 0.02
        assert stopped.pose.tilt_rad < 0.01
