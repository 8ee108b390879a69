"""Encoding of Gazebo's messages."""

import struct

import pytest
from google.protobuf.message import EncodeError

from gz_testauto.simulators.gazebo.messages import MESSAGES


def test_pose_has_the_encoding_of_gazebo():
    pose = MESSAGES["Pose"](name="r")
    pose.position.x, pose.position.y, pose.position.z = 1.0, 2.0, 3.0
    q = pose.orientation
    q.x, q.y, q.z, q.w = 0.0, 0.0, 0.0, 1.0
    position = b"".join(
        bytes([8 * n + 1]) + struct.pack("<d", v) for n, v in ((1, 1), (2, 2), (3, 3))
    )
    # a quaternion's fields are numbered from 2
    turn = b"".join(
        bytes([8 * n + 1]) + struct.pack("<d", v) for n, v in ((2, 0), (3, 0), (4, 0), (5, 1))
    )
    expected = b"\x0a\x01r" + b"\x1a" + bytes([len(position)]) + position
    assert pose.SerializeToString() == expected + b"\x22" + bytes([len(turn)]) + turn


def test_fields_that_are_not_in_the_table_are_ignored():
    known = MESSAGES["Model"](name="box", is_static=True).SerializeToString()
    model = MESSAGES["Model"].FromString(known + b"\x5a\x03new" + b"\x50\x01")
    assert (model.name, model.is_static) == ("box", True)


def test_missing_required_field_raises():
    with pytest.raises(EncodeError, match="position"):
        MESSAGES["Pose"](name="r").SerializeToString()


def test_types_have_the_names_of_gazebo():
    assert MESSAGES["LaserScanStamped"].DESCRIPTOR.full_name == "gazebo.msgs.LaserScanStamped"


def test_negative_numbers_and_lists_are_decoded():
    scan = MESSAGES["LaserScan"](frame="f", ranges=[1.5, float("inf")])
    time = MESSAGES["Time"](sec=-1, nsec=5)
    assert MESSAGES["Time"].FromString(time.SerializeToString()).sec == -1
    assert list(scan.ranges) == [1.5, float("inf")]
