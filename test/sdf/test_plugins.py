import pytest

from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.plugins import plugin_files, without_plugins
from gz_testauto.sdf.scene import read_scene
from gz_testauto.simulators.gazebo.split_world import split_world

INCLUDED = """<sdf version='1.6'><model name='lamp'><link name='l'><collision name='c'><geometry>
<sphere><radius>1</radius></sphere></geometry></collision><sensor name='s' type='ray'>
<plugin name='p' filename='liblamp.so'/></sensor></link></model></sdf>"""
WORLD = """<?xml version='1.0'?>
<sdf version='1.6'>
  <world name='default'>
    <plugin name='w' filename='evil.so'/>
    <gui><plugin name='g' filename='libgui.so'/></gui>
    <include><uri>lamp.sdf</uri><name>lamp_1</name><pose>4 0 0 0 0 0</pose></include>
    <include><uri>model://sun</uri><plugin name='i' filename='libinclude.so'/></include>
    <model name='box'>
      <link name='link'>
        <collision name='c'><geometry><box><size>1 1 1</size></box></geometry></collision>
      </link>
      <plugin name='a' filename='libbox.so'><speed>3</speed></plugin>  <!-- kept -->
    </model>
  </world>
</sdf>
"""
ALL = ("evil.so", "libbox.so", "libgui.so", "libinclude.so", "liblamp.so")


@pytest.fixture
def world(tmp_path):
    (tmp_path / "lamp.sdf").write_text(INCLUDED)
    (tmp_path / "w.world").write_text(WORLD)
    return tmp_path / "w.world"


def test_plugins_of_a_world_and_of_its_included_models_are_listed(world):
    assert plugin_files(SdfDocument.read(world), ModelLibrary()) == ALL


def test_removing_plugins_keeps_all_other_elements(world):
    document = SdfDocument.read(world)
    bare = without_plugins(document, ModelLibrary())
    assert plugin_files(bare, ModelLibrary()) == ()
    assert plugin_files(document, ModelLibrary()) == ALL
    assert "<!-- kept -->" in bare.to_bytes().decode()
    before, after = read_scene(document), read_scene(bare)
    assert list(after.models) == list(before.models)
    for name, model in before.models.items():
        assert after.models[name].pose == model.pose


def test_gazebo_loads_a_world_without_plugins_on_request(world):
    def texts(split):
        return split.base + "".join(movable.sdf for movable in split.movables)

    assert all(name in texts(split_world(world, 1000.0)) for name in ALL)
    assert "plugin" not in texts(split_world(world, 1000.0, plugins=False))


def test_invalid_include_does_not_hide_other_plugins(world):
    world.write_text(WORLD.replace("lamp.sdf", "no.sdf"))
    assert plugin_files(SdfDocument.read(world), ModelLibrary()) == ALL[:-1]
