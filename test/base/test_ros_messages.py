from io import BytesIO

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gz_testauto.base import ros_messages
from gz_testauto.base.observation import Contact, ImuSample, LaserScan, ModelState, Twist2D
from gz_testauto.base.pose import Pose
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
