"""The robot's drive: which wheels turn, how fast for a twist, and how hard they push.

Owns what is known of the drive plugins of Gazebo and gazebo_ros. The former set the speed of
the wheels in every step of Gazebo's physics and leave the rest to friction; the latter use
motors with a torque limit. The wheels of a skid-steer drive must slide to turn. Either they roll
without friction, and the base is pushed and turned as it is told, as hard as their tyres could;
or motors hold their rates, and the rest is left to friction
(:mod:`~gz_testauto.simulators.embedded.grip`).
"""

import math
from dataclasses import dataclass, replace
from typing import Dict, List, Literal, Mapping, Optional, Sequence, Set, Tuple, Union

import numpy as np

from gz_testauto.errors import SdfError
from gz_testauto.observation import Twist2D
from gz_testauto.pose import Pose
from gz_testauto.sdf.document import Element
from gz_testauto.sdf.robot import RobotModel
from gz_testauto.sdf.staging.bodies import Body, StagedModel, walk

Skid = Literal["servo", "wheels"]
"""What turns a robot with more than two driven wheels: its base, as it is told, or its wheels."""

_TORQUE_TAGS = {
    "gazebo_ros_diff_drive": ("wheelTorque", 5.0),
    "gazebo_ros_skid_steer_drive": ("torque", 5.0),
    "SkidSteerDrivePlugin": ("max_force", 5.0),
}
"""Where a plugin has its torque limit (N m), and its default. Gazebo's DiffDrivePlugin reads a
``<torque>`` and does not use it."""

RESPONSE_S = 0.0015
"""How long a wheel that nothing holds takes to come to the speed it is told: measured against
Gazebo, whose plugin sets it in every physics step and whose solver takes some of it back."""

SERVO_RESPONSE_S = 0.05
"""How long a skid-steer base takes to come to the speed it is told."""

STANDARD_GRAVITY_MPS2 = 9.8

PUSH = 0.5
"""A wheel without a torque limit pushes with this share of its load. In Gazebo it would spin,
and push with all of it; MuJoCo lifts what slides fast, so a spinning wheel hops."""


@dataclass(frozen=True)
class Wheel:
    """A driven wheel. ``joint`` and ``body`` are scoped names, ``axis`` is in the body's frame.

    ``gain`` is the torque (N m) per missing rate (rad/s), ``torque_nm`` its limit. The rate for
    a twist is ``per_speed`` · v + ``per_turn`` · w, in rad/s.
    """

    joint: str
    body: str
    axis: Tuple[float, float, float]
    gain: float
    torque_nm: Optional[float]
    per_speed: float
    per_turn: float

    def under(self, load_n: float, mu: float) -> "Wheel":
        """The same wheel under a load, with as much torque as its tyre brings to the ground."""
        if load_n <= 0 or mu <= 0:
            return self
        bearable = PUSH * min(mu, 1.0) * load_n / abs(self.per_speed)
        limits = [limit for limit in (self.torque_nm, bearable) if limit is not None]
        return replace(self, torque_nm=min(limits))


@dataclass(frozen=True)
class Servo:
    """Pushes the base along x (``axis`` 0) or y (1) of its own frame, or turns it about z (5).

    ``gain`` is the force (N) or torque (N m) per missing m/s or rad/s, ``limit`` the most.
    """

    axis: int
    gain: float
    limit: float
    per_speed: float
    per_turn: float


@dataclass(frozen=True)
class Drivetrain:
    """What moves a robot. It has servos when the ground cannot: ``held`` says that its wheels
    keep their rates whatever the ground does, and slide."""

    wheels: Tuple[Wheel, ...] = ()
    servos: Tuple[Servo, ...] = ()
    held: bool = False

    @property
    def motors(self) -> Tuple[Union[Wheel, Servo], ...]:
        """Everything that is to be told a speed."""
        return (*self.wheels, *self.servos)

    def speeds(self, twist: Twist2D) -> List[float]:
        """How fast each motor is to go for a twist."""
        return [
            motor.per_speed * twist.linear_mps + motor.per_turn * twist.angular_radps
            for motor in self.motors
        ]


