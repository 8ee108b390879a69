import math
from dataclasses import replace

import pytest
from trials_from_letters import campaign

from gz_testauto.analysis.anytime import TEST
from gz_testauto.analysis.comparison import PairedCounts, compare
from gz_testauto.analysis.overview import group_worlds
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
    assert by_name["distance_m"].shift.value == pytest.approx(-1.0)
    assert by_name["spl"].worlds == 5


def test_repetitions_in_a_world_are_aggregated_to_its_success_rate():
    (pair,) = compare(campaign(a="RR RC CC RR", b="RC RC CC CC")).pairs
    assert pair.counts is None
    assert pair.worlds == 4
    assert pair.difference.value == pytest.approx((0.5 + 0 + 0 + 1.0) / 4)
    assert pair.first_won == ("w0", "w3")
    assert pair.test == pair.difference.method == "Gaffke, mid-P"


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
    assert after["swerves"].shift.value == pytest.approx(7.0)
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
