"""Physics of single bodies: free fall, rolling without slip, and sliding by Coulomb's law."""

import math
from typing import List

from gz_testauto.base.errors import SimulatorError
from gz_testauto.extras.simulator_comparison.physics.scenes import (
    GRAVITY_MPS2,
    LEVEL,
    PhysicsResult,
    PhysicsSceneLoader,
    Vector,
    body,
    slope,
)
from gz_testauto.simulators.changes import SetModel
from gz_testauto.simulators.interface import Simulation

FALL_S = 0.7
BALL_SLOPE_RAD = math.radians(10.0)
BALL_RADIUS_M, BALL_KG = 0.1, 1.0
MU = 0.5
"""Friction of the box that slides."""
SLOPE_OFFSET_RAD = math.radians(5.0)
"""Difference between the box's slopes and the angle of friction."""
INTERVAL_S = 0.5
SETTLING_S = 0.5
SPEED_MPS = 2.0
FIRST_S = 0.02
"""Time after which the box must still have most of its initial speed."""


def free_fall(loader: PhysicsSceneLoader) -> PhysicsResult:
    """Return the distance (m) that a box falls."""
    shape = "<box><size>0.2 0.2 0.2</size></box>"
    simulation = loader.load(body("box", shape, (0, 0, 5.0), 1.0, (0.0067,) * 3, mu=1.0))
    end = simulation.step(FALL_S).models["box"].pose.position
    return PhysicsResult(5.0 - end[2], GRAVITY_MPS2 * FALL_S**2 / 2)


def rolling_ball(loader: PhysicsSceneLoader) -> PhysicsResult:
    """Return the acceleration (m/s²) of a ball that rolls down a slope without slip."""
    shape = f"<sphere><radius>{BALL_RADIUS_M}</radius></sphere>"
    about = 0.4 * BALL_KG * BALL_RADIUS_M**2
    ball = body("ball", shape, (0.0, 0.0, BALL_RADIUS_M), BALL_KG, (about,) * 3, mu=1.0)
    simulation = loader.load(ball, gravity=slope(BALL_SLOPE_RAD))
    exact = 5 / 7 * GRAVITY_MPS2 * math.sin(BALL_SLOPE_RAD)
    return PhysicsResult(_acceleration_mps2(_places_m(simulation, "ball")), exact)


def _with_box(loader: PhysicsSceneLoader, gravity: Vector) -> Simulation:
    shape = "<box><size>0.4 0.4 0.2</size></box>"
    moments = (10 / 12 * 0.2, 10 / 12 * 0.2, 10 / 12 * 0.32)
    return loader.load(body("box", shape, (0.0, 0.0, 0.1), 10.0, moments, MU), gravity=gravity)


def _places_m(simulation: Simulation, model: str) -> List[float]:
    """Return x of the model at three equally spaced times."""
    return [float(simulation.step(INTERVAL_S).models[model].pose.position[0]) for _ in range(3)]


def _acceleration_mps2(places_m: List[float]) -> float:
    first, second, third = places_m
    return (third - 2 * second + first) / INTERVAL_S**2


def sliding_box(loader: PhysicsSceneLoader) -> PhysicsResult:
    """Return the acceleration (m/s²) of a box on a slope above the angle of friction."""
    angle = math.atan(MU) + SLOPE_OFFSET_RAD
    places_m = _places_m(_with_box(loader, slope(angle)), "box")
    exact = GRAVITY_MPS2 * (math.sin(angle) - MU * math.cos(angle))
    return PhysicsResult(_acceleration_mps2(places_m), exact)


def sticking_box(loader: PhysicsSceneLoader) -> PhysicsResult:
    """Return the creep (m) in one second of a box on a slope below the angle of friction, with the
    distance of a frictionless box as scale."""
    angle = math.atan(MU) - SLOPE_OFFSET_RAD
    first, _, third = _places_m(_with_box(loader, slope(angle)), "box")
    return PhysicsResult(third - first, 0.0, GRAVITY_MPS2 * math.sin(angle) / 2)


def stopping_box(loader: PhysicsSceneLoader) -> PhysicsResult:
    """Return the distance (m) that a box slides on level ground until it is at rest."""
    simulation = _with_box(loader, LEVEL)
    begin = simulation.step(SETTLING_S).models["box"].pose.position[0]
    simulation.apply([SetModel("box", linear_mps=(SPEED_MPS, 0.0, 0.0))])
    moved_m = simulation.step(FIRST_S).models["box"].pose.position[0] - begin
    if moved_m < SPEED_MPS * FIRST_S / 2:
        raise SimulatorError("the box does not have the speed that was set")
    exact = SPEED_MPS**2 / (2 * MU * GRAVITY_MPS2)
    end = simulation.step(2.0).models["box"].pose.position[0]
    return PhysicsResult(end - begin, exact)
