"""Distance travelled: ``D = Σ sqrt((x_i − x_{i−1})² + (y_i − y_{i−1})²)``, i from 1.

There is no step from the last sample back to the first, and turning adds nothing. Equation
(3) of "Development of Gazebo Test Automation Tool for Autonomous Mobile Robots".
"""

import numpy as np

from gz_testauto.metrics.interface import Metric, MetricContext
from gz_testauto.metrics.recording import Recording


def distance_m(recording: Recording, context: MetricContext) -> float:
    """Length (m) of the true path, 0 for fewer than two samples."""
    steps = np.diff(recording.pose[:, :2], axis=0)
    return float(np.hypot(steps[:, 0], steps[:, 1]).sum())


DISTANCE = Metric(
    name="distance_m",
    heading="length",
    unit="m",
    better="lower",
    smallest_relevant=0.2,
    completed_only=True,
    in_agreement=True,
    description="distance travelled",
    compute=distance_m,
)
