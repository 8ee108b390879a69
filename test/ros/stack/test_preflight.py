"""The parts that the launch files of a stack need are checked without a start."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("roslaunch", reason="launch files are read by roslaunch")

from gz_testauto.base.errors import MissingDependencyError
from gz_testauto.cli.main import main
from gz_testauto.ros.stack import executor
from gz_testauto.ros.stack.preflight import MODULES, stack_needs
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


@pytest.mark.slow
def test_all_message_packages_that_a_trial_imports_are_checked():
    code = "import sys, gz_testauto.ros.stack.trial; print(*sys.modules)"
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    ).stdout
    imported = {
        name.partition(".")[0] for name in output.split() if name.endswith((".msg", ".srv"))
    }
    checked = {name.partition(".")[0] for name in MODULES}
    assert imported - checked <= {"costmap_converter", "roscpp"}  # optional, and a part of rospy


def test_missing_message_package_is_named_with_its_debian_package(spec, monkeypatch):
    monkeypatch.setitem(sys.modules, "visualization_msgs", None)
    (need,) = (need for need in stack_needs(spec) if not need.is_met)
    assert "visualization_msgs" in need.detail
    assert "python3-visualization-msgs" in need.remedy


@pytest.mark.parametrize(
    ("element", "missing"),
    [
        ('<rosparam file="/no/a.yaml"/>', True),
        ('<include file="$(dirname)/inner.launch"/>', True),
        ('<param name="a" textfile="/no/a.yaml"/>', True),
        ('<group if="true"><rosparam file="/no/a.yaml"/></group>', True),
        ('<group if="false"><rosparam file="/no/a.yaml"/></group>', False),
        ('<include if="false" file="/no/a.yaml"/>', False),
        ('<rosparam command="delete" param="a"/>', False),
        ('<rosparam command="dump" file="/no/a.yaml"/>', False),
        # only roslaunch evaluates conditions and paths that depend on the trial
        ('<group if="$(eval x > 3)"><rosparam file="/no/a.yaml"/></group>', False),
        ('<include if="$(eval x > 3)" file="$(dirname)/inner.launch"/>', False),
        ('<rosparam file="/no/$(arg x)/a.yaml"/>', False),
    ],
)
def test_files_that_roslaunch_does_not_find_are_named(spec, tmp_path, element, missing):
    (tmp_path / "inner.launch").write_text('<launch><rosparam file="/no/a.yaml"/></launch>')
    (tmp_path / "nav.launch").write_text(f'<launch><arg name="x"/>{element}</launch>')
    stack = spec.stack.model_copy(
        update={"navigation": spec.stack.navigation.model_copy(update={"args": {"x": "{start_x}"}})}
    )
    found = unmet(spec.model_copy(update={"stack": stack}))
    assert set(found) == ({"launch files"} if missing else set())
    if missing:
        assert "/no/a.yaml in " in found["launch files"]
        assert "(planners[0].launch)" in found["launch files"]


@pytest.fixture
def teb_is_declared(tmp_path, monkeypatch):
    """Add a package that declares the planner plug-in teb/Teb."""
    package = tmp_path / "ws" / "teb"
    package.mkdir(parents=True)
    (package / "package.xml").write_text(
        "<package><name>teb</name><export>"
        '<nav_core plugin="${prefix}/plugin.xml"/></export></package>'
    )
    (package / "plugin.xml").write_text(
        '<library><class name="teb/Teb" type="teb::Teb"/></library>'
    )
    checkout = EXAMPLE.parents[1]
    monkeypatch.setenv("ROS_PACKAGE_PATH", f"{tmp_path / 'ws'}:{checkout}")


NODE = '<node pkg="gz_testauto" type="planner" name="move_base">{}</node>'


@pytest.mark.parametrize(
    ("element", "unknown"),
    [
        ('<param name="base_local_planner" value="teb/Teb"/>', []),
        ('<param name="base_local_planner" value="teb/Tep"/>', ["teb/Tep"]),
        ("<rosparam>{base_local_planner: dwa/Dwa, base_global_planner: a/B}</rosparam>",
         ["dwa/Dwa", "a/B"]),
        ('<rosparam subst_value="true">base_local_planner: $(arg x)/Dwa</rosparam>', []),
        ('<rosparam file="{file}"/>', ["dwa/Dwa"]),
        ('<rosparam file="{file}"/><param name="base_local_planner" value="teb/Teb"/>', []),
        ('<param if="$(eval x > 3)" name="base_local_planner" value="dwa/Dwa"/>', []),
        ('<rosparam file="{file}"/>'
         '<param if="$(eval x > 3)" name="base_local_planner" value="teb/Teb"/>', []),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("teb_is_declared")
def test_planner_plugin_without_a_package_is_named(spec, tmp_path, element, unknown):
    (tmp_path / "a.yaml").write_text("base_local_planner: dwa/Dwa\nspeed: {max: 1.0}\n")
    node = NODE.format(element.replace("{file}", str(tmp_path / "a.yaml")))
    (tmp_path / "nav.launch").write_text(f'<launch><arg name="x"/>{node}</launch>')
    stack = spec.stack.model_copy(
        update={"navigation": spec.stack.navigation.model_copy(update={"args": {"x": "{start_x}"}})}
    )
    found = unmet(spec.model_copy(update={"stack": stack}))
    assert set(found) == ({"plug-ins"} if unknown else set())
    for name in unknown:
        assert f"{name!r}" in found["plug-ins"]
        assert "planners[0].launch: /move_base/base_" in found["plug-ins"]


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
