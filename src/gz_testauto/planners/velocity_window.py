"""Compute the velocity commands that a robot can reach within one control period, and those after
which it can stop."""

from typing import Tuple

import numpy as np

# SciPy is not imported here: its import takes longer than that of a planner.
from gz_testauto.base.compiled import compiled_for
from gz_testauto.base.observation import Twist2D
from gz_testauto.planners.interface import RobotLimits
from gz_testauto.planners.sweep import Sweep


def dynamic_window(
    command: Twist2D, limits: RobotLimits, period_s: float, samples: Tuple[int, int]
) -> np.ndarray:
    """Return the commands v, ω (m/s, rad/s), shape (n, 2), that the robot can reach from
    ``command`` within one control period. ``samples`` are the numbers of different v and ω."""
    linear_step = limits.max_linear_accel_mps2 * period_s
    angular_step = limits.max_angular_accel_radps2 * period_s
    return np.asarray(
        _grid(
            max(0.0, command.linear_mps - linear_step),
            min(limits.max_linear_mps, max(0.0, command.linear_mps + linear_step)),
            max(-limits.max_angular_radps, command.angular_radps - angular_step),
            min(limits.max_angular_radps, command.angular_radps + angular_step),
            *samples,
        )
    )


@compiled_for("f8[:, ::1](f8, f8, f8, f8, i8, i8)")
def _grid(slowest, fastest, rightmost, leftmost, rows, columns):  # type: ignore[no-untyped-def]
    """Return all pairs of ``rows`` speeds and ``columns`` yaw rates, each evenly spaced between its
    limits as with ``numpy.linspace``."""
    grid = np.empty((rows * columns, 2))
    linear_step = (fastest - slowest) / max(rows - 1, 1)
    angular_step = (leftmost - rightmost) / max(columns - 1, 1)
    for row in range(rows):
        linear = row * linear_step + slowest
        if 0 < row == rows - 1:
            linear = fastest
        for column in range(columns):
            angular = column * angular_step + rightmost
            if 0 < column == columns - 1:
                angular = leftmost
            grid[row * columns + column] = (linear, angular)
    return grid


def stoppable(twists: np.ndarray, sweep: Sweep, limits: RobotLimits, period_s: float) -> np.ndarray:
    """Return whether the base can still stop before an obstacle after one control period of each
    command, shape (c,)."""
    accelerations = (limits.max_linear_accel_mps2, limits.max_angular_accel_radps2)
    twists = np.asarray(twists, dtype=float)
    return np.asarray(_stoppable(twists, *sweep, *accelerations, period_s))


@compiled_for("b1[::1](Array(f8, 2, 'A', True), f8[::1], f8[::1], b1[::1], f8, f8, f8)")
def _stoppable(  # type: ignore[no-untyped-def]
    twists, distance_m, angle_rad, blocked, linear_mps2, angular_radps2, period_s
):
    result = np.empty(len(twists), np.bool_)
    for command in range(len(twists)):
        linear, rate = abs(twists[command, 0]), abs(twists[command, 1])
        needed_m = linear * period_s + linear * linear / (2 * linear_mps2)
        needed_rad = rate * period_s + rate * rate / (2 * angular_radps2)
        in_reach = needed_m <= distance_m[command] and needed_rad <= angle_rad[command]
        result[command] = not blocked[command] or in_reach
    return result
