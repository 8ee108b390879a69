"""Compute a graded score of a trial, which also orders trials with the same outcome, for searches
and tuning.
"""

from typing import NamedTuple, Sequence, Tuple

import numpy as np

from gz_testauto.metrics.recording import Recording

WINDOW_S = 15.0  # time over which the progress towards the goal is measured


class GradedScore(NamedTuple):
    """The score of a trial. Scores are compared field by field, in this order: the greater, the
    better."""

    success: bool
    progress_mps: float
    """Least mean speed (m/s) in the direction of the next goal over 15 s; negative if the robot
    moved away."""
    remaining_s: float
    """Time (s) between the end of the trial and its limit."""
    clearance_m: float
    """Least clearance (m); infinite in a world without obstacles."""


def graded_score(
    recording: Recording,
    success: bool,
    goals_m: Sequence[Tuple[float, float]],
    timeout_s: float,
) -> GradedScore:
    """Return the score of a trial. ``goals_m`` are x and y of all goals in order, in the world
    frame, and ``timeout_s`` is the time limit of the trial."""
    if not goals_m:
        raise ValueError("a score needs at least one goal")
    time_s = recording.time_s
    remaining_m = _remaining_m(recording, np.asarray(goals_m, dtype=float))
    first_end = np.searchsorted(time_s, time_s[0] + WINDOW_S - 1e-9)
    if first_end >= len(time_s):  # no complete window
        first_index, last_index = np.array([0]), np.array([len(time_s) - 1])
    else:
        last_index = np.arange(first_end, len(time_s))
        first_index = np.searchsorted(time_s, time_s[last_index] - WINDOW_S - 1e-9)
    duration_s = time_s[last_index] - time_s[first_index]
    speeds = (remaining_m[first_index] - remaining_m[last_index]) / np.where(
        duration_s > 0, duration_s, np.inf
    )
    clearance_m = recording.clearance_m[~np.isnan(recording.clearance_m)]
    return GradedScore(
        bool(success),
        float(speeds.min()),
        float(timeout_s - time_s[-1]),
        float(clearance_m.min()) if len(clearance_m) else float("inf"),
    )


def _remaining_m(recording: Recording, goals_m: np.ndarray) -> np.ndarray:
    """Return the length (m) of the straight lines from the robot through the goals that are not
    reached yet, at each sample, shape (n,)."""
    times_s = recording.goal_times_s
    reached_goals = np.zeros(len(recording.time_s), dtype=int)
    if times_s is not None:
        reached_s = times_s[:-1][~np.isnan(times_s[:-1])]
        reached_goals = np.searchsorted(np.sort(reached_s), recording.time_s, side="right")
    legs_m = np.hypot(*np.diff(goals_m, axis=0).T) if len(goals_m) > 1 else np.zeros(0)
    after_m = np.concatenate([np.cumsum(legs_m[::-1])[::-1], [0.0]])
    offset = recording.pose[:, :2] - goals_m[reached_goals]
    return np.asarray(np.hypot(offset[:, 0], offset[:, 1]) + after_m[reached_goals])
