"""Read the links and joints of a URDF as a tree, with the checks of Gazebo's URDF parser.

Elements without an effect in Gazebo are ignored. :mod:`gz_testauto.sdf.urdf.extensions` reads
``<gazebo>`` elements.
"""

import math
from dataclasses import dataclass, field
from typing import Dict, List, Optional, Tuple

import numpy as np
from lxml import etree

from gz_testauto.base.errors import SdfError
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.document import Element
from gz_testauto.sdf.values import format_number

WORLD = "world"  # name of a root link that represents the world; Gazebo creates no link for it

_KINDS = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
_SIZES = {"box": ("size",), "cylinder": ("length", "radius"), "sphere": ("radius",)}
MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


@dataclass
class UrdfShape:
    """A ``<visual>`` or ``<collision>``. ``sizes`` are tags and texts in its SDF ``<geometry>``."""

    name: str
    pose: Pose
    kind: str
    sizes: Tuple[Tuple[str, str], ...]
    line: Optional[int]


@dataclass
class UrdfInertial:
    """The mass of a link, and its moments of inertia (kg m², shape (3, 3)) about the center of
    mass, in the frame ``pose``."""

    pose: Pose = Pose()
    mass_kg: float = 0.0
    moments: np.ndarray = field(default_factory=lambda: np.zeros((3, 3)))


@dataclass
class UrdfLink:
    """A link. ``children`` are sorted by the name of their joints, as in Gazebo."""

    name: str
    line: Optional[int]
    inertial: Optional[UrdfInertial]
    visuals: List[UrdfShape]
    collisions: List[UrdfShape]
    joint: Optional["UrdfJoint"] = None
    children: List["UrdfLink"] = field(default_factory=list)


@dataclass
class UrdfJoint:
    """A joint. ``origin`` is its pose in the frame of ``parent``. ``limits`` contains lower, upper,
    effort and velocity; ``dynamics`` contains damping and friction."""

    name: str
    line: Optional[int]
    kind: str
    parent: UrdfLink
    origin: Pose
    axis: Tuple[float, ...]
    limits: Optional[Tuple[float, ...]]
    dynamics: Optional[Tuple[float, ...]]


