import math
from io import BytesIO

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gz_testauto.base import ros_messages
from gz_testauto.base.errors import SpecError
from gz_testauto.base.observation import (
    Contact,
    ImuSample,
    LaserScan,
    ModelState,
    SensorReading,
    Twist2D,
)
from gz_testauto.base.pose import Pose
from gz_testauto.base.sensors import Angles, Sensor
from gz_testauto.grid.occupancy import OccupancyGrid
from gz_testauto.ros.map_messages import grid_message, grid_of

number = st.floats(-1e6, 1e6)


def over_the_wire(message):
    buffer = BytesIO()
    message.serialize(buffer)
    return type(message)().deserialize(buffer.getvalue())


@given(st.lists(number, min_size=6, max_size=6))
def test_pose_is_preserved_bit_for_bit(values):
    pose = Pose.from_values(values)
    assert ros_messages.pose_of(over_the_wire(ros_messages.pose_message(pose))) == pose


def test_quaternion_of_a_default_message_is_no_rotation():
    assert ros_messages.pose_of(type(ros_messages.pose_message(Pose()))()) == Pose()


def test_quaternion_is_normalized():
    message = ros_messages.pose_message(Pose((0, 0, 0), (0.0, 0.0, 0.0, 2.0)))
    assert ros_messages.pose_of(message).quaternion == (0.0, 0.0, 0.0, 1.0)


def test_quaternion_of_huge_numbers_is_normalized():
    message = ros_messages.pose_message(Pose((0, 0, 0), (1e300, 1e300, 0.0, 0.0)))
    assert ros_messages.pose_of(message).quaternion == pytest.approx((0.5**0.5, 0.5**0.5, 0, 0))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_twist_of_a_request_is_never_omitted(axis):
    """A simulator reports NaN if it does not report a twist; a request must be rejected."""
    linear = [0.0, 0.0, 0.0]
    linear[axis] = math.nan
    twist = ros_messages.twist_message(linear, (0.0, 0.0, 0.0))
    state = ros_messages.requested_state(ros_messages.pose_message(Pose()), twist)
    assert math.isnan(state.linear_mps[axis])


@given(number, number)
def test_command_is_preserved_bit_for_bit(linear, angular):
    command = Twist2D(linear, angular)
    assert ros_messages.command_of(over_the_wire(ros_messages.command_message(command))) == command


@given(st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=40))
def test_scan_of_32_bits_is_preserved_bit_for_bit(ranges):
    bound = float(np.float32(2.356))
    scan = LaserScan(1.5, -bound, bound, 0.125, 20.0, np.array(ranges, dtype=float))
    message = over_the_wire(
        ros_messages.scan_message(scan, ros_messages.time_message(0), "lidar", 0.1)
    )
    back = ros_messages.scan_of(message, 1.5, Pose())
    assert np.array_equal(back.ranges_m, scan.ranges_m)
    assert np.array_equal(back.angles_rad, scan.angles_rad)
    assert ros_messages.from_float32(message.scan_time) == 0.1


def test_integer_nanoseconds_are_converted_to_ros_time_exactly():
    stamp = ros_messages.time_message(12_300_000_001)
    assert (stamp.secs, stamp.nsecs) == (12, 300_000_001)
    assert ros_messages.nanoseconds_of(0.1 + 0.2) == 300_000_000


def test_twist_that_the_simulator_does_not_report_remains_unknown():
    states = {
        "robot": ModelState(Pose(), (1.0, 0.0, 0.0), (0.0, 0.0, 0.5)),
        "box": ModelState(Pose.from_rpy(1, 2, 3, 0, 0, 1)),
    }
    message = ros_messages.model_states_message(states, unknown=float("nan"))
    assert ros_messages.model_states_of(over_the_wire(message)) == states


def test_imu_sample_is_preserved_bit_for_bit():
    sample = ImuSample(1.5, (0.0, 0.0, 0.6, 0.8), (0.1, 0.0, -0.5), (0.3, -0.1, 9.8))
    message = over_the_wire(ros_messages.imu_message(sample, ros_messages.time_message(0), "imu"))
    assert ros_messages.imu_sample_of(message, 1.5) == sample


def test_contacts_are_preserved_with_their_times():
    contacts = (
        Contact(0.5, "a::l::c", "b::l::c", ((1.0, 2.0, 0.0),), ((0.0, 0.0, 1.0),), (0.01,)),
        Contact(0.6, "a::l::c", "d::l::c", forces_n=((0.0, 0.0, 9.0), (0.0, 0.0, 1.0))),
    )
    message = over_the_wire(ros_messages.contacts_message(contacts, ros_messages.time_message(0)))
    assert ros_messages.contacts_of(message, [0.5, 0.6]) == contacts
    assert message.states[1].total_wrench.force.z == 10.0


