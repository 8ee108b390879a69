"""Read masses, friction and joints of a model, and the gravity of a world.

Missing values have the defaults of SDF. Poses and axes are in the frame of a link.
"""

from dataclasses import dataclass
from typing import Iterator, List, Optional, Set, Tuple

import numpy as np

from gz_testauto.base.arithmetic import matrix_product, turned_tensor
from gz_testauto.base.errors import SdfError
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.document import Element, SdfDocument
from gz_testauto.sdf.tree import ModelNode
from gz_testauto.sdf.values import (
    ensure_child,
    flag,
    name_of,
    number,
    numbers,
    pose_value,
    required,
    set_numbers,
    text_of,
    vector,
)

Vector = Tuple[float, float, float]

GRAVITY_MPS2: Vector = (0.0, 0.0, -9.8)

# a physics engine becomes unstable if masses differ too much
MIN_CHANGED_MASS_KG, MAX_MASS_KG = 1e-6, 1e9

# smallest absolute value of a joint limit that counts as unlimited
UNLIMITED = 1e15  # the default limits in SDF are ±1e16

_AXES = {
    "revolute": ("axis",),
    "continuous": ("axis",),
    "prismatic": ("axis",),
    "fixed": (),
    "ball": (),
    "universal": ("axis", "axis2"),
    "revolute2": ("axis", "axis2"),
}


_MOMENTS = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
_ONLY_IN_GAZEBO = ("gearbox", "screw")


@dataclass(frozen=True)
class Inertial:
    """The mass properties of a link, along the axes of its frame. The inertia tensor is about the
    center of mass, in the order xx, yy, zz, xy, xz, yz."""

    mass_kg: float
    center_m: Vector
    tensor_kgm2: Tuple[float, ...]

    @property
    def matrix(self) -> np.ndarray:
        xx, yy, zz, xy, xz, yz = self.tensor_kgm2
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])

    def scaled_to(self, mass_kg: float) -> "Inertial":
        factor = mass_kg / self.mass_kg
        return Inertial(mass_kg, self.center_m, tuple(m * factor for m in self.tensor_kgm2))

    @property
    def is_possible(self) -> bool:
        """True if no principal moment exceeds the sum of the other two."""
        smallest, middle, largest = np.linalg.eigvalsh(self.matrix)
        return bool(smallest > 0 and largest <= (smallest + middle) * (1 + 1e-9))


@dataclass(frozen=True)
class ContactParameters:
    """The Coulomb friction coefficients of a collision along the two friction directions, and a bit
    mask. Two collisions can be in contact only if their masks have a common bit.

    Without ``has_forces``, contacts are reported, but exert no force. Two collisions without
    ``has_forces`` have no contact."""

    mu: float = 1.0
    mu2: float = 1.0
    collide_bitmask: int = 0xFFFF
    has_forces: bool = True


@dataclass(frozen=True)
class JointAxis:
    """An axis of a joint.

    ``direction`` is in the frame of the child link. ``limits`` are in m or rad, or None if the
    joint is unlimited. The joint's spring exerts no force at the joint position ``reference``.
    """

    direction: Vector
    limits: Optional[Tuple[float, float]]
    damping: float
    friction: float
    stiffness: float
    reference: float


@dataclass(frozen=True)
class Joint:
    """A joint of a model or of a nested model.

    The names of the joint and of its links are scoped within the model. ``parent`` is None for the
    world. ``anchor_m`` is the position (m) of the joint in the frame of the child link.
    """

    name: str
    kind: str
    parent: Optional[str]
    child: str
    anchor_m: Vector
    axes: Tuple[JointAxis, ...]


def chosen_physics(world: Element) -> Optional[Element]:
    """Return the active ``<physics>`` of a world: the default, otherwise the first, or None."""
    presets = world.findall("physics")
    default_preset = next((p for p in presets if p.get("default") in ("1", "true")), None)
    return presets[0] if default_preset is None and presets else default_preset


