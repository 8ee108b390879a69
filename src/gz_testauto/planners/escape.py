"""A turn in place for planners that find no command with a forward speed.

In the Dynamic Window Approach (D. Fox, W. Burgard, S. Thrun, 1997), the robot also turns until it
can drive again.
"""

import math

import numpy as np

from gz_testauto.base.observation import Twist2D
from gz_testauto.planners.interface import RobotLimits
from gz_testauto.planners.sweep import ConvexFootprint, sweep_arcs

CLEAR_AHEAD_M = 0.8
"""Free distance (m) straight ahead at which the turn stops."""

ARC_LENGTH_M = 2.0
"""Length (m) of the arcs on both sides that determine the direction of the turn."""

CURVATURES_PERM = np.array([0.25, 0.5, 0.75, 1.0, 1.5, 2.0])
"""Curvatures (1/m) of the arcs that determine the direction of the turn."""

STEPS = 16
"""Number of collision checks along each arc and along each turn."""


class Escape:
    """A turn in place that keeps its direction.

    The robot turns to the side with the longer free arcs, or to the side of the goal if the arcs
    are equally long. The direction changes when an obstacle blocks the turn.
    """

    def __init__(self, limits: RobotLimits, footprint: ConvexFootprint, margin_m: float) -> None:
        self._footprint = footprint
        self._margin_m = margin_m
        self._rate_radps = 0.5 * limits.max_angular_radps
        self._side = 0.0

    @property
    def active(self) -> bool:
        """Return whether the robot is turning in place."""
        return self._side != 0.0

    def command(self, points_m: np.ndarray, goal_bearing_rad: float) -> Twist2D:
        """Return the command for the turn in place. Start a turn if none is active."""
        if not self.active:
            self._side = self._better_side(points_m, goal_bearing_rad)
        sides = np.array([self._side, -self._side])
        turns = np.column_stack([np.zeros(2), sides * self._rate_radps])
        sweep = sweep_arcs(self._footprint, turns, points_m, ARC_LENGTH_M, self._margin_m, STEPS)
        free = ~sweep.blocked | (sweep.angle_rad > 0.0)
        if free[0]:
            return Twist2D(0.0, float(turns[0, 1]))
        if free[1]:
            self._side = -self._side
            return Twist2D(0.0, float(turns[1, 1]))
        return Twist2D(0.0, 0.0)

    def try_to_end(self, points_m: np.ndarray, needed_m: float) -> bool:
        """Stop the turn if the path straight ahead is free for ``CLEAR_AHEAD_M``, or for
        ``needed_m`` if this is shorter. Return True if no turn is active afterwards."""
        if self.active:
            reach_m = min(CLEAR_AHEAD_M, needed_m)
            ahead = sweep_arcs(
                self._footprint,
                np.array([[1.0, 0.0]]),
                points_m,
                reach_m,
                self._margin_m,
                STEPS,
            )
            if not ahead.blocked[0]:
                self._side = 0.0
        return not self.active

    def _better_side(self, points_m: np.ndarray, goal_bearing_rad: float) -> float:
        curvatures = np.concatenate([CURVATURES_PERM, -CURVATURES_PERM])
        arcs = np.column_stack([np.ones(len(curvatures)), curvatures])
        free = sweep_arcs(self._footprint, arcs, points_m, ARC_LENGTH_M, self._margin_m, STEPS)
        left, right = (
            free.distance_m[: len(CURVATURES_PERM)],
            free.distance_m[-len(CURVATURES_PERM) :],
        )
        difference = float(left.sum() - right.sum())
        return math.copysign(1.0, difference if abs(difference) > 1e-9 else goal_bearing_rad)
