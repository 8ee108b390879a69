"""Torque limits of a robot's wheels.

They apply if a drive plugin has no limit. Gazebo's plugin sets the speed of the wheels directly,
and only the ground acts on the robot. Bullet's motor turns the wheel against the body: without a
limit it lifts the front of a robot that starts from rest.
"""

from typing import List

from gz_testauto.sdf.engine_model.bodies import walk
from gz_testauto.sdf.engine_model.robots import EngineRobot

STANDARD_GRAVITY_MPS2 = 9.8

TWO_WHEEL_SHARE = 0.5
"""Largest share of its friction with which each of two wheels pushes: the robot starts and stops at
half of what friction allows, and does not tip."""

MORE_WHEELS_SHARE = 2.0
"""This share on more wheels, which must slide when the robot turns: more than the friction, of
which some wheels have a larger share than others."""


def torque_limits_nm(engine_robot: EngineRobot) -> List[float]:
    """Return the torque limit (N m) of each driven wheel: that of its plugin, and at most what its
    tire can transmit if the wheels share the weight equally."""
    wheels = engine_robot.wheels
    bodies = [body for root in engine_robot.model.roots for body in walk(root)]
    mass_kg = sum(body.inertial.mass_kg for body in bodies if body.inertial is not None)
    tires = {body.name: [shape.surface for shape in body.shapes] for body in bodies}
    limits = []
    for wheel in wheels:
        mu = min((min(tire.mu, tire.mu2, 1.0) for tire in tires[wheel.link]), default=1.0)
        load_n = mass_kg * STANDARD_GRAVITY_MPS2 / len(wheels)
        share = TWO_WHEEL_SHARE if len(wheels) == 2 else MORE_WHEELS_SHARE
        most = share * (mu or 1.0) * load_n / abs(wheel.per_speed)
        limits.append(most if wheel.torque_nm is None else min(most, wheel.torque_nm))
    return limits
