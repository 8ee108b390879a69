"""The input files of launch files are found with roslaunch's loader, and named by package."""

from pathlib import Path

import pytest

pytest.importorskip("roslaunch", reason="launch files are read by roslaunch")

from gz_testauto.campaign.resume import not_followed_notice
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.inputs import NOT_FOLLOWED, further_files
from gz_testauto.results.manifest import Manifest
from gz_testauto.ros.stack.launch_contents import LaunchContents, launch_inputs
from gz_testauto.sdf.robot import RobotBody
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load
from gz_testauto.spec.stack import LaunchSpec

CONFIG = Path(__file__).resolve().parents[3] / "config"
NAVIGATION = """<launch>
  <arg name="model" default="burger"/>
  <arg name="folder" value="$(find my_nav)/param"/>
  <arg name="map" default="" doc="The static map."/>
  <arg name="runner" default="$(eval 'env_' + arg('model'))"/>
  <include file="$(find my_nav)/launch/amcl.launch">
    <arg name="which" value="$(arg model)"/>
  </include>
  <node pkg="move_base" type="move_base" name="move_base">
    <rosparam file="$(arg folder)/costmap_$(arg model).yaml" command="load"/>
  </node>
  <node pkg="rviz" type="rviz" name="rviz" args="-d $(dirname)/view.rviz"/>
  <param name="robot_description"
         command="$(find my_nav)/$(arg runner) $(find my_nav)/xacro
                  '$(find my_nav)/urdf/robot.xacro' --inorder"/>
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
    "env_burger": "",
}


@pytest.fixture(autouse=True)
def packages(monkeypatch, tmp_path):
    """Packages are searched in a folder of this test only."""
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path))


@pytest.fixture
def package(tmp_path):
    root = tmp_path / "checkout"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def inputs_of(package, **arguments):
    return set(named(package / "launch" / "navigation.launch", arguments))


def named(path, arguments):
    return LaunchContents(path, arguments).named_files()


def found(path, **arguments):
    return LaunchContents(path, arguments).files


def unknown(path, **arguments):
    return LaunchContents(path, arguments).not_followed


def write(path, *elements):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"<launch>{''.join(elements)}</launch>")
    return path


def include(path, *arguments, **attributes):
    more = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f'<include file="{path}"{more}>{"".join(arguments)}</include>'


def arg(name, **attributes):
    return f'<arg name="{name}"' + "".join(f' {k}="{v}"' for k, v in attributes.items()) + "/>"


def test_input_files_contain_includes_loaded_files_and_node_arguments(package):
    assert inputs_of(package, map="{map}") == {
        "my_nav/launch/amcl.launch",
        "my_nav/param/costmap_burger.yaml",
        "my_nav/param/amcl_burger.yaml",
        "my_nav/urdf/robot.xacro",
        "my_nav/urdf/wheels.xacro",
        "my_nav/meshes/body.stl",
        "my_nav/xacro",
        "my_nav/env_burger",
    }


def test_values_of_launch_arguments_determine_the_input_files(package):
    names = inputs_of(package, model="waffle")
    assert {"my_nav/param/costmap_waffle.yaml", "my_nav/param/amcl_waffle.yaml"} <= names
    assert not {"my_nav/param/costmap_burger.yaml", "my_nav/param/amcl_burger.yaml"} & names


def test_xacro_after_an_unknown_word_of_a_command_is_an_input_file(package):
    (package / "launch" / "navigation.launch").write_text(
        NAVIGATION.replace("$(arg runner)", "$(eval unknown_function())")
    )
    assert "my_nav/urdf/robot.xacro" in inputs_of(package)


def test_argument_that_is_too_long_for_a_file_name_is_ignored(package):
    assert inputs_of(package, map="/" + "a" * 300) == inputs_of(package)


def test_launch_file_that_includes_itself_is_listed_once(package):
    itself = '<launch><include file="$(find my_nav)/launch/again.launch"/></launch>'
    (package / "launch" / "again.launch").write_text(itself)
    assert set(named(package / "launch" / "again.launch", {})) == {"my_nav/launch/again.launch"}


def test_missing_files_and_invalid_xml_in_launch_files_are_ignored(package):
    (package / "launch" / "amcl.launch").write_text("<launch>")
    (package / "param" / "costmap_burger.yaml").unlink()
    names = inputs_of(package)
    assert {"my_nav/launch/amcl.launch", "my_nav/urdf/robot.xacro"} <= names
    assert not {"my_nav/param/amcl_burger.yaml", "my_nav/param/costmap_burger.yaml"} & names


def test_files_with_the_same_name_are_numbered(tmp_path):
    paths = [tmp_path / folder / "map.launch" for folder in "abc"]
    for path in paths:
        write(path)
    top = write(tmp_path / "top.launch", *map(include, [*paths, paths[0]]))
    assert named(top, {}) == {
        "map.launch": paths[0], "map.launch (2)": paths[1], "map.launch (3)": paths[2]
    }  # fmt: skip


def test_only_included_files_with_a_true_condition_are_inputs(tmp_path):
    inner = {name: write(tmp_path / f"{name}.launch") for name in "abcd"}
    top = write(
        tmp_path / "top.launch",
        arg("wide", default="true"),
        include(inner["a"], **{"if": "$(arg wide)"}),
        include(inner["b"], unless="$(arg wide)"),
        f"<group if=\"$(eval arg('wide') and False)\">{include(inner['c'])}</group>",
        include(inner["d"], **{"if": "$(eval not wide)"}),
    )
    assert found(top) == [inner["a"]]
    assert found(top, wide="false") == [inner["b"], inner["d"]]


def test_both_cases_of_a_condition_that_depends_on_the_trial_are_inputs(tmp_path):
    inner = {name: write(tmp_path / f"{name}.launch") for name in "ab"}
    for condition in ("$(eval seed > 3)", "$(eval arg('seed') == 'x')"):
        top = write(
            tmp_path / "top.launch",
            arg("seed"),
            include(inner["a"], **{"if": condition}),
            include(inner["b"], unless=condition),
        )
        assert found(top, seed="{seed}") == [inner["a"], inner["b"]], condition
        assert unknown(top, seed="{seed}") == {}


def test_path_that_depends_on_the_trial_is_reported_as_not_followed(package):
    text = "$(find my_nav)/param/$(arg world).yaml"
    top = write(package / "launch" / "top.launch", arg("world"), f'<rosparam file="{text}"/>')
    assert unknown(top, world="{world_name}") == {"my_nav/launch/top.launch": [text]}
    assert unknown(top, world="costmap_burger") == {}
    eval_text = "$(eval find('my_nav') + '/param/' + world + '.yaml')"
    top = write(
        package / "launch" / "top.launch", arg("world"), f'<param textfile="{eval_text}" name="a"/>'
    )
    assert unknown(top, world="{world_name}") == {"my_nav/launch/top.launch": [eval_text]}
    assert unknown(top, world="costmap_burger") == {}
    assert found(top, world="costmap_burger") == [package / "param" / "costmap_burger.yaml"]


def test_number_that_depends_on_the_trial_is_not_reported(tmp_path):
    node = '<node pkg="a" type="b" name="c" args="-x $(arg x) -y $(arg y)"/>'
    top = write(tmp_path / "top.launch", arg("x"), arg("y", default="$(eval x * 2 + 1)"), node)
    assert unknown(top, x="{start_x}") == {}


def test_description_with_an_unknown_path_is_reported(package):
    contents = LaunchContents(package / "launch" / "navigation.launch", {})
    assert contents.not_followed == {
        "my_nav/urdf/robot.xacro": ["package://my_nav/meshes/${name}.stl"]
    }


def test_image_of_a_map_and_paths_in_parameter_files_are_inputs(tmp_path):
    (tmp_path / "room.pgm").write_text("P5")
    (tmp_path / "mask.pgm").write_text("P5")
    room = tmp_path / "room.yaml"
    room.write_text(f"image: room.pgm\nresolution: 0.05\nlayers: [{{mask: {tmp_path}/mask.pgm}}]\n")
    node = '<node pkg="map_server" type="map_server" name="map" args="$(arg map_file)"/>'
    top = write(tmp_path / "top.launch", arg("map_file"), node)
    assert found(top, map_file=str(room)) == [room, tmp_path / "room.pgm", tmp_path / "mask.pgm"]


NINE_ALIASES = [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)]
NINE_MERGES = [f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 9)}]}}" for i in range(1, 12)]


@pytest.mark.parametrize(
    "lines",
    [
        ["a0: &a0 [x]", *NINE_ALIASES],
        ["a0: &a0 {x: y}", *NINE_MERGES],
        ["a: &a [*a]"],
        ["unit: !degrees 90.0"],
        ["deep: " + "[" * 20 + "x" + "]" * 20],
    ],
    ids=["aliases", "merge keys", "circle", "tag", "nesting"],
)
def test_files_after_unusual_yaml_are_found(tmp_path, lines):
    (tmp_path / "mask.pgm").write_text("P5")
    parameters = tmp_path / "parameters.yaml"
    parameters.write_text("\n".join([*lines, f"mask: {tmp_path}/mask.pgm", ""]))
    node = f'<rosparam file="{parameters}"/>'
    assert found(write(tmp_path / "top.launch", node)) == [parameters, tmp_path / "mask.pgm"]


@pytest.mark.slow
def test_parameter_file_with_extreme_nesting_is_an_input_without_further_files(tmp_path):
    parameters = tmp_path / "parameters.yaml"
    parameters.write_text("[" * 3000)
    assert found(write(tmp_path / "top.launch", f'<rosparam file="{parameters}"/>')) == [parameters]


def test_environment_variables_in_launch_files_are_replaced(tmp_path, monkeypatch):
    (tmp_path / "a b.yaml").touch()
    (tmp_path / "c.yaml").touch()
    monkeypatch.setenv("FOLDER", str(tmp_path))
    monkeypatch.delenv("NONE", raising=False)
    for text, name in (
        ("$(env FOLDER)/c.yaml", "c"),
        ("$(env NONE)/c.yaml", None),
        ("$(optenv FOLDER /none)/c.yaml", "c"),
        (f"$(optenv NONE {tmp_path})/c.yaml", "c"),
        ("file://$(env FOLDER)/c.yaml", "c"),
        ("$(env FOLDER)/a b.yaml", "a b"),
        ("-f '$(env FOLDER)/a b.yaml'", "a b"),
        ("_map:=$(env FOLDER)/c.yaml", "c"),
        ("it's $(env FOLDER)/c.yaml", "c"),
        ("c.yaml", None),
        ("$(env FOLDER)/none.yaml", None),
        ("$(env FOLDER)", None),
        ("$(env NONE) $(env FOLDER)/c.yaml", "c"),
    ):
        top = write(tmp_path / "top.launch", f'<node pkg="p" type="t" name="n" args="{text}"/>')
        files = [] if name is None else [tmp_path / f"{name}.yaml"]
        assert found(top) == files, text
        assert ("top.launch" in unknown(top)) == ("NONE)" in text), text


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("# accessories\nexport ROBOT_LASER=1\n\nROBOT_EXTRAS='{extras}'  # ours\n", True),
        ("ROBOT_EXTRAS={extras}\nsource other\n", False),  # a program
        ("ROBOT_EXTRAS='{extras}\n", False),
        ("\udcff", False),
    ],
)
def test_environment_variables_in_a_file_of_a_command_are_used(tmp_path, text, is_found):
    extras, mesh, variables = (tmp_path / name for name in ("extras.xacro", "a.stl", "variables"))
    mesh.touch()
    extras.write_text(f'<robot><mesh filename="file://{mesh}"/></robot>')
    variables.write_bytes(text.format(extras=extras).encode(errors="surrogateescape"))
    robot = tmp_path / "robot.xacro"
    robot.write_text('<robot><include filename="$(optenv ROBOT_EXTRAS empty.urdf)"/></robot>')
    file = tmp_path / "r.launch"
    command = f"env_run {variables} xacro {robot}"
    file.write_text(f'<launch><param name="a" command="{command}"/></launch>')
    found = LaunchContents(file, {}).files
    expected = [variables, robot, *([extras, mesh] if is_found else [])]
    assert sorted(found) == sorted(expected)


def test_commands_of_parameters_are_not_executed(tmp_path):
    param = f'<param name="a" command="touch {tmp_path}/ran"/>'
    found(write(tmp_path / "top.launch", param))
    assert not (tmp_path / "ran").exists()


def test_input_file_in_a_package_has_the_name_of_the_package(tmp_path):
    package = tmp_path / "folder"
    package.mkdir()
    inner = write(package / "launch" / "a.launch")
    top = write(tmp_path / "top.launch", include(inner))
    for manifest, name in (
        ("<package><name> nav </name></package>", "nav/launch/a.launch"),
        ("<package/>", "folder/launch/a.launch"),
        ("<package>", "a.launch"),
    ):
        (package / "package.xml").write_text(manifest)
        assert list(named(top, {})) == [name]


@pytest.fixture
def stack(tmp_path):
    """The campaign on a stack whose launch files are in the folder of the test."""
    spec = load(CONFIG / "own_stack_campaign.yaml", CampaignSpec)
    write(tmp_path / "sim.launch", arg("headless", default="true"))
    write(
        tmp_path / "nav.launch",
        arg("plugin", default="a"),
        arg("world", default=""),
        '<rosparam file="$(dirname)/$(arg plugin).yaml"/>',
        '<rosparam file="$(dirname)/$(arg world).yaml"/>',
    )

    def make(**navigation):
        parts = {
            name: getattr(spec.stack, name).model_copy(
                update={"package": None, "file": tmp_path / file, "args": args}
            )
            for name, file, args in (
                ("simulator", "sim.launch", {}), ("navigation", "nav.launch", navigation)
            )
        }  # fmt: skip
        planners = tuple(
            one.model_copy(update={"launch": LaunchSpec(args={})}) for one in spec.planners
        )
        update = {"stack": spec.stack.model_copy(update=parts), "planners": planners}
        return spec.model_copy(update=update)

    return make


def test_inputs_are_named_by_the_key_of_their_launch_file(stack, tmp_path):
    (tmp_path / "a.yaml").write_text("a: 1")
    spec = stack(plugin="a")
    assert launch_inputs(spec) == {
        f"planners[{index}].launch needs a.yaml": tmp_path / "a.yaml"
        for index in range(len(spec.planners))
    }
    body = RobotBody("robot", ((0.0, 0.0),), (0.0, 1.0))
    before = further_files(spec, body)
    (tmp_path / "a.yaml").write_text("a: 2")
    assert set(before) == set(further_files(spec, body))
    assert before != further_files(spec, body)


def test_placeholder_of_the_planner_has_its_value_in_paths(stack, tmp_path):
    spec = stack(plugin="{planner}")
    for planner in spec.planners:
        (tmp_path / f"{planner.name}.yaml").touch()
    assert list(launch_inputs(spec).values()) == [
        tmp_path / f"{planner.name}.yaml" for planner in spec.planners
    ]


def test_unknown_path_is_an_input_with_its_text(stack):
    inputs = launch_inputs(stack(world="{world_name}"))
    name = f"{NOT_FOLLOWED}planners[0].launch nav.launch"
    assert inputs[name] == "$(dirname)/$(arg world).yaml"


def test_unknown_path_is_in_the_manifest_and_in_the_notice(stack, tmp_path):
    body = RobotBody("robot", ((0.0, 0.0),), (0.0, 1.0))
    directory = CampaignDirectory(tmp_path / "results")
    directory.path.mkdir()
    for spec, names in (
        (stack(), ()),
        (stack(world="{world_name}"), ("nav.launch", "$(arg world)")),
    ):
        Manifest.of(spec, further_files(spec, body)).write(directory)
        notice = not_followed_notice(directory)
        assert bool(notice) == bool(names)
        assert all(name in notice for name in names)
