"""A search selects trials by outcome, by a disagreement of planners, or by a metric."""

import math

import pytest

from gz_testauto.base.errors import SpecError
from gz_testauto.extras.search.target import read_target
from gz_testauto.results.records import TrialRecord
from gz_testauto.trial.outcome import Outcome


def record(world, planner, outcome, clearance_m=math.nan, time_s=math.nan):
    spl = 1.0 if outcome.success else 0.0
    metrics = {"clearance_min_m": clearance_m, "time_s": time_s, "spl": spl}
    if not outcome.valid:
        metrics = {}
    return TrialRecord(0, world, 0, planner, 0, 0, outcome, "", 1, 0.0, "", metrics=metrics)


RECORDS = [
    record("w0", "a", Outcome.REACHED, 0.3, 50.0),
    record("w0", "b", Outcome.COLLIDED, 0.0, 20.0),
    record("w1", "a", Outcome.STUCK, 0.05, 20.0),
    record("w1", "b", Outcome.INVALID),
    record("w2", "a", Outcome.REACHED, 0.1, 20.0),
    record("w2", "b", Outcome.REACHED),
    record("w3", "a", Outcome.INVALID),
    record("w3", "b", Outcome.REACHED, 0.05, 50.0),
]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("failed", ["w0 b", "w1 a"]),
        ("stuck", ["w1 a"]),
        ("disagreement", ["w0 b"]),  # w1: no planner succeeds; w3: no valid failure
        ("low-clearance", ["w3 b"]),  # the clearance and time of a failed trial are incomplete
        ("clearance_min_m<=0.1", ["w2 a", "w3 b"]),
        ("clearance_min_m > 1e-1", ["w0 a"]),
        ("time_s < 30", ["w2 a"]),
        ("time_s >= 50", ["w0 a", "w3 b"]),
        ("spl < 0.5", ["w0 b", "w1 a"]),
    ],
)
def test_target_selects_these_trials(text, expected):
    found = read_target(text, planners=2).select(RECORDS)
    assert [f"{one.world} {one.planner}" for one in found] == expected


def test_repeat_of_a_failure_needs_the_same_outcome():
    target = read_target("failed", planners=1)
    assert target.is_same(Outcome.STUCK, Outcome.STUCK, math.nan)
    assert not target.is_same(Outcome.STUCK, Outcome.COLLIDED, math.nan)


def test_repeat_for_a_condition_needs_only_the_metric():
    target = read_target("low-clearance", planners=1)
    assert target.metric_name == "clearance_min_m"
    assert target.is_same(Outcome.REACHED, Outcome.REACHED, 0.09)
    assert not target.is_same(Outcome.REACHED, Outcome.REACHED, 0.11)
    assert not target.is_same(Outcome.REACHED, Outcome.REACHED, math.nan)
    assert not target.is_same(Outcome.REACHED, Outcome.COLLIDED, 0.0)
    target = read_target("spl < 0.5", planners=1)
    assert target.is_same(Outcome.STUCK, Outcome.COLLIDED, 0.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("colided", "did you mean 'collided'.*or a condition such as 'clearance_min_m < 0.1'"),
        ("clearance_m < 0.1", "unknown metric 'clearance_m'"),
        ("clearance_min_m < low", "'low' is not a number"),
        ("clearance_min_m < nan", "'nan' is not a number"),
        ("clearance_min_m = 0.1", "unknown target"),
    ],
)
def test_wrong_target_is_rejected(text, message):
    with pytest.raises(SpecError, match=message):
        read_target(text, planners=2)


def test_single_planner_cannot_disagree():
    with pytest.raises(SpecError, match="has one planner; add a second one"):
        read_target("disagreement", planners=1)
