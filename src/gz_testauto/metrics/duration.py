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


TIME = Metric("time_s", "s", "lower", True, time_s, "simulated time from goal to end", 1)
STANDING = Metric("standing_s", "s", "lower", True, standing_s, "simulated time standing still", 1)
