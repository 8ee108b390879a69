"""Gaps between the points of a scan: the gap array of the Follow the Gap Method.

A gap is a sector of directions in the base frame that are free for a robot of a radius. The planner
selects a gap.

Source: V. Sezer, M. Gokasan, "A novel obstacle avoidance algorithm: Follow the Gap Method",
Robotics and Autonomous Systems 60(9), 2012, 1123-1134.
"""

import math
from dataclasses import dataclass
from typing import List

import numpy as np

from gz_testauto.base.compiled import compiled, compiled_for

ROUNDING_RAD = 1e-9
"""Borders that are nearer to each other than this touch; the difference is rounding."""


@dataclass(frozen=True)
class Gap:
    """A free sector, from its right border (clockwise end) to its left one.

    Angles are in the base frame, counter-clockwise; ``right_m`` and ``left_m`` are the
    distances from the robot to the two borders.
    """

    right_rad: float
    left_rad: float
    right_m: float
    left_m: float

    @property
    def width_rad(self) -> float:
        """Return the angle between the borders."""
        return self.left_rad - self.right_rad

    @property
    def center_rad(self) -> float:
        """Return the direction to the middle between the two borders' end points."""
        return self.right_rad + median_angle(self.right_m, self.left_m, self.width_rad)

    def nearest(self, heading_rad: float, inset_rad: float = 0.0) -> float:
        """Return the direction inside the gap that is nearest to ``heading_rad``, at least
        ``inset_rad`` from both borders, or the bisector of a gap that is narrower than that."""
        inset = min(inset_rad, self.width_rad / 2)
        return min(max(heading_rad, self.right_rad + inset), self.left_rad - inset)

    def contains(self, heading_rad: float) -> bool:
        """Return whether a direction is inside the gap."""
        return self.right_rad <= heading_rad <= self.left_rad


def median_angle(first_m: float, second_m: float, between_rad: float) -> float:
    """Return the angle from the first of two vectors to the median of the triangle that they span.

    The gap center of Sezer & Gokasan (2012), by the law of cosines and Apollonius' theorem:
    arccos((d₁ + d₂ cos θ) / sqrt(d₁² + d₂² + 2 d₁ d₂ cos θ)) with θ = φ₁ + φ₂ the angle between the
    borders. The paper counts φ₁ and φ₂ from the robot's axis, so that its φ_gap_c = this − φ₁. For
    an angle of 180° or more no triangle exists, and the result is the bisector.
    """
    if between_rad >= math.pi - 1e-9:
        return between_rad / 2
    cosine = math.cos(between_rad)
    length = math.sqrt(first_m**2 + second_m**2 + 2 * first_m * second_m * cosine)
    if length < 1e-12:
        return between_rad / 2
    return math.acos(min(1.0, max(-1.0, (first_m + second_m * cosine) / length)))


def find_gaps(
    points_m: np.ndarray, radius_m: float, horizon_m: float, field_of_view_rad: float
) -> List[Gap]:
    """Return the free sectors between obstacles, from right to left.

    Every point, shape (n, 2) in the base frame, nearer than ``horizon_m`` is an obstacle: a circle
    of ``radius_m``, so that the robot becomes a point (the paper's enlarged obstacles; a wall is a
    row of circles). A circle at distance d hides the directions within arcsin(radius / d) of its
    own, and its border is the tangent point, at sqrt(d² − radius²). A circle around the robot hides
    half of all directions. N circles that do not overlap leave N + 1 gaps within the field of view,
    which is centered on the x axis. A border at the edge of the field of view has the distance of
    the other border. An empty field of view is one gap at ``horizon_m``.
    """
    distance = np.hypot(points_m[:, 0], points_m[:, 1])
    near = distance < horizon_m
    distance = distance[near]
    bearing = np.arctan2(points_m[near, 1], points_m[near, 0])
    half = np.arcsin(np.minimum(1.0, radius_m / np.maximum(distance, 1e-9)))
    found = _gap_array(distance, bearing, half, radius_m, field_of_view_rad / 2, horizon_m)
    return [Gap(*borders) for borders in found.tolist()]


@compiled
def _hidden_sectors(distance, bearing, half, radius_m, half_view):  # type: ignore[no-untyped-def]
    """Return the hidden sectors of the view: right and left border (rad) and the distance (m) of
    the border, shape (k, 3)."""
    n = len(distance)
    hidden = np.empty((2 * n, 3))
    count = 0
    for image in range(2):
        for number in range(n):
            center = bearing[number]
            if image == 1:
                # A circle behind the robot can extend into view beyond ±180°: use its image too.
                if not half[number] + abs(center) > math.pi:
                    continue
                center -= math.copysign(2 * math.pi, center)
            right, left = center - half[number], center + half[number]
            if left > -half_view and right < half_view:
                square = distance[number] * distance[number] - radius_m * radius_m
                hidden[count] = (right, left, math.sqrt(max(square, 0.0)))
                count += 1
    return hidden[:count]


@compiled_for("f8[:, ::1](f8[::1], f8[::1], f8[::1], f8, f8, f8)")
def _gap_array(distance, bearing, half, radius_m, half_view, horizon_m):  # type: ignore[no-untyped-def]
    """Return the gaps (g, 4) as right and left border (rad) and the distances (m) to these, from
    right to left, between circles at ``distance`` (n,) (m) and ``bearing`` (n,) (rad) that hide
    ``half`` (n,) (rad) to either side."""
    hidden = _hidden_sectors(distance, bearing, half, radius_m, half_view)
    gaps = np.empty((len(hidden) + 1, 4))
    if len(hidden) == 0:
        gaps[0] = (-half_view, half_view, horizon_m, horizon_m)
        return gaps
    count = 0
    # The border of the sector that extends farthest to the left ends the hidden part.
    reach, reach_m = -half_view, np.nan
    for number in np.argsort(hidden[:, 0], kind="mergesort"):
        right, left, border_m = hidden[number]
        if right > reach:
            if right - reach > ROUNDING_RAD:
                first_m = border_m if np.isnan(reach_m) else reach_m
                gaps[count] = (reach, right, first_m, border_m)
                count += 1
            reach, reach_m = left, border_m
        elif np.isnan(reach_m) or left >= reach:
            reach, reach_m = left, border_m
    if half_view - reach > ROUNDING_RAD:
        gaps[count] = (reach, half_view, reach_m, reach_m)
        count += 1
    return gaps[:count]
