"""Launch files of a stack: where they are found, and their arguments."""

from pathlib import Path

import pytest

from gz_testauto.base.errors import SpecError
from gz_testauto.spec.campaign import CampaignSpec, StackCampaignSpec
from gz_testauto.spec.loader import load
from gz_testauto.spec.stack import LaunchSpec
from gz_testauto.trial.launch_files import (
    check_launches,
    fill_in,
    find_launch_file,
    launch_files,
    placeholder_values,
)
from gz_testauto.trial.plan import PreparedCampaign
from gz_testauto.trial.testbed import bed_of, read_body, require_builtin
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
    (tmp_path / "nav.launch").write_text("<robot>\n</robot>")
    with pytest.raises(SpecError, match=r"nav\.launch:1: .* is <robot>, not <launch>"):
        check_launches(stack())
    for absent in (tmp_path / "no.launch", "$(dirname)/no.launch"):
        write(tmp_path / "nav.launch", include(absent))
        with pytest.raises(SpecError, match=r"nav\.launch:1: .*no\.launch is not found"):
            check_launches(stack())
        for condition in ({"if": "$(arg x)"}, {"unless": "1"}):
            write(tmp_path / "nav.launch", include(absent, **condition))
            check_launches(stack())
    (tmp_path / "nav.launch").write_text("<launch>")
    with pytest.raises(SpecError, match=r"nav\.launch"):
        check_launches(stack())
    (tmp_path / "nav.launch").unlink()
    with pytest.raises(SpecError, match=r"nav\.launch"):
        check_launches(stack())


def test_launch_files_are_listed_once(stack, tmp_path):
    robot = LaunchSpec(file=str(write(tmp_path / "robot.launch")))
    spec = stack(None, {"plugin": "a"}, robot)
    names = ["sim.launch", "robot.launch", "nav.launch"]
    assert launch_files(spec) == tuple(tmp_path / name for name in names)


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
    campaign = PreparedCampaign(bed_of(spec, read_body(spec)), (world,))
    trial = campaign.trials[-1]
    values = placeholder_values(spec, trial, tmp_path / "map.yaml", tmp_path / "logs")
    places = {name: values[name] for name in ("start_x", "start_y", "goal_x", "goal_y")}
    assert places == {"start_x": -3.0, "start_y": 0.0, "goal_x": 3.0, "goal_y": 0.0}
    assert (values["world"], values["world_name"]) == (str(world.path), "w0")
    assert (values["seed"], values["trial"]) == (trial.seed, trial.label)
    assert (values["planner"], values["goal_tolerance"]) == (trial.planner.name, 0.5)
    assert (values["map"], values["logs"]) == (tmp_path / "map.yaml", tmp_path / "logs")
    assert values["control_period"] == spec.control_period_s
    assert values["robot_model"] == spec.robot.model
    assert campaign.bed.navigation(trial).args == {}
    with pytest.raises(SpecError):
        require_builtin(campaign.bed)
