"""Real-time factor: simulated time over the wall time that it took, planner included."""

import math

from gz_testauto.metrics.interface import Metric, MetricContext
from gz_testauto.metrics.recording import Recording


def real_time_factor(recording: Recording, context: MetricContext) -> float:
    """Simulated seconds per wall second; NaN where the wall time is not known."""
    if not recording.wall_time_s > 0.0:
        return math.nan
    return recording.duration_s / recording.wall_time_s


REAL_TIME_FACTOR = Metric(
    name="real_time_factor",
    heading="real-time factor",
    decimals=1,
    better="neither",
    completed_only=False,
    in_table=False,
    in_comparison=False,
    description="simulated time over wall time",
    compute=real_time_factor,
)
