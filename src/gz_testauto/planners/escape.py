"""A turn in place for planners that find no command with a forward speed, and the search for
commands after which the robot can still turn in place."""

import math
from typing import Optional

import numpy as np

from gz_testauto.base.compiled import compiled, compiled_for
from gz_testauto.base.observation import Twist2D
from gz_testauto.planners.interface import RobotLimits
from gz_testauto.planners.sweep import (
    ConvexFootprint,
    Sweep,
    arc_poses,
    near_points,
    sweep_arcs,
)

CLEAR_AHEAD_M = 0.8  # free distance straight ahead at which the turn stops

# Length and curvatures (1/m) of the arcs that determine the direction of the turn.
ARC_LENGTH_M = 2.0
CURVATURES_PERM = np.array([0.25, 0.5, 0.75, 1.0, 1.5, 2.0])

STEPS = 16  # collision checks along each arc
_SHARES = np.linspace(0.0, 1.0, 20)  # of an arc, at which a turn in place is checked
TURNING_MARGIN_M = 0.05  # margin around the outline's circle for a turn in place

STANDSTILL = 0.02  # speed (m/s) and yaw rate (rad/s) below which a command counts as a standstill


class Escape:
    """A turn in place that keeps its direction: to the side with the longer free arcs, or to the
    side of the goal if they are equally long. The robot turns back at an obstacle."""

    def __init__(self, limits: RobotLimits, footprint: ConvexFootprint, margin_m: float) -> None:
        self._footprint = footprint
        self._margin_m = margin_m
        self._rate_radps = 0.5 * limits.max_angular_radps
        self._side = 0.0

    @property
    def active(self) -> bool:
        return self._side != 0.0

    def command(self, points_m: np.ndarray, goal_bearing_rad: float) -> Twist2D:
        """Return the turn command of this cycle, or a stop if both directions are blocked. Start a
        turn if none is active. ``points_m`` (n, 2) are obstacle points in the base frame."""
        if not self.active:
            self._side = self._better_side(points_m, goal_bearing_rad)
        sides = np.array([self._side, -self._side])
        turns = np.column_stack([np.zeros(2), sides * self._rate_radps])
        sweep = sweep_arcs(self._footprint, turns, points_m, ARC_LENGTH_M, self._margin_m, STEPS)
        is_free = ~sweep.blocked | (sweep.angle_rad > 0.0)
        if is_free[0]:
            return Twist2D(0.0, float(turns[0, 1]))
        if is_free[1]:
            self._side = -self._side
            return Twist2D(0.0, float(turns[1, 1]))
        return Twist2D(0.0, 0.0)

    def try_to_end(self, points_m: np.ndarray, needed_m: float) -> bool:
        """Stop an active turn if the path straight ahead is free for ``CLEAR_AHEAD_M`` or
        ``needed_m``, whichever is shorter. Return True if no turn is active then."""
        if self.active:
            reach_m = min(CLEAR_AHEAD_M, needed_m)
            forward_sweep = sweep_arcs(
                self._footprint,
                np.array([[1.0, 0.0]]),
                points_m,
                reach_m,
                self._margin_m,
                STEPS,
            )
            if not forward_sweep.blocked[0]:
                self._side = 0.0
        return not self.active

    def _better_side(self, points_m: np.ndarray, goal_bearing_rad: float) -> float:
        """Return 1 to turn left or −1 to turn right. ``points_m`` (n, 2) are in the base frame."""
        curvatures = np.concatenate([CURVATURES_PERM, -CURVATURES_PERM])
        arcs = np.column_stack([np.ones(len(curvatures)), curvatures])
        side_sweep = sweep_arcs(
            self._footprint, arcs, points_m, ARC_LENGTH_M, self._margin_m, STEPS
        )
        left, right = side_sweep.distance_m.reshape(2, -1)
        difference = float(left.sum() - right.sum())
        return math.copysign(1.0, difference if abs(difference) > 1e-9 else goal_bearing_rad)


def is_standstill(command: Twist2D) -> bool:
    return max(abs(command.linear_mps), abs(command.angular_radps)) <= STANDSTILL


def first_exit(
    footprint: ConvexFootprint,
    twists: np.ndarray,
    safe: np.ndarray,
    sweep: Sweep,
    points_m: np.ndarray,
    reach_m: float,
    limits: RobotLimits,
    period_s: float,
) -> Optional[int]:
    """Return the index of the first safe command with space for a turn in place on its arc, or
    None.

    Positions count from the stopping distance to the first obstacle, or to ``reach_m``. ``twists``
    (c, 2) are the commands (m/s, rad/s). ``safe`` (c,) is True for a safe command, and ``sweep``
    contains the free arcs. ``points_m`` (n, 2) are obstacle points in the base frame.
    """
    twists, braking = np.asarray(twists, dtype=float), limits.max_linear_accel_mps2
    times_s = _exit_times(
        twists, sweep.distance_m, sweep.blocked, reach_m, period_s, braking, _SHARES
    )
    radius_m = footprint.radius_m
    first = _first_with_free_circle(
        safe,
        arc_poses(twists, times_s),
        points_m,
        reach_m + 2 * radius_m,
        radius_m + TURNING_MARGIN_M,
    )
    return None if first < 0 else int(first)


@compiled_for("f8[:, ::1](Array(f8, 2, 'A', True), f8[::1], b1[::1], f8, f8, f8, f8[::1])")
def _exit_times(  # type: ignore[no-untyped-def]
    twists, distance_m, blocked, reach_m, period_s, braking_mps2, shares
):
    """Return times (s) on the arc of each command, shape (c, p), at which the robot can have
    stopped: at ``shares`` of the part between its stopping distance and the first obstacle."""
    times_s = np.empty((len(twists), len(shares)))
    for command in range(len(twists)):
        speed = twists[command, 0]
        stop_m = speed * period_s + speed * speed / (2 * braking_mps2)
        free_m = distance_m[command] if blocked[command] else reach_m
        for index in range(len(shares)):
            driven_m = stop_m + shares[index] * max(0.0, free_m - stop_m)
            times_s[command, index] = driven_m / max(speed, 1e-6)
    return times_s


@compiled
def _is_circle_free(x_m, y_m, points_m, radius_m):  # type: ignore[no-untyped-def]
    for point in range(len(points_m)):
        dx_m, dy_m = points_m[point, 0] - x_m, points_m[point, 1] - y_m
        if not math.sqrt(dx_m * dx_m + dy_m * dy_m) > radius_m:
            return False
    return True


@compiled_for("i8(b1[::1], f8[:, :, ::1], Array(f8, 2, 'A', True), f8, f8)")
def _first_with_free_circle(  # type: ignore[no-untyped-def]
    safe, poses, points_m, within_m, radius_m
):
    """Return the index of the first safe command with a position farther than ``radius_m`` from all
    points within ``within_m``, or -1. ``poses``, shape (c, p, 3), are those on the arc of each
    command."""
    near_m = near_points(points_m, within_m)
    for command in range(len(safe)):
        if safe[command]:
            for pose in range(poses.shape[1]):
                x_m, y_m = poses[command, pose, 0], poses[command, pose, 1]
                if _is_circle_free(x_m, y_m, near_m, radius_m):
                    return command
    return -1
