import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from gz_testauto.base.pose import Pose, Pose2D, wrap_angle

length = st.floats(-100, 100)
angle = st.floats(-math.pi, math.pi)
pitch = st.floats(-1.5, 1.5)
poses = st.builds(Pose.from_rpy, length, length, length, angle, pitch, angle)


@given(poses)
def test_rotation_from_roll_pitch_yaw_equals_that_of_scipy(pose):
    expected = Rotation.from_euler("xyz", pose.rpy).as_matrix()
    np.testing.assert_allclose(pose.rotation, expected, atol=1e-12)


@given(poses, poses)
def test_product_of_poses_is_product_of_matrices(first, second):
    np.testing.assert_allclose((first * second).matrix, first.matrix @ second.matrix, atol=1e-9)


@given(poses)
def test_product_with_the_inverse_is_the_identity(pose):
    np.testing.assert_allclose((pose * pose.inverse()).matrix, np.eye(4), atol=1e-9)


@given(poses)
def test_pose_text_preserves_the_transform(pose):
    again = Pose.from_values(map(float, pose.to_text().split()))
    assert again.position == pose.position
    np.testing.assert_allclose(again.rotation, pose.rotation, atol=1e-9)


@pytest.mark.parametrize("sign", [1, -1])
@given(roll=angle, yaw=angle)
def test_roll_pitch_yaw_preserve_the_rotation_at_gimbal_lock(sign, roll, yaw):
    pose = Pose.from_rpy(0, 0, 0, roll, sign * math.pi / 2, yaw)
    again = Pose.from_rpy(0, 0, 0, *pose.rpy)
    np.testing.assert_allclose(again.rotation, pose.rotation, atol=1e-7)


@given(poses, st.lists(st.tuples(length, length, length), min_size=1, max_size=5))
def test_apply_maps_points_as_the_matrix_does(pose, points):
    homogeneous = np.column_stack([points, np.ones(len(points))])
    expected = (pose.matrix @ homogeneous.T).T[:, :3]
    np.testing.assert_allclose(pose.apply(np.array(points)), expected, atol=1e-9)


@given(length, length, angle, length)
def test_planar_pose_is_preserved_by_conversion_to_three_dimensions(x, y, yaw, z):
    pose = Pose2D(x, y, yaw).to_pose(z)
    assert pose.position == (x, y, z)
    assert pose.planar.yaw_rad == pytest.approx(yaw, abs=1e-12)


@given(st.floats(-1e4, 1e4))
def test_wrapped_angle_has_the_same_direction(value):
    wrapped = wrap_angle(value)
    assert -math.pi <= wrapped <= math.pi
    assert math.cos(wrapped) == pytest.approx(math.cos(value), abs=1e-9)
    assert math.sin(wrapped) == pytest.approx(math.sin(value), abs=1e-9)


@pytest.mark.parametrize("values", [[1, 2, 3], [0] * 7, [0, 0, float("nan"), 0, 0, 0]])
def test_pose_without_six_finite_numbers_is_rejected(values):
    with pytest.raises(ValueError, match=r"6 numbers|finite"):
        Pose.from_values(values)
