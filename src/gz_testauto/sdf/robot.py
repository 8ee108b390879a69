"""Read the drive plug-ins, the sensors and the outline of a robot from its SDF.

All other elements are interpreted by the simulator, which receives the SDF text itself.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np
import shapely
from lxml import etree

from gz_testauto.base import resources
from gz_testauto.base.errors import ResourceError, SdfError
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.document import Element, SdfDocument
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.missing import without_missing_hint
from gz_testauto.sdf.scene import SceneModel, scene_model
from gz_testauto.sdf.tree import LinkNode, ModelNode, read_model
from gz_testauto.sdf.values import name_of, number, pose_value, required, text_of


@dataclass(frozen=True)
class DriveDescription:
    """A differential or skid-steer drive controller, as its plug-in elements specify it.

    ``plugin`` is the file name of the library. ``left_joints`` and ``right_joints`` contain one
    joint per axle, starting with the front axle. A drive with several axles has either one
    SkidSteerDrivePlugin, or one DiffDrivePlugin for each axle.
    """

    plugin: str
    left_joints: Tuple[str, ...]
    right_joints: Tuple[str, ...]
    wheel_separation_m: float
    wheel_diameter_m: float


@dataclass(frozen=True)
class LidarDescription:
    """A planar lidar. ``mount`` is its pose in the model frame."""

    link: str
    sensor: str
    mount: Pose
    samples: int
    angle_min_rad: float
    angle_max_rad: float
    range_min_m: float
    range_max_m: float
    update_rate_hz: float


@dataclass(frozen=True)
class ImuDescription:
    """An IMU of a robot. ``mount`` is its pose in the model frame."""

    link: str
    sensor: str
    mount: Pose
    update_rate_hz: float


@dataclass(frozen=True)
class RobotBody:
    """The extent of a robot in its base frame (m).

    ``footprint_m`` contains the corners of the horizontal outline, counter-clockwise and without a
    repeated first corner. ``height_m`` contains the lowest and the highest z.
    """

    name: str
    footprint_m: Tuple[Tuple[float, float], ...]
    height_m: Tuple[float, float]

    def span_m(self, pose: Pose) -> Tuple[float, float]:
        """Return the lowest and highest z (m, world frame) of the robot with its base at ``pose``.

        The robot is approximated by a prism with its footprint and height.
        """
        x, y, z, w = pose.quaternion
        forward, left, up = 2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)
        rims = [forward * x_m + left * y_m for x_m, y_m in self.footprint_m]
        ends = [up * height_m for height_m in self.height_m]
        z_m = pose.position[2]
        return z_m + (min(rims) + min(ends)), z_m + (max(rims) + max(ends))


@dataclass(frozen=True)
class RobotModel(RobotBody):
    """A robot that can be spawned with the model name ``name``.

    ``sdf`` is the complete SDF text of the model with absolute URIs. The extent is computed from
    the collision shapes.
    """

    path: Path
    sdf: str
    drive: Optional[DriveDescription]
    lidar: Optional[LidarDescription]
    imu: Optional[ImuDescription]


def read_robot(
    path: Union[str, Path], name: str = "robot", model_path: Optional[Sequence[Path]] = None
) -> RobotModel:
    """Read a robot from a model directory or a model SDF file.

    Includes are expanded, and the model gets the name ``name``. The ``<pose>`` of the model is
    ignored, since the caller specifies the pose when it spawns the model. Supported drives are
    DiffDrivePlugin (one per axle) and SkidSteerDrivePlugin of Gazebo, and diff_drive and
    skid_steer_drive of gazebo_ros. The lidar is the first ``ray`` or ``gpu_ray`` sensor with a
    single row. The drive, the lidar and the IMU are None if the model contains no supported one.
    Raises ``SdfError`` with the file and line if a value is missing or inconsistent.
    """
    path = Path(path).absolute()
    try:
        file = resources.model_file(path)
    except ResourceError as error:
        raise SdfError(str(error)) from error
    with without_missing_hint():
        return _read(file, name, ModelLibrary(model_path))


def _read(file: Path, name: str, library: ModelLibrary) -> RobotModel:
    document = SdfDocument.read(file)
    if document.model is None:
        raise SdfError(f"{file}: a robot's file must have a <model> directly under <sdf>")
    node = read_model(document, document.model, library)
    node.name = name
    scene = scene_model(node, library)
    parts = _Parts.of(node)
    return RobotModel(
        name=name,
        path=file,
        sdf=etree.tostring(library.standalone(document, document.model, name), encoding="unicode"),
        drive=_find_drive(node, parts, scene),
        lidar=_find_lidar(parts),
        imu=_find_imu(parts),
        footprint_m=_footprint(document, scene),
        height_m=_height(scene),
    )


class _PlacedLink(NamedTuple):
    scope: str
    model: ModelNode
    link: LinkNode
    pose: Pose  # in the robot's frame


class _PlacedJoint(NamedTuple):
    element: Element
    document: SdfDocument
    child: _PlacedLink
    anchor: np.ndarray  # in the robot's frame, m


@dataclass(frozen=True)
class _Parts:
    """The links and joints of a robot by scoped name, including those of nested models."""

    links: Dict[str, _PlacedLink]
    joints: Dict[str, _PlacedJoint]

    @classmethod
    def of(cls, robot: ModelNode) -> "_Parts":
        links = {
            scope + link.name: _PlacedLink(scope, model, link, pose * link.pose)
            for scope, model, pose in robot.walk()
            for link in model.links
        }
        joints: Dict[str, _PlacedJoint] = {}
        for scope, model, pose in robot.walk():
            for element in model.element.findall("joint"):
                document = model.document
                child_name = text_of(element, "child") or ""
                parent_name = text_of(element, "parent") or ""
                for role, link_name in (("child", child_name), ("parent", parent_name)):
                    if scope + link_name not in links and link_name not in ("world", "__model__"):
                        known = ", ".join(sorted(links)) or "none"
                        raise SdfError(
                            f"{document.where(element)}: joint {element.get('name')!r} has the "
                            f"{role} {link_name!r}, which is not a link. Known: {known}"
                        )
                if scope + child_name not in links:
                    continue
                child = links[scope + child_name]
                joint_pose = pose * model.frames.of(element.find("pose"), child_name)
                joints[scope + name_of(document, element)] = _PlacedJoint(
                    element, document, child, np.asarray(joint_pose.position)
                )
        return cls(links, joints)

    def joint(self, document: SdfDocument, plugin: Element, tag: str) -> Tuple[str, _PlacedJoint]:
        element = required(document, plugin, tag)
        name = (element.text or "").strip()
        if name not in self.joints:
            known = ", ".join(sorted(self.joints)) or "none"
            raise SdfError(
                f"{document.where(element)}: <{tag}> names {name!r}, which is not a joint. "
                f"Known: {known}"
            )
        return name, self.joints[name]


@dataclass(frozen=True)
class _DriveKind:
    """The SDF tags that a drive plug-in uses for its joints and sizes.

    ``sizes`` contains the tags and the default values of the wheel separation and the wheel
    diameter. It is None if the plug-in computes both from the model.
    """

    left: Tuple[str, ...]
    right: Tuple[str, ...]
    sizes: Optional[Tuple[Tuple[str, float], Tuple[str, float]]] = None


_DRIVES = {
    "DiffDrivePlugin": _DriveKind(("left_joint",), ("right_joint",)),
    "SkidSteerDrivePlugin": _DriveKind(("left_front", "left_rear"), ("right_front", "right_rear")),
    "gazebo_ros_diff_drive": _DriveKind(
        ("leftJoint",), ("rightJoint",), (("wheelSeparation", 0.34), ("wheelDiameter", 0.15))
    ),
    "gazebo_ros_skid_steer_drive": _DriveKind(
        ("leftFrontJoint", "leftRearJoint"),
        ("rightFrontJoint", "rightRearJoint"),
        (("wheelSeparation", 0.4), ("wheelDiameter", 0.15)),
    ),
}
"""Supported drive controllers, by the name of their library.