def read_servos(model: StagedModel, wheels: Sequence[Wheel]) -> Tuple[Servo, ...]:
    """The servos of a skid-steer drive with these wheels."""
    bodies = [body for root in model.roots for body in walk(root)]
    mass, about_z = 0.0, 0.0
    for body in bodies:
        assert body.inertial is not None, "a robot is not static"
        x, y, _ = body.pose.apply(np.array(body.inertial.center_m)).tolist()
        mass += body.inertial.mass_kg
        turned = body.pose.rotation @ body.inertial.matrix @ body.pose.rotation.T
        about_z += float(turned[2, 2]) + body.inertial.mass_kg * (x * x + y * y)
    tyres = [s.surface for body in bodies for s in body.shapes if body.name in _names(wheels)]
    mu = min((min(tyre.mu, tyre.mu2, 1.0) for tyre in tyres), default=1.0)
    grip = mu * mass * STANDARD_GRAVITY_MPS2
    torques = [wheel.torque_nm for wheel in wheels]
    push = sum(grip if t is None else t * abs(w.per_speed) for t, w in zip(torques, wheels))
    arm = abs(wheels[0].per_turn / wheels[0].per_speed)
    push = min(grip, push)
    return (
        Servo(0, mass / SERVO_RESPONSE_S, push, 1.0, 0.0),
        Servo(1, mass / SERVO_RESPONSE_S, grip, 0.0, 0.0),
        Servo(5, about_z / SERVO_RESPONSE_S, push * arm, 0.0, 1.0),
    )


def _names(wheels: Sequence[Wheel]) -> Set[str]:
    return {wheel.body for wheel in wheels}


def read_wheels(robot: RobotModel, model: StagedModel, plugin: Optional[Element]) -> List[Wheel]:
    """The driven wheels of a robot; none when its drive is not known.

    Which side a wheel is on and which way it turns is taken from where it is and where its axis
    points, so a robot drives as it is told whatever its joints are called.
    """
    drive = robot.drive
    if drive is None:
        return []
    placed = _placed(model)
    wheels = []
    for name in (*drive.left_joints, *drive.right_joints):
        body, pose = placed[name]
        assert body.joint is not None and body.inertial is not None, "placed by its joint"
        if body.joint.kind != "revolute":
            raise SdfError(f"{robot.path}: the drive's joint {name!r} does not turn")
        axis = np.asarray(body.joint.axes[0].direction)
        sideways = float((pose.rotation @ axis)[1])
        if abs(sideways) < 0.7:
            raise SdfError(
                f"{robot.path}: the axis of the drive's joint {name!r} does not point sideways"
            )
        forward = math.copysign(2.0 / drive.wheel_diameter_m, sideways)
        side = math.copysign(drive.wheel_separation_m / 2, pose.position[1])
        inertia = float(axis @ body.inertial.matrix @ axis)
        wheels.append(
            Wheel(
                joint=f"{model.name}::{name}",
                body=body.name,
                axis=body.joint.axes[0].direction,
                gain=inertia / RESPONSE_S,
                torque_nm=_torque(drive.plugin, plugin),
                per_speed=forward,
                per_turn=-forward * side,
            )
        )
    return wheels


def _placed(model: StagedModel) -> Mapping[str, Tuple[Body, Pose]]:
    """The body that each joint holds and its pose in the model, by the joint's name."""
    found: Dict[str, Tuple[Body, Pose]] = {}
    for root in model.roots:
        for body in walk(root):
            if body.joint is not None:
                found[body.joint.name] = (body, body.pose)
    return found


def _torque(library: str, plugin: Optional[Element]) -> Optional[float]:
    for name, (tag, default) in _TORQUE_TAGS.items():
        if name in library:
            text = "" if plugin is None else (plugin.findtext(tag) or "").strip()
            return float(text) if text else default
    return None
