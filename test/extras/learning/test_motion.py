"""Velocities of moving objects, estimated from scans of a driving robot."""

import math

import numpy as np
import pytest

from gz_testauto.base.observation import LaserScan, Twist2D
from gz_testauto.base.pose import Pose2D
from gz_testauto.extras.learning.policies.motion import ScanMotion
from gz_testauto.extras.learning.policies.observations import LidarSectors
from gz_testauto.planners.interface import Observation, RobotLimits, Task

SQUARE = ((0.3, 0.3), (-0.3, 0.3), (-0.3, -0.3), (0.3, -0.3))
TASK = Task(
    Pose2D(5.0, 0.0, 0.0), 0.5, np.array([[0.0, 0.0], [5.0, 0.0]]), RobotLimits(footprint_m=SQUARE)
)
PERIOD_S = 0.2
ANGLES = np.linspace(-0.75 * math.pi, 0.75 * math.pi, 361)
RADIUS_M = 0.25


def ranges_of_cylinder(pose, x_m, y_m):
    """Return the ranges (m) of all rays from ``pose`` to an upright cylinder."""
    dx, dy = x_m - pose.x_m, y_m - pose.y_m
    away = math.hypot(dx, dy)
    off = np.angle(np.exp(1j * (math.atan2(dy, dx) - pose.yaw_rad - ANGLES)))
    lateral = away * np.sin(off)
    hit = (np.abs(lateral) < RADIUS_M) & (np.cos(off) > 0)
    along = away * np.cos(off) - np.sqrt(np.maximum(RADIUS_M**2 - lateral**2, 0.0))
    return np.where(hit, along, np.inf)


def ranges_of_wall(pose, y_m):
    """Return the ranges (m) of all rays from ``pose`` to an infinite wall at ``y_m``."""
    sine = np.sin(ANGLES + pose.yaw_rad)
    with np.errstate(divide="ignore"):
        along = (y_m - pose.y_m) / sine
    return np.where(along > 0, along, np.inf)


def observation(time_s, pose, ranges, stamp_s=None):
    scan = LaserScan(
        time_s if stamp_s is None else stamp_s, ANGLES[0], ANGLES[-1], 0.1, 10.0, ranges
    )
    return Observation(time_s, pose, Twist2D(), scan)


def robot_at(time_s):
    """Return the pose of a robot that drives 0.8 m/s on an arc of 0.6 rad/s."""
    yaw = 0.6 * time_s
    return Pose2D(0.8 / 0.6 * math.sin(yaw), 0.8 / 0.6 * (1 - math.cos(yaw)), yaw)


def estimated(cylinders, periods=6, delay_s=0.0, noise_m=0.0, motion=None):
    """Return the last points and velocities, both in the world frame, while the robot drives.
    ``cylinders`` are pairs of a start (m) and a velocity (m/s)."""
    random = np.random.default_rng(1)
    motion = ScanMotion() if motion is None else motion
    for period in range(periods):
        time_s = period * PERIOD_S
        pose, stamp_s = robot_at(time_s), max(0.0, time_s - delay_s)
        seen_from = robot_at(stamp_s)
        ranges = np.min(
            [
                ranges_of_cylinder(seen_from, x + vx * stamp_s, y + vy * stamp_s)
                for (x, y), (vx, vy) in cylinders
            ]
            + [ranges_of_wall(seen_from, -3.0)],
            axis=0,
        )
        ranges = ranges + noise_m * random.standard_normal(len(ranges))
        points, velocities = motion.estimate(observation(time_s, pose, ranges, stamp_s))
    cos, sin = math.cos(pose.yaw_rad), math.sin(pose.yaw_rad)
    turn = np.array([[cos, sin], [-sin, cos]])
    return points @ turn + (pose.x_m, pose.y_m), velocities @ turn


