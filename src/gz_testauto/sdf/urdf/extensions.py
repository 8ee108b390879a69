"""Read the ``<gazebo>`` elements of a URDF, and write their values to SDF as Gazebo 11 does.

An element with a ``reference`` extends a link or a joint, and one without extends the model. Known
children, such as ``<mu1>``, set a value. All other children are SDF and are copied.
"""

import copy
import math
from dataclasses import dataclass, field
from typing import Dict, Iterator, List, Optional, Set, Tuple

from lxml import etree

from gz_testauto.base.errors import SdfError
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.document import Element
from gz_testauto.sdf.urdf.robot_tree import UrdfLink, UrdfReader
from gz_testauto.sdf.values import format_number, leading_numbers

# text between the name of a link in SDF and that of a shape whose link in the URDF was merged
LUMP = "_fixed_joint_lump__"

# the child of ``<surface>`` and its ``<ode>`` value for each extension of collisions
_SURFACE = {
    "mu1": ("friction", "mu"),
    "mu2": ("friction", "mu2"),
    "fdir1": ("friction", "fdir1"),
    "kp": ("contact", "kp"),
    "kd": ("contact", "kd"),
    "maxVel": ("contact", "max_vel"),
    "minDepth": ("contact", "min_depth"),
}

_OF_COLLISION = {"laserRetro": "laser_retro", "maxContacts": "max_contacts"}
_OF_JOINT_LIMIT = {"stopCfm": "cfm", "stopErp": "erp"}
_OF_JOINT_DYNAMICS = {
    "springReference": "spring_reference",
    "springStiffness": "spring_stiffness",
}
_NUMBERS = {
    *(set(_SURFACE) - {"fdir1"}),
    *_OF_COLLISION,
    *_OF_JOINT_LIMIT,
    *_OF_JOINT_DYNAMICS,
    "fudgeFactor",
    "dampingFactor",
}
_FLAGS = ("static", "turnGravityOff", "selfCollide", "provideFeedback", "implicitSpringDamper")
_RENAMED = {"cfmDamping": "implicitSpringDamper"}
# children of copied SDF elements with names of links, which change if the link is merged
_LINK_NAMES = {
    "joint": ("parent", "child"),
    "gripper": ("gripper_link", "palm_link"),
    "plugin": ("bodyName", "frameName"),
}


@dataclass
class Extension:
    """One ``<gazebo>`` element.

    ``values`` contains the known children, by tag. ``copied`` contains the SDF elements for the
    link, joint or model; ``collision`` and ``visual`` those for each of its shapes. ``link`` is the
    original reference, and ``pose`` the pose of that link in the link that it was merged into.
    """

    link: str
    values: Dict[str, str] = field(default_factory=dict)
    copied: List[Element] = field(default_factory=list)
    collision: List[Element] = field(default_factory=list)
    visual: List[Element] = field(default_factory=list)
    pose: Pose = Pose()

    def is_set(self, tag: str) -> Optional[bool]:
        return None if tag not in self.values else _is_true(self.values[tag])


