"""A ball that rolls down a slope without slip: friction that does no work."""

import math

from gz_testauto.extras.simulator_comparison.physics.bench import GRAVITY_MPS2, Bench, body, slope
from gz_testauto.extras.simulator_comparison.physics.check import Check, Finding

SLOPE_RAD = math.radians(10.0)
RADIUS_M, MASS_KG = 0.1, 1.0
PIECE_S = 0.5


def acceleration_mps2(bench: Bench) -> Finding:
    """From where the ball is at three equally distant moments."""
    about = 0.4 * MASS_KG * RADIUS_M**2
    ball = body(
        "ball",
        f"<sphere><radius>{RADIUS_M}</radius></sphere>",
        (0.0, 0.0, RADIUS_M),
        MASS_KG,
        (about, about, about),
        mu=1.0,
    )
    simulation = bench.load(ball, gravity=slope(SLOPE_RAD))
    first, second, third = (
        simulation.step(PIECE_S).models["ball"].pose.position[0] for _ in range(3)
    )
    value = (third - 2 * second + first) / PIECE_S**2
    return Finding(value, 5 / 7 * GRAVITY_MPS2 * math.sin(SLOPE_RAD))


ROLL = Check("rolling_ball", "a ball on a slope of 10°", "m/s²", "5/7 g sin θ", acceleration_mps2)
