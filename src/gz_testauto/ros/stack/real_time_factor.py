"""Limit of the real-time factor, so that a navigation stack keeps up, and its verification."""

import dataclasses
import math

from gz_testauto.base.errors import SimulatorError
from gz_testauto.simulators.gazebo_ros.client import GazeboRosClient

SAME_SHARE = 1e-3


def limit_real_time_factor(gazebo: GazeboRosClient, factor: float) -> None:
    """Limit the simulator to ``factor`` times the wall clock by its update rate, without other
    changes of its physics. Raises ``SimulatorError`` if it rejects this."""
    now = gazebo.physics()
    if now.step_size_s <= 0.0:
        raise SimulatorError(f"the simulator reports a step of {now.step_size_s:g} s")
    rate_hz = factor / now.step_size_s
    if abs(now.max_update_rate_hz - rate_hz) > SAME_SHARE * rate_hz:
        gazebo.set_physics(dataclasses.replace(now, max_update_rate_hz=rate_hz))


def require_truth(gap_s: float, at_most_s: float) -> None:
    """Raise ``SimulatorError`` for a trial with too long a time between two snapshots."""
    if gap_s > at_most_s:
        shown_s = math.ceil(100.0 * gap_s) / 100.0
        raise SimulatorError(
            f"{shown_s:.2f} s passed between two snapshots of the true state, more than "
            f"stack.max_truth_gap_s = {at_most_s:g}: this machine is too slow or overloaded; use "
            "fewer --workers, or a lower stack.max_real_time_factor"
        )
