"""Gaps between what a scan hit: the gap array of the Follow the Gap Method.

Owns the geometry of gaps seen from the base frame: which directions are free for a robot of
some radius, what borders them, and where the centre of a gap lies. Refuses to choose one.

Source: V. Sezer, M. Gokasan, "A novel obstacle avoidance algorithm: Follow the Gap Method",
Robotics and Autonomous Systems 60(9), 2012, 1123-1134.
"""

import math
from dataclasses import dataclass
from typing import List

import numpy as np

ROUNDING_RAD = 1e-9
"""Borders nearer to each other than this touch: what is between them is rounding, no gap."""


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
        """The angle between the borders."""
        return self.left_rad - self.right_rad

    @property
    def center_rad(self) -> float:
        """Direction to the middle between the two borders' end points."""
        return self.right_rad + median_angle(self.right_m, self.left_m, self.width_rad)

    def nearest(self, heading_rad: float, inset_rad: float = 0.0) -> float:
        """The direction inside the gap that is nearest to ``heading_rad``, at least
        ``inset_rad`` from both borders, or the bisector where the gap is narrower than that."""
        inset = min(inset_rad, self.width_rad / 2)
        return min(max(heading_rad, self.right_rad + inset), self.left_rad - inset)

    def holds(self, heading_rad: float) -> bool:
        """Whether a direction lies inside the gap."""
        return self.right_rad <= heading_rad <= self.left_rad


def median_angle(first_m: float, second_m: float, between_rad: float) -> float:
    """Angle from the first of two vectors to the median of the triangle that they span.

    The gap centre of Sezer & Gokasan (2012), by the law of cosines and Apollonius' theorem:
    arccos((d₁ + d₂ cos θ) / sqrt(d₁² + d₂² + 2 d₁ d₂ cos θ)) with θ = φ₁ + φ₂ the angle between
    the borders. The paper counts φ₁ and φ₂ from the robot's axis, so that its
    φ_gap_c = this − φ₁. Where the borders are opposite to each other or more than 180° apart
    no such triangle exists, and the bisector is taken.
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
    """The free sectors between obstacles, from right to left.

    Every point, shape (n, 2) in the base frame, nearer than ``horizon_m`` is an obstacle: a
    circle of ``radius_m``, so that the robot becomes a point (the paper's enlarged obstacles; a
    wall is a row of such circles). A circle at distance d hides the directions within
    arcsin(radius / d) of its own, and its border is the tangent point, at sqrt(d² − radius²).
    A circle that holds the robot hides half of all directions. N circles that do not overlap
    leave N + 1 gaps within the field of view, which is centred on the x axis. A border that is
    the edge of the field of view has no distance of its own and takes the other border's; a
    field of view with nothing in it is one gap at ``horizon_m``.
    """
    half_view = field_of_view_rad / 2
    distance = np.hypot(points_m[:, 0], points_m[:, 1])
    near = distance < horizon_m
    distance = distance[near]
    bearing = np.arctan2(points_m[near, 1], points_m[near, 0])
    half = np.arcsin(np.minimum(1.0, radius_m / np.maximum(distance, 1e-9)))
    border = np.sqrt(np.maximum(distance**2 - radius_m**2, 0.0))
    # A circle behind the robot may reach into view past ±180°: look at its images as well.
    wraps = half + np.abs(bearing) > math.pi
    turned = bearing[wraps] - np.copysign(2 * math.pi, bearing[wraps])
    right = np.concatenate([bearing - half, turned - half[wraps]])
    left = np.concatenate([bearing + half, turned + half[wraps]])
    border = np.concatenate([border, border[wraps]])
    seen = (left > -half_view) & (right < half_view)
    return _between(right[seen], left[seen], border[seen], half_view, horizon_m)


def _between(
    right: np.ndarray, left: np.ndarray, border: np.ndarray, half_view: float, horizon_m: float
) -> List[Gap]:
    """What the hidden sectors (right to left, overlapping) leave of the field of view."""
    if len(right) == 0:
        return [Gap(-half_view, half_view, horizon_m, horizon_m)]
    order = np.argsort(right, kind="stable")
    right, left, border = right[order], left[order], border[order]
    reach = np.maximum.accumulate(left)
    # Which sector reaches farthest to the left so far: its border ends the hidden part.
    newest = np.where(left == reach, np.arange(len(left)), 0)
    holder = np.maximum.accumulate(newest)
    gaps = []
    if right[0] > -half_view:
        gaps.append(Gap(-half_view, float(right[0]), float(border[0]), float(border[0])))
    for index in np.flatnonzero(right[1:] > reach[:-1]):
        gaps.append(
            Gap(
                float(reach[index]),
                float(right[index + 1]),
                float(border[holder[index]]),
                float(border[index + 1]),
            )
        )
    if reach[-1] < half_view:
        last = float(border[holder[-1]])
        gaps.append(Gap(float(reach[-1]), half_view, last, last))
    return [gap for gap in gaps if gap.width_rad > ROUNDING_RAD]
