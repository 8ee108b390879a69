"""The models of this package: robots, and models that Gazebo does not install."""

import pytest

from gz_testauto.base.resources import share_directory
from gz_testauto.sdf.scene import read_scene

WORLD = """<sdf version="1.6"><world name="saved">
  <include><uri>model://sun</uri></include>
  <include><uri>model://ground_plane</uri><name>floor</name></include>
</world></sdf>
"""


def test_world_with_sun_and_ground_plane_needs_no_model_database(tmp_path, monkeypatch):
    monkeypatch.setenv("GAZEBO_MODEL_PATH", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    world = tmp_path / "saved.world"
    world.write_text(WORLD)
    scene = read_scene(world)
    assert list(scene.models) == ["floor"]
    assert scene.models["floor"].is_ground


@pytest.mark.parametrize("name", ["jackal_sized", "service_robot", "wheelchair"])
def test_casters_leave_the_weight_of_a_robot_on_its_wheels(name):
    robot = read_scene(share_directory() / "models" / name / "model.sdf").models[name]
    shapes = robot.collisions
    casters_m = [shape.bounds[2, 0] for shape in shapes if "caster" in shape.scoped_name]
    wheels_m = [shape.bounds[2, 0] for shape in shapes if "wheel" in shape.link]
    assert casters_m and len(wheels_m) >= 2
    # Gazebo's wheels slip if the casters carry the robot
    assert min(casters_m) >= max(wheels_m) + 0.0009
