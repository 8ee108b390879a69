"""The safety filter of a policy, which replaces commands from which the robot could not stop.

The condition is the one of the dynamic window approach (D. Fox, W. Burgard, S. Thrun, "The dynamic
window approach to collision avoidance", IEEE Robotics and Automation Magazine 4(1), 1997), checked
for the outline of the robot. To replace an action by the nearest safe one is called a safety filter
or a shield (M. Alshiekh et al., "Safe Reinforcement Learning via Shielding", AAAI 2018).
"""

import math
from typing import Sequence

import numpy as np

from gz_testauto.base.observation import Twist2D
from gz_testauto.extras.learning.policies.motion import ScanMotion
from gz_testauto.planners.dwa_fox import dynamic_window, stoppable
from gz_testauto.planners.interface import Observation, Task
from gz_testauto.planners.sweep import APPROACH_M, ConvexFootprint, sweep_arcs
from gz_testauto.spec.model import NotNegative, Spec

SAMPLES = (5, 13)
"""Numbers of speeds and yaw rates of the dynamic window from which a command is selected."""

STEPS = 20
"""Number of collision checks along each arc."""

PREDICTION_S = 0.1
"""Time (s) between two predicted positions of a moving object."""

BEYOND_M = 0.5
"""Length (m) of the checked arc beyond the stopping distance from full speed."""


class SafetyFilterSpec(Spec):
    """A filter that replaces commands from which the robot could not stop in time."""

    margin_m: NotNegative = 0.05
    """Smallest distance (m) between the robot's outline and a point on the arc of a command."""
    horizon_s: NotNegative = 0.0
    """Time (s) for which the predicted positions of moving objects count as points, in addition to
    the points of the scan. The velocities are estimated from successive scans. With 0, objects
    count as static."""


class SafetyFilter:
    """A filter of the commands of one robot.

    A command is safe if the outline of the robot, on the arc of the command, can stop before it is
    within the margin of a point. A command that is not safe is replaced by the nearest safe command
    of the dynamic window, or by a stop if no command is safe. Without a scan, all commands are
    safe. Predicted positions within the margin of the current outline do not count: no command
    could avoid them, and the positions before them block the motion towards the object.
    """

    def __init__(self, spec: SafetyFilterSpec) -> None:
        self._margin_m = spec.margin_m
        self._ahead_s = np.arange(PREDICTION_S, spec.horizon_s + 1e-9, PREDICTION_S).tolist()

    def begin(self, task: Task) -> None:
        """Start a task, and discard the estimated velocities."""
        limits = task.limits
        self._limits, self._period_s = limits, task.control_period_s
        self._footprint, self._motion = ConvexFootprint(limits.footprint_m), ScanMotion()
        driven_m = limits.max_linear_mps * task.control_period_s
        braking_m = limits.max_linear_mps**2 / (2 * limits.max_linear_accel_mps2)
        self._reach_m = BEYOND_M + driven_m + braking_m

    def apply(self, command: Twist2D, before: Twist2D, observation: Observation) -> Twist2D:
        """Return ``command`` if it is safe, or its replacement. ``before`` is the previous command.
        Each observation of a task must be passed once, in the order of time."""
        points_m, predicted_m = self._motion.predict(observation, self._ahead_s)
        outside = self._distances_m(predicted_m) > self._margin_m + APPROACH_M
        obstacles_m = (points_m, predicted_m[outside])
        desired = np.array([command])
        if self._are_safe(desired, obstacles_m)[0]:
            return command
        limits = self._limits
        window = dynamic_window(before, limits, self._period_s, SAMPLES)
        if limits.wheelbase_m > 0.0:
            rate = window[:, 0] * math.tan(limits.max_steer_rad) / limits.wheelbase_m
            window[:, 1] = np.clip(window[:, 1], -rate, rate)
        largest = (limits.max_linear_mps, limits.max_angular_radps)
        error = (np.abs(window - desired) / largest).sum(axis=1)
        window = window[np.argsort(error, kind="stable")]
        safe = self._are_safe(window, obstacles_m)
        return Twist2D(*window[np.argmax(safe)].tolist()) if safe.any() else Twist2D(0.0, 0.0)

    def _distances_m(self, points_m: np.ndarray) -> np.ndarray:
        """Return the distance (m) of each point (n, 2) from the outline, shape (n,)."""
        footprint = self._footprint
        return np.asarray((points_m @ footprint.normals.T - footprint.offsets_m).max(axis=1))

    def _are_safe(self, twists: np.ndarray, obstacles_m: Sequence[np.ndarray]) -> np.ndarray:
        """Return whether each command (c, 2) is safe, shape (c,), for several arrays of points."""
        safe = np.ones(len(twists), dtype=bool)
        for points_m in obstacles_m:
            sweep = sweep_arcs(
                self._footprint, twists, points_m, self._reach_m, self._margin_m, STEPS
            )
            safe &= stoppable(twists, sweep, self._limits, self._period_s)
        return safe
