"""Conversion of Gazebo's messages to observations and of velocity commands to messages."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gz_testauto.base.errors import SimulatorError
from gz_testauto.base.observation import Twist2D
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.drives import DriveDescription
from gz_testauto.sdf.robot import read_robot
from gz_testauto.simulators.gazebo.messages import MESSAGES
from gz_testauto.simulators.gazebo.readings import (
    ImuReader,
    ModelPoses,
    leading_stamp,
    mean_twist,
    scan_from,
)
from gz_testauto.simulators.gazebo.robot import DriveCommand, require_drive
from gz_testauto.simulators.gazebo.world import pose_from

ROBOT = read_robot(Path(__file__).parents[1] / "data" / "robot.sdf")


def scan_message(ranges):
    message = MESSAGES["LaserScanStamped"]()
    message.scan.range_min, message.scan.range_max = 0.1, 10.0
    message.scan.angle_min, message.scan.angle_max = -1.0, 1.0
    message.scan.ranges.extend(ranges)
    return message


def test_range_out_of_limits_is_plus_or_minus_infinite():
    message = scan_message([0.05, 0.1, 5.0, 10.0, math.inf, math.nan])
    scan = scan_from(message, 1_500_000_000, ROBOT.lidar)
    assert scan.ranges_m.tolist() == [-math.inf, 0.1, 5.0, math.inf, math.inf, math.inf]
    assert scan.stamp_s == 1.5
    with pytest.raises(ValueError):
        scan.ranges_m[0] = 1.0


def test_stamp_is_read_without_the_other_fields():
    poses = MESSAGES["PosesStamped"]()
    poses.time.sec, poses.time.nsec = 12, 345
    poses.pose.add(name="r").position.SetInParent()
    assert leading_stamp(poses.SerializePartialToString()) == 12_000_000_345


class TestModelPoses:
    def test_model_moves_with_its_canonical_link(self):
        poses = ModelPoses()
        links = {"m::a": Pose((0.0, 0.0, 1.0)), "m::b": Pose((2.0, 0.0, 0.0))}
        poses.add("m", Pose(), links)
        poses.set_link("m::a", Pose.from_rpy(5, 0, 1, 0, 0, math.pi / 2))
        assert poses.models["m"].position == pytest.approx((5, 0, 0))
        # a link without a measurement keeps its pose in the model
        states = poses.link_states()
        assert states["m::b"].pose.position == pytest.approx((5, 2, 0))
        poses.set_link("m::b", Pose((9.0, 9.0, 9.0)))
        assert poses.models["m"].position == pytest.approx((5, 0, 0))
        assert states["m::b"].pose.position == pytest.approx((5, 2, 0))  # unchanged
        assert poses.link_states()["m::b"].pose.position == (9, 9, 9)

    def test_link_without_an_offset_has_the_exact_pose_of_its_model(self):
        poses = ModelPoses()
        poses.add("m", Pose(), {"m::a": Pose()})
        pose = Pose((0.1 + 0.2, 1e-17, 3.0), (1e-9, -0.0, 0.6, 0.8))
        poses.set_link("m::a", pose)
        assert poses.models["m"] == pose

    def test_removed_model_has_no_poses(self):
        poses = ModelPoses()
        poses.add("m", Pose(), {"m::a": Pose()})
        poses.set_link("m::a", Pose())
        poses.remove("m")
        assert not poses.models
        assert not list(poses.link_states())


@pytest.mark.parametrize("angle_rad", [0.0, 1e-9, 0.3, -2.0])
def test_twist_is_the_mean_between_two_poses(angle_rad):
    before = Pose.from_rpy(1, 2, 3, 0.1, -0.2, 0.5)
    turn = Pose.from_rpy(0, 0, 0, 0, 0, angle_rad)
    after = Pose((1.5, 2.0, 2.0), (turn * before).quaternion)
    linear, angular = mean_twist(before, after, 0.5)
    assert linear == pytest.approx((1.0, 0.0, -2.0))
    assert angular == pytest.approx((0, 0, 2 * angle_rad), abs=1e-12)


def test_negated_quaternion_causes_no_rotation():
    before = Pose((0.0, 0.0, 0.0), (0.0, 0.0, 0.6, 0.8))
    after = Pose((0.0, 0.0, 0.0), (0.0, 0.0, -0.6, -0.8))
    assert mean_twist(before, after, 0.1)[1] == pytest.approx((0, 0, 0))


class TestImu:
    """Return a sensor rotated by 90 degrees on a robot that gains 1 m/s in 0.1 s."""

    GRAVITY = (0.0, 0.0, -9.8)
    MOUNT = Pose.from_rpy(0, 0, 0.5, 0, 0, math.pi / 2)

    def message(self, gazebo_ns, passed_ns):
        message = MESSAGES["IMU"]()
        message.orientation.w = 1.0
        message.stamp.sec, message.stamp.nsec = divmod(gazebo_ns, 10**9)
        # +x in the world is -y in the sensor
        message.linear_acceleration.y = -1.0 / (passed_ns / 1e9)
        message.linear_acceleration.z = 9.8
        message.angular_velocity.z = 0.25
        return message

    @pytest.fixture
    def reader(self):
        reader = ImuReader(self.GRAVITY, self.MOUNT)
        reader.begin(0)
        return reader

    def test_imu_acceleration_uses_simulated_time_and_not_the_clock_of_gazebo(self, reader):
        reader.receive(self.message(100_001_000, 100_001_000))
        first = reader.sample(10_000_000, Pose())
        assert first.linear_mps2 == pytest.approx((0, -100.0, 9.8))
        reader.receive(self.message(200_002_000, 100_001_000))
        second = reader.sample(110_000_000, Pose())
        assert second.linear_mps2 == pytest.approx((0, -10.0, 9.8))
        assert second.stamp_s == 0.11
        assert second.angular_radps == (0, 0, 0.25)

    def test_imu_returns_no_sample_if_no_time_has_passed(self, reader):
        reader.receive(self.message(100_001_000, 1))
        assert reader.sample(0, Pose()) is None
        reader.receive(self.message(200_002_000, 100_001_000))
        sample = reader.sample(100_000_000, Pose())
        assert sample.linear_mps2 == pytest.approx((0, -10.0, 9.8))

    @pytest.mark.parametrize("heard", ["before it begins", "late", "never"])
    def test_imu_measurement_before_the_start_is_ignored(self, heard):
        tilted = Pose.from_rpy(0, 0, 0, 0.2, -0.1, 0)
        sensor = (tilted * self.MOUNT).rotation.T

        def felt(gained_mps, passed_s):
            return sensor @ (np.array((gained_mps, 0, 0)) / passed_s - self.GRAVITY)

        at_rest = self.message(100_001_000, 1)
        at_rest.linear_acceleration.y = 0.0
        moved = self.message(200_002_000, 1)
        passed_s = 0.200002 if heard == "never" else 0.100001
        a = moved.linear_acceleration
        a.x, a.y, a.z = felt(1.0, passed_s)

        reader = ImuReader(self.GRAVITY, self.MOUNT)
        if heard == "before it begins":
            reader.receive(at_rest)
        reader.begin(100_001_000)
        if heard == "late":
            reader.receive(at_rest)
        reader.receive(moved)
        sample = reader.sample(100_000_000, tilted)
        assert sample.linear_mps2 == pytest.approx(tuple(felt(1.0, 0.1)))

    @pytest.mark.parametrize("measured_at", [(), (1,), (3, 4), (1, 2, 3, 4, 5)])
    def test_imu_sample_does_not_depend_on_the_number_of_measurements(self, measured_at):
        """The robot tips over while it accelerates. Between two steps, 0.05 s pass at rest."""
        gravity = np.array(self.GRAVITY)
        steps = range(7)
        tilts = [Pose.from_rpy(0, 0, 0, 0.1 * step, -0.05 * step, 0.2 * step) for step in steps]
        velocities = [np.array((0.3 * step, 0.1 * step**2, 0.0)) for step in steps]
        times_ns = [10_000_000 * step + (50_000_000 if step > 2 else 0) for step in steps]
        at_start = (tilts[0] * self.MOUNT).inverse()
        reader = ImuReader(self.GRAVITY, self.MOUNT)
        reader.begin(0)
        last = 0
        for step in (*measured_at, 6):
            sensor = tilts[step] * self.MOUNT
            passed_s = (times_ns[step] - times_ns[last]) / 1e9
            message = MESSAGES["IMU"]()
            message.stamp.sec, message.stamp.nsec = 0, times_ns[step]
            o, a = message.orientation, message.linear_acceleration
            o.x, o.y, o.z, o.w = (at_start * sensor).quaternion
            gained = velocities[step] - velocities[last]
            a.x, a.y, a.z = sensor.rotation.T @ (gained / passed_s - gravity)
            reader.receive(message)
            last = step
        expected = (tilts[6] * self.MOUNT).rotation.T @ (velocities[6] / 0.06 - gravity)
        sample = reader.sample(60_000_000, tilts[6])
        assert sample.linear_mps2 == pytest.approx(tuple(expected), abs=1e-6)

    def test_imu_returns_no_sample_without_a_message(self, reader):
        assert reader.sample(100_000_000, Pose()) is None

    def test_imu_measures_gravity_on_a_slope(self):
        message = MESSAGES["IMU"]()
        message.orientation.w = 1.0
        message.stamp.sec, message.stamp.nsec = 0, 300_000_000
        tilted = Pose.from_rpy(0, 0, 0, 0.5, 0, 0)
        g = tilted.rotation.T @ np.array(self.GRAVITY)
        a = message.linear_acceleration
        a.x, a.y, a.z = -g
        reader = ImuReader(self.GRAVITY, Pose())
        reader.begin(0)
        reader.receive(message)
        assert reader.sample(100_000_000, tilted).linear_mps2 == pytest.approx(tuple(-g))


class TestDrive:
    def message(self, twist, plugin="libDiffDrivePlugin.so"):
        robot = replace(ROBOT, drive=replace(ROBOT.drive, plugin=plugin))
        return DriveCommand(robot).message(twist)

    def test_diff_drive_plugin_gets_the_negated_yaw_rate(self):
        message = self.message(Twist2D(0.7, 0.4))
        assert message.position.x == 0.7
        assert pose_from(message).yaw_rad == pytest.approx(-0.4)

    def test_skid_steer_plugin_gets_half_the_yaw_rate(self):
        message = self.message(Twist2D(0.7, 0.4), "libSkidSteerDrivePlugin.so")
        assert pose_from(message).yaw_rad == pytest.approx(0.2)

    def test_skid_steer_with_other_joint_names_is_rejected_with_a_remedy(self):
        joints = (("left_front", "left_rear"), ("right_front", "right_rear"))
        drive = DriveDescription("libSkidSteerDrivePlugin.so", *joints, 0.5, 0.3)
        require_drive(replace(ROBOT, drive=drive))
        other = replace(drive, left_joints=("front_left", "rear_left"))
        says = "joints are front_left, rear_left, right_front, right_rear, and Gazebo's .*rename"
        with pytest.raises(SimulatorError, match=says):
            require_drive(replace(ROBOT, drive=other))
        require_drive(replace(ROBOT, drive=replace(other, plugin="libDiffDrivePlugin.so")))

    def test_skid_steer_logs_a_warning_about_the_wheel_speed(self, caplog):
        joints = (("left_front", "left_rear"), ("right_front", "right_rear"))
        drive = DriveDescription("libSkidSteerDrivePlugin.so", *joints, 0.5, 0.3)
        for _ in range(2):
            require_drive(replace(ROBOT, drive=drive, path=Path("/somewhere/rover.sdf")))
        assert caplog.text.count("/somewhere/rover.sdf: Gazebo's SkidSteerDrivePlugin") == 1

    def test_yaw_rate_that_would_wrap_around_is_rejected(self):
        with pytest.raises(ValueError, match="wrap"):
            self.message(Twist2D(0.0, 3.2))

    def test_velocity_command_that_is_not_finite_is_rejected(self):
        with pytest.raises(ValueError, match="finite"):
            self.message(Twist2D(np.nan, 0.0))

    def test_driving_a_robot_without_a_drive_plugin_raises(self):
        command = DriveCommand(replace(ROBOT, drive=None))
        assert not command.available
        with pytest.raises(SimulatorError, match="DiffDrivePlugin"):
            command.message(Twist2D(0.1, 0.0))
