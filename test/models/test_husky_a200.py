"""The model of the Husky A200: published values, and its motion."""

import numpy as np
import pytest

from gz_testauto.base.observation import Twist2D
from gz_testauto.base.pose import Pose2D, wrap_angle
from gz_testauto.base.resources import share_directory
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.robot import read_robot
from gz_testauto.sdf.scene import read_scene
from gz_testauto.simulators import open_simulator
from gz_testauto.simulators.interface import PlacedRobot, Scene

MODEL = share_directory() / "models" / "husky_a200" / "model.sdf"
PLAIN = share_directory() / "worlds" / "plain.world"

BASE_M = 0.13228
"""Height of the published base frame above the ground."""


@pytest.fixture(scope="module")
def robot():
    return read_robot(MODEL)


def test_husky_model_has_the_published_masses_and_moments_of_inertia(robot):
    links = SdfDocument.read(MODEL).model.findall("link")
    masses = [float(link.findtext("inertial/mass")) for link in links]
    assert masses == [46.034, 2.637, 2.637, 2.637, 2.637]
    base = links[0].find("inertial")
    assert [float(base.findtext(f"inertia/i{axis}")) for axis in ("xx", "yy", "zz")] == [
        0.6022,
        1.7386,
        2.0296,
    ]
    center = [float(value) for value in base.findtext("pose").split()]
    assert center[:3] == pytest.approx([-0.00065, -0.085, 0.062 + BASE_M])


def test_husky_model_has_its_wheels_at_the_published_positions(robot):
    (husky,) = read_scene(MODEL).models.values()
    for end, x_m in (("front", 0.256), ("rear", -0.256)):
        for side, y_m in (("left", 0.2854), ("right", -0.2854)):
            place = husky.links[f"{end}_{side}_wheel_link"].position
            assert place == pytest.approx((x_m, y_m, 0.03282 + BASE_M))
    assert robot.drive.wheel_diameter_m / 2 == pytest.approx(0.1651)
    assert robot.drive.wheel_separation_m == pytest.approx(2 * 0.2854)
    assert robot.height_m[0] == pytest.approx(0.0, abs=1e-9)


def test_husky_model_has_the_published_size(robot):
    outline = np.array(robot.footprint_m)
    assert outline.max(axis=0) == pytest.approx((0.9874 / 2, 0.2854 + 0.1143 / 2))
    assert outline.min(axis=0) == pytest.approx((-0.9874 / 2, -0.2854 - 0.1143 / 2))
    assert robot.height_m[1] == pytest.approx(BASE_M + 0.2275)


def test_husky_model_has_a_plugin_per_axle_and_the_published_imu_pose(robot):
    assert robot.drive.plugin == "libDiffDrivePlugin.so"
    assert robot.drive.left_joints == ("front_left_wheel", "rear_left_wheel")
    assert robot.drive.right_joints == ("front_right_wheel", "rear_right_wheel")
    assert robot.imu.sensor == "imu"
    assert robot.imu.mount.position == pytest.approx((0.19, 0.0, 0.149 + BASE_M))
    assert robot.lidar is None


def test_model_references_no_other_files():
    text = MODEL.read_text(encoding="utf-8")
    for missing in ("<mesh", "<script", "<texture", "model://"):
        assert missing not in text


@pytest.mark.parametrize("name", ["embedded", pytest.param("gazebo", marks=pytest.mark.gazebo)])
def test_husky_rests_and_executes_a_command_to_drive_straight(robot, name):
    with open_simulator(name) as simulator:
        simulation = simulator.load(Scene(PLAIN, robot, Pose2D(0.0, 0.0, 0.4)))
        resting = simulation.step(1.0).models[robot.name].pose
        assert resting.position == pytest.approx((0.0, 0.0, 0.0), abs=1e-3)
        simulation.drive(Twist2D(0.5, 0.0))
        for _ in range(6):
            pose = simulation.step(1.0).models[robot.name].pose.planar
        assert resting.planar.distance_to(pose.x_m, pose.y_m) == pytest.approx(3.0, rel=0.02)
        assert wrap_angle(pose.yaw_rad - 0.4) == pytest.approx(0.0, abs=0.03)


def test_husky_turns_in_place_at_the_commanded_rate(robot):
    with open_simulator("embedded") as simulator:
        simulation = simulator.load(Scene(PLAIN, robot))
        simulation.drive(Twist2D(0.0, 0.5))
        pose = simulation.step(3.0).models[robot.name].pose.planar
    assert pose.yaw_rad == pytest.approx(1.5, rel=0.02)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("embedded", {}),
        pytest.param("gazebo", {"engine": "ode"}, marks=pytest.mark.gazebo),
        pytest.param("gazebo", {"engine": "bullet"}, marks=pytest.mark.gazebo),
    ],
)
def test_five_huskies_in_one_scene_drive_at_different_speeds(robot, name, options):
    speeds_mps = {f"husky_{number}": 0.1 * number for number in range(2, 6)}
    others = tuple(
        PlacedRobot(read_robot(MODEL, one), Pose2D(0.0, 2.0 * number, 0.0))
        for number, one in enumerate(speeds_mps, start=1)
    )
    with open_simulator(name, **options) as simulator:
        simulation = simulator.load(Scene(PLAIN, robot, others=others))
        simulation.drive(Twist2D(0.1, 0.0))
        for one, speed_mps in speeds_mps.items():
            simulation.drive(Twist2D(speed_mps, 0.0), one)
        simulation.step(0.5)
        before = simulation.snapshot()
        after = simulation.step(1.0)
    for one, speed_mps in {robot.name: 0.1, **speeds_mps}.items():
        start_m, end_m = (s.models[one].pose.position[0] for s in (before, after))
        assert end_m - start_m == pytest.approx(speed_mps, rel=0.03)
    assert after.imu
    assert all(after.others[one].imu for one in speeds_mps)
