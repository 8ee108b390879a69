"""The computed poses of models: values on paper, and simulators with rounding errors."""

import math

import pytest

from gz_testauto.actors.requested_poses import RequestedPoses
from gz_testauto.base.observation import ModelState, Snapshot
from gz_testauto.base.pose import Pose
from gz_testauto.simulators.changes import Push, SetModel
from gz_testauto.simulators.interface import NamedModel

START = Pose.from_rpy(7.65432198, -2.0, 0.02, 0.0, 0.0, 1.0)


def snapshot(pose, name="p"):
    return Snapshot(0.0, {name: ModelState(pose)}, {})


def moved(pose, x_m=0.0, y_m=0.0, yaw_rad=0.0):
    x, y, z = pose.position
    return Pose.from_rpy(x + x_m, y + y_m, z, 0.0, 0.0, pose.yaw_rad + yaw_rad)


def placed():
    poses = RequestedPoses()
    poses.place([NamedModel("p", "", START)])
    return poses


def test_pose_after_a_twist_has_the_value_on_paper():
    poses = placed()
    poses.request([SetModel("p", None, (1.0, -0.5, 0.0), (0.0, 0.0, 2.0))], snapshot(START), 0.1)
    found = poses.with_computed_poses(snapshot(moved(START, 0.1, -0.05, 0.2))).models["p"].pose
    assert found.position == (START.position[0] + 0.1 * 1.0, -2.0 + 0.1 * -0.5, 0.02)
    assert found.yaw_rad == pytest.approx(1.2, abs=1e-12)


def test_rounded_start_is_shown_exactly_and_corrected_by_the_next_twist():
    poses = placed()
    rounded = Pose.from_rpy(7.65432, -2.0, 0.02, 0.0, 0.0, 1.0 + 3e-6)
    shown = poses.with_computed_poses(snapshot(rounded))
    assert shown.models["p"].pose == START
    twist = SetModel("p", None, (1.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    (change,) = poses.request([twist], shown, 0.1)
    assert change.linear_mps == pytest.approx((1.0 + 1.98e-5, 0.0, 0.0), abs=1e-9)
    assert change.angular_radps == pytest.approx((0.0, 0.0, -3e-5), abs=1e-9)


def test_start_can_be_rounded_by_more_than_a_step():
    rounded, twist = snapshot(moved(START, 4e-4)), SetModel("p", None, (0.0,) * 3, (0.0,) * 3)
    poses = placed()
    shown = poses.with_computed_poses(rounded)
    assert shown.models["p"].pose == START
    poses.request([twist], shown, 0.1)
    assert poses.with_computed_poses(rounded).models["p"].pose == rounded.models["p"].pose


@pytest.mark.parametrize("error", [{"y_m": 2e-5}, {"yaw_rad": 2e-4}])
def test_pushed_model_keeps_the_pose_of_the_simulator(error):
    twist = SetModel("p", None, (1.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    poses = placed()
    poses.request([twist], snapshot(START), 0.1)
    pushed = snapshot(moved(START, 0.1, **error))
    shown = poses.with_computed_poses(pushed)
    assert shown.models["p"].pose == pushed.models["p"].pose
    # the next step is computed from there
    assert poses.request([twist], shown, 0.1) == [twist]
    x_m, y_m, _ = pushed.models["p"].pose.position
    later = (
        poses.with_computed_poses(snapshot(moved(pushed.models["p"].pose, 0.1 + 1e-9)))
        .models["p"]
        .pose
    )
    assert later.position == (x_m + 0.1 * 1.0, y_m, 0.02)


def test_tilted_model_keeps_the_pose_of_the_simulator():
    tilted = snapshot(Pose.from_rpy(*START.position, 0.0, 2e-4, 1.0))
    assert placed().with_computed_poses(tilted).models["p"].pose == tilted.models["p"].pose


def test_twist_continues_without_a_request():
    poses = placed()
    twist = SetModel("p", None, (1.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    poses.request([twist], snapshot(START), 0.1)
    poses.request([], snapshot(START), 0.1)
    found = poses.with_computed_poses(snapshot(moved(START, 0.2 + 1e-9))).models["p"].pose
    assert found.position[0] == START.position[0] + 0.1 + 0.1


def test_requested_pose_is_shown_exactly():
    poses, target = placed(), moved(START, 1.0, 1.0, math.pi / 2)
    poses.request([SetModel("p", target)], snapshot(START), 0.1)
    assert poses.with_computed_poses(snapshot(moved(target, 1e-9))).models["p"].pose == target


@pytest.mark.parametrize(
    "change",
    [
        SetModel("p", None, (1.0, 0.0, 0.0)),
        SetModel("p", None, (1.0, 0.0, 0.0), (0.1, 0.0, 0.0)),
        SetModel("p", START, (1.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
    ],
)
def test_other_requests_use_the_pose_of_the_simulator(change):
    poses, found = placed(), snapshot(moved(START, 1e-9))
    assert poses.request([change], found, 0.1) == [change]
    assert poses.with_computed_poses(found).models == found.models


def test_changes_of_other_and_unknown_models_are_unchanged():
    changes = [
        Push("p::link", (1.0, 0.0, 0.0)),
        SetModel("other", None, (1.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
    ]
    assert placed().request(changes, snapshot(START), 0.1) == changes


def test_forgotten_and_deleted_models_have_no_computed_pose():
    poses, found = placed(), snapshot(moved(START, 1e-9))
    poses.forget(["p", "unknown"])
    assert poses.with_computed_poses(found).models == found.models
    poses = placed()
    assert poses.with_computed_poses(Snapshot(0.0, {}, {})).models == {}
    assert poses.with_computed_poses(found).models == found.models
