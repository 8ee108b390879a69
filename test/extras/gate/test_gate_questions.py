"""A gate sorts the worlds of two planners for a metric, and tests questions about it."""

import math
from dataclasses import replace

import pytest
from trials_from_letters import campaign

from gz_testauto.analysis.comparison import valid_trials_by_world
from gz_testauto.base.errors import SpecError
from gz_testauto.extras.gate.options import GateOptions
from gz_testauto.extras.gate.questions import (
    GatePair,
    Verdict,
    evaluate,
    metric_worlds,
)
from gz_testauto.metrics.interface import Metric

LENGTH = Metric(
    name="distance_m",
    better="lower",
    completed_only=True,
    description="length",
    unit="m",
    bounds=(0.0, 20.0),
)


def pair(length=lambda planner, world: 10.0 + world, **letters):
    results = campaign(length, **letters)
    return GatePair(
        "a", valid_trials_by_world(results.of("a")), "b", valid_trials_by_world(results.of("b"))
    )


def test_worlds_are_sorted_into_differences_failures_and_missing_values():
    def length(planner, world):
        return math.nan if (planner, world) == ("b", 3) else {"a": 12.0, "b": 10.0}[planner]

    found = metric_worlds(LENGTH, pair(length, a="RCRRI", b="RRCRR"))
    assert found.differences == {"w0": 2.0}
    assert found.failed == ("w1", "w2")
    assert found.unmeasured == ("w3",)


def test_an_infinite_value_is_unknown():
    both = pair(lambda planner, world: math.inf if world % 2 else 1.0, a="RRRR", b="RRRR")
    worlds = metric_worlds(LENGTH, both)
    assert set(worlds.differences) == {"w0", "w2"}
    assert worlds.unmeasured == ("w1", "w3")


def test_a_value_outside_the_bounds_is_rejected_with_a_remedy():
    both = pair(lambda planner, world: 21.0, a="RR", b="RR")
    with pytest.raises(SpecError, match=r"is 21 in w0, outside .* distance_m:MARGIN:LOWEST:HIGH"):
        evaluate([both], GateOptions(metrics=("distance_m:1",)), [LENGTH])
    wider = GateOptions(metrics=("distance_m:1:0:30",))
    (answer,) = evaluate([both], wider, [LENGTH])
    assert answer.value == 0.0


@pytest.mark.parametrize("fixed", [None, 200])
def test_a_planner_that_is_faster_in_most_worlds_and_slower_on_average_does_not_pass(fixed):
    """The median difference is -0.5 m, the mean difference +1.5 m."""

    def length(planner, world):
        return 2.0 if planner == "b" else 12.0 + 9.5 if world % 10 == 0 else 1.5

    wide = replace(LENGTH, bounds=(0.0, 30.0))
    both = pair(length, a="R" * 200, b="R" * 200)
    rules = GateOptions(metrics=("distance_m:1",), fixed_worlds=fixed)
    (answer,) = evaluate([both], rules, [wide])
    assert answer.value == pytest.approx(1.5)
    assert answer.verdict is not Verdict.PASSED
    assert answer.low < answer.value < answer.high


def test_a_verdict_remains_valid_if_later_worlds_lower_the_capital():
    early = pair(a="R" * 70, b="R" * 60 + "C" * 10)
    later = pair(a="R" * 70 + "CCRRRR", b="R" * 60 + "C" * 10 + "R" * 6)
    for both in (early, later):
        (answer,) = evaluate([both], GateOptions(not_worse_than=0.1))
        assert answer.verdict is Verdict.PASSED
        assert answer.low > -0.1


def test_a_fixed_number_of_worlds_uses_the_exact_test():
    both = pair(a="R" * 60, b="R" * 60)
    (anytime,) = evaluate([both], GateOptions(not_worse_than=0.05))
    (fixed,) = evaluate([both], GateOptions(not_worse_than=0.05, fixed_worlds=60))
    assert (anytime.verdict, fixed.verdict) == (Verdict.UNDECIDED, Verdict.PASSED)
    # Sixty equal worlds: the weight of one more world at -1 has a Beta(1, 60) distribution.
    assert fixed.low == pytest.approx(-(1.0 - 0.05 ** (1 / 60)), abs=1e-6)
    assert fixed.fixed and fixed.more_worlds is None


