import math

import pytest
from lxml import etree

from gz_testauto.base.pose import Pose
from gz_testauto.ros.simulator import spawn_xml
from gz_testauto.ros.simulator.spawn_xml import RequestRejectedError, model_to_spawn

SDF = """<?xml version="1.0"?>
<sdf version="1.6"><model name="own"><!-- a -- comment is not allowed to break -->
<pose>1 0 0 0 0 0</pose><link name="link"/>
<plugin name="p" filename="lib.so"><robotNamespace>old</robotNamespace></plugin></model></sdf>
""".replace("a -- comment", "a comment")
URDF = """<robot name="r"><link name="base">
<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
<visual><geometry><mesh filename="package://nowhere/x.stl"/></geometry></visual>
</link></robot>"""


def spawn(xml, pose=Pose(), namespace=""):
    return model_to_spawn(xml, "box_7", namespace, pose)


def test_the_requested_name_replaces_that_of_the_model():
    model = spawn(SDF)
    assert model.name == "box_7"
    assert etree.fromstring(model.sdf).find("model").get("name") == "box_7"


def test_the_requested_pose_is_composed_with_that_in_the_sdf():
    model = spawn(SDF, Pose.from_rpy(5, 5, 0, 0, 0, math.pi / 2))
    assert model.pose.position == pytest.approx((5.0, 6.0, 0.0))
    assert model.pose.yaw_rad == pytest.approx(math.pi / 2)
    assert etree.fromstring(model.sdf).find("model/pose") is None


def test_the_robot_namespace_replaces_that_of_each_plugin():
    plugin = etree.fromstring(spawn(SDF, namespace="/left").sdf).find("model/plugin")
    assert [element.text for element in plugin.findall("robotNamespace")] == ["/left"]


def test_plugins_do_not_change_without_a_robot_namespace():
    assert "<robotNamespace>old</robotNamespace>" in spawn(SDF).sdf


@pytest.mark.parametrize("xml", ["", "no xml", "<html/>", "<sdf version='1.6'/>"])
def test_text_without_a_model_is_rejected_with_the_message_of_gazebo_ros(xml):
    with pytest.raises(RequestRejectedError, match="input model_xml not SDF or URDF"):
        spawn(xml)


def test_a_macro_in_urdf_is_rejected():
    xml = '<robot name="r" xmlns:xacro="x">\n<xacro:crate/><link name="base"/></robot>'
    with pytest.raises(RequestRejectedError, match=r"model_xml:2: <xacro:crate> is a macro; exp"):
        spawn(xml)


def test_an_invalid_pose_is_rejected():
    with pytest.raises(RequestRejectedError, match="a pose has 6 numbers"):
        spawn(SDF.replace("1 0 0 0 0 0", "1 0"))


def test_urdf_is_converted_after_its_package_paths_are_resolved(monkeypatch):
    monkeypatch.setattr(spawn_xml, "with_package_paths", lambda xml: xml.replace("nowhere", "here"))
    model = spawn(URDF)
    assert model.name == "box_7"
    assert etree.fromstring(model.sdf).findtext(".//uri") == "package://here/x.stl"


def test_a_urdf_that_cannot_be_converted_is_rejected_with_the_reason():
    with pytest.raises(RequestRejectedError, match=r"link 'base' has no mass"):
        spawn('<robot name="r"><link name="base"/></robot>')


def test_a_missing_package_is_named_with_the_message_of_gazebo_ros():
    with pytest.raises(
        RequestRejectedError, match=r"urdf reference package name does not exist: nowhere"
    ):
        spawn(URDF)


def test_sdf_is_rejected_as_urdf():
    with pytest.raises(RequestRejectedError, match="entity format is invalid"):
        spawn_xml.require_urdf(SDF)
    spawn_xml.require_urdf(URDF)


def test_an_include_is_replaced_by_its_model(tmp_path, monkeypatch):
    (tmp_path / "crate").mkdir()
    (tmp_path / "crate" / "model.config").write_text(
        "<model><sdf version='1.6'>model.sdf</sdf></model>"
    )
    (tmp_path / "crate" / "model.sdf").write_text(SDF)
    monkeypatch.setenv("GAZEBO_MODEL_PATH", str(tmp_path))
    include = "<include><uri>model://crate</uri><pose>0 2 0 0 0 0</pose></include>"
    model = spawn(f"<sdf version='1.6'><world name='w'>{include}</world></sdf>")
    assert model.pose.position == (0.0, 2.0, 0.0)
    assert etree.fromstring(model.sdf).find("model/link") is not None


def test_an_include_of_a_missing_model_is_rejected_with_the_searched_directories():
    include = "<include><uri>model://no_such_model</uri></include>"
    with pytest.raises(RequestRejectedError, match="no_such_model was not found"):
        spawn(f"<sdf version='1.6'><world name='w'>{include}</world></sdf>")
