"""Compute metrics of computing time.

The mean cycle time is the execution time in the paper. CPU time does not depend on the load of the
machine.
"""

import math
from typing import Callable

import numpy as np

from gz_testauto.metrics.interface import Compute, Metric, MetricContext, metric
from gz_testauto.metrics.recording import Recording


def _cycle_time_metric(
    heading: str, description: str, is_shown: bool = False
) -> Callable[[Compute], Metric]:
    return metric(
        heading=heading,
        unit="s",
        shown_unit="ms",
        shown_factor=1000.0,
        better="lower",
        smallest_relevant=0.005,
        completed_only=False,
        in_table=is_shown,
        in_comparison=is_shown,
        description=description,
    )


@_cycle_time_metric("cycle", "mean wall time of a planner cycle", is_shown=True)
def cycle_mean_s(recording: Recording, context: MetricContext) -> float:
    return _mean_or_nan(recording.cycle_time_s)


@_cycle_time_metric("cycle CPU", "mean CPU time of a planner cycle")
def cycle_cpu_mean_s(recording: Recording, context: MetricContext) -> float:
    return _mean_or_nan(recording.cycle_cpu_s)


@_cycle_time_metric("longest cycle", "longest planner cycle")
def cycle_max_s(recording: Recording, context: MetricContext) -> float:
    return float(np.max(recording.cycle_time_s)) if len(recording.cycle_time_s) else math.nan


@_cycle_time_metric("cycle 95 %", "95th percentile of cycle time")
def cycle_p95_s(recording: Recording, context: MetricContext) -> float:
    return _percentile_or_nan(recording.cycle_time_s, 95.0)


@_cycle_time_metric("cycle 99 %", "99th percentile of cycle time")
def cycle_p99_s(recording: Recording, context: MetricContext) -> float:
    return _percentile_or_nan(recording.cycle_time_s, 99.0)


@metric(
    heading="missed cycles",
    decimals=4,
    better="lower",
    completed_only=False,
    bounds=(0.0, 1.0),
    description="share of planning cycles that take longer than the control period",
)
def cycle_missed_share(recording: Recording, context: MetricContext) -> float:
    return _mean_or_nan(recording.cycle_time_s > context.control_period_s)


def _mean_or_nan(values: np.ndarray) -> float:
    return float(np.mean(values)) if len(values) else math.nan


def _percentile_or_nan(values: np.ndarray, percent: float) -> float:
    return float(np.percentile(values, percent)) if len(values) else math.nan


@metric(
    heading="real-time factor",
    decimals=2,
    better="neither",
    completed_only=False,
    description="simulated time divided by wall time",
)
def real_time_factor(recording: Recording, context: MetricContext) -> float:
    """Return simulated time divided by wall time, which includes that of the planner, or NaN if the
    wall time is unknown."""
    if not recording.wall_time_s > 0.0:
        return math.nan
    return recording.duration_s / recording.wall_time_s
