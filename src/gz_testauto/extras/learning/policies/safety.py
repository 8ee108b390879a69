"""The safety filter of a policy, which replaces commands from which the robot could not stop, and
commands into places that it could not leave.

The condition is the one of the dynamic window approach (D. Fox, W. Burgard, S. Thrun, "The dynamic
window approach to collision avoidance", IEEE Robotics and Automation Magazine 4(1), 1997), checked
for the outline of the robot. On replacing an action by the nearest safe one: M. Alshiekh et al.,
"Safe Reinforcement Learning via Shielding", AAAI 2018.
"""

import math
from typing import Optional, Sequence, Tuple

import numpy as np

from gz_testauto.base.arithmetic import matrix_product
from gz_testauto.base.observation import Twist2D
from gz_testauto.extras.learning.policies.motion import ScanMotion
from gz_testauto.planners.escape import STANDSTILL, Escape, first_exit
from gz_testauto.planners.interface import Observation, Task
from gz_testauto.planners.limits import DefaultLength, value_for_robot
from gz_testauto.planners.sweep import APPROACH_M, ConvexFootprint, sweep_arcs
from gz_testauto.planners.velocity_window import dynamic_window, stoppable
from gz_testauto.spec.model import NotNegative, Spec

SAMPLES = (5, 13)  # numbers of speeds and yaw rates of the dynamic window

STEPS = 32  # number of collision checks along each arc

PREDICTION_S = 0.1  # time between two predicted positions of a moving object

BEYOND_M = 0.5  # length of the checked arc beyond the stopping distance from full speed

PASSAGE_M = DefaultLength(2.0)  # least length of the checked arc, with a place for a turn

TURNING_SHARE = 0.5  # fraction of the margin that the outline keeps during a turn in place


class SafetyFilterSpec(Spec):
    """A filter that replaces commands from which the robot could not stop in time."""

    margin_m: NotNegative = 0.05
    """Smallest distance (m) between the robot's outline and a point on the arc of a command."""
    horizon_s: NotNegative = 0.0
    """Time (s) for which the predicted positions of moving objects count as points, in addition to
    the points of the scan. The velocities are estimated from successive scans. With 0, objects
    count as static."""


class SafetyFilter:
    """A filter of the commands of one robot (``docs/learning.md``).

    A command is safe if the outline of the robot, on the arc of the command, can stop before it is
    within the margin of a point. Without a scan, all commands are safe. A command leads to an exit
    if the robot, on the rest of its arc, reaches a place where it can turn in place.

    A command that is unsafe or leads to no exit is replaced by the nearest safe command of the
    dynamic window that leads to an exit. Without one, a moving robot brakes as much as it can, and
    a standing robot receives the nearest safe command. If the replacement has no forward speed, the
    robot turns in place until the path ahead is free.
    """

    def __init__(self, spec: SafetyFilterSpec) -> None:
        self._margin_m = spec.margin_m
        self._prediction_times_s = np.arange(
            PREDICTION_S, spec.horizon_s + 1e-9, PREDICTION_S
        ).tolist()

    def begin(self, task: Task) -> None:
        limits = task.limits
        self._task, self._limits, self._period_s = task, limits, task.control_period_s
        self._footprint, self._motion = ConvexFootprint(limits.footprint_m), ScanMotion()
        self._can_turn_in_place = limits.wheelbase_m == 0.0
        self._escape = Escape(limits, self._footprint, TURNING_SHARE * self._margin_m)
        speed, braking = limits.max_linear_mps, limits.max_linear_accel_mps2
        stop_m = speed * task.control_period_s + speed**2 / (2 * braking)
        self._reach_m = max(BEYOND_M + stop_m, value_for_robot(PASSAGE_M, speed, braking))

    def apply(self, command: Twist2D, previous: Twist2D, observation: Observation) -> Twist2D:
        """Return ``command`` or its replacement; ``previous`` is the previous command.

        Each observation of a task must be passed once, in the order of time.
        """
        points_m, predicted_m = self._motion.predict(observation, self._prediction_times_s)
        # No command could avoid predicted positions at the current outline, and the positions
        # before them would block the motion towards the object.
        outside = self._distances_m(predicted_m) > self._margin_m + APPROACH_M
        obstacles_m = (points_m, predicted_m[outside])
        goal = self._task.goal
        needed_m = observation.pose.distance_to(goal.x_m, goal.y_m)
        if self._escape.try_to_end(points_m, needed_m):
            nearest = self._nearest_safe(command, previous, obstacles_m)
            drives = abs(nearest.linear_mps) > STANDSTILL or nearest is command
            if drives or not self._can_turn_in_place:
                return nearest
        # Otherwise the robot could remain in front of an obstacle that it cannot turn away from.
        return self._escape.command(points_m, command.angular_radps)

    def _nearest_safe(
        self, command: Twist2D, previous: Twist2D, obstacles_m: Sequence[np.ndarray]
    ) -> Twist2D:
        """Return the safe command nearest to ``command`` that leads to an exit, or a replacement.
        ``command`` itself is returned if it is safe and leads to an exit."""
        limits = self._limits
        desired = np.array([command])
        if self._check(desired, obstacles_m)[1] is not None:
            return command
        window = dynamic_window(previous, limits, self._period_s, SAMPLES)
        if limits.wheelbase_m > 0.0:
            rate = window[:, 0] * math.tan(limits.max_steer_rad) / limits.wheelbase_m
            window[:, 1] = np.clip(window[:, 1], -rate, rate)
        largest = (limits.max_linear_mps, limits.max_angular_radps)
        error = (np.abs(window - desired) / largest).sum(axis=1)
        window = window[np.argsort(error, kind="stable")]
        safe, first = self._check(window, obstacles_m)
        if first is not None:
            return Twist2D(*window[first].tolist())
        dead_ends = window[safe]
        if len(dead_ends) == 0:
            return Twist2D(0.0, 0.0)
        if previous.linear_mps > STANDSTILL:
            dead_ends = dead_ends[dead_ends[:, 0] <= dead_ends[:, 0].min() + 1e-9]
        return Twist2D(*dead_ends[0].tolist())

    def _distances_m(self, points_m: np.ndarray) -> np.ndarray:
        """Return the distances of points (n, 2) from the outline, shape (n,)."""
        footprint = self._footprint
        across_m = matrix_product(points_m, footprint.normals.T) - footprint.offsets_m
        return np.asarray(across_m.max(axis=1))

    def _check(
        self, twists: np.ndarray, obstacles_m: Sequence[np.ndarray]
    ) -> Tuple[np.ndarray, Optional[int]]:
        """Return whether each command (c, 2) is safe, shape (c,), and the index of a command.

        The index is that of the first safe command that leads to an exit among the points
        ``obstacles_m[0]``. It is None if no command leads to an exit.
        """
        limits, period_s = self._limits, self._period_s
        sweeps = [
            sweep_arcs(self._footprint, twists, points_m, self._reach_m, self._margin_m, STEPS)
            for points_m in obstacles_m
        ]
        checks = [stoppable(twists, sweep, limits, period_s) for sweep in sweeps]
        safe = np.logical_and.reduce(checks)
        if not safe.any():
            return safe, None
        # Reverse commands, and those of a robot that cannot turn in place, only have to be safe.
        if not self._can_turn_in_place or twists[0, 0] < 0.0:
            return safe, int(np.argmax(safe))
        exit_index = first_exit(
            self._footprint,
            twists,
            safe,
            sweeps[0],
            obstacles_m[0],
            self._reach_m,
            limits,
            period_s,
        )
        return safe, exit_index
