"""Compute metrics of smooth motion from acceleration and jerk.

Comfort: ``f_c = sqrt(∫ (a_x² + a_y²) dt / T)``, the RMS of the planar acceleration of the base in
the world, in components along the base's axes: ``a_x = dv_x/dt − ω v_y``, ``a_y = dv_y/dt +
ω v_x``, with the yaw rate ω. v_x, v_y and ω are filtered forward and backward by a second-order
Butterworth low-pass. Equations (4) and (5) of "Development of Gazebo Test Automation Tool for
Autonomous Mobile Robots", after V. Sezer, J. Intelligent & Robotic Systems 105(1), 2022.

Jerk: ``sqrt(∫ ‖j‖² dt / T)`` in m/s³, and the log dimensionless jerk ``−ln(T³ / v_peak² · ∫ ‖j‖²
dt)``, which is −5.32 for a movement with minimum jerk from rest to rest. ``j`` is the second
derivative of the velocity in the world, along the base's axes, ``T`` the time driven, and
``v_peak`` the largest speed. N. Hogan and D. Sternad, "Sensitivity of smoothness measures to
movement duration, amplitude, and arrests", Journal of Motor Behavior 41 (2009) 529–534.
"""

import functools
import math
from typing import Callable, Tuple

import numpy as np

from gz_testauto.metrics.efficiency import STANDING_MPS
from gz_testauto.metrics.interface import MetricContext, metric
from gz_testauto.metrics.recording import Recording
from gz_testauto.metrics.time_average import time_mean

FILTER_ORDER = 2  # of the Butterworth filter in each of the two passes
SHORTEST = 3  # largest number of samples that are differentiated without a filter
EVEN_STAMPS = 1e-3  # largest deviation of evenly spaced stamps, as a share of the period

ORDER = 4  # of the polynomials of the Savitzky–Golay filter
NO_JERK = 1e-9  # RMS jerk (m/s³) below which jerk consists of rounding errors


