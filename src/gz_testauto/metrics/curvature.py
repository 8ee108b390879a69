"""Curvature of the path: how sharply it bends, mean and maximum over its length.

Of each three points in a row, 0.1 m apart along the path, the reciprocal of the radius of the
circle through them, exact on a circle: ``κ = 4 A / (a b c)``, ``A`` the triangle's area and
``a``, ``b``, ``c`` its sides. Sampling by length keeps a robot that stands or crawls from counting
more than one that drives. Where the path turns back (a cusp: the angle between two steps is over
90°) it has no curvature, and none is counted; :mod:`gz_testauto.metrics.reversals` counts those.

E. Heiden et al., "Bench-MR: a motion planning benchmark for wheeled mobile robots", IEEE Robotics
and Automation Letters 6 (2021) 4536–4543; K. Menger's curvature of three points.
"""

import math

import numpy as np

from gz_testauto.metrics.distance import evenly_along
from gz_testauto.metrics.interface import Metric, MetricContext
from gz_testauto.metrics.recording import Recording

SPACING_M = 0.1


def mean_curvature(recording: Recording, context: MetricContext) -> float:
    """Mean over the path's length (1/m); NaN for a path shorter than 0.2 m."""
    found = curvatures(recording)
    return float(found.mean()) if len(found) else math.nan


def max_curvature(recording: Recording, context: MetricContext) -> float:
    """Largest curvature (1/m); NaN for a path shorter than 0.2 m."""
    found = curvatures(recording)
    return float(found.max()) if len(found) else math.nan


def curvatures(recording: Recording) -> np.ndarray:
    """At each inner point of the evenly sampled path (1/m), shape (m,), without cusps."""
    points, _ = evenly_along(recording, SPACING_M)
    if len(points) < 3:
        return np.empty(0)
    before, after = points[1:-1] - points[:-2], points[2:] - points[1:-1]
    across = points[2:] - points[:-2]
    smooth = (before * after).sum(axis=1) > 0.0
    doubled_area = np.abs(before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0])
    sides = [np.hypot(side[:, 0], side[:, 1]) for side in (before, after, across)]
    return (2.0 * doubled_area[smooth]) / np.prod(sides, axis=0)[smooth]


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
