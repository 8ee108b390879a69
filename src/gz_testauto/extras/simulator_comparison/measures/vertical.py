"""Vertical acceleration of the robot as spectrum and as distribution."""

from typing import Tuple

import numpy as np
from scipy.stats import energy_distance, wasserstein_distance

from gz_testauto.extras.simulator_comparison.measures.comparable import (
    VERTICAL,
    comparable,
    inertial,
)
from gz_testauto.extras.simulator_comparison.measures.interface import Measure
from gz_testauto.extras.simulator_comparison.recordings.recording import RunRecording
from gz_testauto.extras.simulator_comparison.signals import RATE_HZ, spectrum

LEAST_DENSITY = 1e-12
"""Smallest density in (m/s²)²/Hz, so that the logarithm is finite."""


def _spectral(first: RunRecording, second: RunRecording) -> float:
    pair = comparable(first, second)
    densities = []
    for values in (pair.first, pair.second):
        frequency, density = spectrum(values[:, VERTICAL], RATE_HZ)
        in_band = (frequency > 0) & (frequency <= min(first.band_hz, second.band_hz))
        densities.append(np.maximum(density[in_band], LEAST_DENSITY))
    return float(np.sqrt(np.mean((10.0 * np.log10(densities[0] / densities[1])) ** 2)))


def _wasserstein(first: RunRecording, second: RunRecording) -> float:
    pair = comparable(first, second)
    return float(wasserstein_distance(pair.first[:, VERTICAL], pair.second[:, VERTICAL]))


def _energy(first: RunRecording, second: RunRecording) -> float:
    pair = comparable(first, second)
    return float(energy_distance(pair.first[:, VERTICAL], pair.second[:, VERTICAL]))


def _sigma(recording: RunRecording) -> Tuple[float, float]:
    return float(np.std(inertial(recording)[:, VERTICAL])), 1.0


SPECTRUM = Measure(
    name="vertical_spectrum",
    unit="dB",
    better="lower",
    description="log-spectral distance of vertical acceleration, in the band",
    formula="sqrt(mean over f of (10 log10(P / P_ref))²), P by Welch's method",
    source="A. H. Gray, J. D. Markel, IEEE Trans. ASSP 24, 1976",
    needs=("imu",),
    between=_spectral,
)

WASSERSTEIN = Measure(
    name="vertical_wasserstein",
    unit="m/s²",
    better="lower",
    description="Wasserstein distance of vertical accelerations",
    formula="integral of |F - F_ref| over a_z",
    source="scipy.stats.wasserstein_distance",
    needs=("imu",),
    between=_wasserstein,
)

ENERGY = Measure(
    name="vertical_energy",
    unit="(m/s²)^½",
    better="lower",
    description="energy distance of vertical accelerations",
    formula="sqrt(2 E|X - Y| - E|X - X'| - E|Y - Y'|)",
    source="G. J. Székely, M. L. Rizzo, J. Stat. Plan. Inference 143, 2013",
    needs=("imu",),
    between=_energy,
)

SIGMA = Measure(
    name="vertical_sigma",
    unit="m/s²",
    better="lower",
    description="standard deviation of vertical acceleration on the flat floor: the solver's noise",
    formula="sigma(a_z)",
    source="on a plane only the solver causes vibration",
    needs=("imu",),
    own=_sigma,
    terrain="flat",
)
