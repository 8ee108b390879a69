"""Read the drive controller of a robot from its plug-in elements, its links and joints.

Drive plug-ins of Gazebo, gazebo_ros and Gazebo Sim are supported. Other robots, for example with
``gazebo_ros_control``, can be driven with :class:`WheelJoints`.
"""

import math
from dataclasses import dataclass
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from gz_testauto.base.arithmetic import matrix_product
from gz_testauto.base.errors import SdfError
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.document import Element, SdfDocument
from gz_testauto.sdf.dynamics import axis_direction
from gz_testauto.sdf.scene import SceneModel, placed_model
from gz_testauto.sdf.tree import LinkNode, ModelNode
from gz_testauto.sdf.values import name_of, number, required, text_of

# smallest lateral component of the unit vector along the axis of a driven wheel
MIN_SIDEWAYS = 0.7

# largest and smallest vertical components of the unit vectors along the axes of a wheel and of a
# joint that steers it
MAX_WHEEL_UP, MIN_STEERING_UP = 0.3, 0.9


@dataclass(frozen=True)
class DriveDescription:
    """A differential or skid-steer drive controller.

    ``plugin`` is the file name of the library, or empty for :class:`WheelJoints`. The joints are
    one per axle, starting with the front axle. A drive with several axles has one plug-in for all
    axles, or one DiffDrivePlugin for each axle. ``torque_nm`` is the torque limit of each wheel.
    """

    plugin: str
    left_joints: Tuple[str, ...]
    right_joints: Tuple[str, ...]
    wheel_separation_m: float
    wheel_diameter_m: float
    torque_nm: Optional[float] = None

    def plugins_in(self, model: Element) -> List[Element]:
        plugins = model.findall("plugin") if self.plugin else ()
        return [p for p in plugins if (p.get("filename") or "").strip() == self.plugin]

    @property
    def is_of_gazebo(self) -> bool:
        """True if a Gazebo without ROS can load the plug-in."""
        return library_name(self.plugin) in (_ONE_AXLE, "SkidSteerDrivePlugin")


@dataclass(frozen=True)
class WheelJoints:
    """The driven joints of a robot without a known drive plug-in, one per axle on each side.

    The wheel separation and diameter (m) are computed from the model if they are None. A larger
    separation makes the wheels turn faster in curves, as ``wheel_separation_multiplier`` of
    ``diff_drive_controller`` does.
    """

    left: Tuple[str, ...]
    right: Tuple[str, ...]
    wheel_separation_m: Optional[float] = None
    wheel_diameter_m: Optional[float] = None
    torque_nm: Optional[float] = None


class PlacedLink(NamedTuple):
    """A link with its scoped name and its pose in the frame of the robot."""

    name: str
    model: ModelNode
    link: LinkNode
    pose: Pose


class PlacedJoint(NamedTuple):
    """A joint of a robot. ``anchor`` (m) and ``model_pose`` are in the frame of the robot.
    ``parent`` is the scoped name of the parent link."""

    element: Element
    document: SdfDocument
    model: ModelNode
    model_pose: Pose
    parent: str
    child: PlacedLink
    anchor: np.ndarray

    @property
    def axis(self) -> Optional[np.ndarray]:
        """The unit vector (3,) along the axis in the frame of the robot, or None."""
        axis = axis_direction(self.model, self.element)
        return None if axis is None else matrix_product(self.model_pose.rotation, axis)

    def turns(self, least_up: float, most_up: float, has_limits: bool) -> bool:
        """Return whether the joint rotates about an axis whose unit vector has a vertical component
        from ``least_up`` to ``most_up`` (absolute). Its range must be less than one revolution with
        ``has_limits``, and at least one revolution without."""
        axis = self.axis
        if self.element.get("type") not in ("revolute", "continuous") or axis is None:
            return False
        limit = self.element.find("axis/limit")
        range_rad = math.inf
        if limit is not None:
            low = number(self.document, limit, "lower", -math.inf)
            range_rad = number(self.document, limit, "upper", math.inf) - low
        is_limited = range_rad < 2.0 * math.pi
        return (
            range_rad > 0.0
            and is_limited is has_limits
            and least_up <= abs(float(axis[2])) <= most_up
        )


