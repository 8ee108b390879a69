"""The graded score of recordings whose values are known on paper."""

import numpy as np
import pytest

from gz_testauto.metrics.graded_score import GradedScore, graded_score
from gz_testauto.metrics.recording import Recording


def recording(x_m, period_s=1.0, clearance_m=0.4, **fields):
    x_m = np.asarray(x_m, dtype=float)
    rows = len(x_m)
    return Recording(
        time_s=period_s * np.arange(rows),
        pose=np.column_stack([x_m, np.zeros((rows, 2))]),
        twist=np.zeros((rows, 3)),
        command=np.zeros((rows, 2)),
        clearance_m=np.full(rows, clearance_m),
        cycle_time_s=np.zeros(rows),
        cycle_cpu_s=np.zeros(rows),
        **fields,
    )


def test_worst_window_of_fifteen_seconds_counts():
    stops = [*range(0, 31), *[30] * 15, *range(31, 61)]  # 15 s without motion
    score = graded_score(recording(stops), True, [(100.0, 0.0)], timeout_s=120.0)
    assert score == GradedScore(True, 0.0, 120.0 - 75.0, 0.4)


def test_motion_away_from_the_goal_is_negative_progress():
    score = graded_score(recording(range(0, -20, -1)), False, [(10.0, 0.0)], 60.0)
    assert score.progress_mps == pytest.approx(-1.0)


def test_short_recording_is_one_window():
    assert graded_score(recording([0, 1, 3]), True, [(5.0, 0.0)], 60.0).progress_mps == 1.5
    assert graded_score(recording([0]), True, [(5.0, 0.0)], 60.0).progress_mps == 0.0


def test_progress_continues_behind_an_intermediate_goal():
    x_m = [*range(0, 11), *range(9, -11, -1)]  # to 10 and back to -10
    recorded = recording(x_m, goal_times_s=np.array([10.0, 30.0]))
    score = graded_score(recorded, True, [(10.0, 0.0), (-10.0, 0.0)], 60.0)
    assert score.progress_mps == pytest.approx(1.0)


def test_world_without_obstacles_has_infinite_clearance():
    score = graded_score(recording([0, 1], clearance_m=np.nan), True, [(5.0, 0.0)], 60.0)
    assert score.clearance_m == np.inf


def test_outcome_decides_before_progress():
    assert GradedScore(True, -1.0, 0.0, 0.0) > GradedScore(False, 1.0, 100.0, 2.0)
    assert GradedScore(True, 0.5, 1.0, 0.0) > GradedScore(True, 0.4, 100.0, 2.0)
