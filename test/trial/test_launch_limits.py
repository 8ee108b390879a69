"""Launch files: how deep they are followed, which are read, and their arguments."""

from pathlib import Path

import pytest

from gz_testauto.base.errors import SpecError
from gz_testauto.spec.campaign import CampaignSpec, StackCampaignSpec
from gz_testauto.spec.loader import load
from gz_testauto.spec.stack import LaunchSpec
from gz_testauto.trial import launch_files as launch
from gz_testauto.trial.launch_files import (
    check_launches,
    files_of,
    fill_in,
    find_launch_file,
    launch_files,
    launch_inputs,
    placeholder_values,
)
from gz_testauto.trial.setup import prepare, read_body, require_builtin
from gz_testauto.worlds.record import WorldRecord

CONFIG = Path(__file__).resolve().parents[2] / "config"


@pytest.fixture(autouse=True)
def packages(monkeypatch, tmp_path):
    """Packages are searched in a folder of this test only."""
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path))


def write(path, *elements, pad=0):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"<launch>{''.join(elements)}</launch>" + " " * pad)
    return path


def include(path, *arguments, **attributes):
    more = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f'<include file="{path}"{more}>{"".join(arguments)}</include>'


def arg(name, **attributes):
    return f'<arg name="{name}"' + "".join(f' {k}="{v}"' for k, v in attributes.items()) + "/>"


def found(path, **arguments):
    return list(files_of(path, arguments).values())


def test_includes_are_followed_to_a_depth_of_twenty_files(tmp_path):
    paths = [tmp_path / f"level_{number}.launch" for number in range(25)]
    for path, inner in zip(paths, paths[1:]):
        write(path, include(inner))
    write(paths[-1])
    assert found(paths[0]) == paths[1:21]
    assert found(paths[4]) == paths[5:]
    assert found(paths[5]) == paths[6:]


@pytest.mark.parametrize(("excess", "followed"), [(0, True), (1, False)])
def test_includes_of_a_launch_file_above_two_megabytes_are_ignored(tmp_path, excess, followed):
    data = write(tmp_path / "data.xml", include(write(tmp_path / "inner.launch")))
    size = data.stat().st_size
    write(data, include(tmp_path / "inner.launch"), pad=2_000_000 - size + excess)
    assert data.stat().st_size == 2_000_000 + excess
    inner = [tmp_path / "inner.launch"] if followed else []
    assert found(write(tmp_path / "top.launch", include(data))) == [data, *inner]


def test_only_files_that_can_include_other_files_are_read(tmp_path):
    inner = write(tmp_path / "inner.txt")
    outer = [tmp_path / f"a.{kind}" for kind in ("launch", "xml", "xacro", "urdf", "yaml", "rviz")]
    for path in outer:
        write(path, f'<a file="{inner}"/>')
        top = write(tmp_path / "top.launch", include(path))
        followed = [] if path.suffix in (".yaml", ".rviz") else [inner]
        assert found(top) == ([] if path.suffix == ".rviz" else [path]) + followed


def test_files_with_the_same_name_are_numbered(tmp_path):
    paths = [tmp_path / folder / "map.yaml" for folder in "abc"]
    for path in paths:
        write(path)
    top = write(tmp_path / "top.launch", *map(include, [*paths, paths[0]]))
    assert files_of(top, {}) == {
        "map.yaml": paths[0], "map.yaml (2)": paths[1], "map.yaml (3)": paths[2]
    }  # fmt: skip


def test_passed_argument_replaces_a_default_but_not_a_fixed_value(tmp_path):
    for name in "abc":
        write(tmp_path / f"{name}.yaml")
    use = '<rosparam file="$(dirname)/$(arg x).yaml"/>'
    for declared, given, name in (
        ({"default": "a"}, {}, "a"),
        ({"default": "a"}, {"x": "b"}, "b"),
        ({"value": "c"}, {"x": "b"}, "c"),
        ({"value": "c", "default": "a"}, {}, "c"),
        ({}, {"x": "b"}, "b"),
        ({"default": "$(arg other)"}, {"x": "b"}, "b"),
        ({"value": "$(arg other)"}, {"x": "b"}, "b"),
    ):
        top = write(tmp_path / "top.launch", arg("x", **declared), use)
        assert found(top, **given) == [tmp_path / f"{name}.yaml"], (declared, given)
    assert found(write(tmp_path / "top.launch", arg("x"), use)) == []


