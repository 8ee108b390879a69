"""Clearance: from the footprint polygon to the nearest obstacle's collision geometry.

Minimum, mean over time, and the value that it falls below for 5 % of the time. Exact geometry
and not laser returns, after Heiden et al., "Bench-MR: A motion planning benchmark for wheeled
mobile robots", RA-L 6(3), 2021.
"""

import math

import numpy as np

from gz_testauto.metrics.interface import Metric, MetricContext
from gz_testauto.metrics.recording import Recording
from gz_testauto.metrics.time_average import time_mean, time_percentile


def minimum_m(recording: Recording, context: MetricContext) -> float:
    """Smallest clearance (m), 0 when touching."""
    return float(np.min(recording.clearance_m)) if len(recording.clearance_m) else math.nan


def mean_m(recording: Recording, context: MetricContext) -> float:
    """Mean clearance over time (m)."""
    return time_mean(recording.clearance_m, recording.time_s)


def fifth_percentile_m(recording: Recording, context: MetricContext) -> float:
    """Clearance (m) that is undercut for 5 % of the time."""
    return time_percentile(recording.clearance_m, recording.time_s, 5.0)


MINIMUM = Metric(
    name="clearance_min_m",
    heading="least clearance",
    unit="m",
    better="higher",
    completed_only=True,
    in_table=False,
    in_comparison=False,
    in_agreement=True,
    description="smallest clearance",
    compute=minimum_m,
)
MEAN = Metric(
    name="clearance_mean_m",
    heading="mean clearance",
    unit="m",
    better="higher",
    completed_only=True,
    in_table=False,
    in_comparison=False,
    description="mean clearance over time",
    compute=mean_m,
)
FIFTH_PERCENTILE = Metric(
    name="clearance_p05_m",
    heading="clearance 5 %",
    unit="m",
    better="higher",
    completed_only=True,
    in_table=False,
    in_comparison=False,
    description="clearance undercut for 5 % of the time",
    compute=fifth_percentile_m,
)
