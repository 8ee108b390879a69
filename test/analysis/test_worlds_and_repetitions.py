"""Winners of worlds, repeated trials, late trials and rates over worlds, counted by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest
from frozen_data import mutable_dataclasses
from scipy.stats import beta
from scripted import record

from gz_testauto import analysis
from gz_testauto.analysis.intervals import success_rate
from gz_testauto.analysis.overview import group_worlds
from gz_testauto.analysis.repeatability import compare_recordings, recording_bits
from gz_testauto.analysis.repeats import RepeatCount
from gz_testauto.analysis.summary import (
    clustered_rate,
    design_effect,
    intraclass_correlation,
    summarize,
)
from gz_testauto.metrics.recording import Recording
from gz_testauto.report.notes import load_notes
from gz_testauto.results.records import AttemptRecord, CampaignResults
from gz_testauto.trial.outcome import Outcome

WON, LOST, INVALID = Outcome.REACHED, Outcome.STUCK, Outcome.INVALID


def campaign(worlds, planners=("a", "b")):
    """The trials of each world: for each planner the outcomes of its repetitions."""
    trials = [
        record(0, world=world, planner=planner, outcome=outcome, repetition=repetition)
        for world, ended in worlds.items()
        for planner, outcomes in zip(planners, ended)
        for repetition, outcome in enumerate(outcomes)
    ]
    return CampaignResults("c", planners, (), len(trials), tuple(trials))


def test_worlds_are_grouped_by_the_planners_that_succeeded_most_often():
    worlds = {
        "both": ([WON], [WON]),
        "first": ([WON], [LOST]),
        "none": ([LOST], [LOST]),
        "more often": ([WON, LOST], [WON, WON]),
        "equally often": ([WON, LOST], [LOST, WON]),
        "second": ([LOST], [WON]),
        "invalid is not counted": ([WON, INVALID], [LOST, WON]),
        "one planner is missing": ([WON], [INVALID]),
    }
    found = [(group.winners, group.worlds) for group in group_worlds(campaign(worlds))]
    assert found == [
        (("a",), ("first", "invalid is not counted")),
        (("b",), ("more often", "second")),
        (("a", "b"), ("both", "equally often")),
        ((), ("none",)),
    ]


def recording(x_m, **changes):
    n = len(x_m)
    arrays = {
        "time_s": 5.0 + 0.1 * np.arange(n),
        "pose": np.column_stack([x_m, np.zeros(n), np.zeros(n)]),
        "twist": np.zeros((n, 3)),
        "command": np.full((n, 2), np.nan),
        "clearance_m": np.ones(n),
    }
    return Recording(cycle_time_s=np.empty(0), cycle_cpu_s=np.empty(0), **{**arrays, **changes})


def test_equal_recordings_are_identical_with_unknown_commands_too():
    found = compare_recordings(recording([0.0, 1.0]), recording([0.0, 1.0]))
    assert found.identical
    assert math.isnan(found.first_difference_s)
    assert (found.deviation_m, found.samples) == (0.0, (2, 2))


def test_the_first_difference_and_the_largest_deviation_are_reported():
    first, second = recording([0.0, 1.0, 2.0, 3.0]), recording([0.0, 1.0, 2.5, 3.25])
    found = compare_recordings(first, second)
    assert not found.identical
    assert found.first_difference_s == pytest.approx(5.2)
    assert found.deviation_m == 0.5
    aside = second.pose + np.array([0.0, 0.75, 0.0])
    apart = compare_recordings(first, replace(second, pose=aside))
    assert apart.deviation_m == pytest.approx(math.hypot(0.5, 0.75))


@pytest.mark.parametrize(("first", "second"), [(3, 2), (2, 3)])
def test_a_shorter_recording_differs_at_the_last_common_sample(first, second):
    found = compare_recordings(recording(np.arange(first)), recording(np.arange(second)))
    assert not found.identical
    assert found.first_difference_s == pytest.approx(5.1)
    assert (found.deviation_m, found.samples) == (0.0, (first, second))


def test_a_command_that_differs_is_a_difference():
    commanded = replace(recording([0.0, 1.0]), command=np.array([[np.nan, np.nan], [0.0, 0.5]]))
    found = compare_recordings(recording([0.0, 1.0]), commanded)
    assert (found.identical, found.deviation_m) == (False, 0.0)
    assert found.first_difference_s == pytest.approx(5.1)


def test_replay_and_verify_compare_the_same_arrays():
    first = replace(recording([0.0, 1.0]), series={"tf": np.zeros((2, 3))})
    series = {"tf": np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1e-9]])}
    clearance_m = np.array([1.0, np.nextafter(1.0, 2.0)])
    for second in (
        replace(first, clearance_m=clearance_m),
        replace(first, twist=first.twist + 1e-9),
        replace(first, series=series),
        replace(first, goal_times_s=np.array([0.5])),
    ):
        assert recording_bits(first) != recording_bits(second)
        assert not compare_recordings(first, second).identical


def test_late_trials_are_counted_by_their_metrics():
    stack = {"missed_control_cycles": 0.0, "real_time_factor": 1.0}
    metrics = [
        stack,
        {**stack, "real_time_factor": 0.1},
        {**stack, "missed_control_cycles": 1.0},
        {**stack, "missed_control_cycles": 3.0, "late_periods": 2.0},
        {"real_time_factor": 0.1},
        {"late_periods": 1.0},
        {"late_periods": 0.0},
        {},
    ]
    trials = [record(i, outcome=WON, metrics=values) for i, values in enumerate(metrics)]
    trials.append(record(8, outcome=INVALID, metrics={**stack, "real_time_factor": 0.1}))
    attempts = [AttemptRecord(3, 1, "the simulator died", 1.0, "2024-01-01T00:00:00+00:00")]
    results = CampaignResults("c", ("fgm",), (), 9, tuple(trials), tuple(attempts))
    found = summarize(results)[0].load
    assert (found.slow_attempts, found.slow_trials) == (0, 1)
    assert (found.missed_cycles_trials, found.late_trials) == (2, 2)


@pytest.mark.parametrize(("factor", "slow"), [(0.5, 0), (0.41, 0), (0.39, 1)])
def test_slow_trials_are_relative_to_the_limit_of_the_real_time_factor(factor, slow):
    metrics = {"missed_control_cycles": 0.0, "real_time_factor": factor}
    trials = (record(0, outcome=WON, metrics=metrics),)
    results = CampaignResults("c", ("fgm",), (), 1, trials, normal_real_time_factor=0.5)
    found = summarize(results)[0].load
    assert (found.slow_trials, found.slow_factor) == (slow, pytest.approx(0.4))
    assert any(load_notes(summarize(results))) == bool(slow)


def test_a_rate_over_worlds_ignores_worlds_without_trials():
    assert clustered_rate([1, 0, 0], [1, 1, 0]) == success_rate(1, 2)
    assert math.isnan(clustered_rate([0], [0]).value)
    assert math.isnan(clustered_rate([], []).value)
    one = clustered_rate([3, 0], [4, 0])
    assert (one.value, one.has_interval) == (0.75, False)


def test_the_rate_is_the_mean_of_the_worlds_and_not_of_the_trials():
    assert clustered_rate([4, 0, 1], [4, 1, 2]).value == pytest.approx(0.5)


def test_the_design_effect_of_worlds_that_decide_is_the_number_of_repetitions():
    assert design_effect([5, 0, 5, 0], [5, 5, 5, 5]) == pytest.approx(5.0)
    assert design_effect([3, 0], [3, 1]) == pytest.approx(2.0)
    assert math.isnan(design_effect([1, 0], [1, 1]))


@pytest.mark.parametrize(
    ("successes", "trials"), [([3, 3], [3, 3]), ([0, 0], [2, 2]), ([1], [2]), ([1, 1], [1, 1])]
)
def test_no_correlation_for_equal_outcomes_or_one_world(successes, trials):
    assert math.isnan(intraclass_correlation(successes, trials))
    assert math.isnan(design_effect(successes, trials))


def test_a_correlation_is_known_on_paper():
    # rates 1 and 1/3 of 3 trials: between 2/3, within 1/6, so (2/3 - 1/6) / (2/3 + 2/6)
    assert intraclass_correlation([3, 1], [3, 3]) == pytest.approx(0.5)
    # n0 = (5 - 13/5) = 2.4; rates 1/2 and 2/3, mean 3/5
    between, within = 2 * 0.1**2 + 3 * (2 / 3 - 0.6) ** 2, (2 * 0.25 + 3 * 2 / 9) / 3
    expected = (between - within) / (between + 1.4 * within)
    assert intraclass_correlation([1, 2], [2, 3]) == max(expected, 0.0) == 0.0
    assert intraclass_correlation([2, 1], [2, 4]) == pytest.approx(_anova([2, 1], [2, 4]))


def _anova(successes, trials):
    """From the sums of squares of the single trials."""
    worlds = [[1.0] * s + [0.0] * (n - s) for s, n in zip(successes, trials)]
    every = [value for world in worlds for value in world]
    grand, total = sum(every) / len(every), len(every)
    means = [sum(world) / len(world) for world in worlds]
    between = sum(n * (m - grand) ** 2 for n, m in zip(trials, means)) / (len(worlds) - 1)
    within = sum((v - m) ** 2 for world, m in zip(worlds, means) for v in world)
    within /= total - len(worlds)
    size = (total - sum(n * n for n in trials) / total) / (len(worlds) - 1)
    return (between - within) / (between + (size - 1) * within)


@pytest.mark.parametrize(
    ("same", "valid"), [(17, 17), (16, 16), (40, 43), (0, 1), (3, 6), (2, 6), (0, 0)]
)
def test_outcome_is_robust_or_fragile_if_the_interval_excludes_80_percent(same, valid):
    expected = "undecided" if valid else "not tested"
    # the exact limits of a binomial share are quantiles of the beta distribution
    if same and beta.ppf(0.025, same, valid - same + 1) >= 0.8:
        expected = "robust"
    if same < valid and beta.ppf(0.975, same + 1, valid - same) < 0.8:
        expected = "fragile"
    assert RepeatCount(same, valid).label == expected


def test_results_of_analysis_cannot_be_changed():
    assert mutable_dataclasses(analysis) == []
