"""Conversion of engine models to MJCF, MuJoCo's format.

Between two collisions, the smaller friction coefficient applies, as in Gazebo. MuJoCo uses that
of the geom with the higher priority, so geoms with lower friction get a higher priority.
"""

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Container, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np
from lxml import etree

from gz_testauto.base.arithmetic import matrix_product
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.document import Element
from gz_testauto.sdf.dynamics import Joint
from gz_testauto.sdf.engine_model.bodies import Body, BodyShape, EngineModel, ground_pose, walk
from gz_testauto.sdf.engine_model.coverage import SdfCoverage
from gz_testauto.sdf.engine_model.robots import Mount
from gz_testauto.sdf.meshes.surfaces import Heightmap
from gz_testauto.sdf.shapes import Plane
from gz_testauto.simulators.embedded.coulomb_friction import IMPRATIO, STIFFNESS, UNLIMITED_NM
from gz_testauto.simulators.embedded.geoms import Geom, GeomFactory, Role
from gz_testauto.simulators.embedded.wheel_drive import Drivetrain, Servo, Wheel
from gz_testauto.simulators.mujoco_geoms import set_mjcf_pose, text

# A tire then holds an acceleration of 20 m/s². In MuJoCo's pyramidal cone, a contact is softer by
# the square of the coefficient: with 10, the wheels of a TurtleBot3 sink by 7 mm, so that its base
# and its casters carry it.
MAX_FRICTION = 2.0

# range (rad or m) of motion of a locked joint
MIN_RANGE = 1e-6

# Contact type of a visual, which matches no shape. Without a contact type, rays miss a visual that
# is outside the bounds of the other geoms of its body.
RAY_BIT = str(1 << 16)

# Number of bodies above which MuJoCo's memory size is set, and the smallest size.
MANY_BODIES = 2000
MIN_MEMORY_BYTES = 64_000_000

# Name of the MuJoCo site of a robot's IMU, and of the MuJoCo sensors at this site.
IMU = "{robot} imu"

# Name of the MuJoCo site at which servos act, the origin of a robot's model.
BASE = "{robot} base"

_HINGES = {"revolute": "hinge", "universal": "hinge", "revolute2": "hinge", "prismatic": "slide"}


@dataclass(frozen=True)
class Blueprint:
    """A MuJoCo model to compile.

    ``xml`` is MJCF, and ``assets`` contains the files that it references. ``shapes`` maps geoms to
    collisions. With ``grip``, the model needs
    :class:`~gz_testauto.simulators.embedded.coulomb_friction.CoulombFriction`; ``held`` are the
    joints of the wheels that move the robot by friction.
    """

    xml: str
    assets: Mapping[str, bytes]
    shapes: Mapping[str, str]
    grip: bool = False
    held: Tuple[str, ...] = ()


@dataclass(frozen=True)
class RobotEquipment:
    drive: Drivetrain
    imu: Optional[Mount] = None


def write_mjcf(
    models: Sequence[EngineModel],
    coverage: SdfCoverage,
    step_s: float,
    gravity_mps2: Sequence[float],
    robots: Mapping[str, RobotEquipment],
    grip: bool = False,
    placeable: Container[str] = (),
) -> Blueprint:
    """Convert models at their poses to a MuJoCo model.

    The static models in ``placeable`` are bodies whose pose can be changed. The shapes of other
    static models are part of the world, and hardly increase the time of a step. ``robots`` maps
    names to equipment. MuJoCo's sensor data have the order of its IMUs. With ``grip``, bodies slide
    according to Coulomb's law.
    """
    return _MjcfWriter(models, coverage, robots, grip, placeable).write(step_s, gravity_mps2)


def motor_name(robot: str, motor: Union[Wheel, Servo]) -> str:
    return motor.joint if isinstance(motor, Wheel) else f"{robot} servo {motor.axis}"


