"""Read the drive plug-ins, the sensors and the outline of a robot from its SDF.

All other elements are interpreted by the simulator, which receives the SDF text itself.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, List, Optional, Sequence, Tuple, Union

import numpy as np
import shapely
from lxml import etree

from gz_testauto.base import resources
from gz_testauto.base.errors import ResourceError, SdfError
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.document import Element, SdfDocument
from gz_testauto.sdf.drives import (
    DriveDescription,
    PlacedLink,
    RobotParts,
    WheelJoints,
    find_drive,
)
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.missing import without_missing_hint
from gz_testauto.sdf.robot_files import XacroInput, is_urdf, read_robot_file
from gz_testauto.sdf.scene import SceneModel, scene_model
from gz_testauto.sdf.tree import read_model
from gz_testauto.sdf.values import name_of, number, pose_value, required, set_pose

MOST_ABOVE_GROUND_M = 0.005
"""Largest distance (m) of the lowest collision shape of a URDF from the height of its root link, up
to which the root link is regarded as a base frame on the ground."""


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
    path: Union[str, Path],
    name: str = "robot",
    model_path: Optional[Sequence[Path]] = None,
    xacro: Optional[XacroInput] = None,
    wheels: Optional[WheelJoints] = None,
    on_ground: bool = True,
) -> RobotModel:
    """Read a robot from a model directory, or from an SDF, URDF or xacro file.

    Includes are expanded, and the model gets the name ``name``. The ``<pose>`` of the model is
    ignored, since the caller specifies the pose when it spawns the model. With ``on_ground``, the
    root link of a URDF is moved vertically so that the wheels touch the ground. Supported drives
    are the plug-ins in :mod:`gz_testauto.sdf.drives`, or the joints in ``wheels``. The lidar is the
    first ``ray`` or ``gpu_ray`` sensor with a single row. The drive, the lidar and the IMU are None
    if the model contains no supported one. Raises ``SdfError`` with the file and line if a value is
    missing or inconsistent.
    """
    path = Path(path).absolute()
    try:
        file = resources.model_file(path)
    except ResourceError as error:
        raise SdfError(str(error)) from error
    with without_missing_hint():
        return _read(file, name, ModelLibrary(model_path), xacro, wheels, on_ground)


def _read(
    file: Path,
    name: str,
    library: ModelLibrary,
    xacro: Optional[XacroInput],
    wheels: Optional[WheelJoints],
    on_ground: bool,
) -> RobotModel:
    document = read_robot_file(file, xacro)
    if document.model is None:
        raise SdfError(f"{file}: a robot's file must have a <model> directly under <sdf>")
    node = read_model(document, document.model, library)
    scene = scene_model(node, library)
    if on_ground and is_urdf(file) and _move_to_ground(document.model, scene):
        node = read_model(document, document.model, library)
        scene = scene_model(node, library)
    node.name = name
    parts = RobotParts.of(node)
    return RobotModel(
        name=name,
        path=file,
        sdf=etree.tostring(library.standalone(document, document.model, name), encoding="unicode"),
        drive=find_drive(node, parts, scene, wheels),
        lidar=_find_lidar(parts),
        imu=_find_imu(parts),
        footprint_m=_footprint(document, scene),
        height_m=_height(scene),
    )


def _move_to_ground(model: Element, scene: SceneModel) -> bool:
    """Move the root link of a converted URDF vertically, so that the lowest collision shape is on
    the ground of the model frame. Return whether it was moved."""
    root = model.find("link")
    if not scene.collisions or root.find("pose") is not None:
        return False
    lowest_m = _height(scene)[0]
    if abs(lowest_m) <= MOST_ABOVE_GROUND_M:
        return False
    set_pose(root, Pose((0.0, 0.0, -lowest_m)))
    return True


def _sensors(
    parts: RobotParts, wanted: Callable[[Element], bool]
) -> List[Tuple[PlacedLink, Element]]:
    return [
        (placed, sensor)
        for placed in parts.links.values()
        for sensor in placed.link.element.findall("sensor")
        if wanted(sensor)
    ]


def _mount(placed: PlacedLink, sensor: Element) -> Pose:
    return placed.pose * pose_value(placed.model.document, sensor.find("pose"))


def _is_planar_lidar(sensor: Element) -> bool:
    rows = sensor.findtext("ray/scan/vertical/samples") or "1"
    return sensor.get("type") in ("ray", "gpu_ray") and rows.strip() == "1"


def _find_lidar(parts: RobotParts) -> Optional[LidarDescription]:
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


def _find_imu(parts: RobotParts) -> Optional[ImuDescription]:
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