@dataclass(frozen=True)
class RobotParts:
    """The links and joints of a robot and its nested models by scoped name."""

    links: Dict[str, PlacedLink]
    joints: Dict[str, PlacedJoint]

    @classmethod
    def of(cls, robot: ModelNode) -> "RobotParts":
        links = {
            name: PlacedLink(name, model, link, pose)
            for name, model, link, pose in robot.walk_links()
        }
        joints: Dict[str, PlacedJoint] = {}
        for scope, model, pose in robot.walk():
            for element in model.element.findall("joint"):
                document = model.document
                child_name = text_of(element, "child") or ""
                parent_name = text_of(element, "parent") or ""
                for role, link_name in (("child", child_name), ("parent", parent_name)):
                    if scope + link_name not in links and link_name not in ("world", "__model__"):
                        known_links = ", ".join(sorted(links)) or "none"
                        raise SdfError(
                            f"{document.where(element)}: joint {element.get('name')!r} has the "
                            f"{role} {link_name!r}, which is not a link. Known: {known_links}"
                        )
                if scope + child_name not in links:
                    continue
                child = links[scope + child_name]
                joint_pose = pose * model.frames.of(element.find("pose"), child_name)
                joints[scope + name_of(document, element)] = PlacedJoint(
                    element,
                    document,
                    model,
                    pose,
                    scope + parent_name,
                    child,
                    np.asarray(joint_pose.position),
                )
        return cls(links, joints)

    def named(self, document: SdfDocument, element: Element) -> Tuple[str, PlacedJoint]:
        """Return the name in the text of ``element``, and the joint with this name."""
        name = (element.text or "").strip()
        if name not in self.joints:
            known_joints = ", ".join(sorted(self.joints)) or "none"
            raise SdfError(
                f"{document.where(element)}: <{element.tag}> names {name!r}, which is not a joint. "
                f"Known: {known_joints}"
            )
        return name, self.joints[name]


@dataclass(frozen=True)
class _DriveKind:
    """The SDF tags that a drive plug-in uses for its joints and sizes.

    Each tag of ``left`` and ``right`` names one joint; with ``repeats``, it can occur once per
    axle. ``sizes`` contains the tags and the default values of the wheel separation and the wheel
    diameter, or the wheel radius. It is None if the plug-in computes both from the model.
    ``torque`` is the tag of the torque limit (N m), and ``default_nm`` its default.
    """

    left: Tuple[str, ...]
    right: Tuple[str, ...]
    sizes: Optional[Tuple[Tuple[str, float], Tuple[str, float]]] = None
    torque: str = ""
    default_nm: float = 5.0
    repeats: bool = False


_GAZEBO_SIM = _DriveKind(
    ("left_joint",),
    ("right_joint",),
    (("wheel_separation", 1.0), ("wheel_radius", 0.2)),
    repeats=True,
)

# Gazebo's plug-ins compute the wheel separation from the joints' anchors, and the wheel diameter as
# the longest side of the bounding box of a wheel. The default sizes are those of the plug-ins.
_DRIVES = {  # supported drive controllers, by the name of their library
    "DiffDrivePlugin": _DriveKind(("left_joint",), ("right_joint",)),
    "SkidSteerDrivePlugin": _DriveKind(
        ("left_front", "left_rear"), ("right_front", "right_rear"), torque="max_force"
    ),
    "gazebo_ros_diff_drive": _DriveKind(
        ("leftJoint",),
        ("rightJoint",),
        (("wheelSeparation", 0.34), ("wheelDiameter", 0.15)),
        "wheelTorque",
    ),
    "gazebo_ros_skid_steer_drive": _DriveKind(
        ("leftFrontJoint", "leftRearJoint"),
        ("rightFrontJoint", "rightRearJoint"),
        (("wheelSeparation", 0.4), ("wheelDiameter", 0.15)),
        "torque",
    ),
    "gazebo_ros_kobuki": _DriveKind(
        ("left_wheel_joint_name",),
        ("right_wheel_joint_name",),
        (("wheel_separation", 0.0), ("wheel_diameter", 0.0)),  # no default sizes
        "torque",
    ),
    "gz-sim-diff-drive-system": _GAZEBO_SIM,
    "ignition-gazebo-diff-drive-system": _GAZEBO_SIM,
}

