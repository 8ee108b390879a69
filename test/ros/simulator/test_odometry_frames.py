"""Frames, twists and covariances of the odometry that the simulator node publishes."""

import math

import numpy as np
import pytest

from gz_testauto.actors.localization import PoseEstimator
from gz_testauto.base.observation import ModelState, TrackedObject, Twist2D
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.ros.simulator.odometry import Odometry

START = ModelState(Pose.from_rpy(2.0, -1.0, 0.3, 0.0, 0.0, math.pi / 2))
LATER = ModelState(Pose.from_rpy(2.2, 0.0, 0.35, 0.0, 0.1, 1.4), (0.1, 0.5, 0.0), (0.0, 0.0, 0.25))


class Scripted(PoseEstimator):
    """An estimator with constant values, which records the true poses and twists."""

    pose, odometry = Pose2D(2.5, 0.2, 1.5), Pose2D(2.1, 0.4, 1.2)
    twist = Twist2D(0.7, 0.3)
    covariance, twist_covariance = np.diag([0.04, 0.01, 0.09]), np.diag([1.0, 2.0, 3.0])

    def __init__(self):
        self.seen = []

    def advance(self, time_s, pose, twist):
        self.seen.append((time_s, pose, twist))

    def place(self, pose):
        self.seen.append(pose)


def advanced(origin, estimator=None):
    odometry = Odometry(origin, START, estimator)
    odometry.advance(0.0, START)
    odometry.advance(0.5, LATER)
    return odometry


@pytest.mark.parametrize("origin", ["world", "start"])
def test_transforms_to_the_map_result_in_the_estimated_pose(origin):
    odometry = advanced(origin, Scripted())
    found = odometry.map_to_odom * odometry.pose
    assert found.planar == pytest.approx(Scripted.pose)
    assert found.position[2] == pytest.approx(0.35)


@pytest.mark.parametrize("origin", ["world", "start"])
def test_exact_odometry_results_in_the_true_pose(origin):
    odometry = advanced(origin)
    found = odometry.map_to_odom * odometry.pose
    assert found.values == pytest.approx(LATER.pose.values)
    assert odometry.twist == odometry.true_twist
    assert not any(odometry.covariance + odometry.twist_covariance)


def test_uncorrected_odometry_does_not_move_its_frame():
    class Drifting(Scripted):
        pose = Scripted.odometry

    assert advanced("world", Drifting()).map_to_odom == Pose()
    assert advanced("start", Drifting()).map_to_odom == START.pose
    assert advanced("world", Drifting()).pose.planar == pytest.approx(Scripted.odometry)


def test_estimator_receives_each_true_pose_and_twist():
    estimator = Scripted()
    odometry = advanced("start", estimator)
    (first_s, first, _), (second_s, second, twist) = estimator.seen
    assert (first_s, first, second_s, second) == (
        0.0, START.pose.planar, 0.5, LATER.pose.planar,
    )  # fmt: skip
    forward = 0.1 * math.cos(1.4) + 0.5 * math.sin(1.4)
    assert twist == pytest.approx(Twist2D(forward, 0.25))
    assert odometry.true_twist[0] == pytest.approx(forward)
    assert odometry.twist == (0.7, 0.0, 0.3)


def test_placed_robot_has_no_twist_from_the_jump():
    estimator, unknown = Scripted(), ModelState(LATER.pose)
    odometry = advanced("start", estimator)
    odometry.place(unknown.pose)
    odometry.advance(0.6, unknown)
    assert estimator.seen[2:] == [LATER.pose.planar, (0.6, LATER.pose.planar, Twist2D(0.0, 0.0))]
    assert odometry.true_twist == (0.0, 0.0, 0.0)


def test_covariance_is_in_the_axes_of_the_odometry_frame():
    in_world = np.reshape(advanced("world", Scripted()).covariance, (6, 6))
    assert np.diag(in_world) == pytest.approx([0.04, 0.01, 0, 0, 0, 0.09])
    turned = np.reshape(advanced("start", Scripted()).covariance, (6, 6))
    assert np.diag(turned) == pytest.approx([0.01, 0.04, 0, 0, 0, 0.09])
    of_twist = np.reshape(advanced("start", Scripted()).twist_covariance, (6, 6))
    assert np.diag(of_twist) == pytest.approx([1, 2, 0, 0, 0, 3])


def test_tracked_objects_follow_the_estimate():
    path, outline = np.array([[2.2, 1.0, 0.0]]), np.zeros((3, 2))
    one = TrackedObject("walker", Pose2D(2.2, 1.0), (0.0, 0.0, 0.0), outline, path, 0.1)
    assert advanced("world").as_estimated([one])[0].pose == one.pose
    (moved,) = advanced("world", Scripted()).as_estimated([one])
    assert moved.pose.distance_to(2.5, 0.2) == pytest.approx(1.0)
