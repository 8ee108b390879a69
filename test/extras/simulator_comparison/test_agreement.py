"""Two campaigns of the same trials: equal outcomes, and differences of metrics."""

import math
from dataclasses import replace

import pytest
from scripted import record

from gz_testauto.analysis.intervals import success_rate
from gz_testauto.base.errors import ResultsError
from gz_testauto.extras.simulator_comparison.agreement import CONTROL, agreement, confirmation
from gz_testauto.results.records import CampaignResults
from gz_testauto.trial.outcome import Outcome
from gz_testauto.worlds.record import WorldRecord

WORLDS = tuple(WorldRecord(i, f"world_{i:04d}", f"{i}.world", f"sha{i}") for i in range(3))


def trial(index, planner, outcome=Outcome.REACHED, length_m=10.0, repetition=0):
    return record(
        world=f"world_{index:04d}",
        world_index=index,
        planner=planner,
        repetition=repetition,
        outcome=outcome,
        metrics={"distance_m": length_m, "time_s": 2 * length_m},
    )


def campaign(*trials, worlds=WORLDS):
    return CampaignResults("c", ("a", "b"), worlds, 6, trials)


def test_agreement_is_the_same_outcome_of_the_same_trial():
    first = campaign(trial(0, "a"), trial(1, "a"), trial(0, "b", Outcome.STUCK))
    second = campaign(trial(0, "b", Outcome.STUCK), trial(0, "a"), trial(1, "a", Outcome.COLLIDED))
    found = agreement(first, second)
    assert found.same == {"a": 1, "b": 1}
    assert found.trials == {"a": 2, "b": 1}
    assert found.rate.value == pytest.approx(0.5)  # mean of the worlds: 2 of 2, and 0 of 1
    ((one, other),) = found.disagreements
    assert (one.world, one.outcome, other.outcome) == (
        "world_0001",
        Outcome.REACHED,
        Outcome.COLLIDED,
    )


def test_invalid_and_missing_trials_are_excluded():
    first = campaign(trial(0, "a", Outcome.INVALID), trial(1, "a"), trial(2, "a"))
    second = campaign(trial(0, "a"), trial(1, "a", Outcome.INVALID))
    assert sum(agreement(first, second).trials.values()) == 0


def test_metrics_are_compared_for_completed_trials_of_the_same_repetition():
    first = campaign(
        trial(0, "a", length_m=10.0),
        trial(0, "a", length_m=20.0, repetition=1),
        trial(1, "a", length_m=30.0),
        trial(2, "a", Outcome.STUCK, length_m=1.0),
    )
    second = campaign(
        trial(0, "a", length_m=22.0, repetition=1),
        trial(0, "a", length_m=10.5),
        trial(1, "a", length_m=30.0),
        trial(2, "a", length_m=40.0),
    )
    distance, time, clearance = agreement(first, second).metrics
    assert distance.pairs == 3
    assert distance.median_relative == pytest.approx(0.05)  # of 0.05, 0.1 and 0
    assert time.difference.value == pytest.approx(2 * distance.difference.value)
    assert clearance.pairs == 0
    assert math.isnan(clearance.median_relative)


def test_trials_of_one_world_do_not_count_as_independent():
    worlds = tuple(replace(WORLDS[0], world_index=i, name=f"world_{i:04d}") for i in range(20))
    trials = [
        trial(i, p, Outcome.STUCK if i < 4 else Outcome.REACHED) for i in range(20) for p in "ab"
    ]
    others = [trial(i, p) for i in range(20) for p in "ab"]
    rate = agreement(campaign(*trials, worlds=worlds), campaign(*others, worlds=worlds)).rate
    assert rate.value == pytest.approx(0.8)
    assert rate.high - rate.low > 0.35  # 40 independent trials would give 0.26


def test_other_worlds_are_rejected():
    changed = (WORLDS[0], replace(WORLDS[1], sha256="other"), WORLDS[2])
    with pytest.raises(ResultsError, match="world_0001 differs"):
        agreement(campaign(trial(0, "a")), campaign(trial(0, "a"), worlds=changed))


