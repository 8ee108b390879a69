"""Plugins of gazebo_ros for the drive and the sensors of a robot."""

import pytest
from lxml import etree

from gz_testauto.base.errors import SimulatorError
from gz_testauto.base.resources import share_directory
from gz_testauto.sdf.robot import read_robot
from gz_testauto.simulators.gazebo_ros import TopicNames
from gz_testauto.simulators.gazebo_ros.plugins import with_ros_plugins

WHEELCHAIR = share_directory() / "models" / "wheelchair"


@pytest.fixture
def instrumented(tmp_path):
    names = TopicNames(scan="/front/scan", cmd_vel="/chair/cmd_vel", contacts=("/bumper", "/other"))
    path = tmp_path / "instrumented.sdf"
    path.write_text(with_ros_plugins(read_robot(WHEELCHAIR), names))
    return path


def plugins_of(path):
    found = etree.parse(str(path)).iter("plugin")
    return {plugin.get("filename"): plugin for plugin in found}


def test_plugins_use_the_requested_topic_names(instrumented):
    plugins = plugins_of(instrumented)
    drive = plugins.pop("libgazebo_ros_diff_drive.so")
    assert drive.getparent().tag == "model"
    assert drive.findtext("commandTopic") == "/chair/cmd_vel"
    told = {
        name: plugin.findtext("topicName") or plugin.findtext("bumperTopicName")
        for name, plugin in plugins.items()
    }
    assert told == {
        "libgazebo_ros_laser.so": "/front/scan",
        "libgazebo_ros_imu_sensor.so": "/imu",
        "libgazebo_ros_bumper.so": "/bumper",
    }


def test_ros_drive_plugin_has_the_joints_and_dimensions_of_the_original_plugin(instrumented):
    before, after = read_robot(WHEELCHAIR).drive, read_robot(instrumented).drive
    assert after.plugin == "libgazebo_ros_diff_drive.so"
    assert (after.left_joints, after.right_joints) == (before.left_joints, before.right_joints)
    assert after.wheel_separation_m == pytest.approx(before.wheel_separation_m)
    assert after.wheel_diameter_m == pytest.approx(before.wheel_diameter_m)


def test_bumper_sensor_covers_the_body_but_not_the_wheels(instrumented):
    felt = {c.text for c in etree.parse(str(instrumented)).iterfind(".//sensor/contact/collision")}
    assert "seat" in felt
    assert "tire" not in felt


def test_robot_with_a_ros_drive_plugin_is_not_changed(instrumented):
    robot = read_robot(instrumented)
    assert with_ros_plugins(robot, TopicNames()) == robot.sdf


HUSKY = share_directory() / "models" / "husky_a200"


def test_drive_with_two_axles_becomes_a_skid_steer_drive(tmp_path):
    path = tmp_path / "husky.sdf"
    path.write_text(with_ros_plugins(read_robot(HUSKY), TopicNames()))
    before, after = read_robot(HUSKY).drive, read_robot(path).drive
    assert after.plugin == "libgazebo_ros_skid_steer_drive.so"
    assert "libDiffDrivePlugin.so" not in plugins_of(path)
    assert (after.left_joints, after.right_joints) == (before.left_joints, before.right_joints)


def test_drive_with_three_axles_is_rejected(tmp_path):
    axle = """<plugin name="third" filename="libDiffDrivePlugin.so"><left_joint>left</left_joint>
    <right_joint>right</right_joint></plugin>"""
    text = (HUSKY / "model.sdf").read_text()
    for side, name in (("left", "front_left"), ("right", "front_right")):
        start = text.index(f'<link name="{name}_wheel_link">')
        wheel = text[start : text.index("</joint>", start) + len("</joint>")]
        copy = wheel.replace(f'"{name}_wheel"', f'"{side}"').replace(f"{name}_wheel_link", side)
        axle += copy.replace("<pose>0.256 ", "<pose>0 ")
    path = tmp_path / "three.sdf"
    path.write_text(text.replace("</model>", axle + "</model>"))
    with pytest.raises(SimulatorError, match="the drive has 3 axles, and gazebo_ros's"):
        with_ros_plugins(read_robot(path), TopicNames())
