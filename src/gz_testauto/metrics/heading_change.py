"""Heading change per metre: ``Σ |ψ_i − ψ_{i−1}| / D``, the angle over length of Bench-MR.

ψ is the base's yaw, which unlike the path's direction turns on the spot as well. It is sampled
every 0.1 m along the path, whose length D is the integral of the speed, so that noise while the
robot stands does not count. A turn on the spot counts by the angle between before and after it.

E. Heiden et al., "Bench-MR: a motion planning benchmark for wheeled mobile robots", IEEE Robotics
and Automation Letters 6 (2021) 4536–4543.
"""

import math

import numpy as np

from gz_testauto.metrics.interface import Metric, MetricContext
from gz_testauto.metrics.path import length_along, unwrapped_yaw
from gz_testauto.metrics.recording import Recording

SPACING_M = 0.1


def heading_change(recording: Recording, context: MetricContext) -> float:
    """Return the angle over length (rad/m); NaN for a path shorter than 0.2 m."""
    along_m = length_along(recording)
    steps = int(along_m[-1] / SPACING_M) if len(along_m) else 0
    if steps < 2:
        return math.nan
    at_m = np.linspace(0.0, along_m[-1], steps + 1)
    yaw_rad = np.interp(at_m, along_m, unwrapped_yaw(recording))
    return float(np.abs(np.diff(yaw_rad)).sum() / along_m[-1])


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
