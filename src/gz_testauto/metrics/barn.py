"""The score of the BARN challenge: ``S · OT / clip(AT, k OT, 8 OT)``, in [0, 1/k].

S is 1 for a trial that reached the goal and 0 otherwise. OT is the best time: the length of the
published best way over the robot's greatest speed; where none is published, the shortest way's. AT
is the time driven, counted, as there, from when the robot is 0.1 m away from where it started. k is
2 in ``report_test.py`` of github.com/Daffan/the-barn-challenge since March 2026, and was 4 before.
X. Xiao et al., "Autonomous ground navigation in highly constrained spaces: lessons learned from the
BARN challenge at ICRA 2022", IEEE Robotics & Automation Magazine 29(4), 2022.
"""

import math

import numpy as np

from gz_testauto.metrics.interface import Metric, MetricContext
from gz_testauto.metrics.recording import Recording

SLOWEST = 8.0
"""The multiple of the best time above which the time driven does not count."""

STARTED_M = 0.1
"""So far from the start, the robot counts as moving, and the time begins."""


def barn_score(recording: Recording, context: MetricContext) -> float:
    """``S · OT / clip(AT, k OT, 8 OT)``; NaN when a trial succeeded and no way is known."""
    if not recording.completed:
        return 0.0
    way_m = recording.published_path_m
    if way_m is None:
        way_m = recording.shortest_path_m
    if way_m is None or way_m <= 0.0:
        return math.nan
    best_s = way_m / context.max_linear_mps
    driven_s = max(_driven_s(recording), context.barn_k * best_s)
    return best_s / min(driven_s, SLOWEST * best_s)


def _driven_s(recording: Recording) -> float:
    """Simulated time (s) from the first sample away from the start to the last one."""
    away_m = np.hypot(*(recording.pose[:, :2] - recording.pose[0, :2]).T)
    moving = np.flatnonzero(away_m >= STARTED_M)
    return float(recording.time_s[-1] - recording.time_s[moving[0]]) if len(moving) else 0.0


BARN_SCORE = Metric(
    name="barn_score",
    heading="BARN score",
    decimals=3,
    better="higher",
    completed_only=False,
    in_table=False,
    in_comparison=False,
    description="score of the BARN challenge, failures 0",
    compute=barn_score,
)