_ROS_2 = _DriveKind(
    ("left_joint",),
    ("right_joint",),
    (("wheel_separation", 0.34), ("wheel_diameter", 0.15)),
    "max_wheel_torque",
    repeats=True,
)

# drive plug-in of which a robot can have several instances
_ONE_AXLE = "DiffDrivePlugin"  # all instances subscribe to the same commands


class _Axle(NamedTuple):
    plugin: Element
    left: Tuple[Tuple[str, PlacedJoint], ...]
    right: Tuple[Tuple[str, PlacedJoint], ...]
    separation_m: float
    diameter_m: float


def find_drive(
    robot: ModelNode, parts: RobotParts, scene: SceneModel, wheels: Optional[WheelJoints] = None
) -> Optional[DriveDescription]:
    """Return the drive controller of a robot, from ``wheels`` or else from its plug-ins. Returns
    None without a supported plug-in. Raises ``SdfError`` if the drive is inconsistent."""
    document = robot.document
    if wheels is not None:
        axles = _axles_of_wheel_joints(robot, wheels, parts, scene)
        return _make_description("", axles, document, wheels.torque_nm)
    plugins: List[Tuple[Element, str, str]] = []
    for plugin in robot.element.findall("plugin"):
        file_name = (plugin.get("filename") or "").strip()
        if library_name(file_name) in _DRIVES:
            plugins.append((plugin, file_name, library_name(file_name)))
    if not plugins:
        return None
    for plugin, file_name, stem in plugins[1:]:
        if {stem, plugins[0][2]} != {_ONE_AXLE}:
            raise SdfError(
                f"{document.where(plugin)}: {file_name} is a second drive plugin in addition to "
                f"{plugins[0][1]}; keep one of them. Only several {_ONE_AXLE} are supported, one "
                "for each axle"
            )
    axles = [
        axle
        for plugin, _, stem in plugins
        for axle in _read_axles(document, plugin, _drive_kind(stem, plugin), parts, scene)
    ]
    first, _, stem = plugins[0]
    torque = _drive_kind(stem, first).torque
    torque_nm = (
        number(document, first, torque, _drive_kind(stem, first).default_nm) if torque else None
    )
    return _make_description(plugins[0][1], axles, document, torque_nm)


def nested_drive(sdf: str) -> Optional[Tuple[str, str]]:
    """Return the name of the first nested model with a supported drive plug-in, and the file name
    of the plug-in, or None."""
    for plugin in SdfDocument.parse(sdf).root.iterfind("model//model/plugin"):
        if is_drive_plugin(plugin.get("filename") or ""):
            return plugin.getparent().get("name", ""), plugin.get("filename").strip()
    return None


def ackermann_parts(sdf: str) -> str:
    """Return the plug-ins and joints of a robot for Ackermann steering, separated by commas, or an
    empty string."""
    scene = placed_model(sdf, "robot", Pose())
    names = [
        f"plugin {(plugin.get('filename') or '').strip()}"
        for plugin in scene.node.document.root.iter("plugin")
        if "ackermann" in (plugin.get("filename") or "").lower()
    ]
    joints = RobotParts.of(scene.node).joints
    carriers = {joint.parent for joint in joints.values() if joint.turns(0.0, MAX_WHEEL_UP, False)}
    for name, joint in joints.items():
        # A caster also carries a wheel, but has no limits. Some models do not limit the steering.
        is_named = "steer" in name.lower() and "caster" not in name.lower()
        is_hinge = joint.turns(MIN_STEERING_UP, 1.0, True) or (
            is_named and joint.turns(MIN_STEERING_UP, 1.0, False)
        )
        if is_hinge and joint.child.name in carriers:
            names.append(f"joint {name}")
    return ", ".join(names)


