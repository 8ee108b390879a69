"""Read the values of a robot for a physics engine that do not depend on the world."""

from dataclasses import dataclass, replace
from typing import FrozenSet, Optional, Tuple

from gz_testauto.base.errors import SdfError
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.sdf.document import Element, SdfDocument
from gz_testauto.sdf.engine_model.bodies import EngineModel, read_engine_model
from gz_testauto.sdf.engine_model.coverage import SdfCoverage
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.plugin_sensors import gaussian_noise
from gz_testauto.sdf.robot import RobotModel
from gz_testauto.sdf.scene import SceneModel, scene_model
from gz_testauto.sdf.tree import read_model
from gz_testauto.sdf.values import pose_value


@dataclass(frozen=True)
class Mount:
    """The link of a sensor, and the pose of the sensor in the link frame."""

    link: str
    pose: Pose


@dataclass(frozen=True)
class DrivenWheel:
    """A wheel with a motor.

    For a linear velocity v (m/s) and an angular velocity w (rad/s) of the robot, the wheel rotates
    at ``per_speed`` · v + ``per_turn`` · w (rad/s). ``torque_nm`` is the torque limit.
    """

    link: str
    joint: str
    per_speed: float
    per_turn: float
    torque_nm: Optional[float]


@dataclass(frozen=True)
class EngineRobot:
    """A robot for a physics engine, at the pose in its SDF.

    ``body_shapes`` contains the names of the collisions whose contacts are reported.
    ``lidar_noise_m`` contains the mean and the standard deviation (m) of the lidar's noise.
    """

    robot: RobotModel
    model: EngineModel
    wheels: Tuple[DrivenWheel, ...]
    body_shapes: FrozenSet[str]
    lidar: Optional[Mount]
    imu: Optional[Mount]
    lidar_noise_m: Tuple[float, float]

    def at(self, start: Pose2D) -> EngineModel:
        """Return the model at a start pose, with height, roll and pitch as in the SDF."""
        return replace(self.model, pose=self.model.pose.moved_to(start))

    def mount_of(self, link: str, pose: Pose) -> Mount:
        """Return the mount of a sensor. ``pose`` is in the model frame."""
        scoped_name = f"{self.model.name}::{link}"
        return Mount(scoped_name, self.model.links[scoped_name].inverse() * pose)


def read_engine_robot(robot: RobotModel, coverage: SdfCoverage) -> EngineRobot:
    library = ModelLibrary()
    document = SdfDocument.parse(robot.sdf, str(robot.path))
    element = document.require_model()
    node = read_model(document, element, library)
    node.pose = pose_value(document, element.find("pose"))
    scene = scene_model(node, library)
    if scene.static or not scene.links:
        raise SdfError(f"{robot.path}: a robot needs a link and must not be static")
    plugins = [] if robot.drive is None else robot.drive.plugins_in(element)
    single_lidar = robot.single_lidar
    lidar = _find_sensor(scene, single_lidar.link, single_lidar.sensor) if single_lidar else None
    imu = _find_sensor(scene, robot.imu.link, robot.imu.sensor) if robot.imu else None
    other_sensors = [_find_sensor(scene, sensor.link, sensor.sensor) for sensor in robot.sensors]
    known_elements = frozenset(
        element for element in (*plugins, lidar, imu, *other_sensors) if element is not None
    )
    engine_model = read_engine_model(scene, coverage, known_elements)
    if imu is not None and next(imu.iter("noise"), None) is not None:
        coverage.warn_once("imu noise", f"{robot.path}: the noise of the IMU is not simulated")
    return EngineRobot(
        robot=robot,
        model=engine_model,
        wheels=_driven_wheels(robot, engine_model),
        body_shapes=frozenset(shape.scoped_name for shape in scene.body_shapes),
        lidar=_mount_in_link(scene, single_lidar.link, single_lidar.mount)
        if single_lidar
        else None,
        imu=_mount_in_link(scene, robot.imu.link, robot.imu.mount) if robot.imu else None,
        lidar_noise_m=_noise_parameters(document, lidar, coverage),
    )


def _find_sensor(scene: SceneModel, link: str, sensor: str) -> Optional[Element]:
    for name, _, node, _ in scene.node.walk_links():
        if name == link:
            for element in node.element.findall("sensor"):
                if element.get("name") == sensor:
                    return element
    return None


def _mount_in_link(scene: SceneModel, link: str, pose: Pose) -> Mount:
    return Mount(f"{scene.name}::{link}", scene.links[link].inverse() * pose)


def _noise_parameters(
    document: SdfDocument, sensor: Optional[Element], coverage: SdfCoverage
) -> Tuple[float, float]:
    noise = next(sensor.iter("noise"), None) if sensor is not None else None
    if noise is None:
        return (0.0, 0.0)
    kind, parameters = gaussian_noise(document, noise)
    if kind != "none" and not kind.startswith("gaussian"):
        location = document.where(noise)
        coverage.warn_once("lidar noise", f"{location}: noise {kind!r} is not simulated")
    return parameters


def _driven_wheels(robot: RobotModel, model: EngineModel) -> Tuple[DrivenWheel, ...]:
    """Return the driven wheels, the left wheels first. Raises ``SdfError`` for a joint that does
    not rotate."""
    drive = robot.drive
    if drive is None:
        return ()
    parent_joints = {
        body.joint.name: (body, body.joint) for body in model.bodies if body.joint is not None
    }
    wheels = []
    for name in (*drive.left_joints, *drive.right_joints):
        body, joint = parent_joints[name]
        if joint.kind != "revolute":
            raise SdfError(f"{robot.path}: the drive's joint {name!r} must be revolute")
        rad_per_m = 2.0 / drive.wheel_diameter_m
        half_m = drive.wheel_separation_m / 2
        side_m = half_m if name in drive.left_joints else -half_m
        wheels.append(
            DrivenWheel(
                link=body.name,
                joint=f"{model.name}::{name}",
                per_speed=rad_per_m,
                per_turn=-rad_per_m * side_m,
                torque_nm=drive.torque_nm,
            )
        )
    return tuple(wheels)
