"""How hard the motors of a robot's wheels push.

Owns the limit where a drive plugin has none. Gazebo's sets the speed of the wheels themselves, and
the robot feels nothing of it but the ground's push. Bullet's motor turns the wheel against the
body: without a limit it lifts the front of a robot that starts from rest.
"""

from typing import List

from gz_testauto.sdf.engine_model.bodies import walk
from gz_testauto.sdf.engine_model.robots import EngineRobot

STANDARD_GRAVITY_MPS2 = 9.8

PUSH = 0.5
"""On two wheels the share of its grip that a wheel pushes with at most: it then starts and stops
at half of what friction would bear, and does not tip."""

SLIDE = 2.0
"""On more wheels, which must slide when the robot turns: more than the grip, of which some have a
larger share than others."""


def torque_limits_nm(engine_robot: EngineRobot) -> List[float]:
    """Of each driven wheel: that of its plugin, and no more than its tire brings to the ground,
    of a robot whose weight is on these wheels alike."""
    wheels = engine_robot.wheels
    bodies = [body for root in engine_robot.model.roots for body in walk(root)]
    mass_kg = sum(body.inertial.mass_kg for body in bodies if body.inertial is not None)
    tires = {body.name: [shape.surface for shape in body.shapes] for body in bodies}
    limits = []
    for wheel in wheels:
        mu = min((min(tire.mu, tire.mu2, 1.0) for tire in tires[wheel.link]), default=1.0)
        load_n = mass_kg * STANDARD_GRAVITY_MPS2 / len(wheels)
        share = PUSH if len(wheels) == 2 else SLIDE
        most = share * (mu or 1.0) * load_n / abs(wheel.per_speed)
        limits.append(most if wheel.torque_nm is None else min(most, wheel.torque_nm))
    return limits
