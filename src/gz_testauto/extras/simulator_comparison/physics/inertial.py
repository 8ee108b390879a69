"""IMU: gravity at rest, and the centripetal acceleration on a rotating body."""

import tempfile
from pathlib import Path
from typing import Sequence

import numpy as np

from gz_testauto.base.errors import SimulatorError
from gz_testauto.base.observation import ImuSample
from gz_testauto.extras.simulator_comparison.physics.check import PhysicsCheck, PhysicsResult
from gz_testauto.extras.simulator_comparison.physics.robots import differential, spun
from gz_testauto.extras.simulator_comparison.physics.scenes import GRAVITY_MPS2, PhysicsSceneLoader
from gz_testauto.simulators.changes import SetModel
from gz_testauto.simulators.interface import Simulation

SETTLING_S, MEASURING_S = 1.0, 1.0
PERIOD_S = 0.01
ARM_M, TURN_RADPS = 0.5, 2.0


def at_rest(loader: PhysicsSceneLoader) -> PhysicsResult:
    """Return the norm (m/s²) of the mean acceleration that the IMU of a robot at rest measures."""
    simulation = loader.load(robot=differential())
    simulation.step(SETTLING_S)
    measured = np.mean([sample.linear_mps2 for sample in _samples(simulation)], axis=0)
    return PhysicsResult(float(np.linalg.norm(measured)), GRAVITY_MPS2)


def lever_arm(loader: PhysicsSceneLoader) -> PhysicsResult:
    """Return the mean acceleration (m/s²) along the arm of an IMU on a body that rotates in free
    space."""
    with tempfile.TemporaryDirectory() as folder:
        robot = spun(Path(folder), ARM_M)
        simulation = loader.load(robot=robot, gravity=(0.0, 0.0, 0.0), mu=None)
    simulation.step(PERIOD_S)
    simulation.apply([SetModel(robot.name, angular_radps=(0.0, 0.0, TURN_RADPS))])
    simulation.step(10 * PERIOD_S)
    samples = _samples(simulation)
    if abs(samples[0].angular_radps[2] - TURN_RADPS) > 0.1 * TURN_RADPS:
        raise SimulatorError("the body does not have the angular velocity that was set")
    measured = [sample.linear_mps2[0] for sample in samples]
    return PhysicsResult(float(np.mean(measured)), -(TURN_RADPS**2) * ARM_M)


def _samples(simulation: Simulation) -> Sequence[ImuSample]:
    periods = round(MEASURING_S / PERIOD_S)
    return [sample for _ in range(periods) for sample in simulation.step(PERIOD_S).imu]


REST = PhysicsCheck("imu_at_rest", "acceleration of a robot's IMU at rest", "m/s²", "g", at_rest)
ARM = PhysicsCheck("imu_arm", "an IMU 0.5 m from the axis, at 2 rad/s", "m/s²", "-ω² r", lever_arm)
