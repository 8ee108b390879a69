"""Summaries of planners, counted by hand."""

import math

import pytest
from trials_from_letters import campaign

from gz_testauto.analysis.summary import failures, summarize
from gz_testauto.trial.outcome import Outcome


def test_invalid_trials_are_counted_separately_and_failures_have_no_completed_metrics():
    summary, _ = summarize(campaign(a="RRCI", b="SSSS"))
    assert (summary.trials, summary.invalid, summary.worlds, summary.reached) == (3, 1, 3, 2)
    assert summary.outcomes == {Outcome.REACHED: 2, Outcome.COLLIDED: 1}
    assert summary.success.value == pytest.approx(2 / 3)
    length = summary.metrics["distance_m"]  # 10 m and 11 m
    assert (length.trials, length.mean) == (2, 10.5)
    assert length.deviation == pytest.approx(math.sqrt(0.5))
    rated = summary.metrics["spl"]  # 0.9, 0.9 and 0
    assert (rated.trials, rated.mean) == (3, pytest.approx(0.6))
    assert summary.mean_trials("distance_m") == 2
    assert summary.mean_trials("none") == 0


def test_one_value_has_a_mean_and_no_deviation_and_none_has_neither():
    one, none = summarize(campaign(a="RC", b="CC"))
    assert one.metrics["distance_m"].mean == 10.0
    assert math.isnan(one.metrics["distance_m"].deviation)
    assert none.metrics["distance_m"].trials == 0
    assert math.isnan(none.metrics["distance_m"].mean)


def test_summary_lists_failures_that_occur_or_all_common_kinds_on_request():
    summaries = summarize(campaign(a="RCI", b="RRR"))
    assert failures(summaries) == [Outcome.COLLIDED]
    assert failures(summaries, all_but_rare=True) == [
        Outcome.COLLIDED,
        Outcome.TIMED_OUT,
        Outcome.STUCK,
        Outcome.PLANNER_ABORTED,
    ]
