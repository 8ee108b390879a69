"""Messages of sensors, as the planner node reads them, and the times at which they are due."""

import io

import numpy as np
import pytest

pytest.importorskip("rospy")

from sensor_msgs.msg import PointCloud2, PointField

from gz_testauto.base import ros_messages
from gz_testauto.base.errors import NavigatorError, SdfError, SpecError
from gz_testauto.base.observation import Contact, SensorReading
from gz_testauto.base.pose import Pose
from gz_testauto.base.resources import share_directory
from gz_testauto.base.sensors import Angles, Sensor
from gz_testauto.planners import make_planner
from gz_testauto.ros.planner.goal import sensors_of
from gz_testauto.ros.planner.interface import PlannerParameters
from gz_testauto.ros.planner.sensors import is_newer_due, points_of, reading_of
from gz_testauto.ros.simulator.interface import sensor_topic
from gz_testauto.ros.simulator.publishers import sensor_message
from gz_testauto.sdf.robot import read_sensors

MODEL = share_directory() / "models" / "service_robot" / "model.sdf"
SENSORS = {one.name: one for one in read_sensors(MODEL)}
PERIOD_NS = 100_000_000


def sent(message):
    """Return a message after its transport."""
    written = io.BytesIO()
    message.serialize(written)
    return type(message)().deserialize(written.getvalue())


def random_reading(sensor, seed=1):
    """Return a reading in which a tenth of the rays have no return."""
    generator = np.random.default_rng(seed)
    if sensor.kind == "contact":
        point = (generator.normal(size=3).tolist(),)
        contact = Contact(
            0.31, "robot::base::front", "wall::link::box", point, point, (0.1,), point
        )
        return SensorReading(sensor, 0.35, np.empty((0, 0)), (contact,) * 2)
    shape = (1, 1) if sensor.kind == "range" else (sensor.rows.samples, sensor.columns.samples)
    ranges = generator.uniform(sensor.range_min_m, sensor.range_max_m, shape)
    ranges[generator.random(shape) < 0.1] = np.inf
    return SensorReading(sensor, 0.35, ranges)


@pytest.mark.parametrize("name", sorted(SENSORS))
def test_message_of_a_sensor_is_the_reading_without_ros_bit_by_bit(name):
    sensor = SENSORS[name]
    for seed in range(3):
        reading = random_reading(sensor, seed)
        expected = reading.in_message_precision()
        message = sent(sensor_message(reading, ros_messages.time_message(350_000_000), 0.1))
        found = reading_of(message, sensor, 0.35, sensor.frame_mount)
        assert found.ranges_m.tobytes() == expected.ranges_m.tobytes()
        assert found.sensor == expected.sensor
        positions = [one.positions_m for one in found.contacts]
        assert positions == [tuple(map(tuple, one.positions_m)) for one in expected.contacts]
        assert [one.stamp_s for one in found.contacts] == [0.35] * len(expected.contacts)
        finite = np.isfinite(reading.ranges_m)
        assert (finite == np.isfinite(found.ranges_m)).all()
        assert found.ranges_m[finite] == pytest.approx(reading.ranges_m[finite], rel=2e-7)


def cloud(points, order="<", step=22, padding=0, width=None):
    """Return a cloud with the fields of a velodyne: x, y, z, intensity and ring."""
    dtype = np.dtype(
        {
            "names": ["x", "y", "z", "intensity", "ring"],
            "formats": [f"{order}f4"] * 4 + [f"{order}u2"],
            "offsets": [0, 4, 8, 12, 16],
            "itemsize": step,
        }
    )
    data = np.zeros(len(points), dtype)
    for number, axis in enumerate("xyz"):
        data[axis] = np.asarray(points)[:, number]
    width = width or len(points)
    rows = [data[first : first + width].tobytes() for first in range(0, len(points), width)]
    message = PointCloud2(is_bigendian=order == ">", point_step=step, width=width)
    message.height, message.row_step = len(rows), width * step + padding
    message.data = b"".join(row + b"\x7f" * padding for row in rows)
    fields = zip(("x", "y", "z", "intensity", "ring"), (0, 4, 8, 12, 16), (7, 7, 7, 7, 4))
    message.fields = [PointField(name, offset, kind, 1) for name, offset, kind in fields]
    return message


@pytest.mark.parametrize("order", ["<", ">"])
def test_points_have_the_byte_order_and_the_padding_of_their_message(order):
    points = np.arange(18.0).reshape(6, 3)
    assert points_of(cloud(points, order, padding=5, width=3)).tolist() == points.tolist()


def test_cloud_without_coordinates_is_rejected_with_its_fields():
    message = cloud(np.zeros((1, 3)))
    message.fields = message.fields[1:]
    with pytest.raises(NavigatorError, match="y, z, intensity, ring"):
        points_of(message)


