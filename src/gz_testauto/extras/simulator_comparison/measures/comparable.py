"""Inertial samples of two recordings at one rate, in one band, on one clock, of one length."""

import functools
from typing import NamedTuple, Tuple

import numpy as np

from gz_testauto.extras.simulator_comparison.recordings.recording import RunRecording
from gz_testauto.extras.simulator_comparison.signals import (
    RATE_HZ,
    delay_samples,
    in_band,
    overlap,
)

LONGEST_DELAY_S = 1.0
YAW_RATE, VERTICAL = 2, 5
"""Columns of an IMU: yaw rate and a_z."""


@functools.lru_cache(maxsize=4096)
def inertial(recording: RunRecording) -> np.ndarray:
    """Return samples (n, 6) at :data:`RATE_HZ` in the recording's band."""
    assert recording.imu is not None, "a recording with an IMU"
    return in_band(recording.imu, recording.band_hz)


class Pair(NamedTuple):
    """Samples (n, 6) of both, and the delay of the first relative to the second (s)."""

    first: np.ndarray
    second: np.ndarray
    delay_s: float


@functools.lru_cache(maxsize=16384)  # of views: little more than their names
def comparable(first: RunRecording, second: RunRecording) -> Pair:
    """Return the common samples of both after the delay between their yaw rates is removed."""
    one, other = inertial(first), inertial(second)
    delay = delay_samples(other[:, YAW_RATE], one[:, YAW_RATE], round(LONGEST_DELAY_S * RATE_HZ))
    taken, early = overlap(other, one, delay)
    return Pair(early, taken, delay / RATE_HZ)


def mean_and_range(values: np.ndarray, extreme: float = 0.01) -> Tuple[np.ndarray, np.ndarray]:
    """Return equations (5) and (6) of Farley et al. 2022 for each column of ``values`` (n, k): the
    mean, and the range from the mean of the lowest to that of the highest hundredth, at least one
    sample."""
    count = max(1, round(extreme * len(values)))
    ordered = np.sort(values, axis=0)
    return values.mean(axis=0), ordered[-count:].mean(axis=0) - ordered[:count].mean(axis=0)
