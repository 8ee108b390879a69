"""Noise and range limits of a lidar scan."""

import numpy as np

from gz_testauto.base.pose import Pose
from gz_testauto.sdf.robot_sensors import LidarDescription
from gz_testauto.simulators.engine_robot import measured_scan

LIDAR = LidarDescription("base", "lidar", Pose((0.2, 0.0, 0.3)), 4, -1.0, 1.0, 0.1, 10.0, 10.0)


def scan(noise_m=(0.0, 0.0), seed=0, ranges_m=(0.05, 0.1, 9.9, 10.0)):
    generator = np.random.default_rng(seed)
    return measured_scan(LIDAR, 1.5, np.array(ranges_m), noise_m, generator)


def test_distance_out_of_range_is_infinite():
    assert scan().ranges_m.tolist() == [-np.inf, 0.1, 9.9, np.inf]


def test_distance_out_of_range_after_noise_is_infinite():
    assert scan(noise_m=(0.2, 0.0)).ranges_m.tolist() == [0.25, 0.1 + 0.2, np.inf, np.inf]


def test_lidar_noise_is_drawn_from_the_generator():
    noisy = [scan((0.0, 0.01), seed, (1.0, 2.0, 3.0, 4.0)).ranges_m.tolist() for seed in (1, 1, 2)]
    assert noisy[0] == noisy[1] != noisy[2]


def test_scan_has_the_limits_of_its_lidar_and_is_read_only():
    found = scan()
    assert (found.stamp_s, found.range_min_m, found.range_max_m) == (1.5, 0.1, 10.0)
    assert found.mount == LIDAR.mount
    assert not found.ranges_m.flags.writeable
