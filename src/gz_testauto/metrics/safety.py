"""How near to obstacles the robot was: the safety metric of Sezer (2022) and the share of danger.

``dis(t) = 1/d_min − 1/d_0`` where ``d_min ≤ d_0``, else 0; ``f_s = sqrt(∫ dis² dt / T)``,
with d_min the clearance and d_0 the distance that is no danger any more. The share is that of the
time with d_min below d_0, the last interval included.

V. Sezer, "An optimized path tracking approach considering obstacle avoidance and comfort",
J. Intelligent & Robotic Systems 105(1), 2022; equations (1) and (2) of "Development of Gazebo
Test Automation Tool for Autonomous Mobile Robots".
J. Wen et al., "MRPB 1.0: A unified benchmark for the evaluation of mobile robot local planning
approaches", ICRA 2021 (there: percentage of time spent in dangerous area around obstacles).
"""

import numpy as np

from gz_testauto.metrics.interface import Metric, MetricContext
from gz_testauto.metrics.recording import Recording
from gz_testauto.metrics.time_average import share_below, time_rms

CLEARANCE_FLOOR_M = 0.01
"""1/d has no value at a touch: clearance below 1 cm counts as 1 cm."""


def danger(clearance_m: np.ndarray, safety_distance_m: float) -> np.ndarray:
    """Return ``dis(t)`` (1/m) for clearances (m) of any shape; NaN for NaN."""
    near = np.maximum(clearance_m, CLEARANCE_FLOOR_M)
    return np.where(near > safety_distance_m, 0.0, 1.0 / near - 1.0 / safety_distance_m)


def safety(recording: Recording, context: MetricContext) -> float:
    """``f_s`` (1/m), 0 when the robot never came nearer than d_0."""
    return time_rms(danger(recording.clearance_m, context.safety_distance_m), recording.time_s)


def danger_share(recording: Recording, context: MetricContext) -> float:
    """Return the time with clearance below d_0 as a share of the whole, in [0, 1]."""
    return share_below(recording.clearance_m, recording.time_s, context.safety_distance_m)


SAFETY = Metric(
    name="safety",
    unit="1/m",
    decimals=3,
    better="lower",
    smallest_relevant=0.05,
    completed_only=True,
    description="RMS of 1/clearance − 1/d_0 where nearer than d_0",
    compute=safety,
)
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
