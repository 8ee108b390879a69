"""The place at which a trial failed, and whether two places are the same."""

from typing import Tuple

import numpy as np

from gz_testauto.metrics.recording import Recording
from gz_testauto.trial.outcome import Outcome

PLACE_M = {Outcome.TIMED_OUT: 2.0}  # largest distance of equal failures; other outcomes: 0.5 m

TIMED_OUT_S = 30.0


def place_of(outcome: Outcome, recording: Recording) -> Tuple[float, float]:
    """Return the position (m, world frame) at which a failed trial ended. After a timeout, it is
    the median position of the last :data:`TIMED_OUT_S`."""
    xy = recording.pose[:, :2]
    if outcome is Outcome.TIMED_OUT:
        xy = np.median(xy[recording.time_s >= recording.time_s[-1] - TIMED_OUT_S], axis=0)[None]
    x_m, y_m = xy[-1].tolist()
    return x_m, y_m


def is_same_place(
    outcome: Outcome, first_m: Tuple[float, float], second_m: Tuple[float, float]
) -> bool:
    away_m = np.hypot(first_m[0] - second_m[0], first_m[1] - second_m[1])
    return bool(away_m <= PLACE_M.get(outcome, 0.5))