class UrdfReader:
    def __init__(self, root: Element, source: str) -> None:
        self._root, self._source = root, source

    def where(self, element: Element) -> str:
        return f"{self._source}:{element.sourceline}" if element.sourceline else self._source

    def read(self) -> UrdfLink:
        """Return the root link. Raises ``SdfError`` for a URDF that Gazebo rejects."""
        links: Dict[str, UrdfLink] = {}
        for element in self._root.findall("link"):
            name = self._attribute(element, "name")
            if name in links:
                raise SdfError(f"{self.where(element)}: link {name!r} appears twice; rename one")
            links[name] = self._link(element, name)
        if not links:
            raise SdfError(f"{self.where(self._root)}: <robot> has no <link>")
        joints = set()
        for element in self._root.findall("joint"):
            name = self._attribute(element, "name")
            if name in joints:
                raise SdfError(f"{self.where(element)}: joint {name!r} appears twice; rename one")
            joints.add(name)
            self._add_joint(element, name, links)
        return self._require_one_root(links)

    def _require_one_root(self, links: Dict[str, UrdfLink]) -> UrdfLink:
        for link in links.values():
            link.children.sort(key=lambda child: child.joint.name if child.joint else "")
        roots = [link for link in links.values() if link.joint is None]
        if len(roots) != 1:
            names = ", ".join(repr(link.name) for link in roots)
            problem = f"the links {names} have no parent" if roots else "the joints form a circle"
            raise SdfError(
                f"{self.where(self._root)}: {problem}; connect all links by joints to one root link"
            )
        reached_count, pending_links = 0, [roots[0]]
        while pending_links:
            link = pending_links.pop()
            reached_count += 1
            pending_links.extend(link.children)
        if reached_count != len(links):
            raise SdfError(
                f"{self.where(self._root)}: some joints form a circle, which is not connected to "
                f"the root link {roots[0].name!r}; connect all links to the root link"
            )
        return roots[0]

    def _add_joint(self, element: Element, name: str, links: Dict[str, UrdfLink]) -> None:
        ends = []
        for tag in ("parent", "child"):
            end = self._required(element, tag)
            link = self._attribute(end, "link")
            if link not in links:
                raise SdfError(
                    f"{self.where(end)}: joint {name!r} has the {tag} {link!r}, which is not a "
                    f"link. Known: {', '.join(sorted(links))}"
                )
            ends.append(links[link])
        parent, child = ends
        if child.joint is not None:
            raise SdfError(
                f"{self.where(element)}: link {child.name!r} is the child of two joints, "
                f"{child.joint.name!r} and {name!r}; remove one"
            )
        kind = self._attribute(element, "type")
        if kind not in _KINDS:
            raise SdfError(
                f"{self.where(element)}: joint {name!r} has the type {kind!r}, which must be one "
                f"of {', '.join(_KINDS)}"
            )
        axis = element.find("axis")
        direction: Tuple[float, ...] = (1.0, 0.0, 0.0)
        if axis is not None and kind not in ("fixed", "floating"):
            direction = self._vector(axis, "xyz", direction)
        child.joint = UrdfJoint(
            name=name,
            line=element.sourceline,
            kind=kind,
            parent=parent,
            origin=self._origin(element),
            axis=direction,
            limits=self._limits(element, name, kind),
            dynamics=self._dynamics(element),
        )
        parent.children.append(child)

    def _limits(self, element: Element, name: str, kind: str) -> Optional[Tuple[float, ...]]:
        limit = element.find("limit")
        if limit is None:
            if kind in ("revolute", "prismatic"):
                raise SdfError(
                    f"{self.where(element)}: joint {name!r} of type {kind!r} has no <limit>; add "
                    "one, or use the type 'continuous'"
                )
            return None
        lower, upper = (self._number(limit, end, "0") for end in ("lower", "upper"))
        effort, velocity = (
            self._number(limit, limit_name) for limit_name in ("effort", "velocity")
        )
        return (*sorted((lower, upper)), effort, velocity)

    def _dynamics(self, element: Element) -> Optional[Tuple[float, ...]]:
        dynamics = element.find("dynamics")
        if dynamics is None:
            return None
        if not {"damping", "friction"} & set(dynamics.attrib):
            raise SdfError(
                f"{self.where(dynamics)}: <dynamics> has neither damping nor friction; add one, or "
                "remove <dynamics>"
            )
        return tuple(self._number(dynamics, name, "0") for name in ("damping", "friction"))

    def _link(self, element: Element, name: str) -> UrdfLink:
        return UrdfLink(
            name=name,
            line=element.sourceline,
            inertial=self._inertial(element),
            visuals=[self._shape(shape) for shape in element.findall("visual")],
            collisions=[self._shape(shape) for shape in element.findall("collision")],
        )

    def _inertial(self, link: Element) -> Optional[UrdfInertial]:
        element = link.find("inertial")
        if element is None:
            return None
        mass = self._number(self._required(element, "mass"), "value")
        inertia = self._required(element, "inertia")
        xx, xy, xz, yy, yz, zz = (self._number(inertia, name) for name in MOMENTS)
        moments = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        return UrdfInertial(self._origin(element), mass, moments)

    def _shape(self, element: Element) -> UrdfShape:
        geometry = self._required(element, "geometry")
        child = next(iter(geometry.iterchildren(etree.Element)), None)
        if child is None or child.tag not in (*_SIZES, "mesh"):
            raise SdfError(
                f"{self.where(geometry)}: <geometry> must contain a <box>, <cylinder>, <sphere> or "
                "<mesh>"
            )
        sizes: Tuple[Tuple[str, str], ...]
        if child.tag == "mesh":
            scale = self._vector(child, "scale", (1.0, 1.0, 1.0))
            sizes = (("scale", _numbers_text(scale)), ("uri", self._attribute(child, "filename")))
        elif child.tag == "box":
            self._attribute(child, "size")
            sizes = (("size", _numbers_text(self._vector(child, "size", ()))),)
        else:
            sizes = tuple(
                (tag, _numbers_text((self._number(child, tag),))) for tag in _SIZES[child.tag]
            )
        return UrdfShape(
            (element.get("name") or ""),
            self._origin(element),
            child.tag,
            sizes,
            element.sourceline,
        )

    def origin_of_robot(self) -> Optional[Pose]:
        return None if self._root.find("origin") is None else self._origin(self._root)

    def _origin(self, element: Element) -> Pose:
        origin = element.find("origin")
        if origin is None:
            return Pose()
        x, y, z = self._vector(origin, "xyz", (0.0, 0.0, 0.0))
        return Pose.from_rpy(x, y, z, *self._vector(origin, "rpy", (0.0, 0.0, 0.0)))

    def _vector(self, element: Element, name: str, default: Tuple[float, ...]) -> Tuple[float, ...]:
        text = element.get(name)
        if text is None:
            return default
        values = tuple(self._finite_number(element, name, part) for part in text.split())
        if len(values) != 3:
            raise SdfError(
                f"{self.where(element)}: {name}={text!r} of <{element.tag}> must have 3 numbers"
            )
        return values

    def _number(self, element: Element, name: str, default: Optional[str] = None) -> float:
        text = element.get(name, default)
        return self._finite_number(
            element, name, self._attribute(element, name) if text is None else text
        )

    def _finite_number(self, element: Element, name: str, text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise SdfError(
                f"{self.where(element)}: {name}={text!r} of <{element.tag}> must be a finite number"
            )
        return value

    def _attribute(self, element: Element, name: str) -> str:
        text: str = element.get(name) or ""
        if not text.strip():
            raise SdfError(f"{self.where(element)}: <{element.tag}> has no {name}; add it")
        return text

    def _required(self, element: Element, tag: str) -> Element:
        child = element.find(tag)
        if child is None:
            raise SdfError(f"{self.where(element)}: <{element.tag}> has no <{tag}>; add it")
        return child


def _numbers_text(values: Tuple[float, ...]) -> str:
    return " ".join(map(format_number, values))
