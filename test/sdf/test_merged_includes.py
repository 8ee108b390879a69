"""A robot that includes its base has the drive of the base, as in Gazebo 11."""

import numpy as np
import pytest
from lxml import etree

from gz_testauto.base.errors import SdfError
from gz_testauto.base.observation import Twist2D
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.drives import RobotParts, WheelJoints
from gz_testauto.sdf.dynamics import axis_direction
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.robot import read_robot
from gz_testauto.sdf.scene import scene_model
from gz_testauto.sdf.tree import read_model
from gz_testauto.simulators import open_simulator
from gz_testauto.simulators.interface import Scene

INERTIA = "<inertia><ixx>0.01</ixx><iyy>0.01</iyy><izz>0.01</izz></inertia>"


def wheel(name, y_m, axis="<xyz>0 1 0</xyz>", joint_pose=""):
    return f"""<link name="{name}_wheel"><pose>0 {y_m} 0.1 0 0 0</pose>
<inertial><mass>1</mass>{INERTIA}</inertial><collision name="c">
<geometry><sphere><radius>0.1</radius></sphere></geometry></collision></link>
<joint name="{name}" type="revolute">{joint_pose}<parent>base</parent>
<child>{name}_wheel</child><axis>{axis}</axis></joint>"""


def base(version, **options):
    """Return a robot with two wheels. The pose of its box is relative to a wheel."""
    named = "frame" if version < "1.7" else "relative_to"
    return f"""<sdf version="{version}"><model name="base"><link name="base">
<pose>0 0 0.15 0 0 0</pose><inertial><mass>8</mass>{INERTIA}</inertial><collision name="c">
<pose {named}="left_wheel">0 -0.2 0.05 0 0 0</pose><geometry><box><size>0.4 0.3 0.1</size></box>
</geometry></collision>
<sensor name="lidar" type="ray">
<pose>0 0 0.3 0 0 0</pose><ray><scan><horizontal><samples>9</samples>
<min_angle>-1</min_angle><max_angle>1</max_angle></horizontal></scan><range><min>0.5</min>
<max>9</max></range></ray></sensor></link>
{wheel("left", 0.2, **options)}{wheel("right", -0.2, **options)}
<plugin name="d" filename="libDiffDrivePlugin.so"><left_joint>left</left_joint>
<right_joint>right</right_joint></plugin></model></sdf>"""


@pytest.fixture
def write(tmp_path):
    def write(text, include="", name="rover", version="1.6", uri="base.sdf"):
        (tmp_path / "base.sdf").write_text(text)
        path = tmp_path / f"{name}.sdf"
        path.write_text(
            f'<sdf version="{version}"><model name="{name}"><include><uri>{uri}</uri>{include}'
            "</include></model></sdf>"
        )
        return path

    return write


def parts_of(robot):
    document = SdfDocument.parse(robot.sdf)
    node = read_model(document, document.model, ModelLibrary())
    return node, RobotParts.of(node), scene_model(node, ModelLibrary())


AXES = {
    "joint": {},
    "parent": {"axis": "<xyz>0 1 0</xyz><use_parent_model_frame>1</use_parent_model_frame>"},
    "turned": {
        "axis": "<xyz>0 0 -1</xyz>",
        "joint_pose": "<pose>0 0 0 1.5707963267948966 0 0</pose>",
    },
}


@pytest.mark.parametrize("version", ["1.4", "1.6", "1.7"])
@pytest.mark.parametrize("axes", AXES)
def test_included_base_drives_the_robot(write, version, axes):
    if axes == "turned" and version == "1.4":
        pytest.skip("in SDF 1.4, the axis is in the model frame")
    path = write(base(version, **AXES[axes]), "<pose>0.1 0 0 0 0 0</pose>", version=version)
    plain, robot = read_robot(path.with_name("base.sdf")), read_robot(path)
    assert robot.drive.left_joints == ("base::left",)
    assert robot.drive.right_joints == ("base::right",)
    assert robot.drive.wheel_separation_m == pytest.approx(0.4)
    assert robot.lidar.scoped_name == "base::base::lidar"
    assert robot.lidar.mount.position == pytest.approx(
        (Pose((0.1, 0.0, 0.0)) * plain.lidar.mount).position, abs=1e-12
    )
    assert robot.footprint_m == pytest.approx(np.add(plain.footprint_m, (0.1, 0.0)), abs=1e-12)
    assert robot.height_m == pytest.approx(plain.height_m, abs=1e-12)
    node, parts, scene = parts_of(robot)
    assert not node.models and set(scene.links) == {
        "base::base",
        "base::left_wheel",
        "base::right_wheel",
    }
    for name in ("base::left", "base::right"):
        axis = axis_direction(node, parts.joints[name].element)
        np.testing.assert_allclose(axis, (0, 1, 0), atol=1e-12)


def test_axis_rotates_with_the_pose_of_the_include(write):
    path = write(
        base("1.6", **AXES["parent"]), "<name>lower</name><pose>0 0 0 0 0 1.5707963</pose>"
    )
    with pytest.raises(
        SdfError, match=r"the axis of joint 'lower::left' .* is -1 .* 0 in the robot"
    ):
        read_robot(path)


def test_joints_of_an_included_model_can_be_the_wheels(write):
    text = base("1.6").replace("libDiffDrivePlugin.so", "libOther.so")
    robot = read_robot(write(text), wheels=WheelJoints(("base::left",), ("base::right",)))
    node, parts, _ = parts_of(robot)
    assert not node.models and "base::left" in parts.joints


def test_base_in_an_included_model_is_merged_with_all_prefixes(write, tmp_path):
    middle = write(base("1.6"), name="middle")
    outer = tmp_path / "outer.sdf"
    outer.write_text(
        f'<sdf version="1.6"><model name="outer"><include><uri>{middle.name}</uri></include>'
        "</model></sdf>"
    )
    robot = read_robot(outer)
    assert robot.drive.left_joints == ("middle::base::left",)
    plugin = etree.fromstring(robot.sdf).find("model/plugin")
    assert plugin.findtext("right_joint") == "middle::base::right"


def test_include_without_a_drive_is_not_merged(write):
    robot = read_robot(write(base("1.6").replace("libDiffDrivePlugin.so", "libOther.so")))
    assert robot.drive is None and parts_of(robot)[0].models


@pytest.mark.gazebo
def test_gazebo_drives_an_included_base(write, tmp_path):
    path = write(base("1.6"))
    world = tmp_path / "plane.world"
    world.write_text(
        '<sdf version="1.6"><world name="default"><model name="floor"><static>1</static>'
        '<link name="l"><collision name="c"><geometry><plane><normal>0 0 1</normal>'
        "<size>9 9</size></plane></geometry></collision></link></model></world></sdf>"
    )
    moved = []
    with open_simulator("gazebo") as gazebo:
        for file in (path, path.with_name("base.sdf")):
            simulation = gazebo.load(Scene(world, read_robot(file), Pose2D(0.0, 0.0, 0.0)))
            simulation.drive(Twist2D(0.5, 0.0))
            moved.append(simulation.step(1.0).models["robot"].pose.position)
    assert moved[0] == pytest.approx(moved[1], abs=1e-6) and moved[0][0] > 0.3
