"""Compute metrics of length and time.


- Distance: ``D = Σ sqrt((x_i − x_{i−1})² + (y_i − y_{i−1})²)``. Equation (3) of "Development of
  Gazebo Test Automation Tool for Autonomous Mobile Robots".
- SPL: success weighted by path length: ``S · L / max(P, L)``, in [0, 1]. S is 1 for a trial that
  reached the goal and 0 otherwise. P is the driven length, and L that of the shortest path for this
  footprint. Anderson et al., "On evaluation of embodied navigation agents", arXiv:1807.06757, 2018.
- BARN score: ``S · OT / clip(AT, k OT, 8 OT)``, in [0, 1/k]. OT is the best time: the length of the
  published best path, otherwise of the shortest path, divided by the robot's top speed. AT is the
  time driven. k is 2 in ``report_test.py`` of github.com/Daffan/the-barn-challenge since March
  2026, and was 4 before. X. Xiao et al.,
  "Autonomous ground navigation in highly constrained spaces: lessons learned from the BARN
  challenge at ICRA 2022", IEEE Robotics & Automation Magazine 29(4), 2022.
"""

import math

import numpy as np

from gz_testauto.metrics.interface import MetricContext, metric
from gz_testauto.metrics.recording import Recording

# Mean speed between samples below which the robot is stationary, even if it turns.
STANDING_MPS = 0.02

SLOWEST = 8.0  # upper limit of the time in the BARN score, as a multiple of the best time
STARTED_M = 0.1  # distance from the start at which the BARN challenge starts to measure the time


@metric(
    heading="length",
    unit="m",
    better="lower",
    smallest_relevant=0.2,
    completed_only=True,
    in_table=True,
    in_comparison=True,
    in_agreement=True,
    description="distance traveled",
)
def distance_m(recording: Recording, context: MetricContext) -> float:
    steps = recording.steps_m
    return float(np.hypot(steps[:, 0], steps[:, 1]).sum())


@metric(
    heading="time",
    unit="s",
    decimals=1,
    better="lower",
    smallest_relevant=1.0,
    completed_only=True,
    in_table=True,
    in_comparison=True,
    in_agreement=True,
    description="simulated time from the goal to the end of the trial",
)
def time_s(recording: Recording, context: MetricContext) -> float:
    return recording.duration_s


@metric(
    heading="standing",
    unit="s",
    decimals=1,
    better="lower",
    completed_only=True,
    description="simulated time in which the robot stands still",
)
def standing_s(recording: Recording, context: MetricContext) -> float:
    intervals = np.diff(recording.time_s)
    steps = recording.steps_m
    return float(intervals[np.hypot(steps[:, 0], steps[:, 1]) < STANDING_MPS * intervals].sum())


@metric(
    heading="SPL",
    decimals=3,
    better="higher",
    smallest_relevant=0.05,
    completed_only=False,
    in_table=True,
    in_comparison=True,
    bounds=(0.0, 1.0),
    description="success weighted by path length (0 for a failed trial)",
)
def spl(recording: Recording, context: MetricContext) -> float:
    """Return the SPL, which is NaN for a success with an unknown shortest path, and for a robot
    that was kidnapped, since the shortest path is that from the start."""
    if recording.kidnapped.any():
        return math.nan
    if not recording.completed:
        # Failures count: no planner gains by reaching the goal only in easy worlds.
        return 0.0
    shortest_m = recording.shortest_path_m
    if shortest_m is None or shortest_m <= 0.0:
        return math.nan
    return shortest_m / max(distance_m(recording, context), shortest_m)


@metric(
    heading="BARN score",
    decimals=3,
    better="higher",
    completed_only=False,
    description="score of the BARN challenge (0 for a failed trial)",
)
def barn_score(recording: Recording, context: MetricContext) -> float:
    """Return the BARN score, which is NaN for a success if neither the published nor the shortest
    path is known, and for a robot that was kidnapped."""
    if recording.kidnapped.any():
        return math.nan
    if not recording.completed:
        return 0.0
    length_m = recording.published_path_m
    if length_m is None:
        length_m = recording.shortest_path_m
    if length_m is None or length_m <= 0.0:
        return math.nan
    best_s = length_m / context.max_linear_mps
    clipped_s = max(_driven_s(recording), context.barn_k * best_s)
    return best_s / min(clipped_s, SLOWEST * best_s)


def _driven_s(recording: Recording) -> float:
    """Return the time (s) from the first sample at least :data:`STARTED_M` from the start to the
    end. It is 0 if no sample is that far from the start."""
    from_start_m = np.hypot(*(recording.pose[:, :2] - recording.pose[0, :2]).T)
    moving_samples = np.flatnonzero(from_start_m >= STARTED_M)
    return (
        float(recording.time_s[-1] - recording.time_s[moving_samples[0]])
        if len(moving_samples)
        else 0.0
    )
