"""A box on a slope by Coulomb's law, below and above the angle of friction, and its stop on level
ground."""

import math
from typing import List

from gz_testauto.base.errors import SimulatorError
from gz_testauto.extras.simulator_comparison.physics.check import PhysicsCheck, PhysicsResult
from gz_testauto.extras.simulator_comparison.physics.scenes import (
    GRAVITY_MPS2,
    LEVEL,
    PhysicsSceneLoader,
    Vector,
    body,
    slope,
)
from gz_testauto.simulators.changes import SetModel
from gz_testauto.simulators.interface import Simulation

MU = 0.5
SLOPE_OFFSET_RAD = math.radians(5.0)
"""Difference between the slopes and the angle of friction."""
INTERVAL_S = 0.5
SETTLING_S = 0.5
SPEED_MPS = 2.0
FIRST_S = 0.02
"""Time after which the box must still have most of its initial speed."""


def _with_box(loader: PhysicsSceneLoader, gravity: Vector) -> Simulation:
    shape = "<box><size>0.4 0.4 0.2</size></box>"
    moments = (10 / 12 * 0.2, 10 / 12 * 0.2, 10 / 12 * 0.32)
    return loader.load(body("box", shape, (0.0, 0.0, 0.1), 10.0, moments, MU), gravity=gravity)


def _places_m(simulation: Simulation, count: int) -> List[float]:
    return [float(simulation.step(INTERVAL_S).models["box"].pose.position[0]) for _ in range(count)]


def slide(loader: PhysicsSceneLoader) -> PhysicsResult:
    """Return the acceleration (m/s²) from the box's position at three equally spaced times."""
    angle = math.atan(MU) + SLOPE_OFFSET_RAD
    first, second, third = _places_m(_with_box(loader, slope(angle)), 3)
    exact = GRAVITY_MPS2 * (math.sin(angle) - MU * math.cos(angle))
    return PhysicsResult((third - 2 * second + first) / INTERVAL_S**2, exact)


def stick(loader: PhysicsSceneLoader) -> PhysicsResult:
    """Return the creep (m) of the box in one second, with the distance of a frictionless box as
    scale."""
    angle = math.atan(MU) - SLOPE_OFFSET_RAD
    first, _, third = _places_m(_with_box(loader, slope(angle)), 3)
    return PhysicsResult(third - first, 0.0, GRAVITY_MPS2 * math.sin(angle) / 2)


def stop(loader: PhysicsSceneLoader) -> PhysicsResult:
    """Return the distance (m) that the box slides on level ground until it is at rest."""
    simulation = _with_box(loader, LEVEL)
    begin = simulation.step(SETTLING_S).models["box"].pose.position[0]
    simulation.apply([SetModel("box", linear_mps=(SPEED_MPS, 0.0, 0.0))])
    moved_m = simulation.step(FIRST_S).models["box"].pose.position[0] - begin
    if moved_m < SPEED_MPS * FIRST_S / 2:
        raise SimulatorError("the box does not have the speed that was set")
    exact = SPEED_MPS**2 / (2 * MU * GRAVITY_MPS2)
    end = simulation.step(2.0).models["box"].pose.position[0]
    return PhysicsResult(end - begin, exact)


SLIDE = PhysicsCheck(
    "slide", "a box on a slope 5° above atan μ", "m/s²", "g (sin θ - μ cos θ)", slide
)
STICK = PhysicsCheck("stick", "a box on a slope 5° below atan μ, creep in 1 s", "m", "0", stick)
STOP = PhysicsCheck("sliding_stop", "a box that slides at 2 m/s stops", "m", "v²/(2 μ g)", stop)
