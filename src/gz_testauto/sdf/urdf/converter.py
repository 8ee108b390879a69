"""Convert URDF to SDF 1.7 as Gazebo 11 does.

Links that fixed joints connect are merged (their masses, shapes and sensors move to the parent
link), except for joints with ``preserveFixedJoint`` or ``disableFixedJointLumping``. A link without
mass is not simulated, with all links that it carries. The rules are those of sdformat 9
(``parser_urdf.cc``), and ``test/sdf/urdf`` compares both conversions.
"""

import logging
from typing import Iterable, List, Optional

import numpy as np
from lxml import etree

from gz_testauto.base.arithmetic import turned_tensor
from gz_testauto.base.errors import SdfError
from gz_testauto.base.pose import Pose
from gz_testauto.base.xml_file import parse_xml
from gz_testauto.sdf.document import Element
from gz_testauto.sdf.urdf.extensions import LUMP, Extensions
from gz_testauto.sdf.urdf.robot_tree import (
    MOMENTS,
    WORLD,
    UrdfInertial,
    UrdfJoint,
    UrdfLink,
    UrdfReader,
    UrdfShape,
)
from gz_testauto.sdf.urdf.xacro import require_no_macros
from gz_testauto.sdf.values import format_number

LOGGER = logging.getLogger(__name__)

_NO_MASS_KG = 1e-6  # Gazebo regards smaller masses as zero

# Type in SDF of each type of joint in URDF. Gazebo creates no joint for the other types.
_JOINT_TYPES = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "fixed": "fixed",
}


def convert_urdf(content: bytes, source: str) -> Element:
    """Return the ``<sdf>`` element of a URDF robot, with the line numbers of the URDF.

    Raises ``SdfError`` if Gazebo would reject the URDF.
    """
    try:
        root = parse_xml(content, remove_comments=True)
    except etree.XMLSyntaxError as error:
        raise SdfError(f"{source}:{error.position[0]}: {error.msg}; correct the file") from error
    if root.tag != "robot":
        raise SdfError(f"{source}: the root element is <{root.tag}>; in URDF it must be <robot>")
    require_no_macros(root, source)
    return _Conversion(root, source).result()


