import math
from dataclasses import replace

import pytest
from trials_from_letters import campaign

from gz_testauto.analysis.anytime import TEST
from gz_testauto.analysis.comparison import PairedCounts, compare, rate_difference
from gz_testauto.analysis.overview import analyze, group_worlds
from gz_testauto.analysis.summary import summarize
from gz_testauto.metrics.interface import Metric, builtin_metrics
from gz_testauto.results.records import AttemptRecord, CampaignResults
from gz_testauto.spec.campaign import StopSpec


def test_invalid_trials_are_reported_and_excluded():
    (summary,) = summarize(campaign(a="RRCI"))
    assert (summary.trials, summary.invalid, summary.reached) == (3, 1, 2)
    assert summary.success.value == pytest.approx(2 / 3)


def test_a_length_is_averaged_over_completed_trials_only():
    (summary,) = summarize(campaign(a="RRC"))
    length, spl = summary.metrics["distance_m"], summary.metrics["spl"]
    assert (length.trials, length.mean) == (2, 10.5)  # the meter before the crash is not in it
    assert (spl.trials, spl.mean) == (3, pytest.approx(0.6))  # failures count as nothing


def test_a_planner_without_success_has_no_mean_length():
    (summary,) = summarize(campaign(a="CCS"))
    assert math.isnan(summary.metrics["distance_m"].mean)


def test_success_is_compared_world_by_world():
    (pair,) = compare(campaign(a="RRRCC", b="RCCRC")).pairs
    assert pair.counts == PairedCounts(both=1, first_only=2, second_only=1, neither=1)
    assert pair.difference.value == pytest.approx(0.2)
    assert rate_difference(pair.counts) == pair.difference
    assert pair.first_won == ("w1", "w2")
    assert pair.second_won == ("w3",)


def test_a_world_in_which_one_trial_is_invalid_is_not_compared():
    (pair,) = compare(campaign(a="RRI", b="CIR")).pairs
    assert pair.worlds == 1
    assert pair.counts == PairedCounts(0, 1, 0, 0)


def test_lengths_are_compared_where_both_succeeded_and_spl_everywhere():
    results = campaign(lambda planner, world: 10 + world + (planner == "b"), a="RRRRC", b="RRCRR")
    (pair,) = compare(results).pairs
    by_name = {metric.name: metric for metric in pair.metrics}
    assert by_name["distance_m"].worlds == 3
    assert by_name["distance_m"].difference.value == pytest.approx(-1.0)
    assert by_name["spl"].worlds == 5


def test_repetitions_in_a_world_are_aggregated_to_its_success_rate():
    (pair,) = compare(campaign(a="RR RC CC RR", b="RC RC CC CC")).pairs
    assert pair.counts is None
    assert pair.worlds == 4
    assert pair.difference.value == pytest.approx((0.5 + 0 + 0 + 1.0) / 4)
    assert pair.first_won == ("w0", "w3")
    assert pair.test == pair.difference.method == "Gaffke"


@pytest.mark.parametrize("repetitions", [2, 3])
def test_repetitions_with_equal_outcomes_do_not_make_a_difference_significant(repetitions):
    single = {"a": "R" * 10, "b": "R" * 5 + "C" * 5}
    repeated = {
        name: " ".join(letter * repetitions for letter in of) for name, of in single.items()
    }
    (once,) = compare(campaign(**single)).pairs
    (often,) = compare(campaign(**repeated)).pairs
    assert once.p_value == pytest.approx(0.0625)
    assert often.p_value == pytest.approx(once.p_value)
    assert often.difference[:3] == pytest.approx(once.difference[:3])


def test_one_more_trial_in_one_world_does_not_make_a_difference_significant():
    (pair,) = compare(campaign(a="RR" + " R" * 9, b="RR" + " R" * 4 + " C" * 5)).pairs
    assert pair.p_value == pytest.approx(0.0625)


def test_means_are_over_the_same_worlds_and_a_median_that_contradicts_them_is_marked():
    lengths = {"a": [10.0] * 9 + [60.0], "b": [11.0] * 10}
    results = campaign(lambda planner, world: lengths[planner][world], a="R" * 10, b="R" * 10)
    (pair,) = compare(results).pairs
    length = {metric.name: metric for metric in pair.metrics}["distance_m"]
    assert (length.first_mean, length.second_mean) == (15.0, 11.0)
    assert length.difference.value == -1.0
    assert length.significant is False or length.mean_contradicts
    assert length.mean_contradicts and not length.is_of_means


def test_a_metric_with_bounds_is_compared_by_its_mean():
    (pair,) = compare(campaign(a="R" * 12, b="R" * 4 + "C" * 8)).pairs
    spl = {metric.name: metric for metric in pair.metrics}["spl"]
    assert spl.is_of_means
    assert spl.difference.value == pytest.approx(spl.first_mean - spl.second_mean)
    assert spl.p_value < 0.05


def test_a_value_outside_the_bounds_of_a_metric_has_no_test():
    results = campaign(a="R" * 12, b="R" * 12)
    results.trials[0].metrics["spl"] = 1.7
    (pair,) = compare(results).pairs
    spl = {metric.name: metric for metric in pair.metrics}["spl"]
    assert not spl.difference.has_interval and math.isnan(spl.p_value)
    assert "outside the bounds" in spl.difference.method


def test_infinite_values_are_unknown():
    results = campaign(a="R" * 8, b="R" * 8)
    results.trials[0].metrics["distance_m"] = math.inf
    length = {metric.name: metric for metric in compare(results).pairs[0].metrics}["distance_m"]
    assert length.worlds == 7
    assert math.isfinite(length.first_mean)
    assert summarize(results)[0].metrics["distance_m"].trials == 7