def test_launch_include_gets_only_its_own_arguments_without_pass_all_args(tmp_path):
    for name in "ab":
        write(tmp_path / f"{name}.yaml")
    inner = write(tmp_path / "inner.launch", '<rosparam file="$(dirname)/$(arg x).yaml"/>')
    for element, name in (
        (include(inner), None),
        (include(inner, pass_all_args="false"), None),
        (include(inner, pass_all_args="true"), "a"),
        (include(inner, arg("x", value="b"), pass_all_args="true"), "b"),
        (include(inner, arg("x", value="b")), "b"),
        (include(inner, arg("x", default="b")), "b"),
        (include(inner, arg("x", value="$(arg none)")), None),
        (include(inner, arg("x", value="$(arg x)")), "a"),
    ):
        top = write(tmp_path / "top.launch", arg("x", value="a"), element)
        followed = [] if name is None else [tmp_path / f"{name}.yaml"]
        assert found(top) == [inner, *followed], element


def test_environment_variables_in_launch_files_are_replaced(tmp_path, monkeypatch):
    write(tmp_path / "a b.yaml")
    write(tmp_path / "c.yaml")
    monkeypatch.setenv("FOLDER", str(tmp_path))
    monkeypatch.delenv("NONE", raising=False)
    for text, name in (
        ("$(env FOLDER)/c.yaml", "c"),
        ("$(env NONE)/c.yaml", None),
        ("$(optenv FOLDER /none)/c.yaml", "c"),
        (f"$(optenv NONE {tmp_path})/c.yaml", "c"),
        ("$(eval 1)$(env FOLDER)/c.yaml", None),
        ("${folder}$(env FOLDER)/c.yaml", None),
        ("file://$(env FOLDER)/c.yaml", "c"),
        ("$(env FOLDER)/a b.yaml", "a b"),
        ("-f '$(env FOLDER)/a b.yaml'", "a b"),
        ("_map:=$(env FOLDER)/c.yaml", "c"),
        ("it's $(env FOLDER)/c.yaml", "c"),
        ("c.yaml", None),
        ("$(env FOLDER)/none.yaml", None),
        ("$(env FOLDER)", None),
    ):
        top = write(tmp_path / "top.launch", f'<node args="{text}"/>')
        files = [] if name is None else [tmp_path / f"{name}.yaml"]
        assert found(top) == files, text


def test_text_with_4096_characters_is_not_a_path():
    assert launch._path_in("/" + "a" * 4094) == Path("/" + "a" * 4094)
    assert launch._path_in("/" + "a" * 4095) is None
    assert launch._path_in("/a\0") is None


def test_input_file_in_a_package_has_the_name_of_the_package(tmp_path):
    package = tmp_path / "folder"
    package.mkdir()
    inner = write(package / "launch" / "a.launch")
    top = write(tmp_path / "top.launch", include(inner))
    (package / "package.xml").write_text("<package><name> nav </name></package>")
    assert list(files_of(top, {})) == ["nav/launch/a.launch"]
    (package / "package.xml").write_text("<package/>")
    assert list(files_of(top, {})) == ["folder/launch/a.launch"]
    (package / "package.xml").write_text("<package>")
    assert list(files_of(top, {})) == ["a.launch"]


@pytest.fixture
def stack(tmp_path):
    """The campaign on a stack with launch files of this folder."""
    spec = load(CONFIG / "own_stack_campaign.yaml", CampaignSpec)
    assert isinstance(spec, StackCampaignSpec)
    write(tmp_path / "sim.launch", arg("seed"), arg("headless", default="true"))
    write(tmp_path / "nav.launch", arg("plugin"), arg("goal"))

    def make(simulator=None, navigation=None, robot=None, planner=None):
        sim = spec.stack.simulator.model_copy(
            update={"package": None, "file": tmp_path / "sim.launch", "args": simulator or {}}
        )
        nav = spec.stack.navigation.model_copy(
            update={"package": None, "file": tmp_path / "nav.launch", "args": navigation or {}}
        )
        parts = {"simulator": sim, "navigation": nav, "robot": robot}
        planners = tuple(
            one.model_copy(update={"launch": LaunchSpec(args=planner or {})})
            for one in spec.planners
        )
        update = {"stack": spec.stack.model_copy(update=parts), "planners": planners}
        return spec.model_copy(update=update)

    return make