class Extensions:
    def __init__(self, root: Element, reader: UrdfReader) -> None:
        self._reader = reader
        self._by_name: Dict[str, List[Extension]] = {}
        self.turned_revolute: Set[str] = set()
        self.preserved: Set[str] = set()
        for element in root.findall("gazebo"):
            self._read(element)
        self.turned_revolute -= self.preserved

    def _read(self, element: Element) -> None:
        name = element.get("reference", "")
        extension = Extension(name)
        for child in element.iterchildren(etree.Element):
            tag = _RENAMED.get(child.tag, child.tag)
            if tag in ("collision", "visual"):
                elements = extension.collision if tag == "collision" else extension.visual
                elements.extend(
                    copy.deepcopy(shape_child) for shape_child in child.iterchildren(etree.Element)
                )
            elif tag in _NUMBERS:
                extension.values[tag] = self._number(child)
            elif tag in _FLAGS or tag in ("material", "fdir1"):
                extension.values[tag] = _value_or_text(child)
            elif tag == "disableFixedJointLumping":
                self.turned_revolute |= {name} if _is_true(_value_or_text(child)) else set()
            elif tag == "preserveFixedJoint":
                self.preserved |= {name} if _is_true(_value_or_text(child)) else set()
            elif tag != "canonicalBody":
                extension.copied.append(copy.deepcopy(child))
        self._by_name.setdefault(name, []).append(extension)

    def _number(self, element: Element) -> str:
        values, _ = leading_numbers(_value_or_text(element))
        if not values or not math.isfinite(values[0]):
            raise SdfError(
                f"{self._reader.where(element)}: <{element.tag}> is {_value_or_text(element)!r}; "
                "it must be a number"
            )
        return format_number(int(values[0]) if element.tag == "maxContacts" else values[0])

    def of(self, name: str) -> List[Extension]:
        """Return the extensions of a link or joint, or those of the model for an empty name."""
        return self._by_name.get(name, [])

    def merge(self, link: UrdfLink) -> None:
        """Move the extensions of a link to its parent, into which it is merged by a fixed joint."""
        # As in Gazebo 11, the pose of a sensor becomes the pose of its link: the <pose> of the
        # sensor itself is lost.
        assert link.joint is not None
        for extension in self.of(link.name):
            extension.pose = link.joint.origin * extension.pose
            for element in extension.copied:
                if element.tag in ("sensor", "projector"):
                    _replace(element, "pose", extension.pose.to_text())
        parent = link.joint.parent.name
        self._by_name.setdefault(parent, []).extend(self._by_name.pop(link.name, []))
        for extensions in self._by_name.values():
            for extension in extensions:
                for element in extension.copied:
                    _rename_link(element, link, parent, extension.pose)

    def extend_link(self, element: Element, name: str) -> None:
        for extension in self.of(name):
            _replace(element, "gravity", "false" if extension.is_set("turnGravityOff") else "true")
            damping = extension.values.get("dampingFactor")
            if element.find("velocity_decay") is None:
                decay = etree.SubElement(element, "velocity_decay")
                for tag in ("linear", "angular") if damping is not None else ():
                    etree.SubElement(decay, tag).text = damping
            if "selfCollide" in extension.values:
                _replace(element, "self_collide", "1" if extension.is_set("selfCollide") else "0")
            element.extend(map(copy.deepcopy, extension.copied))

    def extend_model(self, element: Element) -> None:
        for extension in self.of(""):
            _replace(element, "static", "true" if extension.is_set("static") else "false")
            element.extend(map(copy.deepcopy, extension.copied))

    def extend_collision(self, element: Element, link: str) -> None:
        for extension in self._of_shape(element, link, "_collision"):
            for child in map(copy.deepcopy, extension.collision):
                if child.tag == "surface":
                    _remove(element, "surface")
                element.append(child)
            surface = _ensure(element, "surface")
            modes = {tag: _ensure(_ensure(surface, tag), "ode") for tag in ("contact", "friction")}
            for tag, (mode, sdf_tag) in _SURFACE.items():
                if extension.values.get(tag):
                    _replace(modes[mode], sdf_tag, extension.values[tag])
            for tag, sdf_tag in _OF_COLLISION.items():
                if tag in extension.values:
                    _replace(element, sdf_tag, extension.values[tag])

    def extend_visual(self, element: Element, link: str) -> None:
        for extension in self._of_shape(element, link, "_visual"):
            for child in map(copy.deepcopy, extension.visual):
                if child.tag == "material":
                    _remove(element, "material")
                element.append(child)
            if extension.values.get("material"):
                script = _ensure(_ensure(element, "material"), "script")
                _replace(script, "name", extension.values["material"])
                _replace(script, "uri", "file://media/materials/scripts/gazebo.material")

    def _of_shape(self, element: Element, link: str, kind: str) -> Iterator[Extension]:
        """Yield the extensions of the original link of a shape, which Gazebo recognizes by the name
        of the shape."""
        name = element.get("name", "")
        for extension in self.of(link):
            is_own = extension.link == link
            if (LUMP not in name) if is_own else (LUMP + extension.link + kind in name):
                yield extension

    def extend_joint(self, element: Element, name: str) -> None:
        for extension in self.of(name):
            physics = _ensure(element, "physics")
            ode = _ensure(physics, "ode")
            limit = _ensure(ode, "limit")
            dynamics = None
            if element.get("type") != "fixed":
                dynamics = _ensure(_ensure(element, "axis"), "dynamics")
            for parent, tags in ((limit, _OF_JOINT_LIMIT), (dynamics, _OF_JOINT_DYNAMICS)):
                for tag, sdf_tag in tags.items():
                    if tag in extension.values and parent is not None:
                        _replace(parent, sdf_tag, extension.values[tag])
            for flag, targets in (
                ("provideFeedback", ((physics, "provide_feedback"), (ode, "provide_feedback"))),
                ("implicitSpringDamper", ((ode, "implicit_spring_damper"), (ode, "cfm_damping"))),
            ):
                for parent, sdf_tag in targets if flag in extension.values else ():
                    _replace(parent, sdf_tag, "true" if extension.is_set(flag) else "false")
            if "fudgeFactor" in extension.values:
                _replace(ode, "fudge_factor", extension.values["fudgeFactor"])
            element.extend(map(copy.deepcopy, extension.copied))