class _MjcfWriter:
    def __init__(
        self,
        models: Sequence[EngineModel],
        coverage: SdfCoverage,
        robots: Mapping[str, RobotEquipment],
        grip: bool,
        placeable: Container[str],
    ) -> None:
        self._models = models
        self._placeable = placeable
        self._grip = grip
        self._equipment = robots
        self._wheels: Dict[str, Tuple[Wheel, Drivetrain]] = {
            wheel.link: (wheel, equipment.drive)
            for equipment in robots.values()
            for wheel in equipment.drive.wheels
        }
        self._held_joints = tuple(
            wheel.joint for wheel, drive in self._wheels.values() if drive.held
        )
        self._imus = {
            equipment.imu.link: (name, equipment.imu)
            for name, equipment in robots.items()
            if equipment.imu is not None
        }
        self._lidar_sees_visuals = coverage.reads_visuals
        self._factory = GeomFactory(coverage)
        self._shapes: Dict[str, str] = {}
        frictions = {
            _friction_coefficient(shape)
            for model in models
            for body in model.bodies
            for shape in body.shapes
        }
        frictions.add(0.0)
        self._priority = {mu: rank for rank, mu in enumerate(sorted(frictions, reverse=True))}

    def write(self, step_s: float, gravity_mps2: Sequence[float]) -> Blueprint:
        root = etree.Element("mujoco")
        etree.SubElement(root, "compiler", angle="radian", autolimits="true", balanceinertia="true")
        self._add_memory_size(root)
        option = etree.SubElement(root, "option", timestep=text(step_s))
        option.set("gravity", text(*gravity_mps2))
        option.set("integrator", "implicitfast")
        option.set("cone", "elliptic" if self._grip else "pyramidal")
        if self._grip:
            option.set("impratio", text(IMPRATIO))
        default = etree.SubElement(root, "default")
        # two steps are the smallest time constant at which contacts are stable
        etree.SubElement(default, "geom", solref=text(2 * step_s, 1.0))
        assets = etree.SubElement(root, "asset")
        world = etree.SubElement(root, "worldbody")
        contact = etree.SubElement(root, "contact")
        for model in self._models:
            if model.static:
                self._add_static(world, model)
            else:
                self._add_movable(world, contact, model)
        self._add_instruments(root)
        files = self._factory.add_assets(assets)
        xml = etree.tostring(root, encoding="unicode")
        return Blueprint(xml, files, self._shapes, self._grip, self._held_joints)

    def _add_memory_size(self, root: Element) -> None:
        bodies = sum(
            model.name in self._placeable if model.static else len(model.bodies)
            for model in self._models
        )
        if bodies > MANY_BODIES:
            needs = 2 * bodies**2 + 120_000 * bodies + MIN_MEMORY_BYTES
            # the system allocates the memory when it is used
            etree.SubElement(root, "size", memory=str(needs))

    def _add_static(self, world: Element, model: EngineModel) -> None:
        body, frame = world, model.pose
        if model.name in self._placeable:
            body = set_mjcf_pose(etree.SubElement(world, "body", name=model.name), model.pose)
            frame = Pose()
        for link in model.roots:
            for shape in link.shapes:
                pose = link.pose * shape.pose
                if isinstance(shape.geometry, (Heightmap, Plane)):
                    pose = model.pose.inverse() * ground_pose(shape.geometry, model.pose * pose)
                self._add_geoms(body, shape, frame * pose, self._factory.geoms(shape))
            for visual in link.visuals:
                pose = link.pose * visual.pose
                if isinstance(visual.geometry, Heightmap):
                    pose = model.pose.inverse() * ground_pose(visual.geometry, model.pose * pose)
                self._add_visual(body, visual, frame * pose)

    def _add_movable(self, world: Element, contact: Element, model: EngineModel) -> None:
        for root in model.roots:
            element = self._add_body(world, root, model.pose * root.pose)
            equipment = self._equipment.get(model.name)
            servos = equipment is not None and equipment.drive.servos
            if servos and any(body.name in self._wheels for body in walk(root)):
                site = etree.SubElement(element, "site", name=BASE.format(robot=model.name))
                set_mjcf_pose(site, root.pose.inverse())
            if root.joint is None:
                element.insert(0, etree.Element("freejoint", name=root.name))
        if model.self_collide:
            return
        # a static model has contacts with the links around it, as in Gazebo
        names = [body.name for body in model.bodies if body.shapes and body.inertial is not None]
        for first, second in combinations(names, 2):
            etree.SubElement(contact, "exclude", body1=first, body2=second)

    def _add_body(self, parent: Element, body: Body, pose: Pose) -> Element:
        element = set_mjcf_pose(etree.SubElement(parent, "body", name=body.name), pose)
        if not body.gravity:
            element.set("gravcomp", "1")
        if body.joint is not None:
            model = body.name[: -len(f"::{body.joint.child}")]  # can contain "::"
            _add_joint(element, model, body.joint)
            wheel, drive = self._wheels.get(body.name, (None, None))
            if wheel is not None and drive is not None and drive.held:
                _hold(element.find("joint"), wheel)
        if body.inertial is not None:
            inertial = etree.SubElement(element, "inertial", pos=text(*body.inertial.center_m))
            inertial.set("mass", text(body.inertial.mass_kg))
            inertial.set("fullinertia", text(*body.inertial.tensor_kgm2))
        if body.name in self._imus:
            robot, mount = self._imus[body.name]
            set_mjcf_pose(
                etree.SubElement(element, "site", name=IMU.format(robot=robot)), mount.pose
            )
        for shape in body.shapes:
            wheel, drive = self._wheels.get(body.name, (None, None))
            if wheel is None or drive is None:
                geoms = self._factory.geoms(shape, body.inertial is not None)
            elif drive.servos:
                geoms = self._factory.geoms(shape, True)
                shape = replace(shape, surface=replace(shape.surface, mu=0.0))
            else:
                axis = matrix_product(shape.pose.rotation.T, np.asarray(wheel.axis))
                geoms = self._factory.wheel(shape, axis, drive.held)
            self._add_geoms(element, shape, shape.pose, geoms)
        for visual in body.visuals:
            self._add_visual(element, visual, visual.pose)
        for child in body.children:
            self._add_body(element, child, body.pose.inverse() * child.pose)
        return element

    def _add_geoms(self, body: Element, shape: BodyShape, pose: Pose, geoms: List[Geom]) -> None:
        if self._lidar_sees_visuals:
            geoms = [replace(g, role=Role.CONTACT) for g in geoms if g.role is not Role.LIDAR]
        self._write_geoms(body, shape, pose, geoms)

    def _add_visual(self, body: Element, visual: BodyShape, pose: Pose) -> None:
        self._write_geoms(body, visual, pose, self._factory.lidar_geoms(visual))

    def _write_geoms(self, body: Element, shape: BodyShape, pose: Pose, geoms: List[Geom]) -> None:
        friction = _friction_coefficient(shape)
        bits = str(shape.surface.collide_bitmask & 0xFFFF)
        needs_ray_bit = self._lidar_sees_visuals and body.tag != "worldbody"
        untouched_bits = RAY_BIT if needs_ray_bit else "0"
        for geom in geoms:
            name = shape.name
            if name in self._shapes:
                name = f"{shape.name}#{len(self._shapes)}"
            self._shapes[name] = shape.name
            element = etree.SubElement(body, "geom", name=name, **geom.attributes)
            set_mjcf_pose(element, pose * geom.pose)
            element.set("group", str(int(geom.role)))
            touches = geom.role is not Role.LIDAR
            if touches:
                element.set("friction", text(friction, 0.0, 0.0))
                element.set("priority", str(self._priority[friction]))
                element.set("condim", str(condim(friction)))
            element.set("contype", bits if touches else untouched_bits)
            has_forces = touches and shape.surface.has_forces
            element.set("conaffinity", bits if has_forces else "0")

    def _add_instruments(self, root: Element) -> None:
        actuator = etree.SubElement(root, "actuator")
        for robot, equipment in self._equipment.items():
            self._add_motors(actuator, robot, equipment.drive)
        sensor = etree.SubElement(root, "sensor")
        for robot, _ in self._imus.values():
            site = IMU.format(robot=robot)
            etree.SubElement(sensor, "framequat", objtype="site", objname=site)
            etree.SubElement(sensor, "gyro", site=site)
            etree.SubElement(sensor, "framelinvel", objtype="site", objname=site)

    def _add_motors(self, actuator: Element, robot: str, drive: Drivetrain) -> None:
        for wheel in () if drive.held else drive.wheels:
            name = motor_name(robot, wheel)
            motor = etree.SubElement(actuator, "velocity", joint=wheel.joint, name=name)
            motor.set("kv", text(wheel.gain))
            if wheel.torque_nm is not None:
                motor.set("forcerange", text(-wheel.torque_nm, wheel.torque_nm))
        for servo in drive.servos:
            motor = etree.SubElement(actuator, "general", name=motor_name(robot, servo))
            motor.set("site", BASE.format(robot=robot))
            motor.set("gear", text(*(float(axis == servo.axis) for axis in range(6))))
            motor.set("gainprm", text(servo.gain))
            motor.set("biastype", "affine")
            motor.set("biasprm", text(0.0, 0.0, -servo.gain))
            motor.set("forcerange", text(-servo.limit, servo.limit))


