"""A gate sorts the worlds of two planners for a metric, and tests questions about it."""

import math
from dataclasses import replace

import pytest
from trials_from_letters import campaign

from gz_testauto.analysis.comparison import trials_by_world
from gz_testauto.base.errors import SpecError
from gz_testauto.extras.gate.questions import (
    GatePair,
    GateQuestions,
    Verdict,
    evaluate,
    metric_worlds,
)
from gz_testauto.metrics.interface import Metric

LENGTH = Metric(
    name="distance_m", better="lower", completed_only=True, description="length", unit="m"
)


def pair(length=lambda planner, world: 10.0 + world, **letters):
    results = campaign(length, **letters)
    return GatePair("a", trials_by_world(results.of("a")), "b", trials_by_world(results.of("b")))


def test_worlds_are_sorted_into_differences_failures_and_missing_values():
    def length(planner, world):
        return math.nan if (planner, world) == ("b", 3) else {"a": 12.0, "b": 10.0}[planner]

    found = metric_worlds(LENGTH, pair(length, a="RCRRI", b="RRCRR"))
    assert found.differences == {"w0": 2.0}
    assert found.failed == ("w1", "w2")
    assert found.unmeasured == ("w3",)


def test_values_that_are_both_infinite_do_not_differ():
    both = pair(lambda planner, world: math.inf if world % 2 else 1.0, a="RRRR", b="RRRR")
    assert set(metric_worlds(LENGTH, both).differences.values()) == {0.0}
    answer = evaluate([both], GateQuestions(metrics=(("distance_m", 1.0),)), [LENGTH])[-1]
    assert answer.value == 0.0


def test_a_metric_that_is_infinite_for_one_planner_only_is_worse_for_it():
    both = pair(lambda planner, world: math.inf if planner == "a" else 1.0, a="R" * 30, b="R" * 30)
    answer = evaluate([both], GateQuestions(metrics=(("distance_m", 1.0),)), [LENGTH])[-1]
    assert answer.verdict is not Verdict.PASSED
    assert len(answer.lost) == 30


@pytest.mark.parametrize(("mine", "theirs", "margin"), [(12.0, 10.0, 2.0), (1.1, 0.9, 0.2)])
def test_a_difference_equal_to_the_margin_is_undecided(mine, theirs, margin):
    values = {"a": mine, "b": theirs}
    both = pair(lambda planner, world: values[planner], a="R" * 20, b="R" * 20)
    answer = evaluate([both], GateQuestions(metrics=(("distance_m", margin),)), [LENGTH])[-1]
    assert answer.verdict is Verdict.UNDECIDED
    assert answer.lost == ()
    assert answer.more_worlds is None


def test_worlds_with_less_success_lower_the_evidence_for_the_planner():
    both = pair(a="RR RC CC RR", b="RR RR RR RC")
    (answer,) = evaluate([both], GateQuestions(not_worse_than=0.05))
    assert answer.lost == ("w1", "w2")
    assert answer.value == pytest.approx((0.0 - 0.5 - 1.0 + 0.5) / 4)
    assert (answer.limit, answer.worlds) == (-0.05, 4)
    (enough,) = evaluate([both], GateQuestions(min_success=0.5))
    assert enough.lost == ("w1", "w2")
    assert (enough.value, enough.limit) == (pytest.approx(0.625), 0.5)


def test_a_length_is_reported_as_the_planner_minus_the_baseline():
    both = pair(lambda planner, world: 12.0 if planner == "a" else 10.0, a="R" * 40, b="R" * 40)
    worse = evaluate([both], GateQuestions(metrics=(("distance_m", 1.0),)), [LENGTH])[0]
    assert worse.verdict is Verdict.FAILED
    assert (worse.value, worse.limit, len(worse.lost)) == (2.0, 1.0, 40)
    assert worse.low <= worse.value <= worse.high
    assert worse.unit == "m"
    passed = evaluate([both], GateQuestions(metrics=(("distance_m", 4.0),)), [LENGTH])[0]
    assert passed.verdict is Verdict.PASSED
    higher = replace(LENGTH, better="higher")
    best = evaluate([both], GateQuestions(metrics=(("distance_m", 1.0),)), [higher])[0]
    assert (best.verdict, best.value, best.lost) == (Verdict.PASSED, 2.0, ())


@pytest.mark.parametrize(
    "wrong",
    [{"not_worse_than": 0.0}, {"not_worse_than": 1.0}, {"min_success": 0.0}, {"min_success": 1.0},
     {"alpha": 0.0}, {"alpha": 0.5}, {"metrics": (("x", 0.0),)}, {"metrics": (("x", math.inf),)}],
)  # fmt: skip
def test_margins_and_rates_at_their_limits_are_rejected(wrong):
    with pytest.raises(SpecError):
        GateQuestions(**wrong)
    assert GateQuestions(not_worse_than=0.01, min_success=0.99, alpha=0.49).metrics == ()


def test_a_metric_of_the_rules_must_be_known_and_have_a_direction():
    rules = GateQuestions(metrics=(("distance_m", 1.0),))
    for metrics in ([], [replace(LENGTH, better="neither")]):
        with pytest.raises(SpecError, match="distance_m"):
            evaluate([pair(a="RR", b="RR")], rules, metrics)


def test_without_a_common_world_a_question_is_undecided():
    results = campaign(a="RR", b="II")
    nothing = GatePair("a", trials_by_world(results.of("a")), "b", {})
    (answer,) = evaluate([nothing], GateQuestions(not_worse_than=0.1))
    assert (answer.verdict, answer.worlds, answer.more_worlds) == (Verdict.UNDECIDED, 0, None)
    assert math.isnan(answer.value)
