"""Rays of sensors, and the points that belong to them."""

import math

import numpy as np
import pytest

from gz_testauto.base.observation import SensorReading
from gz_testauto.base.pose import Pose
from gz_testauto.base.sensors import AHEAD, IMAGE_AXES, Angles, Sensor


def lidar(columns, rows=AHEAD, **values):
    return Sensor("cloud", "lidar", "base", "lidar", Pose(), columns, rows, 0.1, 10.0, **values)


@pytest.mark.parametrize(
    "columns",
    [
        Angles(360, -math.pi, math.pi - 2 * math.pi / 360),
        Angles(1800, -3.14159, 3.14159),
        Angles(7, 0.0, 1.9 * math.pi),
        Angles(80, -0.7, 0.7),
        Angles(1, 0.0, 0.0),
    ],
)
def test_point_on_a_ray_belongs_to_this_ray(columns):
    sensor = lidar(columns, Angles(16, -0.26, 0.26))
    ranges = np.random.default_rng(5).uniform(0.1, 9.9, (16, columns.samples))
    reading = SensorReading(sensor, 0.0, ranges)
    assert sensor.ranges_to(reading.local_points_m) == pytest.approx(ranges, rel=1e-12)


def test_ray_has_the_distance_to_the_nearest_of_its_points():
    sensor = lidar(Angles(3, -0.2, 0.2))
    points = np.array([[3.0, 0.0, 0.0], [2.0, 0.1, 0.0], [5.0, 1.0, 0.0], [0.0, 3.0, 0.0]])
    # 0.05 rad: the middle ray; 0.197 rad: the last ray; 1.57 rad: outside
    expected = [[np.inf, math.hypot(2.0, 0.1), math.hypot(5.0, 1.0)]]
    assert sensor.ranges_to(points) == pytest.approx(np.array(expected))


def test_points_beyond_the_range_or_without_coordinates_are_no_returns():
    sensor = lidar(Angles(2, 0.0, 1.0), Angles(2, 0.0, 0.2))
    points = np.array([[10.0, 0.0, 0.0], [np.nan, 0.0, 0.0], [1.0, 0.0, 5.0], [1.0, 0.0, -5.0]])
    assert np.isinf(sensor.ranges_to(points)).all()


def test_first_and_last_ray_of_a_full_circle_have_the_same_range():
    sensor = lidar(Angles(5, -math.pi, math.pi))
    points = np.array([[-2.0, 1e-9, 0.0], [-3.0, -1e-9, 0.0], [0.0, 1.0, 0.0]])
    assert sensor.ranges_to(points).tolist() == [[2.0, np.inf, np.inf, 1.0, 2.0]]


def test_frame_of_a_camera_has_image_axes():
    mount = Pose.from_rpy(0.1, 0.2, 1.0, 0.0, 0.3, 0.5)
    camera = lidar(Angles(2, 0.0, 1.0), is_camera=True)
    assert camera.in_frame(mount * IMAGE_AXES).mount.values == pytest.approx(mount.values)
    assert lidar(Angles(2, 0.0, 1.0)).in_frame(mount).mount == mount


def test_range_that_rounds_to_the_maximum_is_no_return():
    sonar = Sensor("range", "sonar", "base", "sonar", Pose(), range_min_m=0.1, range_max_m=0.3)
    below = np.nextafter(0.3, 0.0)
    found = SensorReading(sonar, 0.0, np.array([[below]])).in_message_precision()
    assert np.isinf(found.ranges_m).all()
    assert found.sensor.range_max_m == float(np.float32(0.3))