@pytest.mark.parametrize("velocity", [(-0.8, 0.0), (0.0, -1.2), (0.4, 0.4)])
@pytest.mark.parametrize(("delay_s", "noise_m"), [(0.0, 0.0), (0.1, 0.0), (0.0, 0.03)])
def test_velocity_of_a_walker_is_estimated_from_a_driving_robot(velocity, delay_s, noise_m):
    points, velocities = estimated([((3.0, 1.5), velocity)], 8, delay_s, noise_m)
    near = np.hypot(*(points - np.add((3.0, 1.5), np.multiply(1.4, velocity))).T) < 0.8
    assert near.sum() >= 3
    assert np.abs(velocities[near] - velocity).max() < 0.2
    assert not velocities[~near].any()


def test_static_objects_have_no_velocity_for_a_driving_robot():
    still = (0.0, 0.0)
    _, velocities = estimated([((3.0, 1.0), still), ((2.0, -1.5), still)], 8, noise_m=0.02)
    assert len(velocities) and not velocities.any()


def test_no_velocity_is_estimated_from_fewer_than_three_scans():
    moving = [((3.0, 1.5), (-0.8, 0.0))]
    assert not estimated(moving, 2)[1].any()
    assert estimated(moving, 3)[1].any()


def test_repeated_scan_keeps_its_velocities():
    motion = ScanMotion()
    estimated([((3.0, 0.5), (-0.8, 0.0))], 6, motion=motion)
    pose = robot_at(1.0)
    ranges = ranges_of_cylinder(pose, 2.2, 0.5)
    first = motion.estimate(observation(1.2, pose, ranges, 1.2))
    again = motion.estimate(observation(1.4, pose, ranges, 1.2))
    assert first[1].any()
    assert np.array_equal(first[1], again[1])


def test_other_scan_with_the_same_stamp_has_no_velocities():
    motion = ScanMotion()
    estimated([((3.0, 0.5), (-0.8, 0.0))], 6, motion=motion)
    pose = robot_at(1.0)
    motion.estimate(observation(1.2, pose, ranges_of_cylinder(pose, 2.2, 0.5), 1.2))
    other = ranges_of_cylinder(pose, 1.2, 0.5)
    points_m, velocities_mps = motion.estimate(observation(1.4, pose, other, 1.2))
    assert len(points_m) == len(velocities_mps)
    assert not velocities_mps.any()


def test_observation_without_a_scan_or_points_has_no_velocities():
    motion = ScanMotion()
    empty = motion.estimate(Observation(0.0, Pose2D(0.0, 0.0, 0.0), Twist2D(), None))
    assert [one.shape for one in empty] == [(0, 2), (0, 2)]
    none = motion.estimate(observation(0.2, robot_at(0.0), np.full(361, np.inf)))
    assert [one.shape for one in none] == [(0, 2), (0, 2)]


def test_lidar_term_shows_a_walker_at_its_predicted_positions():
    def shown(ahead_s, vx_mps):
        term = LidarSectors(beams=4, range_m=5.0, ahead_s=ahead_s)
        term.begin(TASK)
        here = Pose2D(0.0, 0.0, 0.0)
        for period in range(5):
            time_s = period * PERIOD_S
            ranges = ranges_of_cylinder(here, 4.25 + vx_mps * time_s, 1.0)
            values = term.encode(observation(time_s, here, ranges))
        return values

    now, later = shown((), -1.0), shown((0.5, 1.0), -1.0)
    assert now[[0, 1, 3]] == pytest.approx(0.0) == later[[0, 1, 3]]
    assert now[2] == pytest.approx(1 - (math.hypot(3.15, 0.7) - RADIUS_M) / 5, abs=0.03)
    assert later[2] == pytest.approx(1 - (math.hypot(2.15, 0.7) - RADIUS_M) / 5, abs=0.05)
    assert shown((0.5, 1.0), 0.0) == pytest.approx(shown((), 0.0))
    assert shown((0.5, 1.0), 1.0) == pytest.approx(shown((), 1.0))  # the nearest one counts