@given(st.sampled_from([0.05, 0.1, 0.025, 0.02]), st.integers(1, 9), st.integers(1, 9))
def test_occupancy_grid_message_preserves_the_map(resolution, rows, columns):
    occupied = np.arange(rows * columns).reshape(rows, columns) % 3 == 0
    grid = OccupancyGrid(occupied, resolution, -15.05, -3.3)
    back = grid_of(over_the_wire(grid_message(grid, ros_messages.time_message(0))))
    assert np.array_equal(back.occupied, occupied)
    assert (back.resolution_m, back.origin_x_m, back.origin_y_m) == (resolution, -15.05, -3.3)


@pytest.mark.parametrize(
    ("field", "value", "match"),
    [
        ("data", [], "the map has 0 cells"),
        ("data", [0] * 5, "the map has 5 cells; it must have width x height = 3 x 2 cells"),
        ("info.resolution", 0.0, "the resolution of the map is 0.0 m"),
        ("info.resolution", -0.1, "the resolution of the map is -0.1 m"),
        ("info.resolution", math.nan, "the resolution of the map is nan m"),
        ("info.resolution", math.inf, "the resolution of the map is inf m"),
        ("info.origin.position.x", math.nan, "the origin of the map is .*nan"),
        ("info.origin.orientation.w", math.inf, "the origin of the map is .*nan"),
    ],
)
def test_invalid_occupancy_grid_message_is_rejected(field, value, match):
    grid = OccupancyGrid(np.zeros((2, 3), dtype=bool), 0.1, 0.0, 0.0)
    message = grid_message(grid, ros_messages.time_message(0))
    *parents, name = field.split(".")
    part = message
    for parent in parents:
        part = getattr(part, parent)
    setattr(part, name, value)
    with pytest.raises(SpecError, match=match):
        grid_of(message)


def cloud_of(message):
    assert (message.point_step, message.row_step) == (12, 12 * message.width)
    assert [field.name for field in message.fields] == ["x", "y", "z"]
    return np.frombuffer(message.data, "<f4").reshape(message.height, message.width, 3)


def test_cloud_of_a_camera_is_an_image_in_its_image_frame():
    """The camera has 3 × 2 pixels; the upper right pixel has no return."""
    sensor = Sensor(
        "cloud", "camera", "base", "camera", Pose((0.1, 0.0, 1.0)), Angles(3, -0.4, 0.4),
        Angles(2, -0.3, 0.3), 0.1, 5.0, frame="optical", is_camera=True,
    )  # fmt: skip
    ranges = np.array([[2.0, 2.0, 2.0], [np.inf, 2.0, 4.0]])  # the last is the upper left
    reading = SensorReading(sensor, 1.0, ranges)
    message = over_the_wire(ros_messages.cloud_message(reading, ros_messages.time_message(0)))
    points = cloud_of(message)
    assert points.shape == (2, 3, 3) and not message.is_dense
    assert message.header.frame_id == "optical"
    assert np.isnan(points[0, 2]).all() and np.isfinite(points[points[..., 2] > 0]).all()
    level = 4.0 * math.cos(0.3)
    upper_left = [-level * math.sin(0.4), -4.0 * math.sin(0.3), level * math.cos(0.4)]
    assert points[0, 0] == pytest.approx(upper_left, rel=1e-6)
    x, y, z = points[0, 0].astype(float)
    in_base = sensor.frame_mount.rotation @ (x, y, z) + sensor.frame_mount.position
    assert in_base == pytest.approx(reading.points_m[-1], rel=1e-6)


def test_cloud_of_a_lidar_contains_only_the_returns():
    sensor = Sensor(
        "cloud", "top", "base", "top", Pose(), Angles(3, -0.4, 0.4), Angles(2, -0.3, 0.3), 0.1, 5.0
    )
    ranges = np.array([[2.0, np.inf, 3.0], [np.inf, np.inf, 4.0]])
    reading = SensorReading(sensor, 1.0, ranges)
    message = over_the_wire(ros_messages.cloud_message(reading, ros_messages.time_message(0)))
    assert message.is_dense and message.height == 1
    assert cloud_of(message)[0] == pytest.approx(reading.points_m.astype(np.float32))


@pytest.mark.parametrize(("range_m", "published_m"), [(1.5, 1.5), (np.inf, 4.0)])
def test_range_without_a_return_is_the_maximum_range(range_m, published_m):
    sensor = Sensor(
        "range", "sonar", "base", "sonar", Pose(), range_min_m=0.02, range_max_m=4.0,
        frame="front", radiation="infrared", field_of_view_rad=0.5,
    )  # fmt: skip
    reading = SensorReading(sensor, 1.0, np.array([[range_m]]))
    message = over_the_wire(ros_messages.range_message(reading, ros_messages.time_message(0)))
    assert message.range == published_m
    assert (message.header.frame_id, message.radiation_type) == ("front", message.INFRARED)
    assert (message.field_of_view, message.max_range) == (0.5, 4.0)


def test_contacts_of_a_bumper_have_the_frame_of_its_plugin():
    message = ros_messages.contacts_message((), ros_messages.time_message(0), "bumper_link")
    assert message.header.frame_id == "bumper_link"
