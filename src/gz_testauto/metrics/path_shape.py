"""Compute metrics of the shape of the driven path.

The path is the integral of the recorded velocities, since noise increases the length of a polyline
through the positions.

Curvature: mean and maximum over the length of the path. The course θ is the direction of the
recorded velocity, and ``κ(s) = (θ̄(s, s + h) − θ̄(s − h, s)) / h``, h = 0.1 m, with the mean course
θ̄ of a part of the path. Between two samples the path is an arc, so the curvature is exact on lines
and circles at any speed and sampling rate. Shorter bends are averaged over 0.2 m. Stops and cusps
interrupt the path.

Heading change per meter: ``Σ |ψ_i − ψ_{i−1}| / D``, the angle over length of Bench-MR. ψ is the yaw
of the base, sampled every 0.1 m along the path of length D.

Reversals: the number of changes between forward and backward motion, the cusps of Bench-MR.

E. Heiden et al., "Bench-MR: a motion planning benchmark for wheeled mobile robots", IEEE Robotics
and Automation Letters 6 (2021) 4536–4543.
"""

import math
from typing import Iterator, List, NamedTuple, Tuple

import numpy as np

from gz_testauto.base.elementary import arctan2
from gz_testauto.metrics.efficiency import STANDING_MPS
from gz_testauto.metrics.interface import MetricContext, metric
from gz_testauto.metrics.recording import Recording

# Smallest difference between the change of course and that by the yaw rate at a cusp.
CUSP_RAD = math.pi / 2

SPAN_M = 0.1  # length h over which the course is averaged behind and ahead of a point
SPACING_M = 0.1


class SmoothSection(NamedTuple):
    """A part of the path without stops and cusps, with k ≥ 2 samples: the length along the path
    and the unwrapped course, shape (k,)."""

    along_m: np.ndarray
    course_rad: np.ndarray


def length_along(recording: Recording) -> np.ndarray:
    """Return the length of the path up to each sample (m), shape (n,)."""
    return _cumulative_integral(np.hypot(*recording.twist[:, :2].T), recording.time_s)


def unwrapped_yaw(recording: Recording) -> np.ndarray:
    """Return the yaw (rad), shape (n,), without jumps by 2π."""
    yaw = recording.pose[:, 2]
    return yaw[:1] + np.concatenate([np.zeros(len(yaw[:1])), np.cumsum(_turns(yaw, recording))])


def smooth_sections(recording: Recording) -> Iterator[SmoothSection]:
    """Yield the parts of the path between stops and cusps."""
    forward, left = recording.twist[:, 0], recording.twist[:, 1]
    course = recording.pose[:, 2] + arctan2(left, forward)
    is_moving = np.hypot(forward, left) > STANDING_MPS
    turns = _turns(course, recording)
    is_smooth = np.abs(turns - _integrated_yaw_rate(recording)) < CUSP_RAD
    is_joined = is_moving[:-1] & is_moving[1:] & is_smooth
    arc_m = length_along(recording)
    for rows in np.split(np.arange(len(course)), np.flatnonzero(~is_joined) + 1):
        if len(rows) > 1:
            yield SmoothSection(arc_m[rows], np.concatenate([[0.0], np.cumsum(turns[rows[:-1]])]))


def _turns(angle_rad: np.ndarray, recording: Recording) -> np.ndarray:
    """Return the change (rad) of an angle between samples, shape (n − 1,).

    It can exceed π: among values that differ by multiples of 2π, it is nearest to the integral of
    the yaw rate. At a kidnapping, it is this integral.
    """
    by_rate = _integrated_yaw_rate(recording)
    turns = by_rate + np.remainder(np.diff(angle_rad) - by_rate + math.pi, 2 * math.pi) - math.pi
    return np.where(recording.kidnapped, by_rate, turns)


def _integrated_yaw_rate(recording: Recording) -> np.ndarray:
    return np.diff(_cumulative_integral(recording.twist[:, 2], recording.time_s))


def _cumulative_integral(values: np.ndarray, time_s: np.ndarray) -> np.ndarray:
    from scipy.integrate import cumulative_trapezoid

    if len(time_s) < 2:
        return np.zeros(len(time_s))
    return np.asarray(cumulative_trapezoid(values, time_s, initial=0.0))


