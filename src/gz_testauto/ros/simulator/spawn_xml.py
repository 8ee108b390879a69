"""Conversion of the XML text in a spawn request to a model, with the semantics of gazebo_ros.

The requested name replaces that of the model; the requested pose is composed with that in the SDF.
"""

import re
from pathlib import Path
from typing import Tuple

from lxml import etree

from gz_testauto.base import resources
from gz_testauto.base.disk import read_file
from gz_testauto.base.errors import GzTestautoError, SdfError
from gz_testauto.base.pose import Pose
from gz_testauto.base.ros_packages import ros_packages
from gz_testauto.base.xml_file import parse_xml
from gz_testauto.ros.graph import RequestRejectedError
from gz_testauto.sdf.urdf.converter import convert_urdf
from gz_testauto.simulators.interface import NamedModel

NOT_A_MODEL = (
    "GazeboRosApiPlugin SpawnModel Failure: input model_xml not SDF or URDF, or cannot be "
    "converted to Gazebo compatible format."
)
UNKNOWN_ENTITY_FORMAT = "SpawnModel: Failure - entity format is invalid."


def model_to_spawn(xml: str, name: str, robot_namespace: str, pose: Pose) -> NamedModel:
    """Read a model; ``pose`` is the requested pose in the world frame."""
    root = _parse(xml)
    if root.tag == "robot":
        root = _convert(with_package_paths(xml))
    if root.tag not in ("sdf", "gazebo"):
        raise RequestRejectedError(NOT_A_MODEL)
    model = root.find("model")
    if model is None:
        root, model = _include_in_place(root)
    model.set("name", name)
    if robot_namespace:
        _add_robot_namespace(model, robot_namespace)
    pose_in_world = pose * _pop_pose(model)
    return NamedModel(name, etree.tostring(root, encoding="unicode"), pose_in_world)


def _convert(urdf: str) -> etree._Element:
    try:
        return convert_urdf(urdf.strip().encode(), "model_xml")
    except SdfError as error:
        raise RequestRejectedError(f"{NOT_A_MODEL} ({error})") from error


def require_urdf(xml: str) -> None:
    if _parse(xml).tag != "robot":
        raise RequestRejectedError(UNKNOWN_ENTITY_FORMAT)


def with_package_paths(xml: str) -> str:
    def path_of(match: "re.Match[str]") -> str:
        directory = ros_packages().get(match.group(1))
        if directory is None:
            raise RequestRejectedError(
                f"urdf reference package name does not exist: {match.group(1)}"
            )
        return str(directory)

    return re.sub(r"package://([^/\"'<>\s]+)", path_of, xml)


def _parse(xml: str) -> etree._Element:
    try:
        return parse_xml(xml.strip().encode(), remove_comments=True)
    except etree.XMLSyntaxError as error:
        raise RequestRejectedError(f"{NOT_A_MODEL} ({error})") from error


def _include_in_place(root: etree._Element) -> Tuple[etree._Element, etree._Element]:
    """Return the included document and its ``<model>`` for XML of the older form
    ``<world><include>``. Raises ``RequestRejectedError``."""
    include = root.find("world/include")
    if include is None:
        raise RequestRejectedError(NOT_A_MODEL)
    try:
        path = resources.model_file(resources.resolve(include.findtext("uri", ""), Path.cwd()))
        included_root = _parse(read_file(path).decode())
    except (GzTestautoError, OSError, UnicodeDecodeError) as error:
        raise RequestRejectedError(f"{NOT_A_MODEL} (<include>: {error})") from error
    model = included_root.find("model")
    if model is None:
        raise RequestRejectedError(f"{NOT_A_MODEL} ({path} has no <model>)")
    pose = include.find("pose")
    if pose is not None:
        # the pose of the include replaces that of the model
        _pop_pose(model)
        model.append(pose)
    return included_root, model


def _pop_pose(model: etree._Element) -> Pose:
    """Remove the pose of the model, and return it."""
    element = model.find("pose")
    if element is None:
        return Pose()
    model.remove(element)
    try:
        return Pose.from_values(map(float, (element.text or "0 0 0 0 0 0").split()))
    except ValueError as error:
        raise RequestRejectedError(f"{NOT_A_MODEL} (<pose>: {error})") from error


def _add_robot_namespace(model: etree._Element, robot_namespace: str) -> None:
    for plugin in model.iter("plugin"):
        for element in plugin.findall("robotNamespace"):
            plugin.remove(element)
        etree.SubElement(plugin, "robotNamespace").text = robot_namespace
