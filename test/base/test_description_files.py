"""The files that a URDF, xacro or SDF file includes or names are found in its text."""

import pytest

from gz_testauto.base import description_files as module
from gz_testauto.base.description_files import description_files, find_file

HEADER = '<robot xmlns:xacro="http://ros.org/wiki/xacro">'


@pytest.fixture(autouse=True)
def package(tmp_path, monkeypatch):
    """The package my_robot, which is the only package on the path."""
    (tmp_path / "package.xml").write_text("<package><name>my_robot</name></package>")
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path))
    return tmp_path


def write(path, *elements):
    path.write_text(f"{HEADER}{''.join(elements)}</robot>")
    return path


def found(path, **arguments):
    return list(description_files(path, arguments).files)


@pytest.mark.parametrize(
    "element",
    [
        '<xacro:include filename="$(find my_robot)/part.yaml"/>',
        '<xacro:include filename="part.yaml"/>',
        '<mesh filename="package://my_robot/part.yaml"/>',
        "<uri>package://my_robot/part.yaml</uri>",
        "<parameters>$(find my_robot)/part.yaml</parameters>",
        '<xacro:arg name="f" default="$(find my_robot)"/><mesh filename="$(arg f)/part.yaml"/>',
        '<xacro:property name="f" value="part"/><mesh filename="package://my_robot/${f}.yaml"/>',
        '<xacro:property name="p" value="${xacro.load_yaml(\'$(find my_robot)/part.yaml\')}"/>',
    ],
)
def test_named_file_is_found(package, element):
    (package / "part.yaml").touch()
    result = description_files(write(package / "robot.xacro", element), {})
    assert result.files == (package / "part.yaml",)
    assert not result.not_followed


def test_files_of_included_files_are_found_to_a_depth_of_twenty(package):
    paths = [package / f"level_{number}.xacro" for number in range(25)]
    for path, inner in zip(paths, paths[1:]):
        write(path, f'<xacro:include filename="{inner.name}"/>')
    write(paths[-1], f'<xacro:include filename="{paths[0].name}"/>')
    assert found(paths[0]) == paths[1:21]


def test_passed_argument_precedes_the_default_of_xacro(package):
    for name in ("a.stl", "b.stl"):
        (package / name).touch()
    robot = write(
        package / "robot.xacro",
        '<xacro:arg name="part" default="a"/>',
        '<mesh filename="package://my_robot/$(arg part).stl"/>',
    )
    assert found(robot) == [package / "a.stl"]
    assert found(robot, part="b") == [package / "b.stl"]


def test_path_with_an_expression_is_not_followed_but_a_number_is_no_path(package):
    robot = write(
        package / "robot.xacro",
        '<mesh filename="package://my_robot/${prefix}.stl"/>',
        '<mesh filename="package://my_robot/${prefix}.stl"/>',
        '<origin xyz="${length/2} 0 0"/>',
    )
    result = description_files(robot, {})
    assert result.not_followed == {robot: ("package://my_robot/${prefix}.stl",)}
    assert result.missing_packages == frozenset()


def test_missing_package_of_an_include_is_named(package):
    include = '<xacro:include filename="$(find no_such_pkg)/a.xacro"/>'
    result = description_files(write(package / "robot.xacro", include), {})
    assert result.missing_packages == result.needed_packages == {"no_such_pkg"}


@pytest.mark.parametrize("element", ["if", "unless", "macro"])
def test_package_in_a_condition_or_macro_is_not_certainly_needed(package, element):
    include = '<xacro:include filename="$(find no_such_pkg)/a.xacro"/>'
    write(package / "part.xacro", include)
    robot = write(
        package / "robot.xacro",
        f'<xacro:{element} value="1" name="m"><xacro:include filename="part.xacro"/>'
        f"</xacro:{element}>",
    )
    result = description_files(robot, {})
    assert result.missing_packages == {"no_such_pkg"}
    assert result.needed_packages == frozenset()


def test_package_in_a_urdf_is_not_needed_since_xacro_does_not_read_it(package):
    robot = write(package / "robot.urdf", "<uri>$(find no_such_pkg)/a</uri>")
    assert description_files(robot, {}).needed_packages == frozenset()


def test_included_file_with_any_suffix_is_searched(package):
    (package / "a.stl").touch()
    part = write(package / "robot.gazebo", '<mesh filename="package://my_robot/a.stl"/>')
    robot = write(package / "robot.xacro", '<xacro:include filename="robot.gazebo"/>')
    assert found(robot) == [part, package / "a.stl"]


def test_invalid_missing_and_large_files_are_not_searched(package, monkeypatch):
    (package / "a.stl").touch()
    robot = write(package / "robot.xacro", '<mesh filename="package://my_robot/a.stl"/>')
    assert found(robot) == [package / "a.stl"]
    monkeypatch.setattr(module, "_LARGEST_READ_B", robot.stat().st_size - 1)
    assert found(robot) == []
    (package / "broken.xacro").write_text(HEADER)
    assert found(package / "broken.xacro") == found(package / "none.xacro") == []


def test_text_with_4096_characters_is_not_a_path():
    assert find_file("/" + "a" * 4094) is not None
    assert find_file("/" + "a" * 4095) is None
    assert find_file("/a\0") is None
    assert find_file("a/b") is None
