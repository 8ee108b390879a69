"""The parts that the launch files of a stack need are checked without a start."""

import shutil
from pathlib import Path

import pytest

pytest.importorskip("roslaunch", reason="launch files are read by roslaunch")

from gz_testauto.base.errors import MissingDependencyError
from gz_testauto.cli.main import main
from gz_testauto.ros.stack import executor
from gz_testauto.ros.stack.preflight import stack_needs
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load
from gz_testauto.spec.stack import BagSpec

EXAMPLE = Path(__file__).resolve().parents[3] / "config" / "own_stack_campaign.yaml"


@pytest.fixture
def spec(tmp_path):
    """The example, with a navigation in a launch file of this test."""
    spec = load(EXAMPLE, CampaignSpec)
    (tmp_path / "nav.launch").write_text("<launch/>")
    navigation = spec.stack.navigation.model_copy(
        update={"package": None, "file": tmp_path / "nav.launch", "args": {}}
    )
    planners = tuple(
        planner.model_copy(update={"launch": planner.launch.model_copy(update={"args": {}})})
        for planner in spec.planners
    )
    stack = spec.stack.model_copy(update={"navigation": navigation})
    return spec.model_copy(update={"stack": stack, "planners": planners})


def unmet(spec):
    return {need.name: need.detail for need in stack_needs(spec) if not need.is_met}


def test_stack_of_the_example_has_all_its_parts(spec):
    assert unmet(spec) == {}
    assert len(list(stack_needs(spec))) == 5


@pytest.mark.parametrize(
    ("element", "name", "missing"),
    [
        ('<node pkg="no_such_pkg" type="a" name="n"/>', "ROS packages", "no_such_pkg"),
        ('<include file="$(find no_such_pkg)/a.launch"/>', "ROS packages", "no_such_pkg"),
        ('<node pkg="gz_testauto" type="no_node" name="n"/>', "nodes", "gz_testauto/no_node"),
    ],
)
def test_missing_package_or_node_is_named(spec, tmp_path, element, name, missing):
    (tmp_path / "nav.launch").write_text(f"<launch>{element}</launch>")
    found = unmet(spec)
    assert set(found) == {name}
    assert missing in found[name]


def describe(tmp_path, content):
    """Write a launch file whose robot description is a xacro file with ``content``."""
    (tmp_path / "r.xacro").write_text(f"<robot>{content}</robot>")
    (tmp_path / "nav.launch").write_text(
        f'<launch><param name="a" command="xacro {tmp_path}/r.xacro"/></launch>'
    )


INCLUDE = '<include filename="$(find no_such_pkg)/a"/>'


def test_missing_package_in_a_condition_of_a_description_is_not_required(spec, tmp_path):
    describe(tmp_path, f'<if value="1">{INCLUDE}</if>')
    (need,) = (need for need in stack_needs(spec) if not need.is_met)
    assert "no_such_pkg" in need.detail
    assert not need.is_required


def test_missing_package_of_a_robot_description_is_required(spec, tmp_path):
    describe(tmp_path, INCLUDE)
    (need,) = (need for need in stack_needs(spec) if not need.is_met)
    assert (need.name, need.is_required) == ("ROS packages", True)
    assert "no_such_pkg" in need.detail


def test_missing_launch_file_does_not_hide_missing_nodes_of_other_launch_files(spec, tmp_path):
    (tmp_path / "nav.launch").write_text(
        '<launch><node pkg="gz_testauto" type="no_node" name="n"/></launch>'
    )
    simulator = spec.stack.simulator.model_copy(update={"file": "none.launch"})
    stack = spec.stack.model_copy(update={"simulator": simulator})
    found = unmet(spec.model_copy(update={"stack": stack}))
    assert "none.launch" in found["launch files"]
    assert "no_node" in found["nodes"]


def test_missing_rosrun_is_found_and_its_package_is_the_remedy(spec, monkeypatch):
    stack = spec.stack.model_copy(update={"bag": BagSpec()})
    with_bag = spec.model_copy(update={"stack": stack})
    which = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "rosrun" else which(name))
    assert unmet(spec) == {}
    need = next(need for need in stack_needs(with_bag) if not need.is_met)
    assert "rosrun" in need.detail
    assert "rosbash" in need.remedy
    with pytest.raises(MissingDependencyError, match=r"stack\.bag.*rosrun.*rosbash"):
        executor._require_ros(with_bag)


def test_remedy_without_ros_is_to_source_the_workspace(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert "source the setup.bash" in executor.remedy_for("rosrun")


def test_doctor_checks_the_stack_of_a_campaign(capsys):
    assert main(["doctor", str(EXAMPLE)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0] for line in lines] == [
        "campaign", "ROS commands yes", "ROS modules", "launch files yes", "ROS packages yes",
        "nodes",
    ]  # fmt: skip
