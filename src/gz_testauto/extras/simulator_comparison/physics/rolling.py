"""A ball that rolls down a slope without slip: friction that does no work."""

import math

from gz_testauto.extras.simulator_comparison.physics.check import PhysicsCheck, PhysicsResult
from gz_testauto.extras.simulator_comparison.physics.scenes import (
    GRAVITY_MPS2,
    PhysicsSceneLoader,
    body,
    slope,
)

SLOPE_RAD = math.radians(10.0)
RADIUS_M, MASS_KG = 0.1, 1.0
INTERVAL_S = 0.5


def acceleration_mps2(loader: PhysicsSceneLoader) -> PhysicsResult:
    """Return the acceleration from the ball's position at three equally spaced times."""
    about = 0.4 * MASS_KG * RADIUS_M**2
    ball = body(
        "ball",
        f"<sphere><radius>{RADIUS_M}</radius></sphere>",
        (0.0, 0.0, RADIUS_M),
        MASS_KG,
        (about, about, about),
        mu=1.0,
    )
    simulation = loader.load(ball, gravity=slope(SLOPE_RAD))
    first, second, third = (
        simulation.step(INTERVAL_S).models["ball"].pose.position[0] for _ in range(3)
    )
    value = (third - 2 * second + first) / INTERVAL_S**2
    return PhysicsResult(value, 5 / 7 * GRAVITY_MPS2 * math.sin(SLOPE_RAD))


ROLL = PhysicsCheck(
    "rolling_ball", "a ball on a slope of 10°", "m/s²", "5/7 g sin θ", acceleration_mps2
)
