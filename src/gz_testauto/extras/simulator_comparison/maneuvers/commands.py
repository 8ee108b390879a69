"""Velocity commands of a maneuver within the limits of the robot, and the resulting path.

The control period :data:`PERIOD_S` is the same in every simulator.
"""

import math

import numpy as np

from gz_testauto.base.errors import SpecError
from gz_testauto.extras.simulator_comparison.maneuvers.spec import BenchRobotSpec, ManeuverSpec
from gz_testauto.extras.simulator_comparison.recordings.recording import Series

PERIOD_S = 0.05
"""Control period."""

STOP_AT = 0.5
"""Share of its duration after which the maneuver ``stop`` brakes."""


def compute_commands(drive: ManeuverSpec, robot: BenchRobotSpec) -> np.ndarray:
    """Return forward speed (m/s) and yaw rate (rad/s), (n, 2), one row per :data:`PERIOD_S`.

    Raises ``SpecError`` for a maneuver that is faster than the robot.
    """
    for name, speed, limit in (
        ("linear_mps", drive.linear_mps, robot.max_linear_mps),
        ("angular_radps", drive.angular_radps, robot.max_angular_radps),
    ):
        if abs(speed) > limit:
            raise SpecError(
                f"drive {drive.name}: {name} is {speed:g}, but robot.max_{name} is {limit:g}; "
                "reduce the former or increase the latter"
            )
    time_s = np.arange(max(1, round(drive.duration_s / PERIOD_S))) * PERIOD_S
    linear = np.full(len(time_s), drive.linear_mps)
    angular = np.full(len(time_s), drive.angular_radps)
    if drive.kind == "stop":
        linear[time_s >= STOP_AT * drive.duration_s - 1e-9] = 0.0
    elif drive.kind == "s_curve":
        angular *= np.sin(2.0 * math.pi * time_s / drive.duration_s)
    return np.column_stack(
        [
            _limit_acceleration(linear, robot.max_linear_accel_mps2),
            _limit_acceleration(angular, robot.max_angular_accel_radps2),
        ]
    )


def recorded_commands(command: Series) -> np.ndarray:
    """Return the commands of a recording, each held until the next; the robot is at rest before the
    first."""
    count = max(1, math.ceil((command.time_s[-1] + PERIOD_S) / PERIOD_S - 1e-9))
    latest = np.searchsorted(command.time_s, np.arange(count) * PERIOD_S + 1e-9, side="right") - 1
    return np.where((latest >= 0)[:, None], command.values[latest], 0.0)


def _limit_acceleration(wanted: np.ndarray, acceleration: float) -> np.ndarray:
    """Return the speeds that approach ``wanted`` (n,) from rest within the acceleration limit."""
    most = acceleration * PERIOD_S
    reached, found = 0.0, np.empty(len(wanted))
    for row, target in enumerate(wanted.tolist()):
        reached += min(most, max(-most, target - reached))
        found[row] = reached
    return found


def ideal_path(commands: np.ndarray) -> np.ndarray:
    """Return the path of an ideal robot under commands (n, 2): x, y (m), yaw (rad) (n + 1, 3), from
    the origin, heading along x."""
    yaw = np.concatenate([[0.0], np.cumsum(commands[:, 1]) * PERIOD_S])
    middle = (yaw[1:] + yaw[:-1]) / 2
    ahead = commands[:, 0] * PERIOD_S
    x = np.concatenate([[0.0], np.cumsum(ahead * np.cos(middle))])
    y = np.concatenate([[0.0], np.cumsum(ahead * np.sin(middle))])
    return np.column_stack([x, y, yaw])
