"""The expected scan of a lidar in a world."""

import math

import numpy as np
import pytest

from gz_testauto.base.pose import Pose
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.scene import read_scene
from gz_testauto.trial.lidar_view import lidar_view, seen_models

WORLD = """<sdf version="1.6"><world name="default">
  <model name="ground"><static>1</static><link name="link"><collision name="c">
    <geometry><plane><normal>0 0 1</normal><size>100 100</size></plane></geometry>
  </collision></link></model>
  <model name="near"><pose>2 0 0.2 0 0 0</pose><static>1</static><link name="link">
    <collision name="c"><geometry><box><size>1 1 0.4</size></box></geometry></collision>
  </link></model>
  <model name="behind_near"><pose>4 0 0.5 0 0 0</pose><static>1</static><link name="link">
    <collision name="c"><geometry><box><size>1 1 1</size></box></geometry></collision>
  </link></model>
</world></sdf>"""
AHEAD_AND_BACK = np.array([0.0, math.pi])


@pytest.fixture(scope="module")
def scene():
    return read_scene(SdfDocument.parse(WORLD, "test.world"))


def poses_of(scene):
    return {name: scene.models[name].pose for name in seen_models(scene)}


def test_ray_ends_at_the_first_obstacle_and_not_at_the_ground(scene):
    (sighting,) = lidar_view(scene, 0.2, (0.0, 0.0), AHEAD_AND_BACK, 10.0, poses_of(scene))
    assert (sighting.name, sighting.ray) == ("near", 0)
    assert (sighting.x_m, sighting.y_m) == pytest.approx((1.5, 0.0))
    assert sighting.distance_m == pytest.approx(1.5)


def test_ray_above_a_low_obstacle_ends_at_the_obstacle_behind_it(scene):
    (sighting,) = lidar_view(scene, 0.7, (0.0, 0.0), AHEAD_AND_BACK, 10.0, poses_of(scene))
    assert sighting.name == "behind_near"
    assert sighting.x_m == pytest.approx(3.5)


def test_obstacle_beyond_the_range_is_not_seen(scene):
    assert lidar_view(scene, 0.2, (0.0, 0.0), AHEAD_AND_BACK, 1.4, poses_of(scene)) == ()


def test_moved_obstacle_is_seen_at_its_new_pose_and_a_deleted_one_is_not_seen(scene):
    poses = {"behind_near": Pose((-3.0, 0.0, 0.5))}
    (sighting,) = lidar_view(scene, 0.2, (0.0, 0.0), AHEAD_AND_BACK, 10.0, poses)
    assert (sighting.name, sighting.ray) == ("behind_near", 1)
    assert sighting.distance_m == pytest.approx(2.5)
