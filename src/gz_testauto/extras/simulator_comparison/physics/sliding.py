"""A box on a slope by Coulomb's law: it stays below the angle of friction and slides above it,
and what slides on level ground comes to rest."""

import math
from typing import List

from gz_testauto.base.errors import SimulatorError
from gz_testauto.extras.simulator_comparison.physics.bench import (
    GRAVITY_MPS2,
    LEVEL,
    Bench,
    Vector,
    body,
    slope,
)
from gz_testauto.extras.simulator_comparison.physics.check import Check, Finding
from gz_testauto.simulators.changes import SetModel
from gz_testauto.simulators.interface import Simulation

MU = 0.5
BESIDE_RAD = math.radians(5.0)
"""How far from the angle of friction the slopes are."""
PIECE_S = 0.5
SETTLING_S = 0.5
SPEED_MPS = 2.0
FIRST_S = 0.02
"""After so long it must have most of that speed, or it was not given it."""


def _with_box(bench: Bench, gravity: Vector) -> Simulation:
    shape = "<box><size>0.4 0.4 0.2</size></box>"
    moments = (10 / 12 * 0.2, 10 / 12 * 0.2, 10 / 12 * 0.32)
    return bench.load(body("box", shape, (0.0, 0.0, 0.1), 10.0, moments, MU), gravity=gravity)


def _places_m(simulation: Simulation, count: int) -> List[float]:
    return [float(simulation.step(PIECE_S).models["box"].pose.position[0]) for _ in range(count)]


def slide(bench: Bench) -> Finding:
    """The acceleration (m/s²) from where the box is at three equally distant moments."""
    angle = math.atan(MU) + BESIDE_RAD
    first, second, third = _places_m(_with_box(bench, slope(angle)), 3)
    exact = GRAVITY_MPS2 * (math.sin(angle) - MU * math.cos(angle))
    return Finding((third - 2 * second + first) / PIECE_S**2, exact)


def stick(bench: Bench) -> Finding:
    """How far the box creeps (m) in a second; as a share of how far one without friction gets."""
    angle = math.atan(MU) - BESIDE_RAD
    first, _, third = _places_m(_with_box(bench, slope(angle)), 3)
    return Finding(third - first, 0.0, GRAVITY_MPS2 * math.sin(angle) / 2)


def stop(bench: Bench) -> Finding:
    """How far (m) the box slides on level ground until it rests."""
    simulation = _with_box(bench, LEVEL)
    begin = simulation.step(SETTLING_S).models["box"].pose.position[0]
    simulation.apply([SetModel("box", linear_mps=(SPEED_MPS, 0.0, 0.0))])
    moved_m = simulation.step(FIRST_S).models["box"].pose.position[0] - begin
    if moved_m < SPEED_MPS * FIRST_S / 2:
        raise SimulatorError("the box did not take up the speed that it was given")
    exact = SPEED_MPS**2 / (2 * MU * GRAVITY_MPS2)
    end = simulation.step(2.0).models["box"].pose.position[0]
    return Finding(end - begin, exact)


SLIDE = Check("slide", "a box on a slope 5° above atan μ", "m/s²", "g (sin θ - μ cos θ)", slide)
STICK = Check("stick", "a box on a slope 5° below atan μ, creep in 1 s", "m", "0", stick)
STOP = Check("sliding_stop", "a box that slides at 2 m/s stops", "m", "v²/(2 μ g)", stop)