@pytest.mark.parametrize(("mine", "theirs", "margin"), [(12.0, 10.0, 2.0), (1.1, 0.9, 0.2)])
def test_a_difference_equal_to_the_margin_is_undecided(mine, theirs, margin):
    values = {"a": mine, "b": theirs}
    both = pair(lambda planner, world: values[planner], a="R" * 20, b="R" * 20)
    answer = evaluate([both], GateOptions(metrics=(f"distance_m:{margin}",)), [LENGTH])[-1]
    assert answer.verdict is Verdict.UNDECIDED
    assert answer.lost == ()
    assert answer.value == pytest.approx(margin)


def test_worlds_with_less_success_lower_the_evidence_for_the_planner():
    both = pair(a="RR RC CC RR", b="RR RR RR RC")
    (answer,) = evaluate([both], GateOptions(not_worse_than=0.05))
    assert answer.lost == ("w1", "w2")
    assert answer.value == pytest.approx((0.0 - 0.5 - 1.0 + 0.5) / 4)
    assert (answer.limit, answer.worlds) == (-0.05, 4)
    (enough,) = evaluate([both], GateOptions(min_success=0.5))
    assert enough.lost == ("w1", "w2")
    assert (enough.value, enough.limit) == (pytest.approx(0.625), 0.5)


def test_a_length_is_reported_as_the_planner_minus_the_baseline():
    both = pair(lambda planner, world: 12.0 if planner == "a" else 10.0, a="R" * 200, b="R" * 200)
    worse = evaluate([both], GateOptions(metrics=("distance_m:1",)), [LENGTH])[0]
    assert worse.verdict is Verdict.FAILED
    assert (worse.value, worse.limit, len(worse.lost)) == (2.0, 1.0, 200)
    assert worse.low <= worse.value <= worse.high
    assert worse.unit == "m"
    passed = evaluate([both], GateOptions(metrics=("distance_m:4",)), [LENGTH])[0]
    assert passed.verdict is Verdict.PASSED
    higher = replace(LENGTH, better="higher")
    best = evaluate([both], GateOptions(metrics=("distance_m:1",)), [higher])[0]
    assert (best.verdict, best.value, best.lost) == (Verdict.PASSED, 2.0, ())


@pytest.mark.parametrize(
    ("name", "value"),
    [("not_worse_than", 0.0), ("not_worse_than", 1.0), ("min_success", 0.0), ("min_success", 1.0),
     ("alpha", 0.0), ("alpha", 0.5), ("metrics", ("x:0",)), ("metrics", ("x:inf",)),
     ("metrics", ("x:1:1:1",)), ("metrics", ("x:1:0",)), ("fixed_worlds", 1), ("worlds", 0),
     ("allow_missing_worlds", -1), ("max_invalid", 1.0), ("max_invalid", -0.1)],
)  # fmt: skip
def test_options_at_their_limits_are_rejected(name, value):
    with pytest.raises(SpecError, match=f"^{GateOptions.name_of(name)} is"):
        GateOptions.of(**{name: value})
    limits = {"not_worse_than": 0.01, "min_success": 0.99, "alpha": 0.49, "max_invalid": 0.0}
    assert GateOptions.of(**limits).metrics == ()


def test_a_metric_of_the_rules_must_be_known_and_have_a_direction_and_bounds():
    rules = GateOptions(metrics=("distance_m:1",))
    for metrics in ([], [replace(LENGTH, better="neither")], [replace(LENGTH, bounds=None)]):
        with pytest.raises(SpecError, match="distance_m"):
            evaluate([pair(a="RR", b="RR")], rules, metrics)


def test_without_a_common_world_a_question_is_undecided():
    results = campaign(a="RR", b="II")
    nothing = GatePair("a", valid_trials_by_world(results.of("a")), "b", {})
    (answer,) = evaluate([nothing], GateOptions(not_worse_than=0.1))
    assert (answer.verdict, answer.worlds, answer.more_worlds) == (Verdict.UNDECIDED, 0, None)
    assert math.isnan(answer.value)