def condim(friction: float) -> int:
    """Return MuJoCo's dimension of a contact, 3 with friction and 1 without."""
    return 3 if friction > 0 else 1


def _friction_coefficient(shape: BodyShape) -> float:
    return min(shape.surface.mu, shape.surface.mu2, MAX_FRICTION)


def _add_joint(body: Element, model: str, joint: Joint) -> None:
    name = f"{model}::{joint.name}"
    if joint.kind == "ball":
        etree.SubElement(body, "joint", name=name, type="ball", pos=text(*joint.anchor_m))
        return
    for index, axis in enumerate(joint.axes):
        element = etree.SubElement(body, "joint", type=_HINGES[joint.kind])
        element.set("name", _axis_name(name, index))
        element.set("pos", text(*joint.anchor_m))
        element.set("axis", text(*axis.direction))
        if axis.limits is not None:
            low, high = axis.limits
            # MuJoCo would ignore an empty range and leave the joint free
            element.set("range", text(low, max(high, low + MIN_RANGE)))
        element.set("damping", text(axis.damping))
        element.set("frictionloss", text(axis.friction))
        if axis.stiffness:
            element.set("stiffness", text(axis.stiffness))
            element.set("springref", text(axis.reference))


def _hold(joint: Element, wheel: Wheel) -> None:
    """Set the friction of an MJCF joint that simulates the motor of a wheel."""
    limit = UNLIMITED_NM if wheel.torque_nm is None else wheel.torque_nm
    joint.set("frictionloss", text(limit))
    joint.set("solimpfriction", STIFFNESS)


def joint_names(model: EngineModel) -> List[str]:
    names: List[str] = []
    for body in () if model.static else model.bodies:
        if body.joint is None:
            names.append(body.name)
        else:
            count = 1 if body.joint.kind == "ball" else len(body.joint.axes)
            name = f"{model.name}::{body.joint.name}"
            names += [_axis_name(name, index) for index in range(count)]
    return names


def _axis_name(joint: str, index: int) -> str:
    return joint if index == 0 else f"{joint}#{index + 1}"
