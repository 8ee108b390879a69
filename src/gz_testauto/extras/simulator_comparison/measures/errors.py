"""Errors of a sensor's model per axis: bias, gain, delay and residual."""

from typing import Callable

import numpy as np

from gz_testauto.extras.simulator_comparison.measures.comparable import YAW_RATE, Pair, comparable
from gz_testauto.extras.simulator_comparison.measures.interface import Measure
from gz_testauto.extras.simulator_comparison.recordings.recording import RunRecording

ANGULAR, LINEAR = slice(0, 3), slice(3, 6)

LEAST_SIGMA = 1e-6
"""Smallest standard deviation of an axis for which a gain is computed."""


def _of(compute: Callable[[Pair], float]) -> Callable[[RunRecording, RunRecording], float]:
    return lambda first, second: compute(comparable(first, second))


def _bias(columns: slice) -> Callable[[Pair], float]:
    return lambda pair: float(
        np.linalg.norm((pair.first.mean(axis=0) - pair.second.mean(axis=0))[columns])
    )


def _gain(pair: Pair) -> float:
    sigmas = pair.first.std(axis=0), pair.second.std(axis=0)
    moves = np.minimum(*sigmas) > LEAST_SIGMA
    return float(np.abs(np.log(sigmas[0][moves] / sigmas[1][moves])).mean()) if moves.any() else 0.0


def _linear_rmse(pair: Pair) -> float:
    difference = (pair.first - pair.second)[:, LINEAR]
    return float(np.sqrt((difference**2).sum(axis=1).mean()))


def _yaw_rate_rmse(pair: Pair) -> float:
    return float(np.sqrt(((pair.first - pair.second)[:, YAW_RATE] ** 2).mean()))


def _delay(pair: Pair) -> float:
    return abs(pair.delay_s)


LINEAR_BIAS = Measure(
    name="linear_bias",
    unit="m/s²",
    better="lower",
    description="difference of the mean accelerations",
    formula="|mean(a) - mean(a_ref)|",
    source="IEEE Std 952",
    needs=("imu",),
    between=_of(_bias(LINEAR)),
)

ANGULAR_BIAS = Measure(
    name="angular_bias",
    unit="rad/s",
    better="lower",
    description="difference of the mean angular velocities",
    formula="|mean(ω) - mean(ω_ref)|",
    source="IEEE Std 952",
    needs=("imu",),
    between=_of(_bias(ANGULAR)),
)

GAIN = Measure(
    name="gain",
    unit="",
    better="lower",
    description="logarithm of the ratio of an axis's standard deviation to the reference's",
    formula="mean over axes of |ln(sigma / sigma_ref)|",
    source="ratio of standard deviations",
    needs=("imu",),
    between=_of(_gain),
)

DELAY = Measure(
    name="delay",
    unit="s",
    better="lower",
    description="delay of the yaw rate, where the robot turns",
    formula="|argmax of the cross-correlation|",
    source="scipy.signal.correlate",
    needs=("imu",),
    between=_of(_delay),
)

YAW_RATE_RMSE = Measure(
    name="yaw_rate_rmse",
    unit="rad/s",
    better="lower",
    description="root mean square difference of the yaw rates, after the delay is removed",
    formula="sqrt(mean (ω_z - ω_z,ref)²)",
    source="at one rate, in one band, after the delay",
    needs=("imu",),
    between=_of(_yaw_rate_rmse),
)

LINEAR_RMSE = Measure(
    name="linear_rmse",
    unit="m/s²",
    better="lower",
    description="root mean square difference of the accelerations, after the delay is removed",
    formula="sqrt(mean |a - a_ref|²)",
    source="at one rate, in one band, after the delay",
    needs=("imu",),
    between=_of(_linear_rmse),
)
