"""Distance travelled: ``D = Σ sqrt((x_i − x_{i−1})² + (y_i − y_{i−1})²)``, i from 1.

There is no step from the last sample back to the first, and turning adds nothing. Equation
(3) of "Development of Gazebo Test Automation Tool for Autonomous Mobile Robots".
"""

from typing import Tuple

import numpy as np

from gz_testauto.metrics.interface import Metric, MetricContext
from gz_testauto.metrics.recording import Recording


def distance_m(recording: Recording, context: MetricContext) -> float:
    """Length (m) of the true path, 0 for fewer than two samples."""
    steps = np.diff(recording.pose[:, :2], axis=0)
    return float(np.hypot(steps[:, 0], steps[:, 1]).sum())


def evenly_along(recording: Recording, spacing_m: float) -> Tuple[np.ndarray, np.ndarray]:
    """The path by its length and not by time: points (m) of shape (m, 2) about ``spacing_m`` apart
    along it, and the yaw there (rad, not wrapped), shape (m,). Empty for a path shorter than two
    such steps.

    The points lie on the straight lines between samples; where the robot turns on the spot the yaw
    goes from before to after within one step.
    """
    steps = np.diff(recording.pose[:, :2], axis=0)
    along_m = np.concatenate([[0.0], np.cumsum(np.hypot(steps[:, 0], steps[:, 1]))])
    count = int(along_m[-1] / spacing_m)
    if count < 2:
        return np.empty((0, 2)), np.empty(0)
    at_m = np.linspace(0.0, along_m[-1], count + 1)
    x, y = (np.interp(at_m, along_m, recording.pose[:, axis]) for axis in (0, 1))
    return np.column_stack([x, y]), np.interp(at_m, along_m, np.unwrap(recording.pose[:, 2]))


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
