"""The scan that is merged from several lidars, for surfaces and points known on paper."""

import math

import numpy as np
import pytest

from gz_testauto.base.observation import SensorReading
from gz_testauto.base.pose import Pose
from gz_testauto.base.sensors import Angles, Sensor
from gz_testauto.sdf.robot_sensors import merged_lidar
from gz_testauto.simulators.merged_scan import merged_scan


def lidar(name, x, y=0.0, yaw=0.0, half=1.5, samples=301, roll=0.0):
    mount = Pose.from_rpy(x, y, 0.3, roll, 0.0, yaw)
    columns = Angles(samples, -half, half)
    return Sensor("scan", name, "base", name, mount, columns, range_min_m=0.05, range_max_m=10.0)


def reading(sensor, distance_of, stamp_s=1.0):
    """Return a reading whose ranges are a function of the positions and directions of rays."""
    turned = sensor.directions @ sensor.mount.rotation.T
    ranges = np.array([distance_of(np.array(sensor.mount.position), one) for one in turned])
    ranges[~(ranges < sensor.range_max_m)] = np.inf
    return SensorReading(sensor, stamp_s, ranges[None])


def to_wall(x_m):
    """Return the distance to a wall at x = ``x_m``."""

    def distance(at, ray):
        along = (x_m - at[0]) / ray[0] if ray[0] * (x_m - at[0]) > 1e-9 else math.inf
        return along

    return distance


def to_walls(*x_m):
    return lambda at, ray: min(to_wall(one)(at, ray) for one in x_m)


def merged(*readings):
    return merged_scan(merged_lidar([one.sensor for one in readings]), readings)


def at(scan, bearing):
    return scan.ranges_m[np.argmin(np.abs(scan.angles_rad - bearing))]


FRONT, REAR = lidar("front", 0.3), lidar("rear", -0.3, yaw=math.pi)


def test_walls_on_both_sides_have_exact_distances_from_the_base():
    walls = to_walls(2.0, -1.5)
    scan = merged(reading(FRONT, walls), reading(REAR, walls))
    bearings = scan.angles_rad
    for wall_m, side in ((2.0, np.abs(bearings) < 1.3), (-1.5, np.abs(bearings) > 1.9)):
        exact = wall_m / np.cos(bearings[side])
        assert np.abs(scan.ranges_m[side] - exact).max() < 1e-9


def test_part_of_a_lidar_that_is_mounted_upside_down_is_not_mirrored():
    upside_down = lidar("front", 0.3, roll=math.pi)

    def left_wall(at, ray):
        return (1.0 - at[1]) / ray[1] if ray[1] > 1e-9 else math.inf

    scan = merged(reading(upside_down, left_wall), reading(REAR, to_wall(-3.0)))
    ray = int(np.argmin(np.abs(scan.angles_rad - 1.2)))
    assert scan.ranges_m[ray] == pytest.approx(1.0 / math.sin(scan.angles_rad[ray]), abs=1e-9)
    assert at(scan, -1.2) == np.inf


def test_edge_between_near_and_far_surfaces_is_not_a_surface():
    """The left half of the view ends at 2 m and the right one at 8 m."""

    def edge(at, ray):
        return (2.0 if ray[1] > 0 else 8.0) / ray[0]

    sensor = lidar("front", 0.0, y=1.0)
    scan = merged(reading(sensor, edge), reading(REAR, to_wall(-3.0)))
    between = scan.ranges_m[(scan.angles_rad > 0.16) & (scan.angles_rad < 0.4)]
    assert len(between) > 20 and not ((between > 2.6) & (between < 7.0)).any()
    hidden = np.isnan(between)
    assert hidden.sum() > 10 and not np.isinf(between).any(), "hidden directions are unknown"


def test_single_return_belongs_to_the_nearest_ray():
    def post(at, ray):
        return 2.0 if abs(math.atan2(ray[1], ray[0]) - 0.1) < 0.004 else math.inf

    scan = merged(reading(lidar("front", 0.0), post), reading(REAR, lambda at, ray: math.inf))
    hits = np.flatnonzero(np.isfinite(scan.ranges_m))
    assert len(hits) == 1 and scan.ranges_m[hits[0]] == pytest.approx(2.0)
    assert scan.angles_rad[hits[0]] == pytest.approx(0.1, abs=0.01)


def test_nearer_of_two_returns_is_kept():
    left, right = lidar("left", 0.0, 0.2), lidar("right", 0.0, -0.2)
    for first, second in ((2.0, 3.0), (3.0, 2.0)):
        scan = merged(reading(left, to_wall(first)), reading(right, to_wall(second)))
        assert at(scan, 0.0) == pytest.approx(2.0)


def test_directions_without_a_lidar_are_nan_and_those_without_a_return_infinite():
    first, second = lidar("a", 0.0, yaw=0.0, half=0.3), lidar("b", 0.0, yaw=1.5, half=0.3)
    nothing = [reading(one, lambda at, ray: math.inf) for one in (first, second)]
    scan = merged(*nothing)
    assert (scan.angle_min_rad, scan.angle_max_rad) == pytest.approx((-0.3, 1.8))
    seen = (scan.angles_rad < 0.3 + 1e-9) | (scan.angles_rad > 1.2 - 1e-9)
    assert np.isinf(scan.ranges_m[seen]).all() and np.isnan(scan.ranges_m[~seen]).all()


def test_returns_at_the_seam_of_a_full_circle_are_merged():
    """The rear lidar looks backwards, across the first and the last ray."""
    scan = merged(
        reading(lidar("front", 0.3, half=2.3), to_walls(2.0, -2.0)),
        reading(lidar("rear", -0.3, yaw=math.pi, half=2.3), to_walls(2.0, -2.0)),
    )
    assert scan.angle_min_rad == -math.pi
    behind = np.abs(scan.angles_rad) > 2.0
    exact = -2.0 / np.cos(scan.angles_rad[behind])
    assert np.abs(scan.ranges_m[behind] - exact).max() < 1e-9


def test_stamp_of_the_merged_scan_is_that_of_the_first_lidar():
    scan = merged(reading(FRONT, to_wall(2.0), 3.0), reading(REAR, to_wall(2.0), 2.9))
    assert scan.stamp_s == 3.0 and not scan.ranges_m.flags.writeable
