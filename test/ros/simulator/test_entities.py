import math

import pytest

from gz_testauto.base.observation import ModelState, Snapshot
from gz_testauto.base.pose import Pose
from gz_testauto.ros.simulator import entities

QUARTER = math.pi / 2
BOX = ModelState(Pose.from_rpy(3, 1, 0, 0, 0, QUARTER), (1.0, 0.0, 0.0), (0.0, 0.0, 0.5))
ROBOT = ModelState(Pose.from_rpy(1, 1, 0, 0, 0, QUARTER), (0.0, 2.0, 0.0), (0.0, 0.0, 0.5))
WHEEL = ModelState(Pose.from_rpy(1, 2, 0, 0, 0, 0))
SNAPSHOT = Snapshot(
    0.0,
    {"box": BOX, "robot": ROBOT},
    {"robot::wheel": WHEEL, "robot::caster": WHEEL, "box::link": BOX, "cart::link": BOX},
)


@pytest.mark.parametrize("frame", ["", "world", "map", "/map"])
def test_the_inertial_frame_has_four_names(frame):
    assert entities.reference(SNAPSHOT, frame, "").pose == Pose()


def test_a_model_with_the_name_map_is_the_frame_of_that_name():
    snapshot = Snapshot(0.0, {"map": BOX}, {})
    assert entities.reference(snapshot, "map", "") is BOX


def test_a_link_is_found_by_scoped_name_or_unique_last_part():
    assert entities.find_link(SNAPSHOT.links, "robot::wheel") is WHEEL
    assert entities.find_link(SNAPSHOT.links, "wheel") is WHEEL
    assert entities.find_link(SNAPSHOT.links, "link") is None
    assert entities.find_link(SNAPSHOT.links, "") is None


def test_an_unknown_frame_is_rejected_with_the_message_of_the_service():
    with pytest.raises(entities.RequestRejectedError, match="no such frame"):
        entities.reference(SNAPSHOT, "odom", "no such frame")


def test_a_relative_state_has_the_axes_of_its_frame():
    seen = entities.relative_to(BOX, ROBOT)
    # The robot faces +y, the box is 2 m to its right, and slides right while the robot drives on.
    assert seen.pose.position == pytest.approx((0.0, -2.0, 0.0))
    assert seen.pose.yaw_rad == pytest.approx(0.0)
    assert seen.linear_mps == pytest.approx((-2.0, -1.0, 0.0))
    assert seen.angular_radps == pytest.approx((0.0, 0.0, 0.0))


def test_a_state_relative_to_the_world_does_not_change():
    seen = entities.relative_to(BOX, ModelState(Pose()))
    assert seen.pose.position == BOX.pose.position
    assert seen.linear_mps == BOX.linear_mps


def test_a_state_in_a_frame_is_transformed_without_the_velocity_of_the_frame():
    given = ModelState(Pose.from_rpy(2, 0, 0, 0, 0, 0), (1.0, 0.0, 0.0), (0.0, 0.0, 0.1))
    placed = entities.in_world(given, ROBOT)
    assert placed.pose.position == pytest.approx((1.0, 3.0, 0.0))
    assert placed.pose.yaw_rad == pytest.approx(QUARTER)
    assert placed.linear_mps == pytest.approx((0.0, 1.0, 0.0))
    assert placed.angular_radps == pytest.approx((0.0, 0.0, 0.1))