def is_drive_plugin(file_name: str) -> bool:
    return library_name(file_name) in _DRIVES


def library_name(file_name: str) -> str:
    """Return the name of a library without folder, prefix and suffix."""
    library = file_name.strip().rsplit("/", 1)[-1]
    stem = library[3:] if library.startswith("lib") else library
    return stem[:-3] if stem.endswith(".so") else stem


def _drive_kind(stem: str, plugin: Element) -> _DriveKind:
    is_ros_2 = stem == "gazebo_ros_diff_drive" and plugin.find("left_joint") is not None
    return _ROS_2 if is_ros_2 else _DRIVES[stem]


def _make_description(
    plugin: str, axles: "List[_Axle]", document: SdfDocument, torque_nm: Optional[float]
) -> DriveDescription:
    for axle in axles:
        _check_wheel_sides(document, axle)
    axles.sort(key=lambda axle: -float(axle.left[0][1].anchor[0]))
    _check_axles_match(document, axles)
    return DriveDescription(
        plugin=plugin,
        left_joints=tuple(name for axle in axles for name, _ in axle.left),
        right_joints=tuple(name for axle in axles for name, _ in axle.right),
        wheel_separation_m=axles[0].separation_m,
        wheel_diameter_m=axles[0].diameter_m,
        torque_nm=torque_nm,
    )


def _axles_of_wheel_joints(
    robot: ModelNode, wheels: WheelJoints, parts: RobotParts, scene: SceneModel
) -> "List[_Axle]":
    location = robot.document.source
    axles = []
    for left_name, right_name in zip(wheels.left, wheels.right):
        for name in (left_name, right_name):
            if name not in parts.joints:
                known_joints = ", ".join(sorted(parts.joints)) or "none"
                raise SdfError(
                    f"{location}: the drive's joint {name!r} was not found. Known: {known_joints}"
                )
        left, right = parts.joints[left_name], parts.joints[right_name]
        separation, diameter = wheels.wheel_separation_m, wheels.wheel_diameter_m
        if separation is None:
            separation = math.dist(left.anchor, right.anchor)
        if diameter is None:
            diameter = _wheel_diameter((left_name, left), scene)
        axles.append(
            _Axle(robot.element, ((left_name, left),), ((right_name, right),), separation, diameter)
        )
    return axles


def _read_axles(
    document: SdfDocument, plugin: Element, kind: _DriveKind, parts: RobotParts, scene: SceneModel
) -> "List[_Axle]":
    if not kind.repeats:
        return [_read_axle(document, plugin, kind, parts, scene)]
    left, right = (plugin.findall(tags[0]) for tags in (kind.left, kind.right))
    if len(left) != len(right) or not left:
        raise SdfError(
            f"{document.where(plugin)}: the drive has {len(left)} left and {len(right)} right "
            "joints; it must have at least one, and as many on each side"
        )
    assert kind.sizes is not None, "all kinds that repeat have sizes"
    sizes = _read_sizes(document, plugin, kind.sizes)
    return [
        _Axle(
            plugin,
            (parts.named(document, left_element),),
            (parts.named(document, right_element),),
            *sizes,
        )
        for left_element, right_element in zip(left, right)
    ]


def _read_sizes(
    document: SdfDocument, plugin: Element, sizes: Tuple[Tuple[str, float], Tuple[str, float]]
) -> Tuple[float, float]:
    (separation_tag, separation), (diameter_tag, diameter) = sizes
    separation_m = number(document, plugin, separation_tag, separation)
    diameter_m = number(document, plugin, diameter_tag, diameter)
    if diameter_tag.endswith("radius"):
        diameter_m *= 2
    _check_sizes(document, plugin, separation_m, diameter_m)
    return separation_m, diameter_m


def _check_sizes(
    document: SdfDocument, plugin: Element, separation_m: float, diameter_m: float
) -> None:
    if separation_m <= 0 or diameter_m <= 0:
        raise SdfError(
            f"{document.where(plugin)}: the drive has a wheel separation of {separation_m} m and a "
            f"wheel diameter of {diameter_m} m; both must be above 0"
        )


