"""The input files of a launch file are found by the package that contains them."""

import pytest

from gz_testauto.trial.launch_files import files_of

pytest.importorskip("rospkg", reason="packages are found by ROS")

NAVIGATION = """<launch>
  <arg name="model" default="burger"/>
  <arg name="folder" value="$(find my_nav)/param"/>
  <arg name="map" doc="The static map."/>
  <include file="$(find my_nav)/launch/amcl.launch">
    <arg name="which" value="$(arg model)"/>
  </include>
  <node pkg="move_base" type="move_base" name="move_base">
    <rosparam file="$(arg folder)/costmap_$(arg model).yaml" command="load"/>
  </node>
  <node pkg="rviz" type="rviz" name="rviz" args="-d $(dirname)/view.rviz"/>
  <param name="robot_description"
         command="$(find my_nav)/xacro '$(find my_nav)/urdf/robot.xacro' --inorder"/>
  <node pkg="map_server" type="map_server" name="map_server" args="$(arg map)"/>
</launch>"""
AMCL = """<launch>
  <arg name="which"/>
  <rosparam file="$(find my_nav)/param/amcl_$(arg which).yaml"/>
</launch>"""
XACRO = """<robot xmlns:xacro="http://ros.org/wiki/xacro">
  <xacro:include filename="$(find my_nav)/urdf/wheels.xacro"/>
  <mesh filename="package://my_nav/meshes/body.stl"/>
  <mesh filename="package://my_nav/meshes/${name}.stl"/>
</robot>"""
FILES = {
    "package.xml": "<package><name>my_nav</name></package>",
    "launch/navigation.launch": NAVIGATION,
    "launch/amcl.launch": AMCL,
    "launch/view.rviz": "",
    "param/costmap_burger.yaml": "",
    "param/costmap_waffle.yaml": "",
    "param/amcl_burger.yaml": "",
    "param/amcl_waffle.yaml": "",
    "urdf/robot.xacro": XACRO,
    "urdf/wheels.xacro": "<robot/>",
    "meshes/body.stl": "",
    "xacro": "",
}


@pytest.fixture
def package(tmp_path, monkeypatch):
    root = tmp_path / "checkout"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path))
    return root


def inputs_of(package, **arguments):
    return set(files_of(package / "launch" / "navigation.launch", arguments))


def test_input_files_contain_includes_loaded_files_and_node_arguments(package):
    assert inputs_of(package, map="{map}") == {
        "my_nav/launch/amcl.launch",
        "my_nav/param/costmap_burger.yaml",
        "my_nav/param/amcl_burger.yaml",
        "my_nav/urdf/robot.xacro",
        "my_nav/urdf/wheels.xacro",
        "my_nav/meshes/body.stl",
        "my_nav/xacro",
    }


def test_values_of_launch_arguments_determine_the_input_files(package):
    names = inputs_of(package, model="waffle")
    assert {"my_nav/param/costmap_waffle.yaml", "my_nav/param/amcl_waffle.yaml"} <= names
    assert not {"my_nav/param/costmap_burger.yaml", "my_nav/param/amcl_burger.yaml"} & names


def test_argument_that_is_too_long_for_a_file_name_is_ignored(package):
    assert inputs_of(package, map="/" + "a" * 300) == inputs_of(package)


def test_launch_file_that_includes_itself_is_followed_once(package):
    itself = '<launch><include file="$(find my_nav)/launch/again.launch"/></launch>'
    (package / "launch" / "again.launch").write_text(itself)
    found = files_of(package / "launch" / "again.launch", {})
    assert set(found) == {"my_nav/launch/again.launch"}


def test_missing_files_and_invalid_xml_in_launch_files_are_ignored(package):
    (package / "launch" / "amcl.launch").write_text("<launch>")
    (package / "param" / "costmap_burger.yaml").unlink()
    names = inputs_of(package)
    assert "my_nav/launch/amcl.launch" in names
    assert not {"my_nav/param/amcl_burger.yaml", "my_nav/param/costmap_burger.yaml"} & names
