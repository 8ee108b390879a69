"""Noise of an IMU at rest."""

import math

from gz_testauto.extras.simulator_comparison.measures.comparable import VERTICAL
from gz_testauto.extras.simulator_comparison.measures.interface import Measure
from gz_testauto.extras.simulator_comparison.recordings.recording import RunRecording
from gz_testauto.extras.simulator_comparison.signals import noise_density

LEAST = 1e-9
"""Smallest density in m/s²/√Hz, so that the logarithm is finite."""


def _decades(first: RunRecording, second: RunRecording) -> float:
    found = []
    for recording in (first, second):
        assert recording.imu is not None, "a recording with an IMU"
        imu = recording.imu  # at its native rate: resampling would change its noise
        found.append(max(LEAST, noise_density(imu.values[:, VERTICAL], imu.rate_hz)))
    return abs(math.log10(found[0] / found[1]))


NOISE_DENSITY = Measure(
    name="noise_density",
    unit="decades",
    better="lower",
    description="difference of the accelerometer's white noise at rest, by the Allan deviation",
    formula="|log10(N / N_ref)|, N = sigma_A(τ) √τ below 1 s",
    source="IEEE Std 952-1997, annex C",
    needs=("imu",),
    between=_decades,
    drive="rest",
)
