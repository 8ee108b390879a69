"""Heading change per metre: ``Σ |ψ_i − ψ_{i−1}| / D``, the angle over length of Bench-MR.

ψ is the base's yaw, which unlike the path's direction turns on the spot as well; yaw and length D
are those of the path sampled every 0.1 m along it, so that noise while the robot stands is
none. A turn on the spot counts by how far the robot has turned when it drives on.

E. Heiden et al., "Bench-MR: a motion planning benchmark for wheeled mobile robots", IEEE Robotics
and Automation Letters 6 (2021) 4536–4543.
"""

import math

import numpy as np

from gz_testauto.metrics.curvature import SPACING_M
from gz_testauto.metrics.distance import distance_m, evenly_along
from gz_testauto.metrics.interface import Metric, MetricContext
from gz_testauto.metrics.recording import Recording


def heading_change(recording: Recording, context: MetricContext) -> float:
    """Angle over length (rad/m); NaN for a path shorter than 0.2 m."""
    _, yaw_rad = evenly_along(recording, SPACING_M)
    if not len(yaw_rad):
        return math.nan
    return float(np.abs(np.diff(yaw_rad)).sum() / distance_m(recording, context))


HEADING_CHANGE = Metric(
    name="heading_change_radpm",
    heading="heading change",
    unit="rad/m",
    decimals=3,
    better="lower",
    completed_only=True,
    in_table=False,
    in_comparison=False,
    description="change of yaw per metre driven",
    compute=heading_change,
)