class _Conversion:
    def __init__(self, root: Element, source: str) -> None:
        self._reader = UrdfReader(root, source)
        self._source = source
        self._root_link = self._reader.read()
        self._extensions = Extensions(root, self._reader)
        self._model = etree.Element("model", name=root.get("name") or "robot")
        self._lost_links: List[str] = []

    def result(self) -> Element:
        self._merge_fixed(self._root_link)
        root = self._root_link
        for link in root.children if root.name == WORLD else [root]:
            self._add_subtree(link)
        if self._model.find("link") is None:
            raise SdfError(
                f"{self._source}: link {self._root_link.name!r} has no mass, and Gazebo simulates "
                "no link without mass; add an <inertial>"
            )
        if self._lost_links:
            LOGGER.warning(
                "%s: Gazebo does not simulate links without mass and the links that they carry: "
                "%s; add an <inertial> to simulate them",
                self._source,
                ", ".join(self._lost_links),
            )
        self._extensions.extend_model(self._model)
        pose = self._reader.origin_of_robot()
        if pose is not None:
            for old_pose in self._model.findall("pose"):
                self._model.remove(old_pose)
            etree.SubElement(self._model, "pose").text = pose.to_text()
        sdf = etree.Element("sdf", version="1.7")
        sdf.append(self._model)
        etree.cleanup_namespaces(sdf)
        return sdf

    def _is_merged(self, joint: UrdfJoint) -> bool:
        extensions = self._extensions
        is_kept = joint.name in extensions.preserved or joint.name in extensions.turned_revolute
        return joint.kind == "fixed" and not is_kept

    def _merge_fixed(self, link: UrdfLink) -> None:
        """Merge ``link`` and all links below it into their parents if fixed joints connect them,
        the last links first."""
        for child in link.children:
            if child.joint is not None and self._is_merged(child.joint):
                self._merge_fixed(child)
        joint = link.joint
        if joint is not None and joint.parent.name != WORLD and self._is_merged(joint):
            self._extensions.merge(link)
            _merge_inertial(link, joint)
            for shapes, parent_shapes in (
                (link.visuals, joint.parent.visuals),
                (link.collisions, joint.parent.collisions),
            ):
                for shape in shapes:
                    shape.name = shape.name or link.name
                    shape.pose = joint.origin * shape.pose
                    parent_shapes.append(shape)
            self._move_joints(link)
        for child in link.children:
            if child.joint is not None and not self._is_merged(child.joint):
                self._merge_fixed(child)

    def _move_joints(self, link: UrdfLink) -> None:
        """Connect the joints of a link to the link into which it is merged."""
        for child in link.children:
            joint = child.joint
            if joint is None or self._is_merged(joint):
                continue
            parent = link
            upper_joint = parent.joint
            while (
                upper_joint is not None
                and upper_joint.parent.name != WORLD
                and self._is_merged(upper_joint)
            ):
                joint.origin = upper_joint.origin * joint.origin
                parent = upper_joint.parent
                upper_joint = parent.joint
            joint.parent = parent

    def _add_subtree(self, link: UrdfLink) -> None:
        inertial, joint = link.inertial, link.joint
        if link.name != WORLD and (inertial is None or abs(inertial.mass_kg) <= _NO_MASS_KG):
            if joint is None or not self._is_merged(joint) or link.children:
                self._lost_links += self._lost_names(link)
            return
        if joint is None or joint.parent.name == WORLD or not self._is_merged(joint):
            self._add_link(link)
        for child in link.children:
            self._add_subtree(child)

    def _lost_names(self, link: UrdfLink) -> List[str]:
        is_merged = link.joint is not None and self._is_merged(link.joint)
        names = [] if is_merged else [repr(link.name)]
        for child in link.children:
            names += self._lost_names(child)
        return names

    def _add_link(self, link: UrdfLink) -> None:
        element = _new_element(None, "link", link.line, name=link.name)
        if link.joint is not None:
            _new_element(element, "pose", link.line, relative_to=link.joint.name)
        assert link.inertial is not None, "checked by _add_subtree()"
        element.append(_inertial_element(link.inertial))
        for tag, shapes in (("collision", link.collisions), ("visual", link.visuals)):
            for index, shape in enumerate(shapes):
                self._add_shape(element, tag, link.name, shape, index)
        self._extensions.extend_link(element, link.name)
        if link.joint is not None:
            self._add_joint(link.joint, link.name)
        self._model.append(element)

    def _add_shape(
        self, parent: Element, tag: str, link: str, shape: UrdfShape, index: int
    ) -> None:
        name = f"{shape.name or link}_{tag}" + (f"_{index}" if index else "")
        if not name.startswith(link):
            name = link + LUMP + name
        element = _new_element(parent, tag, shape.line, name=name)
        _new_element(element, "pose", shape.line).text = shape.pose.to_text()
        geometry = _new_element(
            _new_element(element, "geometry", shape.line), shape.kind, shape.line
        )
        for size, text in shape.sizes:
            _new_element(geometry, size, shape.line).text = text
        if tag == "collision":
            self._extensions.extend_collision(element, link)
        else:
            self._extensions.extend_visual(element, link)

    def _add_joint(self, joint: UrdfJoint, child: str) -> None:
        sdf_type = _JOINT_TYPES.get(joint.kind)
        if sdf_type is None:
            return
        is_locked = sdf_type == "fixed" and joint.name in self._extensions.turned_revolute
        sdf_type = "revolute" if is_locked else sdf_type
        element = _new_element(self._model, "joint", joint.line, name=joint.name, type=sdf_type)
        parent = joint.parent.name
        pose = _new_element(element, "pose", joint.line)
        pose.set("relative_to", "__model__" if parent == WORLD else parent)
        pose.text = joint.origin.to_text()
        _new_element(element, "parent", joint.line).text = parent
        _new_element(element, "child", joint.line).text = child
        if sdf_type != "fixed":
            axis = _new_element(element, "axis", joint.line)
            if not is_locked:
                _add_numbers(axis, "xyz", joint.axis)
            limit, dynamics = (_new_element(axis, tag, joint.line) for tag in ("limit", "dynamics"))
            limits = (0.0, 0.0) if is_locked else joint.limits
            if limits is not None and joint.kind != "continuous":
                for tag, value in zip(("lower", "upper", "effort", "velocity"), limits):
                    _add_numbers(limit, tag, (value,))
            for tag, value in zip(
                ("damping", "friction"), (0.0, 0.0) if is_locked else joint.dynamics or ()
            ):
                _add_numbers(dynamics, tag, (value,))
        self._extensions.extend_joint(element, joint.name)


def _merge_inertial(link: UrdfLink, joint: UrdfJoint) -> None:
    """Add the mass of a link to its parent. The moments of inertia keep the axes of the parent."""
    if link.inertial is None:
        return
    parent_inertial = joint.parent.inertial = joint.parent.inertial or UrdfInertial()
    parts = [
        (body.mass_kg, np.asarray(pose.position), turned_tensor(pose.rotation, body.moments))
        for body, pose in (
            (parent_inertial, parent_inertial.pose),
            (link.inertial, joint.origin * link.inertial.pose),
        )
    ]
    total_mass = sum(mass for mass, _, _ in parts)
    if total_mass == 0.0:
        return
    center = sum(mass * position for mass, position, _ in parts) / total_mass
    about_center = np.zeros((3, 3))
    for mass, position, moments in parts:
        arm = position - center  # the parallel axis theorem
        about_center += moments + mass * (np.square(arm).sum() * np.eye(3) - np.outer(arm, arm))
    moments = turned_tensor(parent_inertial.pose.rotation.T, about_center)
    x, y, z = map(float, center)
    joint.parent.inertial = UrdfInertial(
        Pose((x, y, z), parent_inertial.pose.quaternion), total_mass, moments
    )


def _inertial_element(inertial: UrdfInertial) -> Element:
    element = etree.Element("inertial")
    etree.SubElement(element, "pose").text = inertial.pose.to_text()
    _add_numbers(element, "mass", (inertial.mass_kg,))
    moments = etree.SubElement(element, "inertia")
    for tag, moment in zip(MOMENTS, inertial.moments[np.triu_indices(3)]):
        _add_numbers(moments, tag, (moment,))
    return element


def _new_element(
    parent: Optional[Element], tag: str, line: Optional[int], **attributes: str
) -> Element:
    element = etree.Element(tag, attributes)
    if line is not None:
        element.sourceline = line
    if parent is not None:
        parent.append(element)
    return element


def _add_numbers(parent: Element, tag: str, values: Iterable[float]) -> None:
    etree.SubElement(parent, tag).text = " ".join(map(format_number, values))
