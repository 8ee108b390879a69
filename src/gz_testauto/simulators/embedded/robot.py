"""The robot, staged: its bodies, drive, sensors and what counts as its body.

Owns the finding of drive and sensors in the robot's SDF. What is true of the robot whatever the
scene is worked out once.
"""

from dataclasses import dataclass, replace
from typing import FrozenSet, List, Optional, Tuple

from gz_testauto.errors import SdfError
from gz_testauto.pose import Pose, Pose2D
from gz_testauto.sdf.document import Element, SdfDocument
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.robot import RobotModel
from gz_testauto.sdf.scene import SceneModel, scene_model
from gz_testauto.sdf.staging.bodies import StagedModel, stage_model
from gz_testauto.sdf.staging.coverage import Coverage
from gz_testauto.sdf.tree import read_model
from gz_testauto.sdf.values import number, pose_value
from gz_testauto.simulators.embedded.mjcf import Mount
from gz_testauto.simulators.embedded.wheel_drive import (
    Drivetrain,
    Skid,
    read_servos,
    read_wheels,
)
from gz_testauto.simulators.embedded.wheel_loads import loaded_wheels


@dataclass(frozen=True)
class StagedRobot:
    """A robot at its own pose. ``body_shapes`` has the names of the collisions whose contacts
    are reported; ``lidar_noise_m`` the mean and the standard deviation of the lidar's."""

    robot: RobotModel
    model: StagedModel
    drive: Drivetrain
    body_shapes: FrozenSet[str]
    lidar: Optional[Mount]
    imu: Optional[Mount]
    lidar_noise_m: Tuple[float, float]

    def at(self, start: Pose2D) -> StagedModel:
        """The model at its start, as high and as level as its SDF has it."""
        own = self.model.pose
        roll, pitch, _ = own.rpy
        pose = Pose.from_rpy(start.x_m, start.y_m, own.position[2], roll, pitch, start.yaw_rad)
        return replace(self.model, pose=pose)


def stage_robot(robot: RobotModel, coverage: Coverage, skid: Skid = "servo") -> StagedRobot:
    """Stage a robot, which turns by ``skid`` if it has more than two driven wheels. Raises
    ``SdfError`` for what cannot be represented."""
    library = ModelLibrary()
    document = SdfDocument.parse(robot.sdf, str(robot.path))
    assert document.model is not None, "read_robot made it"
    node = read_model(document, document.model, library)
    node.pose = pose_value(document, document.model.find("pose"))
    scene = scene_model(node, library)
    if scene.static or not scene.links:
        raise SdfError(f"{robot.path}: a robot needs a link and must not be static")
    plugins = _drive_plugins(document.model, robot)
    lidar = _sensor(scene, robot.lidar.link, robot.lidar.sensor) if robot.lidar else None
    imu = _sensor(scene, robot.imu.link, robot.imu.sensor) if robot.imu else None
    found = frozenset(element for element in (*plugins, lidar, imu) if element is not None)
    staged = stage_model(scene, coverage, found)
    if imu is not None and next(imu.iter("noise"), None) is not None:
        coverage.say("imu noise", f"{robot.path}: the noise of the IMU is not simulated")
    return StagedRobot(
        robot=robot,
        model=staged,
        drive=_drive(robot, staged, plugins[0] if plugins else None, coverage, skid),
        body_shapes=frozenset(shape.scoped_name for shape in scene.body_shapes),
        lidar=_mount(scene, robot.lidar.link, robot.lidar.mount) if robot.lidar else None,
        imu=_mount(scene, robot.imu.link, robot.imu.mount) if robot.imu else None,
        lidar_noise_m=_noise(document, lidar, coverage),
    )


def _drive_plugins(model: Element, robot: RobotModel) -> List[Element]:
    """Those of the drive: one, or one for each axle."""
    plugins: List[Element] = model.findall("plugin")
    name = robot.drive.plugin if robot.drive is not None else None
    return [plugin for plugin in plugins if (plugin.get("filename") or "").strip() == name]


def _drive(
    robot: RobotModel,
    model: StagedModel,
    plugin: Optional[Element],
    coverage: Coverage,
    skid: Skid,
) -> Drivetrain:
    wheels = read_wheels(robot, model, plugin)
    if len(wheels) > 2:
        if skid == "wheels":
            return Drivetrain(tuple(wheels), held=True)
        return Drivetrain(tuple(wheels), read_servos(model, wheels))
    return Drivetrain(loaded_wheels(model, wheels, coverage)) if wheels else Drivetrain()


def _sensor(scene: SceneModel, link: str, sensor: str) -> Optional[Element]:
    for scope, model, _ in scene.node.walk():
        for node in model.links:
            if scope + node.name == link:
                for element in node.element.findall("sensor"):
                    if element.get("name") == sensor:
                        return element
    return None


def _mount(scene: SceneModel, link: str, pose: Pose) -> Mount:
    return Mount(f"{scene.name}::{link}", scene.links[link].inverse() * pose)


def _noise(
    document: SdfDocument, sensor: Optional[Element], coverage: Coverage
) -> Tuple[float, float]:
    """Mean and standard deviation of a lidar's noise (m)."""
    noise = next(sensor.iter("noise"), None) if sensor is not None else None
    if noise is None:
        return (0.0, 0.0)
    kind = (noise.get("type") or noise.findtext("type") or "gaussian").strip()
    if kind == "none":
        return (0.0, 0.0)
    if not kind.startswith("gaussian"):
        coverage.say("lidar noise", f"{document.where(noise)}: noise {kind!r} is not simulated")
        return (0.0, 0.0)
    return (number(document, noise, "mean", 0.0), number(document, noise, "stddev", 0.0))
