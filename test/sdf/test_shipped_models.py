"""Models that saved worlds include by name and that Gazebo does not install."""

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
