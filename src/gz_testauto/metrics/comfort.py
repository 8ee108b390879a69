"""Comfort: ``f_c = sqrt(∫ (a_x² + a_y²) dt / T)``, the RMS of planar acceleration.

Acceleration is that of the base in the world, in components along its own axes:
``a_x = dv_x/dt − ω v_y``, ``a_y = dv_y/dt + ω v_x``, with the yaw rate ω. A bend at constant speed
counts with its centripetal part, exactly, however few samples a turn has. Before differentiating,
v_x, v_y and ω pass a second-order Butterworth low-pass run forward and backward (zero phase;
``scipy.signal.sosfiltfilt``), at the campaign's cut-off. A recording sampled at uneven stamps
is first brought to even ones by linear interpolation. No filter is applied where the cut-off is not
below half the sampling rate (the sampling itself is the filter), nor to three samples or fewer.

Equations (4) and (5) of "Development of Gazebo Test Automation Tool for Autonomous Mobile
Robots", after V. Sezer, J. Intelligent & Robotic Systems 105(1), 2022.
"""

import math
from typing import Tuple

import numpy as np

from gz_testauto.metrics.interface import Metric, MetricContext
from gz_testauto.metrics.recording import Recording
from gz_testauto.metrics.time_average import time_rms

FILTER_ORDER = 2
"""Of each of the two passes."""

SHORTEST = 3
"""Samples that are too few to filter; their differences are taken as they are."""

EVEN_STAMPS = 1e-3
"""Stamps that differ from even ones by less than this share of the period are even."""


def acceleration(
    time_s: np.ndarray, twist: np.ndarray, cutoff_hz: float
) -> Tuple[np.ndarray, np.ndarray]:
    """Filter and differentiate: even stamps (s), shape (m,), and acceleration (m/s²), (m, 2), along
    the base's axes.

    ``twist`` has shape (n, 3), n at least 2: v_x, v_y (m/s) in the base frame and the yaw rate
    (rad/s).
    """
    from scipy import signal

    even_s, even = evenly(time_s, twist)
    rate_hz = 1.0 / (even_s[1] - even_s[0])
    if cutoff_hz < rate_hz / 2.0 and len(even_s) > SHORTEST:
        sections = signal.butter(FILTER_ORDER, cutoff_hz, fs=rate_hz, output="sos")
        # scipy's own padding needs more samples than a short recording has.
        padding = min(3 * (2 * len(sections) + 1), len(even_s) - 1)
        even = signal.sosfiltfilt(sections, even, axis=0, padlen=padding)
    forward, left, turn = even.T
    change = np.gradient(even[:, :2], even_s, axis=0)
    return even_s, change + np.column_stack([-turn * left, turn * forward])


def comfort(recording: Recording, context: MetricContext) -> float:
    """Return ``f_c`` (m/s²); NaN for fewer than two samples."""
    if len(recording.time_s) < 2:
        return math.nan
    time_s, change = acceleration(recording.time_s, recording.twist, context.acceleration_cutoff_hz)
    return time_rms(np.hypot(change[:, 0], change[:, 1]), time_s)


def evenly(time_s: np.ndarray, values: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
    """Stamps (s) that are evenly spaced, shape (n,), and the columns of ``values``, shape (n, k),
    there, straight between samples; as they were where they are even enough."""
    even_s = np.linspace(time_s[0], time_s[-1], len(time_s))
    period_s = even_s[1] - even_s[0]
    if np.abs(even_s - time_s).max() <= EVEN_STAMPS * period_s:
        return even_s, values
    return even_s, np.column_stack([np.interp(even_s, time_s, column) for column in values.T])


COMFORT = Metric(
    name="comfort_mps2",
    heading="comfort",
    unit="m/s²",
    decimals=3,
    better="lower",
    smallest_relevant=0.05,
    completed_only=True,
    description="RMS of planar acceleration, low-passed",
    compute=comfort,
)