def _rename_link(element: Element, link: UrdfLink, parent: str, pose: Pose) -> None:
    """Replace the name of a merged link in a copied element by that of its parent."""
    if element.tag == "sensor":
        collision = element.find("contact/collision")
        if collision is not None and _value_or_text(collision) == f"{link.name}_collision":
            _replace(element.find("contact"), "collision", f"{parent}_collision_{link.name}")
    for tag in _LINK_NAMES.get(element.tag, ()):
        name_element = element.find(tag)
        if name_element is not None and _value_or_text(name_element) == link.name:
            _replace(element, tag, parent)
            if element.tag == "plugin":
                _move_offsets(element, link, pose)


def _move_offsets(plugin: Element, link: UrdfLink, pose: Pose) -> None:
    """Change the ``<xyzOffset>`` and ``<rpyOffset>`` of a plug-in with a merged link, as Gazebo 11
    does. ``pose`` replaces missing offsets."""
    assert link.joint is not None
    position, angles = pose.position, pose.rpy
    xyz, rpy = plugin.find("xyzOffset"), plugin.find("rpyOffset")
    if xyz is not None:
        position = _read_vector(_value_or_text(xyz))
    if rpy is not None:
        roll, pitch, yaw = (math.radians(angle) for angle in _read_vector(_value_or_text(rpy)))
        angles = (roll, pitch, yaw)
    origin = link.joint.origin
    turned_pose = Pose((0.0, 0.0, 0.0), origin.inverse().quaternion) * Pose.from_rpy(
        *position, *angles
    )
    x, y, z = (a - b for a, b in zip(turned_pose.position, origin.position))
    _replace(plugin, "xyzOffset", " ".join(map(format_number, (x, y, z))))
    _replace(plugin, "rpyOffset", " ".join(map(format_number, turned_pose.rpy)))


def _read_vector(text: str) -> Tuple[float, float, float]:
    values, _ = leading_numbers(text)
    x, y, z = values if len(values) == 3 else (0.0, 0.0, 0.0)
    return (x, y, z)


def _value_or_text(element: Element) -> str:
    return str(element.get("value") or element.text or "").strip()


def _is_true(text: str) -> bool:
    return text.lower() in ("true", "yes", "1")


def _ensure(parent: Element, tag: str) -> Element:
    child = parent.find(tag)
    return etree.SubElement(parent, tag) if child is None else child


def _remove(parent: Element, tag: str) -> None:
    child = parent.find(tag)
    if child is not None:
        parent.remove(child)


def _replace(parent: Element, tag: str, text: str) -> None:
    _remove(parent, tag)
    etree.SubElement(parent, tag).text = text