def test_copies_of_a_world_are_repetitions_of_it():
    letters = {"a": "R" * 8, "b": "C" * 8}
    results = replace(campaign(**letters), copies={f"w{index}": "w0" for index in range(1, 8)})
    analysis = analyze(results)
    (pair,) = analysis.comparisons.pairs
    assert (pair.worlds, pair.p_value, pair.significant) == (1, 1.0, False)
    assert not pair.difference.has_interval
    for summary in analysis.summaries:
        assert (summary.trials, summary.worlds) == (8, 1)
        assert not summary.success.has_interval
    assert sum(len(group.worlds) for group in analysis.winners) == 1
    assert len(analysis.results.trials) == 16


def test_all_pairs_are_compared_and_adjusted_together():
    comparisons = compare(campaign(a="RRRRRRRR", b="CCCCCCCC", c="RRRRRRRR"))
    assert [(pair.first, pair.second) for pair in comparisons.pairs] == [
        ("a", "b"),
        ("a", "c"),
        ("b", "c"),
    ]
    first = comparisons.pairs[0]
    assert first.p_value == pytest.approx(2 / 2**8)
    assert first.p_adjusted == pytest.approx(3 * first.p_value)
    assert comparisons.overall_test == "Cochran's Q (shuffled within worlds)"
    assert comparisons.overall_p < 0.001


def test_a_campaign_that_ends_when_decided_has_no_test_of_a_number_of_worlds_set_before():
    results = campaign(a="RRRRRRRR", b="CCCCCCCC", c="RRRRRRRR")
    judged = tuple(world.name for world in results.worlds)
    ended = compare(replace(results, stop=StopSpec(when="decided"), judged=judged))
    assert ended.overall_test == "" and math.isnan(ended.overall_p)
    assert [pair.test for pair in ended.pairs] == [TEST] * 3


def test_planners_without_a_common_world_are_not_compared():
    (pair,) = compare(campaign(a="RI", b="IR")).pairs
    assert pair.worlds == 0
    assert math.isnan(pair.p_value)


def test_worlds_are_grouped_by_their_winners():
    groups = {g.winners: g.worlds for g in group_worlds(campaign(a="RRCCI", b="RCRCR"))}
    assert groups == {("a",): ("w1",), ("b",): ("w2",), ("a", "b"): ("w0",), (): ("w3",)}


def test_with_repetitions_the_planner_that_succeeded_more_often_wins():
    groups = {g.winners: g.worlds for g in group_worlds(campaign(a="RR RC", b="RC CR"))}
    assert groups == {("a",): ("w0",), ("a", "b"): ("w1",)}


def test_a_metric_that_is_not_installed_here_is_shown_for_completed_trials():
    results = campaign(a="RC")
    for record in results.trials:
        record.metrics["swerves"] = 7.0
    assert summarize(results)[0].metrics["swerves"].trials == 1


def test_a_metric_of_others_counts_among_the_questions_of_holm():
    results = campaign(
        a="RRRRRRRR", b="RRRRRRRR", length=lambda planner, world: world + (planner == "a")
    )
    before = {m.name: m.p_adjusted for m in compare(results).pairs[0].metrics}
    for record in results.trials:
        record.metrics["swerves"] = 7.0 * (record.planner == "a") + record.world_index
    swerves = Metric(
        name="swerves", better="lower", completed_only=True, in_comparison=True, description="turns"
    )
    asked = replace(results, declared=(*builtin_metrics(), swerves))
    after = {m.name: m for m in compare(asked).pairs[0].metrics}
    assert list(after) == [*before, "swerves"]
    assert after["swerves"].worlds == 8
    assert after["swerves"].difference.value == pytest.approx(7.0)
    assert after["distance_m"].p_adjusted == pytest.approx(1.5 * before["distance_m"])
    not_asked = replace(swerves, in_comparison=False)
    quiet = replace(results, declared=(*builtin_metrics(), not_asked))
    assert {m.name: m.p_adjusted for m in compare(quiet).pairs[0].metrics} == pytest.approx(
        before, nan_ok=True
    )


def test_campaign_without_finished_trials_has_no_statistics():
    empty = CampaignResults("c", ("a", "b"), (), 4, (), (AttemptRecord(0, 1, "died", 1.0, ""),))
    assert [summary.trials for summary in summarize(empty)] == [0, 0]
    assert compare(empty).pairs[0].worlds == 0
    assert group_worlds(empty) == ()


def test_significance_is_that_of_the_adjusted_p_value():
    pairs = compare(campaign(a="R" * 6 + "C", b="C" * 7, c="C" * 7)).pairs
    assert pairs[0].p_value == pytest.approx(2 / 2**6)
    assert pairs[0].p_adjusted == pytest.approx(3 * 2 / 2**6)
    assert not pairs[0].significant
    (alone,) = compare(campaign(a="R" * 6 + "C", b="C" * 7)).pairs
    assert alone.significant


@pytest.mark.parametrize(
    ("ended", "smallest", "relevant"),
    [("C" + "R" * 19, 0.05, True), ("C" + "R" * 19, 0.051, False), ("R" * 20, 0.0, False)],
)
def test_a_difference_as_large_as_the_smallest_relevant_one_is_relevant(ended, smallest, relevant):
    results = replace(campaign(a="R" * 20, b=ended), relevant_success=smallest)
    (pair,) = compare(results).pairs
    assert pair.relevant is relevant