def test_launch_file_must_declare_its_arguments(stack, tmp_path):
    check_launches(stack({"seed": 1, "headless": True}, {"plugin": "a"}, planner={"goal": 2}))
    for bad, field in (
        (stack({"sead": 1}), r"stack\.simulator\.args.*sead"),
        (stack(None, {"plugins": 1}), r"planners\[0\].*plugins"),
        (stack(planner={"gaol": 1}), r"planners\[0\].*gaol"),
    ):
        with pytest.raises(SpecError, match=field):
            check_launches(bad)
    write(tmp_path / "nav.launch", include("x.launch", arg("inner"), pass_all_args="false"))
    with pytest.raises(SpecError, match="inner"):
        check_launches(stack(None, {"inner": 1}))
    write(tmp_path / "nav.launch", f"<group>{arg('grouped')}</group><node>{arg('odd')}</node>")
    check_launches(stack(None, {"grouped": 1, "odd": 2}))
    write(tmp_path / "nav.launch", include("x.launch", pass_all_args="true"))
    check_launches(stack(None, {"any": 1}))
    (tmp_path / "nav.launch").write_text("<launch>")
    with pytest.raises(SpecError, match=r"nav\.launch"):
        check_launches(stack())
    (tmp_path / "nav.launch").unlink()
    with pytest.raises(SpecError, match=r"nav\.launch"):
        check_launches(stack())


def test_launch_files_are_listed_once_with_their_inputs(stack, tmp_path):
    write(tmp_path / "a.yaml")
    write(tmp_path / "nav.launch", '<rosparam file="$(dirname)/$(arg plugin).yaml"/>')
    robot = LaunchSpec(file=str(write(tmp_path / "robot.launch")))
    spec = stack(None, {"plugin": "a"}, robot)
    names = ["sim.launch", "robot.launch", "nav.launch"]
    assert launch_files(spec) == tuple(tmp_path / name for name in names)
    assert launch_inputs(spec) == {
        f"planners[{index}].launch needs a.yaml": tmp_path / "a.yaml"
        for index in range(len(spec.planners))
    }


def test_launch_file_of_a_package_is_searched_first_in_its_launch_folder(tmp_path):
    package = tmp_path / "nav"
    package.mkdir()
    (package / "package.xml").write_text("<package><name>nav</name></package>")
    launch = LaunchSpec(package="nav", file="move.launch")
    with pytest.raises(SpecError, match=r"here\.file.*move\.launch"):
        find_launch_file(launch, "here")
    for folder in ("z", "b", ".", "launch"):
        path = write(package / folder / "move.launch")
        assert find_launch_file(launch, "here") == path
    with pytest.raises(SpecError, match=r"here\.package.*nowhere"):
        find_launch_file(LaunchSpec(package="nowhere", file="a.launch"), "here")


def test_arguments_of_a_launch_have_the_format_of_roslaunch(tmp_path):
    file = write(tmp_path / "a.launch")
    args = {"on": True, "off": False, "rate": 2.5, "count": 3, "place": "[{start_x}, {seed}]"}
    launch = fill_in(LaunchSpec(file=str(file), args=args), "here", {"start_x": 1.5, "seed": 7})
    assert launch.file == file
    assert launch.arguments == (
        "on:=true", "off:=false", "rate:=2.5", "count:=3", "place:=[1.5, 7]"
    )  # fmt: skip


def test_placeholders_of_launch_arguments_have_the_values_of_the_trial(stack, tmp_path):
    spec = stack()
    world = WorldRecord(0, "w0", tmp_path / "w0.world", "")
    campaign = prepare(spec, read_body(spec), (world,))
    trial = campaign.trials[-1]
    values = placeholder_values(campaign, trial, tmp_path / "map.yaml", tmp_path / "logs")
    places = {name: values[name] for name in ("start_x", "start_y", "goal_x", "goal_y")}
    assert places == {"start_x": -3.0, "start_y": 0.0, "goal_x": 3.0, "goal_y": 0.0}
    assert (values["world"], values["world_name"]) == (str(world.path), "w0")
    assert (values["seed"], values["trial"]) == (trial.seed, trial.label)
    assert (values["planner"], values["goal_tolerance"]) == (trial.planner, 0.5)
    assert (values["map"], values["logs"]) == (tmp_path / "map.yaml", tmp_path / "logs")
    assert values["control_period"] == spec.control_period_s
    assert values["robot_model"] == spec.robot.model
    assert campaign.navigation(trial).args == {}
    with pytest.raises(SpecError):
        require_builtin(campaign)