def _read_axle(
    document: SdfDocument, plugin: Element, kind: _DriveKind, parts: RobotParts, scene: SceneModel
) -> "_Axle":
    left, right = (
        tuple(parts.named(document, required(document, plugin, tag)) for tag in tags)
        for tags in (kind.left, kind.right)
    )
    if kind.sizes is not None:
        return _Axle(plugin, left, right, *_read_sizes(document, plugin, kind.sizes))
    separation = math.dist(left[0][1].anchor, right[0][1].anchor)
    diameter = _wheel_diameter(left[0] if len(left) == 1 else right[0], scene)
    _check_sizes(document, plugin, separation, diameter)
    return _Axle(plugin, left, right, separation, diameter)


def _check_axles_match(document: SdfDocument, axles: Sequence[_Axle]) -> None:
    # Each plug-in computes its wheel speeds from the sizes of its own axle.
    axle_of_joint: Dict[str, _Axle] = {}
    first = axles[0]
    for axle in axles:
        for name, _ in (*axle.left, *axle.right):
            if axle_of_joint.setdefault(name, axle) is not axle:
                raise SdfError(
                    f"{document.where(axle.plugin)}: joint {name!r} is driven twice; each drive "
                    "plugin must have a separate axle"
                )
        for quantity, first_m, axle_m in (
            ("wheel separation", first.separation_m, axle.separation_m),
            ("wheel diameter", first.diameter_m, axle.diameter_m),
        ):
            if not math.isclose(first_m, axle_m, rel_tol=1e-3):
                raise SdfError(
                    f"{document.where(axle.plugin)}: the drive's axles have a {quantity} of "
                    f"{first_m:g} m and {axle_m:g} m; they must be the same"
                )


def _check_wheel_sides(document: SdfDocument, axle: _Axle) -> None:
    """Raise ``SdfError`` if a left joint is on the right, or if a wheel turns backward or does not
    roll along x."""
    # The plug-ins turn all joints about their axes in the positive direction to drive forward, and
    # turn the left joints slower than the right ones to turn left. They do not compute the sides
    # and directions of the wheels. A wheel rolls forward if its axis points to the left.
    faults = [
        f"the left joint {left!r} is to the right of the right joint {right!r}, so the robot would "
        "turn in the opposite direction; exchange the two joints in the drive"
        for (left, left_joint), (right, right_joint) in zip(axle.left, axle.right)
        if left_joint.anchor[1] <= right_joint.anchor[1]
    ]
    for name, joint in dict((*axle.left, *axle.right)).items():
        if joint.axis is None:
            continue
        x, y, z = joint.axis.tolist()
        direction = f"the axis of joint {name!r} ({joint.document.where(joint.element)}) is " + (
            f"{x:.3g} {y:.3g} {z:.3g} in the robot's frame"
        )
        if abs(y) < MIN_SIDEWAYS:
            faults.append(f"{direction}; it must point sideways, along y")
        elif y < 0.0:
            faults.append(
                f"{direction}, to the right, so the wheel would turn backward; reverse the axis"
            )
    if faults:
        legacy = axle.plugin.find("legacyMode") is not None
        raise SdfError(
            f"{document.where(axle.plugin)}: the robot would not move as commanded: "
            + "; ".join(faults)
            + ("; <legacyMode> has no effect, as in ROS Noetic" if legacy else "")
        )


def _wheel_diameter(named_joint: Tuple[str, PlacedJoint], scene: SceneModel) -> float:
    name, joint = named_joint
    link = joint.child.name
    boxes = [
        shape.geometry.bounds(shape.local_pose) for shape in scene.collisions if shape.link == link
    ]
    if not boxes:
        raise SdfError(
            f"{joint.document.where(joint.element)}: joint {name!r} drives link {link!r}, which "
            "has no collision, so the diameter of the wheel is unknown; add a collision"
        )
    box = np.stack(boxes)
    return float((box[..., 1].max(axis=0) - box[..., 0].min(axis=0)).max())