@metric(
    heading="mean curvature",
    unit="1/m",
    decimals=3,
    better="lower",
    completed_only=True,
    description="mean curvature over the length of the path",
)
def curvature_mean_1pm(recording: Recording, context: MetricContext) -> float:
    """Return the mean curvature, or NaN if no part of the path without stops and cusps is longer
    than 0.2 m."""
    parts = curvatures(recording)
    length_m = sum(arc_m[-1] - arc_m[0] for arc_m, _ in parts)
    if length_m <= 0.0:
        return math.nan
    areas = [((values[1:] + values[:-1]) * np.diff(arc_m)).sum() / 2.0 for arc_m, values in parts]
    return float(sum(areas) / length_m)


@metric(
    heading="maximum curvature",
    unit="1/m",
    decimals=2,
    better="lower",
    completed_only=True,
    description="largest curvature of the path",
)
def curvature_max_1pm(recording: Recording, context: MetricContext) -> float:
    """Return the largest curvature, or NaN if no part of the path without stops and cusps is longer
    than 0.2 m."""
    return max((float(values.max()) for _, values in curvatures(recording)), default=math.nan)


def curvatures(recording: Recording) -> List[Tuple[np.ndarray, np.ndarray]]:
    """Return lengths along the path (m) and the curvature there (1/m), shape (m,) with m ≥ 2, for
    each part of the path between stops and cusps."""
    parts = (_curvature(part) for part in smooth_sections(recording))
    return [part for part in parts if len(part[0]) > 1]


def _curvature(part: SmoothSection) -> Tuple[np.ndarray, np.ndarray]:
    """Return lengths along the path (m) and the curvature there (1/m), each of shape (m,)."""
    part_arc_m, _ = part
    # Lengths between which the curvature is a quadratic function.
    arc_m = np.unique(np.concatenate([part_arc_m - SPAN_M, part_arc_m, part_arc_m + SPAN_M]))
    arc_m = arc_m[(arc_m >= part_arc_m[0] + SPAN_M) & (arc_m <= part_arc_m[-1] - SPAN_M)]
    area_ahead, area_here, area_behind = (
        _area(part, arc_m + step) for step in (SPAN_M, 0.0, -SPAN_M)
    )
    return arc_m, np.abs((area_ahead - area_here) - (area_here - area_behind)) / SPAN_M**2


def _area(part: SmoothSection, at_m: np.ndarray) -> np.ndarray:
    """Return the integral of the course over the length along the path up to each of ``at_m``."""
    arc_m, course = part
    steps, turns = np.diff(arc_m), np.diff(course)
    areas = np.concatenate([[0.0], np.cumsum((course[:-1] + turns / 2.0) * steps)])
    row = np.clip(np.searchsorted(arc_m, at_m, side="right") - 1, 0, len(steps) - 1)
    excess_m = at_m - arc_m[row]
    return areas[row] + excess_m * (course[row] + turns[row] / steps[row] * excess_m / 2.0)


@metric(
    heading="heading change",
    unit="rad/m",
    decimals=3,
    better="lower",
    completed_only=True,
    description="total change of yaw per meter of path",
)
def heading_change_radpm(recording: Recording, context: MetricContext) -> float:
    """Return the heading change per meter, or NaN for a path shorter than 0.2 m."""
    along_m = length_along(recording)
    steps = int(along_m[-1] / SPACING_M) if len(along_m) else 0
    if steps < 2:
        return math.nan
    # Samples by length, not by time: noise of a stationary robot does not count.
    at_m = np.linspace(0.0, along_m[-1], steps + 1)
    yaw_rad = np.interp(at_m, along_m, unwrapped_yaw(recording))
    return float(np.abs(np.diff(yaw_rad)).sum() / along_m[-1])


@metric(
    heading="reversals",
    decimals=1,
    better="lower",
    completed_only=True,
    description="number of changes between forward and backward motion",
)
def reversals(recording: Recording, context: MetricContext) -> float:
    forward_mps = recording.twist[:, 0]
    directions = np.sign(forward_mps[np.abs(forward_mps) > STANDING_MPS])
    return float(np.count_nonzero(np.diff(directions)))
