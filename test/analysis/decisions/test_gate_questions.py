"""How a gate sorts the worlds of two planners for a metric, and answers questions about it."""

import math

import pytest
from lettered_trials import campaign

from gz_testauto.analysis.comparison import trials_by_world
from gz_testauto.analysis.decisions.gate import GatePair, Rules, Verdict, judge, metric_worlds
from gz_testauto.metrics.interface import Metric

LENGTH = Metric(
    name="distance_m", better="lower", completed_only=True, description="length", unit="m"
)


def pair(length=lambda planner, world: 10.0 + world, **letters):
    results = campaign(length, **letters)
    return GatePair("a", trials_by_world(results.of("a")), "b", trials_by_world(results.of("b")))


def test_worlds_are_sorted_by_who_failed_and_what_was_not_measured():
    def length(planner, world):
        return math.nan if (planner, world) == ("b", 3) else {"a": 12.0, "b": 10.0}[planner]

    found = metric_worlds(LENGTH, pair(length, a="RCRRI", b="RRCRR"))
    assert found.differences == {"w0": 2.0}
    assert found.failed == ("w1", "w2")
    assert found.unmeasured == ("w3",)


def test_values_that_are_both_infinite_do_not_differ():
    both = pair(lambda planner, world: math.inf if world % 2 else 1.0, a="RRRR", b="RRRR")
    assert set(metric_worlds(LENGTH, both).differences.values()) == {0.0}
    answer = judge([both], Rules(metrics=(("distance_m", 1.0),)), [LENGTH])[-1]
    assert answer.value == 0.0


def test_a_metric_that_is_infinite_for_one_planner_only_is_worse_for_it():
    both = pair(lambda planner, world: math.inf if planner == "a" else 1.0, a="R" * 30, b="R" * 30)
    answer = judge([both], Rules(metrics=(("distance_m", 1.0),)), [LENGTH])[-1]
    assert answer.verdict is not Verdict.PASSED
    assert len(answer.lost) == 30


@pytest.mark.parametrize(("mine", "theirs", "margin"), [(12.0, 10.0, 2.0), (1.1, 0.9, 0.2)])
def test_a_difference_of_exactly_the_margin_speaks_neither_for_nor_against(mine, theirs, margin):
    values = {"a": mine, "b": theirs}
    both = pair(lambda planner, world: values[planner], a="R" * 20, b="R" * 20)
    answer = judge([both], Rules(metrics=(("distance_m", margin),)), [LENGTH])[-1]
    assert answer.verdict is Verdict.UNDECIDED
    assert answer.lost == ()
    assert answer.more_worlds is None
