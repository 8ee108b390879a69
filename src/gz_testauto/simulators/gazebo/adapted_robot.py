"""Adaptation of a robot to a Gazebo without ROS.

This gzserver cannot load plug-ins of gazebo_ros and of Gazebo Sim. Their drives, and the wheel
joints of the key ``robot.drive``, are replaced by one DiffDrivePlugin for each axle. Other such
plug-ins are removed, and the lidar becomes a ``ray`` sensor, which needs no display.

The wheels of a robot with several axles must slide to turn. Three changes give it the motion on
which ``wheel_separation_multiplier`` of ros_control is based, with motors that keep the speeds of
the wheels, and with isotropic friction:

- The moments of inertia of the wheels are increased (:data:`SPEED_LOSS_RADPS`).
- ODE limits friction by a cone in the whole world.
- ``<fdir1>`` is removed from wheels whose friction is equal in all directions.
"""

import functools
import logging
import re
from dataclasses import replace
from typing import List, NamedTuple, Tuple

import numpy as np
from lxml import etree

from gz_testauto.sdf.document import Element, SdfDocument
from gz_testauto.sdf.drives import (
    DriveDescription,
    PlacedLink,
    RobotParts,
    find_drive,
    is_drive_plugin,
)
from gz_testauto.sdf.dynamics import (
    GRAVITY_MPS2,
    read_inertial,
    read_joints,
    read_surface,
    write_inertial,
)
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.robot import RobotModel
from gz_testauto.sdf.scene import scene_model
from gz_testauto.sdf.tree import ModelNode, read_model
from gz_testauto.sdf.values import remove_child

LOGGER = logging.getLogger(__name__)

DIFF_DRIVE = "libDiffDrivePlugin.so"

# Largest speed that friction with a coefficient of 1 can take from a wheel of a robot with
# several axles in one physics step of 1 ms.
SPEED_LOSS_RADPS = 0.1

STEP_S = 0.001

# For robots with several axles. The edges of the default pyramid are parallel to the axes of
# the world, so the yaw rate would change by a factor of 1.5 with the heading of the robot.
CONE = "cone_model"

# plug-ins that need ROS or Gazebo Sim
_NOT_LOADABLE = re.compile(r"(lib)?(.*_ros[0-9]?_.*|(gz|ignition)-(sim|gazebo)[0-9]*-.*)")


class AdaptedRobot(NamedTuple):
    """The SDF of a robot for a Gazebo without ROS, and the file name of its drive plug-in.

    Velocity commands must be multiplied by ``linear`` and ``angular``, for wheels with the sizes of
    the original drive. With ``needs_cone``, ODE must limit friction by a cone.
    """

    sdf: str
    plugin: str
    linear: float = 1.0
    angular: float = 1.0
    needs_cone: bool = False


@functools.lru_cache(maxsize=32)
def adapt_robot(robot: RobotModel) -> AdaptedRobot:
    document = SdfDocument.parse(robot.sdf, str(robot.path))
    model = document.require_model()
    changes = [*_remove_unloadable_plugins(model), *_replace_gpu_lidar(model, robot)]
    drive = robot.drive
    adapted_robot = AdaptedRobot(robot.sdf, drive.plugin if drive is not None else "")
    if drive is not None and not drive.is_of_gazebo:
        adapted_robot, drive_changes = _with_diff_drive(document, drive)
        changes += drive_changes
    if not changes:
        return adapted_robot
    LOGGER.warning("%s in a Gazebo without ROS: %s", robot.path, "; ".join(changes))
    return adapted_robot._replace(sdf=etree.tostring(document.root, encoding="unicode"))


def _remove_unloadable_plugins(model: Element) -> List[str]:
    removed_names = []
    for plugin in list(model.iter("plugin")):
        name = (plugin.get("filename") or "").strip().rsplit("/", 1)[-1]
        if _NOT_LOADABLE.fullmatch(name):
            removed_names.append(name)
            remove_child(plugin)
    return ["without " + ", ".join(dict.fromkeys(removed_names))] if removed_names else []


