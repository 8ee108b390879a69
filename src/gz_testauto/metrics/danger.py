"""Share of the time in danger: clearance below d_0, the last interval closed.

Wen et al., "MRPB 1.0: A unified benchmark for the evaluation of mobile robot local planning
approaches", ICRA 2021 (there: percentage of time spent in dangerous area around obstacles).
"""

from gz_testauto.metrics.interface import Metric, MetricContext
from gz_testauto.metrics.recording import Recording
from gz_testauto.metrics.time_average import share_below


def danger_share(recording: Recording, context: MetricContext) -> float:
    """Time with clearance below d_0 as a share of the whole, in [0, 1]."""
    return share_below(recording.clearance_m, recording.time_s, context.safety_distance_m)


DANGER = Metric(
    name="danger_share",
    heading="danger",
    better="lower",
    completed_only=True,
    in_table=False,
    in_comparison=False,
    description="share of the time nearer than d_0",
    compute=danger_share,
)
