"""The safety metric of Sezer (2022), as the paper on this test automation uses it.

``dis(t) = 1/d_min − 1/d_0`` where ``d_min ≤ d_0``, else 0; ``f_s = sqrt(∫ dis² dt / T)``,
with d_min the clearance and d_0 the distance that is no danger any more.

V. Sezer, "An optimized path tracking approach considering obstacle avoidance and comfort",
J. Intelligent & Robotic Systems 105(1), 2022; equations (1) and (2) of "Development of Gazebo
Test Automation Tool for Autonomous Mobile Robots".
"""

import numpy as np

from gz_testauto.metrics.interface import Metric, MetricContext
from gz_testauto.metrics.recording import Recording
from gz_testauto.metrics.time_average import time_rms

CLEARANCE_FLOOR_M = 0.01
"""1/d has no value at a touch: clearance below 1 cm counts as 1 cm."""


def danger(clearance_m: np.ndarray, safety_distance_m: float) -> np.ndarray:
    """``dis(t)`` (1/m) for clearances (m) of any shape."""
    near = np.maximum(clearance_m, CLEARANCE_FLOOR_M)
    return np.where(near <= safety_distance_m, 1.0 / near - 1.0 / safety_distance_m, 0.0)


def safety(recording: Recording, context: MetricContext) -> float:
    """``f_s`` (1/m), 0 when the robot never came nearer than d_0."""
    return time_rms(danger(recording.clearance_m, context.safety_distance_m), recording.time_s)


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