def _replace_gpu_lidar(model: Element, robot: RobotModel) -> List[str]:
    name = None if robot.lidar is None else robot.lidar.sensor
    for sensor in model.iter("sensor"):
        if sensor.get("name") == name and sensor.get("type") == "gpu_ray":
            sensor.set("type", "ray")
            return [f"lidar {name!r} as ray instead of gpu_ray sensor"]
    return []


def _with_diff_drive(
    document: SdfDocument, drive: DriveDescription
) -> Tuple[AdaptedRobot, List[str]]:
    """Replace the drive in ``document``. Return the robot with empty SDF text, and descriptions of
    the changes."""
    model, library = document.require_model(), ModelLibrary()
    for plugin in list(model.findall("plugin")):
        if is_drive_plugin(plugin.get("filename") or ""):  # the key robot.drive replaces it
            remove_child(plugin)
    node = read_model(document, model, library)
    parts = RobotParts.of(node)
    for left, right in zip(drive.left_joints, drive.right_joints):
        plugin = etree.SubElement(model, "plugin", name=f"drive_{left}", filename=DIFF_DRIVE)
        etree.SubElement(plugin, "left_joint").text = left
        etree.SubElement(plugin, "right_joint").text = right
    sizes = find_drive(node, parts, scene_model(node, library))
    assert sizes is not None, "the plug-ins were added"
    changes = [f"{DIFF_DRIVE} drives the wheels"]
    is_skid = len(drive.left_joints) > 1
    if is_skid:
        wheels = (*drive.left_joints, *drive.right_joints)
        _make_wheels_heavy(node, parts, wheels, sizes)
        changes.append("the wheels have larger moments of inertia")
        changes.append("friction is limited by a cone in the whole world")
        if _remove_directions([parts.joints[name].child for name in wheels]):
            changes.append("without <fdir1> of the wheels, which would rotate with them")
    linear = sizes.wheel_diameter_m / drive.wheel_diameter_m
    angular = linear * drive.wheel_separation_m / sizes.wheel_separation_m
    return AdaptedRobot("", DIFF_DRIVE, linear, angular, is_skid), changes


def _remove_directions(wheels: List[PlacedLink]) -> bool:
    """Remove ``<fdir1>`` from collisions with isotropic friction; return whether any existed."""
    # <fdir1> rotates with the wheel: after a quarter of a turn it is vertical, and the wheel
    # does not grip.
    directions = [
        fdir1
        for wheel in wheels
        for collision in wheel.link.element.findall("collision")
        if _is_isotropic(wheel.model.document, collision)
        for fdir1 in collision.iter("fdir1")
    ]
    for fdir1 in directions:
        remove_child(fdir1)
    return bool(directions)


def _is_isotropic(document: SdfDocument, collision: Element) -> bool:
    surface = read_surface(document, collision)
    return surface.mu == surface.mu2


def _make_wheels_heavy(
    node: ModelNode, parts: RobotParts, wheels: Tuple[str, ...], drive: DriveDescription
) -> None:
    # DiffDrivePlugin sets the speeds before each physics step, and friction could stop light
    # wheels within the step. With unequal moments, a gyroscopic torque would tip the robot.
    links = [
        (placed_link.model.document, placed_link.link.element)
        for placed_link in parts.links.values()
    ]
    weight_n = sum(read_inertial(*link).mass_kg for link in links) * abs(GRAVITY_MPS2[2])
    torque_nm = weight_n / len(wheels) * drive.wheel_diameter_m / 2
    needed_kgm2 = torque_nm * STEP_S / SPEED_LOSS_RADPS
    joints = {joint.name: joint for joint in read_joints(node)}
    for name in wheels:
        child = parts.joints[name].child
        axis = np.asarray(joints[name].axes[0].direction)
        inertial = read_inertial(child.model.document, child.link.element)
        if float(axis @ inertial.matrix @ axis) >= needed_kgm2:
            continue
        heavy_inertial = replace(inertial, tensor_kgm2=(*[needed_kgm2] * 3, 0.0, 0.0, 0.0))
        write_inertial(child.link.element, heavy_inertial)