def read_physics(document: SdfDocument, world: Element, tag: str) -> Optional[float]:
    """Return a number of the active ``<physics>``, such as ``max_step_size`` (s), or None."""
    physics = chosen_physics(world)
    if physics is None or not (physics.findtext(tag) or "").strip():
        return None
    return number(document, physics, tag)


def read_gravity(document: SdfDocument, world: Element) -> Vector:
    # It is a child of <world> from SDF 1.6 on, and a child of <physics> in older versions.
    for parent in (world, chosen_physics(world)):
        element = None if parent is None else parent.find("gravity")
        if element is not None and (element.text or "").strip():
            x, y, z = numbers(document, element, 3)
            return (x, y, z)
    return GRAVITY_MPS2


def read_mass_kg(document: SdfDocument, link: Element) -> float:
    """Return the mass of a link, by default 1 kg. Raises ``SdfError`` for a negative mass, or a
    negative or unreadable moment of inertia."""
    element = _find_inertial(document, link)
    mass_kg = 1.0 if element is None else number(document, element, "mass", 1.0)
    if mass_kg < 0:
        raise SdfError(
            f"{document.where(element)}: link {link.get('name')!r} has a mass of {mass_kg:g} kg; "
            "it must not be negative"
        )
    return mass_kg


def _find_inertial(document: SdfDocument, link: Element) -> Optional[Element]:
    elements = link.findall("inertial")
    if len(elements) > 1:
        raise SdfError(
            f"{document.where(elements[1])}: link {link.get('name')!r} has {len(elements)} "
            "<inertial> elements; keep one of them"
        )
    for moments in (element.find("inertia") for element in elements):
        for tag in _MOMENTS if moments is not None else ():
            moment = number(document, moments, tag, 0.0)
            if moment < 0 and tag in _MOMENTS[:3]:
                raise SdfError(
                    f"{document.where(moments)}: link {link.get('name')!r} has an {tag} of "
                    f"{moment:g} kg m²; it must not be negative"
                )
    return elements[0] if elements else None


def read_inertial(document: SdfDocument, link: Element) -> Inertial:
    """Return the mass properties of a link. The defaults are 1 kg, and 1 kg m² about each axis.
    Raises ``SdfError`` for a mass that is not above 0, or is above :data:`MAX_MASS_KG`."""
    element = _find_inertial(document, link)
    if element is None:
        return Inertial(1.0, (0.0, 0.0, 0.0), (1.0, 1.0, 1.0, 0.0, 0.0, 0.0))
    mass = number(document, element, "mass", 1.0)
    if not 0 < mass <= MAX_MASS_KG:
        raise SdfError(
            f"{document.where(element)}: link {link.get('name')!r} has a mass of {mass} kg; it "
            f"must be above 0 and at most {MAX_MASS_KG:g}"
        )
    pose = pose_value(document, element.find("pose"))
    moments = element.find("inertia")
    tensor = np.eye(3)
    if moments is not None:
        for (row, column), tag in zip(((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)), _MOMENTS):
            value = number(document, moments, tag, 1.0 if row == column else 0.0)
            tensor[row, column] = tensor[column, row] = value
    rotated_tensor = turned_tensor(pose.rotation, tensor)
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = rotated_tensor.tolist()
    return Inertial(mass, pose.position, (xx, yy, zz, xy, xz, yz))


def write_inertial(link: Element, inertial: Inertial) -> None:
    """Set the mass properties of a link. The ``<pose>`` in its ``<inertial>`` is set to the center
    of mass, without rotation."""
    element = ensure_child(link, "inertial")
    set_numbers(ensure_child(element, "mass"), inertial.mass_kg)
    for pose_element in element.findall("pose"):
        element.remove(pose_element)
    ensure_child(element, "pose").text = Pose(inertial.center_m).to_text()
    moments = ensure_child(element, "inertia")
    for tag, value in zip(_MOMENTS, inertial.tensor_kgm2):
        set_numbers(ensure_child(moments, tag), value)


