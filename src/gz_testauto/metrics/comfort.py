"""How smoothly the robot drove: acceleration and jerk.

Comfort: ``f_c = sqrt(∫ (a_x² + a_y²) dt / T)``, the RMS of planar acceleration.

Acceleration is that of the base in the world, in components along its own axes: ``a_x = dv_x/dt −
ω v_y``, ``a_y = dv_y/dt + ω v_x``, with the yaw rate ω. A bend at constant speed counts with its
centripetal part, exactly, however few samples a turn has. Before differentiating, v_x, v_y and ω
pass a second-order Butterworth low-pass run forward and backward (zero phase;
``scipy.signal.sosfiltfilt``), at the campaign's cut-off. A recording sampled at uneven stamps is
first brought to even ones by linear interpolation. No filter is applied where the cut-off is not
below half the sampling rate (the sampling itself is the filter), nor to three samples or fewer.

Equations (4) and (5) of "Development of Gazebo Test Automation Tool for Autonomous Mobile Robots",
after V. Sezer, J. Intelligent & Robotic Systems 105(1), 2022.

Jerk: how abruptly the acceleration changes, and how smooth a drive is whatever its size.

``sqrt(∫ ‖j‖² dt / T)`` in m/s³, and the log dimensionless jerk ``−ln(T³ / v_peak² · ∫ ‖j‖² dt)``,
which is the larger the smoother; a movement of least jerk from rest to rest has −5.32. ``j`` is
the second derivative of the velocity in the world, in components along the base's axes, ``T`` the
time driven, ``v_peak`` the largest speed.

The derivatives of the velocity in the base frame and of the yaw rate are those of the
Savitzky–Golay filter of fourth order, a polynomial fitted to a window of samples, whose width has
the campaign's cut-off (R. W. Schafer, IEEE Signal Processing Magazine 28(4), 2011, eq. 6). The
rotation of the base is added exactly, so a circle at constant speed has its jerk however few
samples a turn has. Unlike a low-pass before differences, which comfort uses, the filter is exact
up to the first and last sample for movements that are polynomials, and jerk is largest there. A
recording sampled at uneven stamps is first brought to even ones by linear interpolation.

N. Hogan and D. Sternad, "Sensitivity of smoothness measures to movement duration, amplitude, and
arrests", Journal of Motor Behavior 41 (2009) 529–534.
"""

import math
from typing import Tuple

import numpy as np

from gz_testauto.metrics.efficiency import STANDING_MPS
from gz_testauto.metrics.interface import MetricContext, metric
from gz_testauto.metrics.recording import Recording
from gz_testauto.metrics.time_average import time_rms

FILTER_ORDER = 2
"""Of each of the two passes."""

SHORTEST = 3
"""Samples that are too few to filter; their differences are taken as they are."""

EVEN_STAMPS = 1e-3
"""Stamps that differ from even ones by less than this share of the period are even."""

ORDER = 4
"""Of the polynomials."""

NO_JERK = 1e-9
"""RMS (m/s³) below which only rounding is left, and the logarithm says nothing."""


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


@metric(
    heading="comfort",
    unit="m/s²",
    decimals=3,
    better="lower",
    smallest_relevant=0.05,
    completed_only=True,
    in_table=True,
    in_comparison=True,
    description="RMS of planar acceleration, low-passed",
)
def comfort_mps2(recording: Recording, context: MetricContext) -> float:
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


@metric(
    heading="jerk",
    unit="m/s³",
    decimals=3,
    better="lower",
    completed_only=True,
    description="RMS of planar jerk",
)
def jerk_rms_mps3(recording: Recording, context: MetricContext) -> float:
    """Return the RMS of planar jerk (m/s³); NaN for fewer than five samples."""
    if len(recording.time_s) <= ORDER:
        return math.nan
    time_s, change = _jerk(recording, context)
    return time_rms(change, time_s)


@metric(
    heading="smoothness",
    better="higher",
    completed_only=True,
    description="log dimensionless jerk, the larger the smoother",
)
def log_dimensionless_jerk(recording: Recording, context: MetricContext) -> float:
    """``−ln(T³ / v_peak² · ∫ ‖j‖² dt)``; NaN for fewer than five samples, for a robot that stands
    (never above 0.02 m/s), and where there is no jerk at all."""
    if len(recording.time_s) <= ORDER:
        return math.nan
    rms = jerk_rms_mps3(recording, context)
    peak_mps = float(np.hypot(*recording.twist[:, :2].T).max())
    if peak_mps <= STANDING_MPS or rms < NO_JERK:
        return math.nan
    duration_s = recording.duration_s
    return -math.log(duration_s**4 * rms**2 / peak_mps**2)


def _jerk(recording: Recording, context: MetricContext) -> Tuple[np.ndarray, np.ndarray]:
    """Return even stamps (s) and the magnitude of the jerk (m/s³), both of shape (n,)."""
    from scipy import signal

    time_s, even = evenly(recording.time_s, recording.twist)
    period_s = time_s[1] - time_s[0]
    window = _window(context.acceleration_cutoff_hz, period_s, len(time_s))
    value, rate, second = (
        signal.savgol_filter(even, window, ORDER, deriv=order, delta=period_s, axis=0)
        for order in range(3)
    )
    (forward, left, turn), (forward_rate, left_rate, turn_rate) = value.T, rate.T
    # Twice d/dt + ω × of the velocity, z upward.
    ahead = second[:, 0] - turn_rate * left - 2.0 * turn * left_rate - turn**2 * forward
    aside = second[:, 1] + turn_rate * forward + 2.0 * turn * forward_rate - turn**2 * left
    return time_s, np.hypot(ahead, aside)


def _window(cutoff_hz: float, period_s: float, samples: int) -> int:
    """Samples in the window that passes what is below the cut-off; odd, at least as many as the
    polynomial needs, at most as many as there are."""
    half = ((ORDER + 1) / (2.0 * cutoff_hz * period_s) + 4.6) / 3.2
    wanted = 2 * max(round(half), ORDER // 2) + 1
    return min(wanted, samples - 1 + samples % 2)
