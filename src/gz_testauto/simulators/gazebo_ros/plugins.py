"""Addition of gazebo_ros plugins to a robot, so that its drive and sensors use ROS topics.

A robot whose drive plugin is unknown or belongs to gazebo_ros is not changed.
"""

from typing import Mapping

import rospy
from lxml import etree

from gz_testauto.base.errors import SimulatorError
from gz_testauto.sdf.document import Element, SdfDocument
from gz_testauto.sdf.drives import DriveDescription
from gz_testauto.sdf.edit import contact_sensor, find_link
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.robot import RobotModel
from gz_testauto.sdf.scene import collisions_by_link, scene_model
from gz_testauto.sdf.tree import read_model
from gz_testauto.sdf.values import text_of
from gz_testauto.simulators.gazebo_ros.topics import TopicNames

DRIVE_RATE_HZ = 100
BUMPER_RATE_HZ = 50
MAX_AXLES = 2
# high, since Gazebo's DiffDrivePlugin hardly limits the torque
TORQUE_NM = "30"


def with_ros_plugins(robot: RobotModel, names: TopicNames) -> str:
    """Return the robot's SDF text with plugins that use the topics ``names``.

    Only the first topic of ``contacts`` is used. Raises ``SimulatorError`` for a drive controller
    with more axles than the plugins of gazebo_ros support.
    """
    if robot.drive is None or "gazebo_ros" in robot.drive.plugin:
        return robot.sdf
    document = SdfDocument.parse(robot.sdf, str(robot.path))
    model = document.require_model()
    drive_plugins = robot.drive.plugins_in(model)
    if len(robot.drive.left_joints) > MAX_AXLES:
        raise SimulatorError(
            f"{robot.path}: the drive has {len(robot.drive.left_joints)} axles, and gazebo_ros's "
            f"skid_steer_drive supports {MAX_AXLES}; use the simulator 'gazebo' or 'embedded'"
        )
    torque_nm = (text_of(drive_plugins[0], "torque") if drive_plugins else None) or TORQUE_NM
    drive = _drive_plugin(robot.drive, torque_nm, names)
    if drive_plugins:
        model.replace(drive_plugins[0], drive)
    else:
        model.append(drive)
    for further_plugin in drive_plugins[1:]:  # of the other axles
        model.remove(further_plugin)
    for sensor in model.iter("sensor"):
        if robot.lidar is not None and sensor.get("name") == robot.lidar.sensor:
            elements = {"topicName": names.scan, "frameName": robot.lidar.sensor}
            sensor.append(_plugin_element("libgazebo_ros_laser.so", elements))
        elif robot.imu is not None and sensor.get("name") == robot.imu.sensor:
            elements = {
                "topicName": names.imu,
                "frameName": robot.imu.sensor,
                "bodyName": robot.imu.link,
                "updateRateHZ": str(robot.imu.update_rate_hz or DRIVE_RATE_HZ),
                "initialOrientationAsReference": "false",
            }
            sensor.append(_plugin_element("libgazebo_ros_imu_sensor.so", elements))
    if names.contacts:
        _add_bumpers(document, names.contacts[0])
    return str(etree.tostring(document.root, encoding="unicode"))


def _drive_plugin(drive: DriveDescription, torque_nm: str, names: TopicNames) -> Element:
    separation, diameter = repr(drive.wheel_separation_m), repr(drive.wheel_diameter_m)
    elements = {
        "wheelSeparation": separation,
        "wheelDiameter": diameter,
        "updateRate": str(DRIVE_RATE_HZ),
        "odometryTopic": names.odom,
        "odometryFrame": "odom",
        "robotBaseFrame": "base_link",
        "broadcastTF": "1",
    }
    if len(drive.left_joints) == 1:
        elements.update(
            leftJoint=drive.left_joints[0],
            rightJoint=drive.right_joints[0],
            wheelTorque=torque_nm,
            wheelAcceleration="0",
            commandTopic=names.cmd_vel,
            odometrySource="world",
            publishOdomTF="true",
            publishWheelTF="false",
            publishWheelJointState="false",
        )
        return _plugin_element("libgazebo_ros_diff_drive.so", elements)
    (left_front, left_rear), (right_front, right_rear) = drive.left_joints, drive.right_joints
    elements.update(
        leftFrontJoint=left_front,
        leftRearJoint=left_rear,
        rightFrontJoint=right_front,
        rightRearJoint=right_rear,
        torque=torque_nm,
        topicName=names.cmd_vel,
        commandTopic=names.cmd_vel,
    )
    return _plugin_element("libgazebo_ros_skid_steer_drive.so", elements)


def _add_bumpers(document: SdfDocument, topic: str) -> None:
    library = ModelLibrary()
    scene = scene_model(read_model(document, document.model, library), library)
    for link, shapes in collisions_by_link(scene).items():
        element = find_link(document.model, link)
        if element is not None:
            sensor = contact_sensor("gz_testauto_contact", shapes)
            etree.SubElement(sensor, "always_on").text = "true"
            etree.SubElement(sensor, "update_rate").text = str(BUMPER_RATE_HZ)
            elements = {"bumperTopicName": topic, "frameName": "world"}
            sensor.append(_plugin_element("libgazebo_ros_bumper.so", elements))
            element.append(sensor)


TOPICS = ("topicName", "commandTopic", "odometryTopic", "bumperTopicName")


def _plugin_element(library: str, elements: Mapping[str, str]) -> Element:
    plugin = etree.Element("plugin", name=library[3:-3], filename=library)
    for tag, text in elements.items():
        # Otherwise the plugin resolves the name in its own namespace.
        etree.SubElement(plugin, tag).text = rospy.resolve_name(text) if tag in TOPICS else text
    return plugin