def read_surface(document: SdfDocument, collision: Element) -> ContactParameters:
    ode = collision.find("surface/friction/ode")
    mu = mu2 = 1.0
    if ode is not None:
        mu, mu2 = _read_coefficient(document, ode, "mu"), _read_coefficient(document, ode, "mu2")
    text = (collision.findtext("surface/contact/collide_bitmask") or "").strip()
    try:
        bitmask = int(text, 0) if text else 0xFFFF
    except ValueError as error:
        raise SdfError(
            f"{document.where(collision)}: <collide_bitmask> is {text!r}; it must be a whole number"
        ) from error
    only_reported = collision.findtext("surface/contact/collide_without_contact") or ""
    has_forces = only_reported.strip().lower() not in ("1", "true")
    return ContactParameters(max(0.0, mu), max(0.0, mu2), bitmask, has_forces)


def write_friction(collision: Element, mu: float, mu2: float) -> None:
    element = collision
    for tag in ("surface", "friction", "ode"):
        element = ensure_child(element, tag)
    set_numbers(ensure_child(element, "mu"), mu)
    set_numbers(ensure_child(element, "mu2"), mu2)


def _read_coefficient(document: SdfDocument, ode: Element, tag: str) -> float:
    if (text_of(ode, tag) or "").lower().lstrip("+") in ("inf", "infinity"):
        return UNLIMITED
    coefficient = number(document, ode, tag, 1.0)
    return coefficient if coefficient >= 0.0 else UNLIMITED  # as in Gazebo


def read_joints(robot: ModelNode) -> List[Joint]:
    """Return all joints in file order. Raises ``SdfError`` for an unsupported type or an unknown
    link."""
    return [_read_joint(*joint) for joint in _joint_elements(robot)]


def check_joints(robot: ModelNode) -> None:
    """Raise ``SdfError`` if a joint of a model has an unknown link, or an axis whose direction is
    not three numbers. Joints of all types are checked, also those of nested models."""
    for model, element, scope, links in _joint_elements(robot):
        _joint_links(model, element, scope, links)
        for axis in (*element.findall("axis"), *element.findall("axis2")):
            vector(model.document, axis, "xyz", (0.0, 0.0, 1.0))


def _joint_elements(robot: ModelNode) -> Iterator[Tuple[ModelNode, Element, str, Set[str]]]:
    """Yield the model, element and scope of each joint, and the links of the whole robot."""
    links = {name for name, *_ in robot.walk_links()}
    for scope, model, _ in robot.walk():
        for element in model.element.findall("joint"):
            yield model, element, scope, links


def _joint_links(
    model: ModelNode, element: Element, scope: str, links: Set[str]
) -> Tuple[str, str]:
    document, name = model.document, name_of(model.document, element)
    ends = {tag: text_of(element, tag) or "" for tag in ("parent", "child")}
    for role, link in ends.items():
        if scope + link not in links and (role, link) != ("parent", "world"):
            raise SdfError(
                f"{document.where(element)}: joint {name!r} has the {role} {link!r}, which is not "
                "a link; write one of its links, or remove the joint. "
                f"Known: {', '.join(sorted(links))}"
            )
    return ends["parent"], ends["child"]


