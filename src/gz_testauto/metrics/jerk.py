"""Jerk: how abruptly the acceleration changes, and how smooth a drive is whatever its size.

``sqrt(∫ ‖j‖² dt / T)`` in m/s³, and the log dimensionless jerk ``−ln(T³ / v_peak² · ∫ ‖j‖² dt)``,
which is the larger the smoother; a movement of least jerk from rest to rest has −5.32. ``j`` is the
second derivative of the velocity in the world, in components along the base's axes, ``T`` the time
driven, ``v_peak`` the largest speed.

The derivatives of the velocity in the base frame and of the yaw rate are those of the
Savitzky–Golay filter of fourth order, a polynomial fitted to a window of samples, whose width has
the campaign's cut-off (R. W. Schafer, IEEE Signal Processing Magazine 28(4), 2011, eq. 6). The
rotation of the base is added exactly, so a circle at constant speed has its jerk however few
samples a turn has. Unlike a low-pass before differences, which comfort uses, the filter is exact up
to the first and last sample for movements that are polynomials, and jerk is largest there. A
recording sampled at uneven stamps is first brought to even ones by linear interpolation.

N. Hogan and D. Sternad, "Sensitivity of smoothness measures to movement duration, amplitude, and
arrests", Journal of Motor Behavior 41 (2009) 529–534.
"""

import math
from typing import Tuple

import numpy as np

from gz_testauto.metrics.comfort import evenly
from gz_testauto.metrics.duration import STANDING_MPS
from gz_testauto.metrics.interface import Metric, MetricContext
from gz_testauto.metrics.recording import Recording
from gz_testauto.metrics.time_average import time_rms

ORDER = 4
"""Of the polynomials."""

NO_JERK = 1e-9
"""RMS (m/s³) below which only rounding is left, and the logarithm says nothing."""


def rms_jerk(recording: Recording, context: MetricContext) -> float:
    """RMS of planar jerk (m/s³); NaN for fewer than five samples."""
    if len(recording.time_s) <= ORDER:
        return math.nan
    time_s, change = _jerk(recording, context)
    return time_rms(change, time_s)


def log_dimensionless_jerk(recording: Recording, context: MetricContext) -> float:
    """``−ln(T³ / v_peak² · ∫ ‖j‖² dt)``; NaN for fewer than five samples, for a robot that stands
    (never above 0.02 m/s), and where there is no jerk at all."""
    if len(recording.time_s) <= ORDER:
        return math.nan
    rms = rms_jerk(recording, context)
    peak_mps = float(np.hypot(*recording.twist[:, :2].T).max())
    if peak_mps <= STANDING_MPS or rms < NO_JERK:
        return math.nan
    duration_s = recording.duration_s
    return -math.log(duration_s**4 * rms**2 / peak_mps**2)


def _jerk(recording: Recording, context: MetricContext) -> Tuple[np.ndarray, np.ndarray]:
    """Even stamps (s) and the magnitude of the jerk there (m/s³), both of shape (n,)."""
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


RMS_JERK = Metric(
    name="jerk_rms_mps3",
    heading="jerk",
    unit="m/s³",
    decimals=3,
    better="lower",
    completed_only=True,
    in_table=False,
    in_comparison=False,
    description="RMS of planar jerk",
    compute=rms_jerk,
)
LOG_DIMENSIONLESS_JERK = Metric(
    name="log_dimensionless_jerk",
    heading="smoothness",
    better="higher",
    completed_only=True,
    in_table=False,
    in_comparison=False,
    description="log dimensionless jerk, the larger the smoother",
    compute=log_dimensionless_jerk,
)
