"""Curvature of the path: how sharply it bends, mean and maximum over its length.

The course is the direction of the recorded velocity. The curvature at a point is the mean course of
the 0.1 m ahead minus that of the 0.1 m behind, divided by the distance of the middles of the two:
``κ(s) = (θ̄(s, s + h) − θ̄(s − h, s)) / h``, h = 0.1 m. The length s is the integral of the speed,
and between two samples the course changes in proportion to s: the path between them is an arc and
not a chord. So the curvature is exact on lines and circles at any speed and sampling rate. A bend
shorter than 0.2 m, or than the distance of two samples, counts by its mean over that length. A
robot that crawls does not count more than one that drives, because the length is the weight.

A robot that stands (below 0.02 m/s) has no course, and a path that turns back (a cusp) no
curvature. Neither is computed across such points: :mod:`gz_testauto.metrics.heading_change` counts
turns on the spot and :mod:`gz_testauto.metrics.reversals` cusps.

Maximum and mean curvature as in E. Heiden et al., "Bench-MR: a motion planning benchmark for
wheeled mobile robots", IEEE Robotics and Automation Letters 6 (2021) 4536–4543; κ = dθ/ds.
"""

import math
from typing import List, Tuple

import numpy as np

from gz_testauto.metrics.interface import Metric, MetricContext
from gz_testauto.metrics.path import Stretch, stretches
from gz_testauto.metrics.recording import Recording

SPAN_M = 0.1
"""h: the length over which the course is averaged, behind a point and ahead of it."""


def mean_curvature(recording: Recording, context: MetricContext) -> float:
    """Return the mean over the path's length (1/m); NaN where no part is longer than 0.2 m."""
    found = curvatures(recording)
    length_m = sum(at[-1] - at[0] for at, _ in found)
    if length_m <= 0.0:
        return math.nan
    areas = [((values[1:] + values[:-1]) @ np.diff(at)) / 2.0 for at, values in found]
    return float(sum(areas) / length_m)


def max_curvature(recording: Recording, context: MetricContext) -> float:
    """Return the largest curvature (1/m); NaN where no part is longer than 0.2 m."""
    return max((float(values.max()) for _, values in curvatures(recording)), default=math.nan)


def curvatures(recording: Recording) -> List[Tuple[np.ndarray, np.ndarray]]:
    """Return, for each part of the path between stops and cusps, lengths along it (m) and the
    magnitudes of the curvature there (1/m), both of shape (m,), m at least two."""
    parts = (_curvature(part) for part in stretches(recording))
    return [part for part in parts if len(part[0]) > 1]


def _curvature(part: Stretch) -> Tuple[np.ndarray, np.ndarray]:
    along, _ = part
    # Where the curvature, a quadratic between these, can have an edge.
    at = np.unique(np.concatenate([along - SPAN_M, along, along + SPAN_M]))
    at = at[(at >= along[0] + SPAN_M) & (at <= along[-1] - SPAN_M)]
    ahead, here, behind = (_area(part, at + step) for step in (SPAN_M, 0.0, -SPAN_M))
    return at, np.abs((ahead - here) - (here - behind)) / SPAN_M**2


def _area(part: Stretch, at_m: np.ndarray) -> np.ndarray:
    """Integrate the course, linear between samples, over the length up to each of ``at_m``."""
    along, course = part
    steps, turns = np.diff(along), np.diff(course)
    until = np.concatenate([[0.0], np.cumsum((course[:-1] + turns / 2.0) * steps)])
    row = np.clip(np.searchsorted(along, at_m, side="right") - 1, 0, len(steps) - 1)
    beyond = at_m - along[row]
    return until[row] + beyond * (course[row] + turns[row] / steps[row] * beyond / 2.0)


MEAN = Metric(
    name="curvature_mean_1pm",
    heading="mean curvature",
    unit="1/m",
    decimals=3,
    better="lower",
    completed_only=True,
    in_table=False,
    in_comparison=False,
    description="mean curvature over the path's length",
    compute=mean_curvature,
)
MAXIMUM = Metric(
    name="curvature_max_1pm",
    heading="maximum curvature",
    unit="1/m",
    decimals=2,
    better="lower",
    completed_only=True,
    in_table=False,
    in_comparison=False,
    description="largest curvature of the path",
    compute=max_curvature,
)
