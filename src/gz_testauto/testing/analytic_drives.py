"""Synthetic recordings of robots on analytic paths, with the exact values of metrics.

The curvature is linear along the path (a line, a circle, a clothoid), and the speed is constant or
oscillates.
"""

import math
from dataclasses import replace
from typing import Callable, Dict, NamedTuple, Tuple

import numpy as np

from gz_testauto.metrics.efficiency import STANDING_MPS
from gz_testauto.metrics.recording import Recording

FINE = 20_001
"""Number of points for numerical integration."""

Speed = Callable[[np.ndarray], Tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]
"""A function of times (s), shape (n,), that returns four arrays (n,): the signed driven length (m),
the speed, and the first and second derivative of the speed.
"""


class AnalyticDrive(NamedTuple):
    """A recording, and the exact values of its metrics by name."""

    recording: Recording
    exact: Dict[str, float]


def constant(speed_mps: float) -> Speed:
    """Return a speed profile with constant speed."""

    def speed(time_s: np.ndarray) -> Tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        zero = np.zeros_like(time_s)
        return speed_mps * time_s, zero + speed_mps, zero, zero

    return speed


def rest_to_rest(peak_mps: float, period_s: float) -> Speed:
    """Return a speed profile with ``peak (1 − cos ω t) / 2``, which is 0 every ``period_s``."""
    omega, half = 2 * math.pi / period_s, peak_mps / 2

    def speed(time_s: np.ndarray) -> Tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        sin, cos = np.sin(omega * time_s), np.cos(omega * time_s)
        length_m = half * (time_s - sin / omega)
        return length_m, half * (1 - cos), half * omega * sin, half * omega**2 * cos

    return speed


def there_and_back(peak_mps: float, period_s: float) -> Speed:
    """Return a speed profile with ``peak cos ω t``, which is negative half of the time."""
    omega = 2 * math.pi / period_s

    def speed(time_s: np.ndarray) -> Tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        sin, cos = np.sin(omega * time_s), np.cos(omega * time_s)
        return (
            peak_mps / omega * sin,
            peak_mps * cos,
            -peak_mps * omega * sin,
            -peak_mps * omega**2 * cos,
        )

    return speed


def drive(
    speed: Speed,
    duration_s: float,
    rate_hz: float,
    curvature_1pm: float = 0.0,
    curvature_rate_1pm2: float = 0.0,
) -> AnalyticDrive:
    """Return the recording of a robot on a path, and the exact values of its metrics.

    It is sampled at ``rate_hz`` for at most ``duration_s``. The curvature of its path is
    ``curvature_1pm + curvature_rate_1pm2 · s``, where s is the driven length.
    """
    time_s = np.arange(math.floor(duration_s * rate_hz + 1e-9) + 1) / rate_hz
    length_m, forward, _, _ = speed(time_s)
    x, y, yaw = _poses_along_path(length_m, curvature_1pm, curvature_rate_1pm2)
    turn = forward * (curvature_1pm + curvature_rate_1pm2 * length_m)
    recording = Recording(
        time_s=time_s,
        pose=np.column_stack([x, y, np.remainder(yaw + math.pi, 2 * math.pi) - math.pi]),
        twist=np.column_stack([forward, np.zeros_like(forward), turn]),
        command=np.column_stack([forward, turn]),
        clearance_m=np.full(len(time_s), np.inf),
        cycle_time_s=np.empty(0),
        cycle_cpu_s=np.empty(0),
    )
    exact = _exact_metrics(speed, float(time_s[-1]), curvature_1pm, curvature_rate_1pm2)
    return AnalyticDrive(recording, exact)


def with_noise(
    recording: Recording,
    rng: np.random.Generator,
    position_m: float = 1e-3,
    yaw_rad: float = 1e-3,
    speed_mps: float = 0.0,
    turn_radps: float = 0.0,
) -> Recording:
    """Return the recording with independent, normally distributed noise in poses and twists. The
    parameters are standard deviations."""
    shape = recording.pose.shape
    return replace(
        recording,
        pose=recording.pose + rng.normal(size=shape) * (position_m, position_m, yaw_rad),
        twist=recording.twist + rng.normal(size=shape) * (speed_mps, speed_mps, turn_radps),
    )


def _poses_along_path(
    length_m: np.ndarray, curvature_1pm: float, curvature_rate_1pm2: float
) -> Tuple[np.ndarray, ...]:
    """Return x, y (m) and yaw (rad) at the specified lengths (m) along a path."""
    if curvature_rate_1pm2 == 0.0:
        angle = curvature_1pm * length_m
        if curvature_1pm == 0.0:
            return length_m, np.zeros_like(length_m), angle
        return np.sin(angle) / curvature_1pm, (1 - np.cos(angle)) / curvature_1pm, angle
    from scipy.integrate import cumulative_trapezoid

    fine = np.linspace(0.0, float(length_m.max()), FINE)
    angle = curvature_1pm * fine + curvature_rate_1pm2 * fine**2 / 2
    x, y = (cumulative_trapezoid(part(angle), fine, initial=0.0) for part in (np.cos, np.sin))
    yaw = curvature_1pm * length_m + curvature_rate_1pm2 * length_m**2 / 2
    return np.interp(length_m, fine, x), np.interp(length_m, fine, y), yaw


def _exact_metrics(
    speed: Speed, duration_s: float, curvature_1pm: float, curvature_rate_1pm2: float
) -> Dict[str, float]:
    time_s = np.linspace(0.0, duration_s, FINE)
    length_m, forward_mps, forward_mps2, forward_mps3 = speed(time_s)
    curvatures_1pm = curvature_1pm + curvature_rate_1pm2 * length_m
    turn_radps = forward_mps * curvatures_1pm
    lateral_mps2 = forward_mps * turn_radps
    lateral_rate_mps3 = 2 * turn_radps * forward_mps2 + forward_mps**3 * curvature_rate_1pm2

    def mean(values: np.ndarray) -> float:
        from scipy.integrate import trapezoid

        return float(trapezoid(values, time_s)) / duration_s

    jerk = math.sqrt(
        mean(
            (forward_mps3 - turn_radps * lateral_mps2) ** 2
            + (lateral_rate_mps3 + turn_radps * forward_mps2) ** 2
        )
    )
    traveled_m = duration_s * mean(np.abs(forward_mps))
    moves = traveled_m > 0.0
    mean_curvature_1pm = mean(np.abs(turn_radps)) * duration_s / traveled_m if moves else math.nan
    peak_mps = float(np.abs(forward_mps).max())
    direction = np.sign(forward_mps[np.abs(forward_mps) > STANDING_MPS])
    return {
        "distance_m": traveled_m,
        "standing_s": duration_s * mean((np.abs(forward_mps) < STANDING_MPS).astype(float)),
        "comfort_mps2": math.sqrt(mean(forward_mps2**2 + lateral_mps2**2)),
        "jerk_rms_mps3": jerk,
        "log_dimensionless_jerk": (
            -math.log(duration_s**4 * jerk**2 / peak_mps**2) if jerk > 0.0 else math.nan
        ),
        "curvature_mean_1pm": mean_curvature_1pm,
        "curvature_max_1pm": float(np.abs(curvatures_1pm).max()) if moves else math.nan,
        "heading_change_radpm": mean_curvature_1pm,
        "reversals": float(np.count_nonzero(np.diff(direction))),
    }