def screened(count, *others):
    """A campaign of one planner whose trials have their place in the plan as index."""
    worlds = tuple(WorldRecord(i, f"world_{i:04d}", f"{i}.world", f"sha{i}") for i in range(count))
    trials = [replace(trial(i, "a"), trial=i) for i in range(count)]
    for index, outcome in others:
        trials[index] = replace(trials[index], outcome=outcome)
    return campaign(*trials, worlds=worlds)


def test_control_sample_represents_the_trials_that_were_not_chosen():
    first = screened(100)
    second = screened(100, (0, Outcome.STUCK), (12, Outcome.COLLIDED))
    reasons = {**dict.fromkeys(range(10), "close"), **dict.fromkeys(range(10, 20), CONTROL)}
    found = confirmation(first, second, reasons)
    assert found.screened == 100
    assert found.trials == {"close": 10, CONTROL: 10}
    assert found.same == {"close": 9, CONTROL: 9}
    # nine of the ten chosen, and nine tenths of the ninety others
    assert found.overall.value == pytest.approx((9 + 0.9 * 90) / 100)
    expected = success_rate(9, 10)
    assert found.overall.low == pytest.approx((9 + expected.low * 90) / 100)
    assert found.overall.high == pytest.approx((9 + expected.high * 90) / 100)
    assert [one.trial for one, _ in found.disagreements] == [0, 12]


def test_an_agreement_over_all_trials_has_no_interval():
    found = confirmation(
        screened(4), screened(4, (1, Outcome.STUCK)), dict.fromkeys(range(4), "close")
    )
    assert found.overall.value == 0.75
    assert "all were run in both" in found.overall.method
    assert not found.overall.has_interval


def test_without_a_control_sample_the_others_are_unknown():
    found = confirmation(screened(4), screened(4), {0: "close"})
    assert math.isnan(found.overall.value)


def test_selected_trials_that_are_invalid_in_the_second_simulator_are_not_represented():
    second = screened(10, *((index, Outcome.INVALID) for index in range(4)), (9, Outcome.STUCK))
    reasons = {**dict.fromkeys(range(5), "close"), **dict.fromkeys(range(8, 10), CONTROL)}
    overall = confirmation(screened(10), second, reasons).overall
    assert overall.value == pytest.approx((1 + 0.5 * 5) / 6)  # one selected trial, five others


def test_copies_of_a_world_are_one_world_of_a_control_sample():
    first = screened(8)
    copies = {world.name: "world_0000" for world in first.worlds[1:]}
    reasons = dict.fromkeys(range(4), CONTROL)
    second = screened(8, (0, Outcome.STUCK))
    assert not confirmation(replace(first, copies=copies), second, reasons).overall.has_interval


def test_correlations_of_planners_are_by_success_and_spl():
    first = campaign(trial(0, "a"), trial(0, "b", Outcome.STUCK), trial(1, "a"), trial(1, "b"))
    success, spl = agreement(first, first).correlations
    assert (success.metric, success.cells) == ("success", 4)
    assert success.pearson.estimate.value == 1.0
    assert spl.missing == "no planner has a value in the same world of both"


def test_differences_are_those_of_worlds_and_not_of_their_trials():
    worlds = tuple(replace(WORLDS[0], world_index=i, name=f"world_{i:04d}") for i in range(3))
    first = [trial(i, p) for i in range(3) for p in "ab"]
    others = [trial(i, p, length_m=10.0 + i) for i in range(3) for p in "ab"]
    found = agreement(campaign(*first, worlds=worlds), campaign(*others, worlds=worlds))
    (distance,) = (one for one in found.metrics if one.metric.name == "distance_m")
    assert (distance.pairs, distance.worlds) == (6, 3)
    assert distance.difference.low == -math.inf  # six pairs would bound it, three worlds do not


def test_copies_of_a_world_are_one_world_of_an_agreement():
    worlds = tuple(replace(WORLDS[0], world_index=i, name=f"world_{i:04d}") for i in range(8))
    first = campaign(*(trial(i, "a") for i in range(8)), worlds=worlds)
    copies = {world.name: "world_0000" for world in worlds[1:]}
    second = campaign(*(trial(i, "a", length_m=11.0) for i in range(8)), worlds=worlds)
    result = agreement(replace(first, copies=copies), replace(second, copies=copies))
    assert not result.rate.has_interval
    assert {metric.worlds for metric in result.metrics if metric.pairs} == {1}