Gazebo's plug-ins compute the wheel separation from the anchors of the joints, and the wheel
diameter as the longest side of the bounding box of a wheel. The default sizes of the gazebo_ros
plug-ins are those in gazebo_ros_pkgs.
"""

_ONE_AXLE = "DiffDrivePlugin"
"""Drive plug-in of which a robot can have several instances, since all of them subscribe to the
same commands."""


class _Axle(NamedTuple):
    plugin: Element
    left: Tuple[Tuple[str, _PlacedJoint], ...]
    right: Tuple[Tuple[str, _PlacedJoint], ...]
    separation_m: float
    diameter_m: float


def _find_drive(robot: ModelNode, parts: _Parts, scene: SceneModel) -> Optional[DriveDescription]:
    document = robot.document
    found: List[Tuple[Element, str, str]] = []
    for plugin in robot.element.findall("plugin"):
        file_name = (plugin.get("filename") or "").strip()
        library = file_name.rsplit("/", 1)[-1]
        stem = library[3:] if library.startswith("lib") else library
        stem = stem[:-3] if stem.endswith(".so") else stem
        if stem in _DRIVES:
            found.append((plugin, file_name, stem))
    if not found:
        return None
    for plugin, file_name, stem in found[1:]:
        if {stem, found[0][2]} != {_ONE_AXLE}:
            raise SdfError(
                f"{document.where(plugin)}: the robot has a second drive plugin, {file_name}, in "
                f"addition to {found[0][1]}; keep only one (only {_ONE_AXLE} can occur once per "
                "axle)"
            )
    axles = [_axle(document, plugin, _DRIVES[stem], parts, scene) for plugin, _, stem in found]
    axles.sort(key=lambda axle: -float(axle.left[0][1].anchor[0]))
    _check_same(document, axles)
    return DriveDescription(
        plugin=found[0][1],
        left_joints=tuple(name for axle in axles for name, _ in axle.left),
        right_joints=tuple(name for axle in axles for name, _ in axle.right),
        wheel_separation_m=axles[0].separation_m,
        wheel_diameter_m=axles[0].diameter_m,
    )


def _axle(
    document: SdfDocument, plugin: Element, kind: _DriveKind, parts: _Parts, scene: SceneModel
) -> _Axle:
    left = tuple(parts.joint(document, plugin, tag) for tag in kind.left)
    right = tuple(parts.joint(document, plugin, tag) for tag in kind.right)
    if kind.sizes is not None:
        (separation_tag, separation), (diameter_tag, diameter) = kind.sizes
        separation = number(document, plugin, separation_tag, separation)
        diameter = number(document, plugin, diameter_tag, diameter)
    else:
        separation = float(np.linalg.norm(left[0][1].anchor - right[0][1].anchor))
        diameter = _wheel_diameter(left[0] if len(left) == 1 else right[0], scene)
    if separation <= 0 or diameter <= 0:
        raise SdfError(
            f"{document.where(plugin)}: the drive has a wheel separation of {separation} m and a "
            f"wheel diameter of {diameter} m; both must be above 0"
        )
    return _Axle(plugin, left, right, separation, diameter)


def _check_same(document: SdfDocument, axles: Sequence[_Axle]) -> None:
    """Raise ``SdfError`` if the axles of a drive differ in size or direction, or if two axles drive
    the same joint.

    Each plug-in computes its wheel speeds from the sizes of its own axle.
    """
    driven: Dict[str, _Axle] = {}
    first = axles[0]
    for axle in axles:
        if _leftward_m(axle) * _leftward_m(first) < 0:
            raise SdfError(
                f"{document.where(axle.plugin)}: the drive's left joint {axle.left[0][0]!r} is not "
                f"on the side of {first.left[0][0]!r}; they would turn in "
                "opposite directions. Exchange left and right"
            )
        for name, _ in (*axle.left, *axle.right):
            if driven.setdefault(name, axle) is not axle:
                raise SdfError(
                    f"{document.where(axle.plugin)}: joint {name!r} is driven twice; each drive "
                    "plugin must have a separate axle"
                )
        for what, first_m, own_m in (
            ("wheel separation", first.separation_m, axle.separation_m),
            ("wheel diameter", first.diameter_m, axle.diameter_m),
        ):
            if not math.isclose(first_m, own_m, rel_tol=1e-3):
                raise SdfError(
                    f"{document.where(axle.plugin)}: the drive's axles have a {what} of "
                    f"{first_m:g} m and {own_m:g} m; they must be the same"
                )


def _leftward_m(axle: _Axle) -> float:
    return float(axle.left[0][1].anchor[1] - axle.right[0][1].anchor[1])


def _wheel_diameter(named: Tuple[str, _PlacedJoint], scene: SceneModel) -> float:
    name, joint = named
    link = joint.child.scope + joint.child.link.name
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


def _sensors(parts: _Parts, wanted: Callable[[Element], bool]) -> List[Tuple[_PlacedLink, Element]]:
    return [
        (placed, sensor)
        for placed in parts.links.values()
        for sensor in placed.link.element.findall("sensor")
        if wanted(sensor)
    ]


def _mount(placed: _PlacedLink, sensor: Element) -> Pose:
    return placed.pose * pose_value(placed.model.document, sensor.find("pose"))


def _is_planar_lidar(sensor: Element) -> bool:
    rows = sensor.findtext("ray/scan/vertical/samples") or "1"
    return sensor.get("type") in ("ray", "gpu_ray") and rows.strip() == "1"


def _find_lidar(parts: _Parts) -> Optional[LidarDescription]:
    for placed, sensor in _sensors(parts, _is_planar_lidar):
        document = placed.model.document
        ray = required(document, sensor, "ray")
        horizontal = required(document, required(document, ray, "scan"), "horizontal")
        span = required(document, ray, "range")
        resolution = number(document, horizontal, "resolution", 1.0)
        lidar = LidarDescription(
            link=placed.scope + placed.link.name,
            sensor=name_of(document, sensor),
            mount=_mount(placed, sensor),
            samples=round(number(document, horizontal, "samples") * resolution),
            angle_min_rad=number(document, horizontal, "min_angle"),
            angle_max_rad=number(document, horizontal, "max_angle"),
            range_min_m=number(document, span, "min"),
            range_max_m=number(document, span, "max"),
            update_rate_hz=number(document, sensor, "update_rate", 0.0),
        )
        if lidar.samples < 1:
            raise SdfError(f"{document.where(horizontal)}: a lidar must have at least 1 sample")
        for what, low, high in (
            ("angle", lidar.angle_min_rad, lidar.angle_max_rad),
            ("range", lidar.range_min_m, lidar.range_max_m),
        ):
            if low > high or (what == "range" and low < 0):
                raise SdfError(
                    f"{document.where(sensor)}: lidar {lidar.sensor!r} has a {what} from {low} "
                    f"to {high}; the first value must be smaller, and a range not negative"
                )
        return lidar
    return None


def _find_imu(parts: _Parts) -> Optional[ImuDescription]:
    for placed, sensor in _sensors(parts, lambda sensor: sensor.get("type") == "imu"):
        document = placed.model.document
        return ImuDescription(
            link=placed.scope + placed.link.name,
            sensor=name_of(document, sensor),
            mount=_mount(placed, sensor),
            update_rate_hz=number(document, sensor, "update_rate", 0.0),
        )
    return None


def _footprint(document: SdfDocument, scene: SceneModel) -> Tuple[Tuple[float, float], ...]:
    outlines = [
        shape.geometry.footprint(shape.local_pose, -math.inf, math.inf)
        for shape in scene.collisions
    ]
    hull = shapely.convex_hull(shapely.GeometryCollection(outlines))
    if hull.geom_type != "Polygon" or hull.is_empty:
        raise SdfError(f"{document.source}: the robot has no collision shape with an area; add one")
    ring = shapely.get_coordinates(shapely.geometry.polygon.orient(hull).exterior)[:-1]
    return tuple((float(x), float(y)) for x, y in ring)


def _height(scene: SceneModel) -> Tuple[float, float]:
    levels = np.stack([shape.geometry.bounds(shape.local_pose)[2] for shape in scene.collisions])
    return float(levels[:, 0].min()), float(levels[:, 1].max())