def acceleration(
    time_s: np.ndarray, twist: np.ndarray, cutoff_hz: float
) -> Tuple[np.ndarray, np.ndarray]:
    """Return evenly spaced stamps (s), shape (n,), and the low-pass filtered acceleration (m/s²),
    shape (n, 2), along the base's axes. ``twist`` has shape (n, 3), as in :class:`Recording`, with
    n at least 2."""
    from scipy import signal

    even_s, even_twist = evenly(time_s, twist)
    rate_hz = 1.0 / (even_s[1] - even_s[0])
    # At a cut-off above half the sampling rate, sampling already has the effect of the filter.
    if cutoff_hz < rate_hz / 2.0 and len(even_s) > SHORTEST:
        sections = signal.butter(FILTER_ORDER, cutoff_hz, fs=rate_hz, output="sos")
        # scipy's default padding requires more samples than a short recording contains.
        padding = min(3 * (2 * len(sections) + 1), len(even_s) - 1)
        even_twist = signal.sosfiltfilt(sections, even_twist, axis=0, padlen=padding)
    forward, left, turn = even_twist.T
    # The rotation is not differentiated: the acceleration on a circle is exact at any rate.
    change = np.gradient(even_twist[:, :2], even_s, axis=0)
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
    description="RMS of the low-pass filtered planar acceleration",
)
def comfort_mps2(recording: Recording, context: MetricContext) -> float:
    """Return the comfort ``f_c``, or NaN for fewer than two samples."""

    def acceleration_norm(time_s: np.ndarray, twist: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
        even_s, change = acceleration(time_s, twist, context.acceleration_cutoff_hz)
        return even_s, np.hypot(change[:, 0], change[:, 1])

    return _rms_of(acceleration_norm, recording, 2)


def _rms_of(
    derivative: Callable[[np.ndarray, np.ndarray], Tuple[np.ndarray, np.ndarray]],
    recording: Recording,
    least_samples: int,
) -> float:
    """Return the RMS over time of a derivative of the velocity, or NaN for fewer than
    ``least_samples``.

    ``derivative`` receives stamps (s) and twists, and returns evenly spaced stamps (s) and moduli,
    each of shape (n,). The velocity is not differentiated over a kidnapping.
    """
    parts = np.split(np.arange(len(recording.time_s)), np.flatnonzero(recording.kidnapped) + 1)
    signals = [
        derivative(recording.time_s[rows], recording.twist[rows])
        for rows in parts
        if len(rows) >= least_samples
    ]
    if not signals:
        return math.nan
    durations_s = np.array([time_s[-1] - time_s[0] for time_s, _ in signals])
    mean_squares = [time_mean(np.square(moduli), time_s) for time_s, moduli in signals]
    return math.sqrt(float((durations_s / durations_s.sum() * mean_squares).sum()))


def evenly(time_s: np.ndarray, values: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
    """Return evenly spaced stamps (s), shape (n,), and ``values``, shape (n, k), interpolated
    linearly at these stamps."""
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
    description="RMS of the planar jerk",
)
def jerk_rms_mps3(recording: Recording, context: MetricContext) -> float:
    """Return the RMS of the jerk, or NaN for fewer than five samples."""
    cutoff_hz = context.acceleration_cutoff_hz
    return _rms_of(functools.partial(_jerk, cutoff_hz), recording, ORDER + 1)


@metric(
    heading="smoothness",
    better="higher",
    completed_only=True,
    description="negative logarithm of the dimensionless jerk; larger values are smoother",
)
def log_dimensionless_jerk(recording: Recording, context: MetricContext) -> float:
    """Return the log dimensionless jerk, or NaN for fewer than five samples, no jerk, or a
    stationary robot."""
    if len(recording.time_s) <= ORDER:
        return math.nan
    rms = jerk_rms_mps3(recording, context)
    peak_mps = float(np.hypot(*recording.twist[:, :2].T).max())
    if peak_mps <= STANDING_MPS or not rms >= NO_JERK:  # NaN between kidnappings
        return math.nan
    duration_s = recording.duration_s
    return -math.log(duration_s**4 * rms**2 / peak_mps**2)


def _jerk(
    cutoff_hz: float, stamps_s: np.ndarray, twist: np.ndarray
) -> Tuple[np.ndarray, np.ndarray]:
    """Return evenly spaced stamps (s) and the jerk (m/s³), each of shape (n,)."""
    from scipy import signal

    time_s, even_twist = evenly(stamps_s, twist)
    period_s = time_s[1] - time_s[0]
    window = _window(cutoff_hz, period_s, len(time_s))
    # Unlike the low-pass of the comfort metric, this filter is exact for polynomials up to the
    # first and last sample, where jerk is largest.
    value, rate, second = (
        signal.savgol_filter(even_twist, window, ORDER, deriv=order, delta=period_s, axis=0)
        for order in range(3)
    )
    (forward, left, turn), (forward_rate, left_rate, turn_rate) = value.T, rate.T
    # The operator d/dt + ω ×, applied twice to the velocity, with z upward. It adds the rotation
    # exactly, as for the acceleration.
    forward_jerk = second[:, 0] - turn_rate * left - 2.0 * turn * left_rate - turn**2 * forward
    lateral_jerk = second[:, 1] + turn_rate * forward + 2.0 * turn * forward_rate - turn**2 * left
    return time_s, np.hypot(forward_jerk, lateral_jerk)


def _window(cutoff_hz: float, period_s: float, samples: int) -> int:
    """Return the odd number of samples in the window of a Savitzky–Golay filter with the cut-off
    ``cutoff_hz``. It is at most ``samples``, the number of all samples.

    R. W. Schafer, "What is a Savitzky-Golay filter?", IEEE Signal Processing Magazine 28(4), 2011,
    eq. 6, solved for half the window.
    """
    half = ((ORDER + 1) / (2.0 * cutoff_hz * period_s) + 4.6) / 3.2
    window_length = 2 * max(round(half), ORDER // 2) + 1
    return min(window_length, samples - 1 + samples % 2)