def _read_joint(model: ModelNode, element: Element, scope: str, links: Set[str]) -> Joint:
    document, name = model.document, name_of(model.document, element)
    kind = (element.get("type") or "").strip()
    if kind not in _AXES:
        remedy = "; the simulator gazebo supports it" if kind in _ONLY_IN_GAZEBO else ""
        raise SdfError(
            f"{document.where(element)}: joint {name!r} is of the type {kind!r}, which is not "
            f"supported{remedy}. Supported: {', '.join(sorted(_AXES))}"
        )
    parent_link, child_link = _joint_links(model, element, scope, links)
    child_pose = model.frames.pose(child_link, document.where(element))
    joint_pose = model.frames.of(element.find("pose"), child_link)
    child_from_model = child_pose.inverse()
    axes = tuple(
        _read_axis(model, required(document, element, tag), kind, joint_pose, child_from_model)
        for tag in _AXES[kind]
    )
    kind = "revolute" if kind == "continuous" else kind
    if len(axes) == 1 and axes[0].limits == (0.0, 0.0):
        kind, axes = "fixed", ()  # many models specify fixed joints in this form
    return Joint(
        name=scope + name,
        kind=kind,
        parent=None if parent_link == "world" else scope + parent_link,
        child=scope + child_link,
        anchor_m=(child_from_model * joint_pose).position,
        axes=axes,
    )


def _read_axis(
    model: ModelNode, axis: Element, kind: str, joint_pose: Pose, child_from_model: Pose
) -> JointAxis:
    """Read an axis of a joint, with its direction in the frame of the child link."""
    document = model.document
    direction = np.array(vector(document, axis, "xyz", (0.0, 0.0, 1.0)))
    length = float(np.sqrt(np.square(direction).sum()))
    limit, dynamics = axis.find("limit"), axis.find("dynamics")
    limits = None
    if limit is not None and kind != "continuous":
        low = number(document, limit, "lower", -1e16)
        high = number(document, limit, "upper", 1e16)
        limits = None if low <= -UNLIMITED and high >= UNLIMITED else (low, high)
        if not low <= high:
            raise SdfError(
                f"{document.where(limit)}: a joint has the lower limit {low} and the upper limit "
                f"{high}; the lower one must not be greater"
            )
    if length == 0:
        if limits != (0.0, 0.0):
            raise SdfError(
                f"{document.where(axis)}: a joint's axis must not be 0 0 0; write the direction of "
                "its motion, or limits of 0 and 0 for a fixed joint"
            )
        direction, length = np.array((0.0, 0.0, 1.0)), 1.0
    frame = axis_frame(model, axis, joint_pose)
    turn = matrix_product(child_from_model.rotation, frame.rotation)
    x, y, z = matrix_product(turn, direction / length).tolist()

    def dynamics_value(tag: str) -> float:
        return 0.0 if dynamics is None else number(document, dynamics, tag, 0.0)

    return JointAxis(
        direction=(x, y, z),
        limits=limits,
        damping=dynamics_value("damping"),
        friction=dynamics_value("friction"),
        stiffness=dynamics_value("spring_stiffness"),
        reference=dynamics_value("spring_reference"),
    )


def axis_direction(model: ModelNode, joint: Element) -> Optional[np.ndarray]:
    """Return the unit vector (3,) along the axis of a joint, in the frame of its model. Returns
    None without an axis, or if its direction is zero."""
    axis, document = joint.find("axis"), model.document
    if axis is None:
        return None
    direction = np.array(vector(document, axis, "xyz", (0.0, 0.0, 1.0)))
    length = float(np.sqrt(np.square(direction).sum()))
    if length == 0.0:
        return None
    frame = model.frames.of(joint.find("pose"), text_of(joint, "child") or "")
    return matrix_product(axis_frame(model, axis, frame).rotation, direction / length)


def axis_frame(model: ModelNode, axis: Element, joint: Pose) -> Pose:
    """Return the pose, in the model frame, of the frame in which a joint axis is expressed.
    ``joint`` is the pose of the joint in the model frame."""
    # By default, this is the model frame up to SDF 1.4, and the joint frame from SDF 1.5 on.
    document = model.document
    direction = axis.find("xyz")
    frame_name = direction.get("expressed_in", "") if direction is not None else ""
    if frame_name:
        return model.frames.pose(frame_name, document.where(axis))
    if document.version < (1, 5) or flag(document, axis, "use_parent_model_frame"):
        return Pose()
    return joint
