"""The model of a wheelchair: its shape, lidar and motion."""

import math

import numpy as np
import pytest

from gz_testauto.base.observation import Twist2D
from gz_testauto.base.pose import Pose2D, wrap_angle
from gz_testauto.base.resources import share_directory
from gz_testauto.planners.interface import RobotLimits
from gz_testauto.sdf.robot import read_robot
from gz_testauto.sdf.scene import read_scene
from gz_testauto.simulators import open_simulator
from gz_testauto.simulators.interface import Scene
from gz_testauto.simulators.kinematic.outlines import Outlines

MODEL = share_directory() / "models" / "wheelchair" / "model.sdf"
ARENA = share_directory() / "worlds" / "arena.world"


@pytest.fixture(scope="module")
def robot():
    return read_robot(MODEL)


def test_wheelchair_model_has_the_size_of_a_wheelchair(robot):
    outline = np.array(robot.footprint_m)
    assert outline.max(axis=0) - outline.min(axis=0) == pytest.approx((1.1, 0.65))
    assert RobotLimits(robot.footprint_m).circumscribed_radius_m < 0.7
    assert robot.height_m[0] == pytest.approx(0.0, abs=1e-3)


def test_lidar_of_the_wheelchair_covers_270_degrees_without_the_wheelchair(robot):
    lidar = robot.lidar
    assert lidar.angle_max_rad - lidar.angle_min_rad == pytest.approx(math.radians(270))
    (chair,) = read_scene(MODEL).models.values()
    level = lidar.mount.position[2]
    # 2 cm of tolerance up and down: the wheelchair pitches slightly when it brakes.
    shapes = [shape.footprint(level - 0.02, level + 0.02) for shape in chair.collisions]
    angles = np.linspace(lidar.angle_min_rad, lidar.angle_max_rad, lidar.samples)
    ranges = Outlines.of(shapes).cast(*lidar.mount.planar, angles, 0.0, lidar.range_max_m)
    assert np.isinf(ranges).all()


def test_wheelchair_model_has_its_wheels_at_the_base_frame(robot):
    models = read_scene(MODEL).models
    (chair,) = models.values()
    left, right = chair.links["left_wheel"], chair.links["right_wheel"]
    assert left.position == pytest.approx((0.0, 0.27, 0.15))
    assert right.position == pytest.approx((0.0, -0.27, 0.15))
    assert robot.drive.wheel_separation_m == pytest.approx(0.54)
    assert robot.drive.wheel_diameter_m == pytest.approx(0.3)


def test_model_references_no_other_files():
    text = MODEL.read_text(encoding="utf-8")
    for missing in ("<mesh", "<script", "<texture", "model://"):
        assert missing not in text


@pytest.mark.gazebo
@pytest.mark.parametrize("yaw_rad", [0.0, 0.6])
def test_wheelchair_executes_commands_to_drive_and_turn_in_gazebo(robot, yaw_rad):
    def pose():
        return simulation.snapshot().models[robot.name].pose.planar

    def ramp(linear_mps, angular_radps):
        for tenth in range(1, 11):
            simulation.drive(Twist2D(linear_mps * tenth / 10, angular_radps * tenth / 10))
            simulation.step(0.1)

    with open_simulator("gazebo", trials_per_server=1) as simulator:
        simulation = simulator.load(Scene(ARENA, robot, Pose2D(0.0, 0.0, yaw_rad)))
        simulation.step(1.0)
        assert pose() == pytest.approx((0.0, 0.0, yaw_rad), abs=2e-3)
        ramp(1.0, 0.0)
        start = pose()
        for _ in range(5):
            simulation.step(1.0)
        end = pose()
        assert start.distance_to(end.x_m, end.y_m) == pytest.approx(5.0, rel=0.02)
        assert wrap_angle(end.yaw_rad - yaw_rad) == pytest.approx(0.0, abs=0.01)
        simulation.drive(Twist2D())
        simulation.step(1.0)
        for rate in (1.0, -1.0):
            ramp(0.0, rate)
            start = pose()
            simulation.step(2.0)
            turned = wrap_angle(pose().yaw_rad - start.yaw_rad)
            assert turned / 2.0 == pytest.approx(rate, rel=0.03)
            simulation.drive(Twist2D())
            simulation.step(1.0)