def test_camera_with_more_pixels_than_rays_has_the_distance_of_the_wall():
    """A camera 2 m in front of a wall, with the pixels of a real camera in its image axes."""
    rays = Angles(9, -0.4, 0.4)
    camera = Sensor(
        "cloud", "camera", "base", "camera", Pose(), rays, rays, 0.1, 5.0, is_camera=True
    )
    x, y = np.meshgrid(np.linspace(-1.0, 1.0, 160), np.linspace(-1.0, 1.0, 120))
    points = np.stack([x.ravel(), y.ravel(), np.full(x.size, 2.0)], axis=1)
    message = cloud(points, width=160)
    found = reading_of(message, camera, 0.0, camera.frame_mount).ranges_m
    # the smallest distance of the points that are up to 0.05 rad from the ray
    assert found[4, 4] == pytest.approx(2.0, abs=1e-3)
    assert 2.0 / np.cos(0.35) - 1e-3 < found[4, 0] < 2.0 / np.cos(0.4)
    assert found.max() < 2.0 / np.cos(0.4) ** 2


def test_near_obstacle_of_a_real_lidar_is_at_the_minimum_range():
    sensor = SENSORS["front_lidar"]
    message = sensor_message(random_reading(sensor), ros_messages.time_message(0), 0.1)
    message.ranges = [-np.inf, np.nan, 100.0, 1.5]
    ranges = reading_of(sent(message), sensor, 0.0, Pose()).ranges_m
    near = np.float32(sensor.range_min_m)
    assert np.array_equal(ranges, [[near, np.nan, np.inf, 1.5]], equal_nan=True)


@pytest.mark.parametrize(
    ("stamp_s", "now_s", "rate_hz", "origin_s", "expected"),
    [
        # 4 Hz in periods of 0.1 s from 1 s on: measurements at 1, 1.3, 1.5, 1.8 and 2 s
        (1.0, 1.2, 4.0, 1.0, False),
        (1.0, 1.3, 4.0, 1.0, True),
        (1.3, 1.4, 4.0, 1.0, False),
        (1.3, 1.5, 4.0, 1.0, True),
        (0.5, 1.0, 4.0, 1.0, True),  # of the previous scene
        (1.5, 1.5, 4.0, 1.0, False),
        # available after 0.15 s: at 1.65 s, that of 1.5 s; at 1.64 s, it is not due
        (1.3, 1.65 - 0.15, 4.0, 1.0, True),
        (1.3, 1.64 - 0.15, 4.0, 1.0, False),
        # in each control period
        (1.3, 1.4, 0.0, 1.0, True),
        (1.4, 1.4, 0.0, 1.0, False),
        # 7 Hz: the seventh period ends at 2 s
        (1.9, 2.0, 7.0, 1.0, True),
        # the origin is unknown: one period after the previous measurement
        (1.3, 1.5, 4.0, None, False),
        (1.3, 1.55, 4.0, None, True),
        (1.3, 1.4, 0.0, None, True),
    ],
)
def test_sensor_measures_at_the_end_of_its_periods(stamp_s, now_s, rate_hz, origin_s, expected):
    stamp_ns, now_ns = round(stamp_s * 1e9), round(now_s * 1e9)
    origin_ns = None if origin_s is None else round(origin_s * 1e9)
    assert is_newer_due(stamp_ns, now_ns, rate_hz, PERIOD_NS, origin_ns) is expected


def test_topic_that_the_simulator_node_uses_is_replaced():
    sensor = Sensor("scan", "laser", "base", "laser", Pose(), topic="/scan")
    assert sensor_topic(sensor) == "base/laser"
    assert sensor_topic(SENSORS["camera"]) == "camera/depth/points"


def parameters(**values):
    return PlannerParameters(plugin="dwa", footprint_m=[(0, 0), (1, 0), (0, 1)], **values)


def test_planner_reads_the_sensors_of_the_model_with_their_delays():
    planner = make_planner("dwa", sensors=["base::sonar_left", "camera"])
    found = sensors_of(planner, parameters(robot_model=MODEL, sensor_delays_s={"camera": 0.2}))
    assert [(one.name, one.delay_s) for one in found] == [("sonar_left", 0.0), ("camera", 0.2)]


def test_planner_with_sensors_requires_a_model_that_has_them():
    planner = make_planner("dwa", sensors=["camera"])
    with pytest.raises(SpecError, match=r"camera.*~robot_model"):
        sensors_of(planner, parameters())
    with pytest.raises(SdfError, match="'kamera'"):
        sensors_of(make_planner("dwa", sensors=["kamera"]), parameters(robot_model=MODEL))
