"""Read the drive plug-ins, the sensors and the outline of a robot from its SDF."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Optional, Sequence, Tuple, Union

import numpy as np
import shapely
from lxml import etree

from gz_testauto.base import resources
from gz_testauto.base.errors import ResourceError, SdfError
from gz_testauto.base.pose import Pose
from gz_testauto.base.sensors import Sensor
from gz_testauto.sdf.document import Element, SdfDocument
from gz_testauto.sdf.drives import DriveDescription, RobotParts, WheelJoints, find_drive
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.merged_includes import is_driven_by_include, merge_includes
from gz_testauto.sdf.missing import without_missing_hint
from gz_testauto.sdf.plugin_sensors import find_sensors
from gz_testauto.sdf.robot_files import RobotFile, read_robot_file
from gz_testauto.sdf.robot_sensors import (
    ImuDescription,
    LidarDescription,
    find_imu,
    find_lidars,
    select_lidar,
    select_merged,
)
from gz_testauto.sdf.scene import SceneModel, scene_model
from gz_testauto.sdf.tree import ModelNode, read_model
from gz_testauto.sdf.urdf.xacro import XacroInput
from gz_testauto.sdf.values import set_pose

# The root link of a URDF is a base frame on the ground if the lowest collision shape is at most
# this far above or below it.
MOST_ABOVE_GROUND_M = 0.005


@dataclass(frozen=True)
class RobotBody:
    """The extent of a robot in its base frame.

    ``footprint_m`` contains the corners of the outline, counter-clockwise and without a repeated
    first corner. ``height_m`` contains the lowest and the highest z.
    """

    name: str
    footprint_m: Tuple[Tuple[float, float], ...]
    height_m: Tuple[float, float]

    def span_m(self, pose: Pose) -> Tuple[float, float]:
        """Return the lowest and highest z (m, world frame) of the robot with its base at ``pose``.
        The robot is represented by a prism with its footprint."""
        x, y, z, w = pose.quaternion
        # The last row of the rotation matrix: the z components of the axes of the base.
        forward, left, up = 2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)
        rims = [forward * x_m + left * y_m for x_m, y_m in self.footprint_m]
        ends = [up * height_m for height_m in self.height_m]
        z_m = pose.position[2]
        return z_m + (min(rims) + min(ends)), z_m + (max(rims) + max(ends))


@dataclass(frozen=True)
class RobotModel(RobotBody):
    """A robot that can be spawned. ``sdf`` is its complete SDF text with absolute URIs. ``lidars``
    are all planar ray sensors, and ``sensors`` all other sensors that a scene can select."""

    path: Path
    sdf: str
    drive: Optional[DriveDescription]
    lidar: Optional[LidarDescription]
    imu: Optional[ImuDescription]
    lidars: Tuple[LidarDescription, ...] = ()
    sensors: Tuple[Sensor, ...] = ()

    @property
    def single_lidar(self) -> Optional[LidarDescription]:
        """The lidar, or None without a lidar or with a merged one."""
        return None if self.lidar is None or self.lidar.parts else self.lidar

    @property
    def has_gpu_lidar(self) -> bool:
        """True if the lidar, or a part of a merged one, is a ``gpu_ray`` or ``gpu_lidar``."""
        names = () if self.lidar is None else self.lidar.scoped_name.split(",")
        return any(lidar.is_gpu for lidar in self.lidars if lidar.scoped_name in names)


def read_robot(
    path: Union[str, Path],
    name: str = "robot",
    model_path: Optional[Sequence[Path]] = None,
    xacro: Optional[XacroInput] = None,
    wheels: Optional[WheelJoints] = None,
    on_ground: bool = True,
    lidar: Optional[str] = None,
) -> RobotModel:
    """Read a robot from a model directory, or from an SDF, URDF or xacro file.

    The ``<pose>`` of the model is ignored. With ``on_ground``, the root link of a URDF is moved
    vertically so that the wheels touch the ground. The drive is that of ``wheels``, or of a plug-in
    in :mod:`gz_testauto.sdf.drives`. ``lidar`` names a ``ray`` or ``gpu_ray`` sensor with a single
    row, and is optional if only one exists. Several names, separated by commas, select a merged
    lidar. Drive, lidar and IMU are None if the model contains no supported one.

    Raises ``SdfError`` with the file and line if a value is missing or inconsistent, if the robot
    would not move as commanded, or if ``lidar`` is None and the robot has several planar lidars.
    """
    file = _model_file(path)
    with without_missing_hint():
        library = ModelLibrary(model_path)
        robot_file, scene = _read_scene(file, name, library, xacro, on_ground)
        document = robot_file.document
        sdf = library.standalone(document, document.require_model(), name)
        if is_driven_by_include(scene.node, wheels):
            document, scene = _merge_into_robot(document, sdf, scene.node, library)
        parts = RobotParts.of(scene.node)
        lidars = find_lidars(parts, robot_file.gpu_lidars)
        sensors = find_sensors(parts)
        names = [] if lidar is None else [part.strip() for part in lidar.split(",")]
        if len(names) > 1:
            selected_lidar: Optional[LidarDescription] = select_merged(str(file), sensors, names)
        else:
            selected_lidar = select_lidar(str(file), lidars, lidar)
        return RobotModel(
            name=name,
            path=file,
            sdf=etree.tostring(sdf, encoding="unicode"),
            drive=find_drive(scene.node, parts, scene, wheels),
            lidar=selected_lidar,
            lidars=lidars,
            sensors=tuple(
                sensor
                for sensor in sensors
                if selected_lidar is None or sensor.scoped_name != selected_lidar.scoped_name
            ),
            imu=find_imu(parts),
            footprint_m=_footprint_hull_m(document, scene),
            height_m=_height_range_m(scene),
        )


def read_outline(path: Union[str, Path], name: str = "robot") -> RobotBody:
    """Return the extent of a robot. Raises ``SdfError`` if it has no collision shape."""
    file = _model_file(path)
    with without_missing_hint():
        robot_file, scene = _read_scene(file, name, ModelLibrary(), None, True)
    return RobotBody(name, _footprint_hull_m(robot_file.document, scene), _height_range_m(scene))


def read_sensors(path: Union[str, Path]) -> Tuple[Sensor, ...]:
    """Return all sensors of a robot, also its planar lidars."""
    file = _model_file(path)
    with without_missing_hint():
        _, scene = _read_scene(file, "robot", ModelLibrary(), None, True)
        return find_sensors(RobotParts.of(scene.node))


def _model_file(path: Union[str, Path]) -> Path:
    path = Path(path).absolute()
    try:
        return resources.model_file(path)
    except ResourceError as error:
        raise SdfError(str(error)) from error


def _read_scene(
    file: Path, name: str, library: ModelLibrary, xacro: Optional[XacroInput], on_ground: bool
) -> Tuple[RobotFile, SceneModel]:
    robot_file = read_robot_file(file, xacro)
    document = robot_file.document
    if document.model is None:
        raise SdfError(f"{file}: a robot's file must have a <model> directly under <sdf>")
    scene = scene_model(read_model(document, document.model, library), library)
    if on_ground and robot_file.is_urdf and _move_to_ground(document.model, scene):
        scene = scene_model(read_model(document, document.model, library), library)
    scene.node.name = name
    return robot_file, scene


def _merge_into_robot(
    document: SdfDocument, sdf: Element, robot: ModelNode, library: ModelLibrary
) -> Tuple[SdfDocument, SceneModel]:
    for model in robot.models:  # an error in a drive then has the location in the file of the model
        find_drive(model, RobotParts.of(model), scene_model(model, library))
    robot_document = SdfDocument(sdf, b"", document.source, document.path)
    element = robot_document.require_model()
    included_names = {model.name for model in robot.models if model.is_included}
    merge_includes(read_model(robot_document, element, library), included_names)
    return robot_document, scene_model(read_model(robot_document, element, library), library)


def _move_to_ground(model: Element, scene: SceneModel) -> bool:
    """Move the root link of a converted URDF vertically, so that the lowest collision shape is at
    z = 0. Return whether it was moved."""
    root = model.find("link")
    if not scene.collisions or root.find("pose") is not None:
        return False
    lowest_m = _height_range_m(scene)[0]
    if abs(lowest_m) <= MOST_ABOVE_GROUND_M:
        return False
    set_pose(root, Pose((0.0, 0.0, -lowest_m)))
    return True


def _footprint_hull_m(document: SdfDocument, scene: SceneModel) -> Tuple[Tuple[float, float], ...]:
    outlines = [
        shape.geometry.footprint(shape.local_pose, -math.inf, math.inf)
        for shape in scene.collisions
    ]
    hull = shapely.convex_hull(shapely.GeometryCollection(outlines))
    if hull.geom_type != "Polygon" or hull.is_empty:
        raise SdfError(f"{document.source}: the robot has no collision shape with an area; add one")
    ring = shapely.get_coordinates(shapely.geometry.polygon.orient(hull).exterior)[:-1]
    return tuple((float(x), float(y)) for x, y in ring)


def _height_range_m(scene: SceneModel) -> Tuple[float, float]:
    levels = np.stack([shape.geometry.bounds(shape.local_pose)[2] for shape in scene.collisions])
    return float(levels[:, 0].min()), float(levels[:, 1].max())
