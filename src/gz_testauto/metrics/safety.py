"""Compute metrics of safety.


- Clearance: the distance from the footprint polygon to the nearest obstacle's collision geometry
  (:mod:`gz_testauto.trial.clearance`). After Heiden et al.,
  "Bench-MR: A motion planning benchmark for wheeled mobile robots", RA-L 6(3), 2021.
- Danger: ``dis(t) = 1/d_min − 1/d_0`` for ``d_min ≤ d_0``, else 0; ``f_s = sqrt(∫ dis² dt / T)``,
  with d_min the clearance and d_0 the safety distance. V. Sezer, "An
  optimized path tracking approach considering obstacle avoidance and comfort", J. Intelligent &
  Robotic Systems 105(1), 2022; equations (1) and (2) of "Development of Gazebo Test Automation Tool
  for Autonomous Mobile Robots". The share of danger is the share of the time with d_min below d_0:
  J. Wen et al., "MRPB 1.0: A unified benchmark for the evaluation of mobile robot local planning
  approaches", ICRA 2021 (there: percentage of time spent in dangerous area around obstacles).
- Collisions: the number of contact episodes, and the robot's speed at the first one.
"""

import math

import numpy as np

from gz_testauto.metrics.interface import MetricContext, metric
from gz_testauto.metrics.recording import Recording
from gz_testauto.metrics.time_average import share_below, time_mean, time_percentile, time_rms

CLEARANCE_FLOOR_M = 0.01  # lower limit of d in 1/d, which would be infinite at a contact


@metric(
    heading="least clearance",
    unit="m",
    better="higher",
    completed_only=True,
    in_agreement=True,
    description="smallest clearance",
)
def clearance_min_m(recording: Recording, context: MetricContext) -> float:
    return float(np.min(recording.clearance_m)) if len(recording.clearance_m) else math.nan


@metric(
    heading="mean clearance",
    unit="m",
    better="higher",
    completed_only=True,
    description="mean clearance over time",
)
def clearance_mean_m(recording: Recording, context: MetricContext) -> float:
    """Return the mean clearance over time, which is infinite if it is infinite at a sample."""
    return time_mean(recording.clearance_m, recording.time_s)


@metric(
    heading="clearance 5 %",
    unit="m",
    better="higher",
    completed_only=True,
    description="5th percentile of the clearance over time",
)
def clearance_p05_m(recording: Recording, context: MetricContext) -> float:
    return time_percentile(recording.clearance_m, recording.time_s, 5.0)


def danger(clearance_m: np.ndarray, safety_distance_m: float) -> np.ndarray:
    """Return the danger ``dis(t)`` (1/m) at each clearance: 1/clearance − 1/d_0 below the safety
    distance d_0, otherwise 0; NaN where the clearance is NaN."""
    limited_m = np.maximum(clearance_m, CLEARANCE_FLOOR_M)
    return np.where(limited_m > safety_distance_m, 0.0, 1.0 / limited_m - 1.0 / safety_distance_m)


@metric(
    unit="1/m",
    decimals=3,
    better="lower",
    smallest_relevant=0.05,
    completed_only=True,
    in_table=True,
    in_comparison=True,
    description="RMS over time of 1/clearance − 1/d_0 while the clearance is below d_0, the safety "
    "distance",
)
def safety(recording: Recording, context: MetricContext) -> float:
    """Return ``f_s``, the RMS of :func:`danger`, which is 0 if the clearance was never below
    d_0."""
    return time_rms(danger(recording.clearance_m, context.safety_distance_m), recording.time_s)


@metric(
    heading="danger",
    better="lower",
    completed_only=True,
    bounds=(0.0, 1.0),
    description="share of the time in which the clearance is below the safety distance d_0",
)
def danger_share(recording: Recording, context: MetricContext) -> float:
    return share_below(recording.clearance_m, recording.time_s, context.safety_distance_m)


@metric(
    decimals=0,
    better="lower",
    completed_only=False,
    description="number of contact episodes",
)
def collisions(recording: Recording, context: MetricContext) -> float:
    return float(len(recording.contacts))


@metric(
    heading="impact speed",
    unit="m/s",
    better="lower",
    completed_only=False,
    description="speed of the robot at its first contact",
)
def impact_speed_mps(recording: Recording, context: MetricContext) -> float:
    return recording.contacts[0].speed_mps if recording.contacts else math.nan
