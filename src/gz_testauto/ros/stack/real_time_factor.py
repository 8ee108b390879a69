"""How fast simulated time runs: capped, so that a navigation stack keeps up, and accounted for."""

import dataclasses
import math

from gz_testauto.base.errors import SimulatorError
from gz_testauto.simulators.gazebo_ros.client import GazeboRosClient

SAME_SHARE = 1e-3


def cap_pace(gazebo: GazeboRosClient, factor: float) -> None:
    """Have the simulator run at most ``factor`` times as fast as the wall clock, by its update
    rate; all else of its physics stays. Raises ``SimulatorError`` when it refuses."""
    now = gazebo.physics()
    if now.step_size_s <= 0.0:
        raise SimulatorError(f"the simulator says that its step is {now.step_size_s:g} s")
    rate_hz = factor / now.step_size_s
    if abs(now.max_update_rate_hz - rate_hz) > SAME_SHARE * rate_hz:
        gazebo.set_physics(dataclasses.replace(now, max_update_rate_hz=rate_hz))


def require_truth(gap_s: float, at_most_s: float) -> None:
    """Raise ``SimulatorError`` for a trial that nobody watched for too long."""
    if gap_s > at_most_s:
        shown_s = math.ceil(100.0 * gap_s) / 100.0
        raise SimulatorError(
            f"{shown_s:.2f} s passed between two looks at the true state, more than "
            f"stack.max_truth_gap_s = {at_most_s:g}: this machine is too slow or too busy; fewer "
            "--workers, or a lower stack.max_real_time_factor"
        )
