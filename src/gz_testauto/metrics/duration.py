"""Simulated time from goal to end, and how much of it the robot stood still."""

import numpy as np

from gz_testauto.metrics.interface import Metric, MetricContext
from gz_testauto.metrics.recording import Recording

STANDING_MPS = 0.02
"""Slower than this on average between two samples is standing; turning on the spot too."""


def time_s(recording: Recording, context: MetricContext) -> float:
    """Simulated time (s) from the goal to the end of the trial."""
    return recording.duration_s


def standing_s(recording: Recording, context: MetricContext) -> float:
    """Simulated time (s) of all intervals in which the robot did not get anywhere."""
    intervals = np.diff(recording.time_s)
    steps = np.diff(recording.pose[:, :2], axis=0)
    return float(intervals[np.hypot(steps[:, 0], steps[:, 1]) < STANDING_MPS * intervals].sum())


TIME = Metric(
    name="time_s",
    heading="time",
    unit="s",
    decimals=1,
    better="lower",
    smallest_relevant=1.0,
    completed_only=True,
    in_agreement=True,
    description="simulated time from goal to end",
    compute=time_s,
)
STANDING = Metric(
    name="standing_s",
    heading="standing",
    unit="s",
    decimals=1,
    better="lower",
    completed_only=True,
    in_table=False,
    in_comparison=False,
    description="simulated time standing still",
    compute=standing_s,
)
