"""The drivetrain of a robot in MuJoCo: the motors of its wheels, or servos that replace them.

The wheels of a skid-steer drive must slide to turn. With servos, the wheels roll without
friction, and the base moves as commanded, with the force that the tires could transmit.
Otherwise motors keep the speeds of the wheels, and friction moves the robot
(:mod:`~gz_testauto.simulators.embedded.coulomb_friction`).
"""

from dataclasses import dataclass, replace
from typing import List, Literal, Sequence, Tuple, Union

import numpy as np

from gz_testauto.base.arithmetic import matrix_product, turned_tensor
from gz_testauto.base.observation import Twist2D
from gz_testauto.sdf.engine_model.bodies import EngineModel
from gz_testauto.sdf.engine_model.robots import DrivenWheel

Skid = Literal["servo", "wheels"]  # the method to turn a robot with more than two driven wheels

# Time in which a wheel without load reaches its commanded speed. It was fitted to Gazebo, in which
# the plugin sets the speed in every physics step and the solver reduces it again.
RESPONSE_S = 0.0015

# Time in which a skid-steer base reaches its commanded speed.
SERVO_RESPONSE_S = 0.05

STANDARD_GRAVITY_MPS2 = 9.8

# Largest driving force of a wheel without a torque limit, relative to its friction force. In
# Gazebo, the wheel would spin and use the full friction force. In MuJoCo, a spinning wheel would
# hop, since MuJoCo lifts a body that slides fast.
PUSH = 0.5


@dataclass(frozen=True)
class Wheel(DrivenWheel):
    """A driven wheel and its motor.

    ``axis`` is the axis of rotation in the frame of the link; ``gain`` is the torque (N m) per
    rad/s of speed error.
    """

    axis: Tuple[float, float, float]
    gain: float

    def with_load(self, load_n: float, mu: float) -> "Wheel":
        """Return the wheel with its torque limited by the friction of the tire under a load, or
        the unchanged wheel without load or friction."""
        if load_n <= 0 or mu <= 0:
            return self
        bearable = PUSH * min(mu, 1.0) * load_n / abs(self.per_speed)
        limits = [limit for limit in (self.torque_nm, bearable) if limit is not None]
        return replace(self, torque_nm=min(limits))


@dataclass(frozen=True)
class Servo:
    """A motor on the base: a force along x (``axis`` 0) or y (1), or a torque about z (5).

    ``gain`` is the force (N) or torque (N m) per m/s or rad/s of error, and ``limit`` the largest
    force or torque.
    """

    axis: int
    gain: float
    limit: float
    per_speed: float
    per_turn: float


@dataclass(frozen=True)
class Drivetrain:
    """The motors of a robot. With servos, the wheels roll without friction.

    With ``held``, the wheels keep their commanded speeds and can slide.
    """

    wheels: Tuple[Wheel, ...] = ()
    servos: Tuple[Servo, ...] = ()
    held: bool = False

    @property
    def motors(self) -> Tuple[Union[Wheel, Servo], ...]:
        return (*self.wheels, *self.servos)

    def speeds(self, twist: Twist2D) -> List[float]:
        """Return the commanded speed of each motor (rad/s, or m/s for servos along an axis)."""
        return [
            motor.per_speed * twist.linear_mps + motor.per_turn * twist.angular_radps
            for motor in self.motors
        ]


def read_servos(model: EngineModel, wheels: Sequence[Wheel]) -> Tuple[Servo, ...]:
    """Return servos whose limits are those of the wheel motors and of friction."""
    bodies = model.bodies
    mass, inertia_z = 0.0, 0.0
    for body in bodies:
        assert body.inertial is not None, "a robot is not static"
        x, y, _ = body.pose.apply(np.array(body.inertial.center_m)).tolist()
        mass += body.inertial.mass_kg
        tensor = turned_tensor(body.pose.rotation, body.inertial.matrix)
        inertia_z += float(tensor[2, 2]) + body.inertial.mass_kg * (x * x + y * y)
    links = {wheel.link for wheel in wheels}
    tires = [shape.surface for body in bodies for shape in body.shapes if body.name in links]
    mu = min((min(tire.mu, tire.mu2, 1.0) for tire in tires), default=1.0)
    grip_n = mu * mass * STANDARD_GRAVITY_MPS2
    torques = [wheel.torque_nm for wheel in wheels]
    push_n = sum(grip_n if t is None else t * abs(w.per_speed) for t, w in zip(torques, wheels))
    arm_m = abs(wheels[0].per_turn / wheels[0].per_speed)
    push_n = min(grip_n, push_n)
    return (
        Servo(0, mass / SERVO_RESPONSE_S, push_n, 1.0, 0.0),
        Servo(1, mass / SERVO_RESPONSE_S, grip_n, 0.0, 0.0),
        Servo(5, inertia_z / SERVO_RESPONSE_S, push_n * arm_m, 0.0, 1.0),
    )


def motorized_wheels(model: EngineModel, wheels: Sequence[DrivenWheel]) -> Tuple[Wheel, ...]:
    bodies = {body.name: body for body in model.bodies}
    motorized = []
    for wheel in wheels:
        body = bodies[wheel.link]
        assert body.joint is not None and body.inertial is not None, "it is driven by a joint"
        direction = body.joint.axes[0].direction
        axis = np.asarray(direction)
        inertia = float((matrix_product(axis, body.inertial.matrix) * axis).sum())
        motorized.append(Wheel(**vars(wheel), axis=direction, gain=inertia / RESPONSE_S))
    return tuple(motorized)
