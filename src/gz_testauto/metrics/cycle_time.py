"""Time of one local-planner cycle: the paper's execution time (its mean), and its tail.

Wall time, as a robot would feel it, and CPU time of the planner's thread, which a busy machine
does not blur. A cycle that takes longer than the control period is missed.
"""

import math
from typing import Callable

import numpy as np

from gz_testauto.metrics.interface import Metric, MetricContext
from gz_testauto.metrics.recording import Recording


def mean_s(recording: Recording, context: MetricContext) -> float:
    """Mean wall time (s) of a cycle: the paper's execution time."""
    return _mean(recording.cycle_time_s)


def cpu_mean_s(recording: Recording, context: MetricContext) -> float:
    """Mean CPU time (s) of a cycle."""
    return _mean(recording.cycle_cpu_s)


def maximum_s(recording: Recording, context: MetricContext) -> float:
    """Wall time (s) of the longest cycle."""
    return float(np.max(recording.cycle_time_s)) if len(recording.cycle_time_s) else math.nan


def missed_share(recording: Recording, context: MetricContext) -> float:
    """Share of cycles, in [0, 1], that took longer than the control period."""
    return _mean(recording.cycle_time_s > context.control_period_s)


def percentile_s(percent: float) -> Callable[[Recording, MetricContext], float]:
    """Make the metric function for one percentile of the wall time of a cycle."""

    def compute(recording: Recording, context: MetricContext) -> float:
        if not len(recording.cycle_time_s):
            return math.nan
        return float(np.percentile(recording.cycle_time_s, percent))

    return compute


def _mean(values: np.ndarray) -> float:
    return float(np.mean(values)) if len(values) else math.nan


MEAN = Metric("cycle_mean_s", "s", "lower", False, mean_s, "mean wall time of a planner cycle", 6)
CPU_MEAN = Metric(
    "cycle_cpu_mean_s", "s", "lower", False, cpu_mean_s, "mean CPU time of a planner cycle", 6
)
P95 = Metric(
    "cycle_p95_s", "s", "lower", False, percentile_s(95.0), "95th percentile of cycle time", 6
)
P99 = Metric(
    "cycle_p99_s", "s", "lower", False, percentile_s(99.0), "99th percentile of cycle time", 6
)
MAXIMUM = Metric("cycle_max_s", "s", "lower", False, maximum_s, "longest planner cycle", 6)
MISSED = Metric(
    "cycle_missed_share", "", "lower", False, missed_share, "share of cycles over the period", 4
)
