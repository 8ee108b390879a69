"""The Intelligent Driver Model (IDM), and the parts of a path that models occupy.

IDM: M. Treiber, A. Hennecke, D. Helbing, *Physical Review E* 62(2), 2000, 1805–1824, with equation
11.15 of M. Treiber, A. Kesting, *Traffic Flow Dynamics*, 2013: a vehicle that is slower than its
leader does not brake to increase its gap. Integration: M. Treiber, V. Kanagaraj, *Physica A* 419,
2015, 183–195.
"""

import math
from typing import NamedTuple, Tuple

import numpy as np

from gz_testauto.base.pose import Pose2D
from gz_testauto.extras.roads.center_line import CenterLine

EXPONENT = 4  # δ of the IDM

MOST_BRAKING_MPS2 = 8.0  # full braking on a dry road

LEAST_GAP_M = 1e-3  # avoids a division by zero


class IntelligentDriver(NamedTuple):
    desired_speed_mps: float
    headway_s: float
    standstill_gap_m: float
    acceleration_mps2: float
    deceleration_mps2: float

    def acceleration(
        self, speed_mps: float, gap_m: float = math.inf, leader_speed_mps: float = 0.0
    ) -> float:
        """Return the acceleration (m/s²), at least −:data:`MOST_BRAKING_MPS2`; ``gap_m`` is from
        the front of the vehicle to the rear of its leader."""
        share = 1.0 - (speed_mps / self.desired_speed_mps) ** EXPONENT
        if math.isfinite(gap_m):
            closing = speed_mps * (speed_mps - leader_speed_mps)
            both = 2.0 * math.sqrt(self.acceleration_mps2 * self.deceleration_mps2)
            dynamic_m = speed_mps * self.headway_s + closing / both
            desired_m = self.standstill_gap_m + max(0.0, dynamic_m)
            share -= (desired_m / max(gap_m, LEAST_GAP_M)) ** 2
        return max(self.acceleration_mps2 * share, -MOST_BRAKING_MPS2)


def advance(speed_mps: float, accel_mps2: float, duration_s: float) -> Tuple[float, float]:
    """Return the distance (m) driven in ``duration_s`` at a constant acceleration, and the speed
    (m/s) at its end. A vehicle that stops stays at rest.
    """
    after = speed_mps + accel_mps2 * duration_s
    if after < 0.0:
        return speed_mps * speed_mps / (-2.0 * accel_mps2), 0.0
    return 0.5 * (speed_mps + after) * duration_s, after


class Occupancy(NamedTuple):
    """The part of a line that a model occupies, and the model's speed along the line.

    ``rear_m`` and ``front_m`` are arc lengths. ``right_m`` and ``left_m`` are lateral offsets,
    positive to the left. The speed is negative against the direction of the line.
    """

    rear_m: float
    front_m: float
    right_m: float
    left_m: float
    speed_mps: float

    @property
    def center_m(self) -> float:
        return 0.5 * (self.rear_m + self.front_m)

    def is_within(self, half_width_m: float) -> bool:
        return self.right_m < half_width_m and self.left_m > -half_width_m


def occupancy(
    line: CenterLine,
    outline_m: np.ndarray,
    pose: Pose2D,
    velocity_mps: Tuple[float, float],
    lowest_m: float = 0.0,
    reach_m: float = math.inf,
) -> Occupancy:
    """Return the part of a line that a model at ``pose`` occupies.

    ``outline_m`` (n, 2) is in the frame of the model, and the velocity in that of the line.

    The line is approximated by its tangent at the point nearest to the model. That point is
    searched at arc lengths from ``lowest_m`` to ``lowest_m + reach_m``.
    """
    arc_m = line.arc_of(pose.x_m, pose.y_m, lowest_m, reach_m)
    points, headings = line.at(np.array([arc_m]))
    (x_m, y_m), heading = points[0].tolist(), float(headings[0])
    cos, sin = math.cos(heading), math.sin(heading)
    dx, dy = pose.x_m - x_m, pose.y_m - y_m
    corners = Pose2D(0.0, 0.0, pose.yaw_rad - heading).apply(outline_m)
    along = arc_m + cos * dx + sin * dy + corners[:, 0]
    across = cos * dy - sin * dx + corners[:, 1]
    speed_mps = cos * velocity_mps[0] + sin * velocity_mps[1]
    return Occupancy(
        float(along.min()), float(along.max()), float(across.min()), float(across.max()), speed_mps
    )
