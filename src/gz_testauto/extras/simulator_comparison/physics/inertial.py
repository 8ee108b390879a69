"""What an IMU feels: gravity at rest, and the turning of what it sits on."""

import tempfile
from pathlib import Path
from typing import Sequence

import numpy as np

from gz_testauto.base.errors import SimulatorError
from gz_testauto.base.observation import ImuSample
from gz_testauto.extras.simulator_comparison.physics.bench import GRAVITY_MPS2, Bench
from gz_testauto.extras.simulator_comparison.physics.check import Check, Finding
from gz_testauto.extras.simulator_comparison.physics.robots import differential, spun
from gz_testauto.simulators.changes import SetModel
from gz_testauto.simulators.interface import Simulation

SETTLING_S, MEASURING_S = 1.0, 1.0
PERIOD_S = 0.01
ARM_M, TURN_RADPS = 0.5, 2.0


def at_rest(bench: Bench) -> Finding:
    """The mean length (m/s²) of what a robot's IMU feels that stands."""
    simulation = bench.load(robot=differential())
    simulation.step(SETTLING_S)
    felt = np.mean([sample.linear_mps2 for sample in _samples(simulation)], axis=0)
    return Finding(float(np.linalg.norm(felt)), GRAVITY_MPS2)


def lever_arm(bench: Bench) -> Finding:
    """The mean acceleration (m/s²) along the arm of an IMU on a body that spins in free space."""
    with tempfile.TemporaryDirectory() as folder:
        robot = spun(Path(folder), ARM_M)
        simulation = bench.load(robot=robot, gravity=(0.0, 0.0, 0.0), mu=None)
    simulation.step(PERIOD_S)
    simulation.apply([SetModel(robot.name, angular_radps=(0.0, 0.0, TURN_RADPS))])
    simulation.step(10 * PERIOD_S)
    samples = _samples(simulation)
    if abs(samples[0].angular_radps[2] - TURN_RADPS) > 0.1 * TURN_RADPS:
        raise SimulatorError("the body did not take up the rate that it was given")
    felt = [sample.linear_mps2[0] for sample in samples]
    return Finding(float(np.mean(felt)), -(TURN_RADPS**2) * ARM_M)


def _samples(simulation: Simulation) -> Sequence[ImuSample]:
    periods = round(MEASURING_S / PERIOD_S)
    return [sample for _ in range(periods) for sample in simulation.step(PERIOD_S).imu]


REST = Check("imu_at_rest", "what a robot's IMU feels that stands", "m/s²", "g", at_rest)
ARM = Check("imu_arm", "an IMU 0.5 m from the axis, at 2 rad/s", "m/s²", "-ω² r", lever_arm)
