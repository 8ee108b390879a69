"""Time of one local-planner cycle: the paper's execution time (its mean), and its tail.

Wall time, as a robot would feel it, and CPU time of the planner's thread, which a busy machine
does not blur. A cycle that takes longer than the control period is missed.
"""

import math

import numpy as np

from gz_testauto.metrics.interface import Compute, Metric, MetricContext
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


def percentile_s(percent: float) -> Compute:
    """Make the metric function for one percentile of the wall time of a cycle."""

    def compute(recording: Recording, context: MetricContext) -> float:
        if not len(recording.cycle_time_s):
            return math.nan
        return float(np.percentile(recording.cycle_time_s, percent))

    return compute


def _mean(values: np.ndarray) -> float:
    return float(np.mean(values)) if len(values) else math.nan


def _time(name: str, heading: str, description: str, compute: Compute, shown: bool) -> Metric:
    """A time, told in milliseconds; ``shown`` in tables and compared."""
    return Metric(
        name=name,
        heading=heading,
        unit="s",
        shown_unit="ms",
        shown_factor=1000.0,
        smallest_relevant=0.005,
        better="lower",
        completed_only=False,
        in_table=shown,
        in_comparison=shown,
        description=description,
        compute=compute,
    )


MEAN = _time("cycle_mean_s", "cycle", "mean wall time of a planner cycle", mean_s, True)
CPU_MEAN = _time(
    "cycle_cpu_mean_s", "cycle CPU", "mean CPU time of a planner cycle", cpu_mean_s, False
)
P95 = _time("cycle_p95_s", "cycle 95 %", "95th percentile of cycle time", percentile_s(95.0), False)
P99 = _time("cycle_p99_s", "cycle 99 %", "99th percentile of cycle time", percentile_s(99.0), False)
MAXIMUM = _time("cycle_max_s", "longest cycle", "longest planner cycle", maximum_s, False)
MISSED = Metric(
    name="cycle_missed_share",
    heading="missed cycles",
    decimals=4,
    better="lower",
    completed_only=False,
    in_table=False,
    in_comparison=False,
    description="share of cycles over the period",
    compute=missed_share,
)
