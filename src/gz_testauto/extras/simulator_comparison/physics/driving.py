"""Wheeled robots: radius of a differential drive, yaw rate of a skid-steer robot, and its sliding
distance on locked wheels."""

import math
from typing import Sequence, Tuple

import numpy as np

from gz_testauto.base.observation import Twist2D
from gz_testauto.extras.simulator_comparison.physics.check import PhysicsCheck, PhysicsResult
from gz_testauto.extras.simulator_comparison.physics.robots import (
    HUSKY,
    WheelContacts,
    differential,
    husky,
)
from gz_testauto.extras.simulator_comparison.physics.scenes import GRAVITY_MPS2, PhysicsSceneLoader
from gz_testauto.simulators.interface import Simulation

SPEED_MPS, TURN_RADPS = 0.5, 0.5
STARTING_S = 1.0
PERIOD_S = 0.1
BRAKED_FROM_MPS = 1.0
SLIPPERY = 0.5
ACROSS = 16
"""Points of the Gauss-Legendre quadrature along a wheel's contact line."""


def radius(loader: PhysicsSceneLoader) -> PhysicsResult:
    """Return the radius (m) of the circle through the positions of a differential drive, by least
    squares."""
    robot = differential()
    simulation = loader.load(robot=robot)
    simulation.drive(Twist2D(SPEED_MPS, TURN_RADPS))
    simulation.step(STARTING_S)
    places = np.array(
        [simulation.step(PERIOD_S).models[robot.name].pose.position[:2] for _ in range(60)]
    )
    # x² + y² = 2 a x + 2 b y + c
    system = np.column_stack([2 * places, np.ones(len(places))])
    (a, b, c), *_ = np.linalg.lstsq(system, (places**2).sum(axis=1), rcond=None)
    return PhysicsResult(math.sqrt(c + a * a + b * b), SPEED_MPS / TURN_RADPS)


def skid_rate(loader: PhysicsSceneLoader) -> PhysicsResult:
    """Return the yaw rate (rad/s) of a skid-steer robot that is commanded to turn on the spot."""
    robot = husky()
    simulation = loader.load(robot=robot)
    simulation.step(STARTING_S / 2)
    simulation.drive(Twist2D(0.0, TURN_RADPS))
    simulation.step(STARTING_S)
    value = _turned_rad(simulation, robot.name, 2.0) / 2.0
    _, _, exact = sliding_twist(HUSKY, Twist2D(0.0, TURN_RADPS))
    return PhysicsResult(value, exact)


def locked_wheels(loader: PhysicsSceneLoader) -> PhysicsResult:
    """Return the sliding distance (m) of a robot after its wheels are commanded to stop."""
    robot = husky()
    simulation = loader.load(robot=robot, mu=SLIPPERY)
    simulation.drive(Twist2D(BRAKED_FROM_MPS, 0.0))
    begin = simulation.step(2.0).models[robot.name].pose.position
    simulation.drive(Twist2D(0.0, 0.0))
    end = simulation.step(1.0).models[robot.name].pose.position
    exact = BRAKED_FROM_MPS**2 / (2 * SLIPPERY * GRAVITY_MPS2)
    return PhysicsResult(math.dist(begin[:2], end[:2]), exact)


def sliding_twist(weight: WheelContacts, command: Twist2D) -> Tuple[float, float, float]:
    """Return the steady forward and leftward speed (m/s) and yaw rate (rad/s), in its own frame, of
    a robot whose wheels keep the commanded rates and slide by Coulomb's law.

    The motion minimizes the power that is lost to friction (J. C. Alexander, J. H. Maddocks, "On
    the kinematics of wheeled mobile robots", Int. J. of Robotics Research 8(5), 1989). With equal
    loads in points at (±a, ±b) the yaw rate is b²/(a² + b²) of the commanded one. Wheels with a
    width touch along lines. The distribution of a rigid cylinder's load along its line is not
    determined; here it is even. With a command of 0.5 rad/s the Husky's yaw rate is 0.2450, with
    contact on the rims only 0.2409, and with points in the middle 0.2472.
    """
    from scipy.optimize import minimize

    nodes, shares = np.polynomial.legendre.leggauss(ACROSS if weight.width_m > 0 else 1)
    x, y = np.array(weight.wheels_m).T[:, :, None]  # of wheels (w, 1); below of points (w, n)
    y_of_points = y + nodes * weight.width_m / 2
    loads = np.outer(weight.loads_n(), shares / 2)
    rolled = command.linear_mps - command.angular_radps * y

    def power(twist: Sequence[float]) -> float:
        along = twist[0] - twist[2] * y_of_points - rolled
        across = twist[1] + twist[2] * x
        return float(np.sum(loads * np.hypot(along, across)))

    start = (command.linear_mps, 0.0, command.angular_radps / 2)
    options = {"xatol": 1e-9, "fatol": 1e-12, "maxiter": 10_000}
    found = minimize(power, start, method="Nelder-Mead", options=options)
    forward, leftward, turn = found.x.tolist()
    return (forward, leftward, turn)


def _turned_rad(simulation: Simulation, name: str, duration_s: float) -> float:
    yaws = [simulation.snapshot().models[name].pose.yaw_rad]
    yaws += [
        simulation.step(PERIOD_S).models[name].pose.yaw_rad
        for _ in range(round(duration_s / PERIOD_S))
    ]
    unwrapped = np.unwrap(yaws)
    return float(unwrapped[-1] - unwrapped[0])


RADIUS = PhysicsCheck("circle", "a differential drive at 0.5 m/s and 0.5 rad/s", "m", "v/ω", radius)
SKID = PhysicsCheck(
    "skid_turn",
    "a Husky commanded to turn on the spot at 0.5 rad/s, μ = 1",
    "rad/s",
    "motion of least friction power (Alexander, Maddocks 1989)",
    skid_rate,
    converges=True,
)
LOCKED = PhysicsCheck(
    "locked_wheels", "a Husky at 1 m/s stops on μ = 0.5", "m", "v²/(2 μ g)", locked_wheels
)
