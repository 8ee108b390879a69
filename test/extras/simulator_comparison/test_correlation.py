"""Two campaigns with a known correlation of planners."""

import math

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr
from scripted import record

from gz_testauto.base.errors import ResultsError
from gz_testauto.extras.simulator_comparison.correlation import SUCCESS, correlation
from gz_testauto.metrics.interface import METRICS
from gz_testauto.results.records import CampaignResults
from gz_testauto.trial.outcome import Outcome
from gz_testauto.worlds.record import WorldRecord


def trial(world, planner, value, repetition=0, outcome=Outcome.REACHED):
    return record(
        world=f"world_{world:04d}",
        world_index=world,
        planner=planner,
        repetition=repetition,
        outcome=outcome,
        metrics={"spl": value, "distance_m": 10.0 * value},
    )


def campaign_of(values, planners="abcd", outcomes=None):
    """``values`` (worlds, planners) of SPL, one trial a cell; a world's file is its number."""
    values = np.asarray(values)
    trials = [
        trial(world, planner, value, outcome=Outcome.REACHED if value > 0.0 else Outcome.STUCK)
        for world, row in enumerate(values.tolist())
        for planner, value in zip(planners, row)
    ]
    return campaign(*trials, worlds=len(values), planners=planners)


def campaign(*trials, worlds=3, planners="ab", hashes="sha"):
    records = tuple(
        WorldRecord(i, f"world_{i:04d}", f"{i}.world", f"{hashes}{i}") for i in range(worlds)
    )
    declared = (METRICS.get("spl"), METRICS.get("distance_m"))
    return CampaignResults("c", tuple(planners), records, 6, trials, declared=declared)


def drawn(seed, worlds=40):
    """Planners that are better one than the other, in worlds that are not equally hard."""
    random = np.random.default_rng(seed)
    hard = 0.3 * random.random((worlds, 1))
    noise = 0.1 * random.random((worlds, 4))
    return np.clip(np.array([0.3, 0.45, 0.6, 0.75]) + hard - noise, 0.0, 1.0)


def test_the_same_results_correlate_perfectly():
    results = campaign_of(drawn(0))
    found = correlation(results, results, "spl")
    assert (found.cells, found.worlds, found.planners) == (160, 40, tuple("abcd"))
    for one in (found.pearson, found.spearman, found.same_winner):
        assert one.estimate.value == pytest.approx(1.0)
        assert "the same in each draw" in one.estimate.method


def test_shuffled_results_do_not_correlate():
    values = drawn(1, worlds=100)
    shuffled = np.random.default_rng(2).permutation(values.ravel()).reshape(values.shape)
    found = correlation(campaign_of(shuffled), campaign_of(values), "spl")
    for one in (found.pearson, found.spearman):
        assert abs(one.estimate.value) < 0.15
        assert one.estimate.low < 0.0 < one.estimate.high
    assert found.same_winner.estimate.low < 1.0


def test_coefficients_are_those_of_scipy():
    first, second = drawn(3), drawn(4)
    second[:5] = 0.5  # ties
    found = correlation(campaign_of(first), campaign_of(second), "spl")
    assert found.pearson.estimate.value == pytest.approx(
        pearsonr(first.ravel(), second.ravel())[0], abs=1e-12
    )
    assert found.spearman.estimate.value == pytest.approx(
        spearmanr(first.ravel(), second.ravel())[0], abs=1e-12
    )
    for one in (found.pearson, found.spearman):
        assert one.estimate.low < one.estimate.value < one.estimate.high


def test_simulator_in_which_robots_slide_along_walls_predicts_little():
    """Reproduce the finding of Kadian et al.: sliding makes reckless planners succeed, in the
    simulator only, and SRCC rises once it is forbidden."""
    random = np.random.default_rng(5)
    skill, recklessness = random.random((60, 4)), np.array([0.0, 0.2, 0.5, 0.9])
    real = np.clip(skill - 0.8 * recklessness, 0.0, 1.0)
    sliding = campaign_of(np.clip(0.6 + 0.3 * random.random((60, 4)) + 0.1 * recklessness, 0, 1))
    stopping = campaign_of(np.clip(real + 0.1 * random.standard_normal((60, 4)), 0.0, 1.0))
    with_sliding, without = (
        correlation(one, campaign_of(real), "spl") for one in (sliding, stopping)
    )
    assert with_sliding.pearson.estimate.high < without.pearson.estimate.low
    assert without.pearson.estimate.value > 0.8
    assert with_sliding.same_winner.estimate.value < 0.5
    assert without.same_winner.estimate.value == 1.0


def test_the_share_of_pairs_with_the_same_winner_is_counted_by_means_over_worlds():
    real = campaign_of([[0.9, 0.5, 0.1]] * 3, planners="abc")
    turned = campaign_of([[0.5, 0.9, 0.1]] * 3, planners="abc")  # a and b change places
    found = correlation(turned, real, "spl").same_winner.estimate
    assert found.value == pytest.approx(2 / 3)
    tied = campaign_of([[0.9, 0.9, 0.1]] * 3, planners="abc")
    assert correlation(tied, real, "spl").same_winner.estimate.value == pytest.approx(2 / 3)
    assert correlation(tied, tied, "spl").same_winner.estimate.value == 1.0


def test_one_planner_has_no_correlation():
    both = campaign_of(drawn(6)), campaign_of(drawn(6)[:, :1], planners="a")
    for simulated, real in (both, both[::-1]):
        found = correlation(simulated, real, "spl")
        assert found.missing.endswith(": a")
        for one in (found.pearson, found.spearman, found.same_winner):
            assert math.isnan(one.estimate.value) and np.isnan(one.draws).all()


def test_success_has_no_correlation_if_all_planners_always_succeed():
    found = correlation(campaign_of(drawn(7)), campaign_of(drawn(8)), SUCCESS)
    assert math.isnan(found.pearson.estimate.value)
    assert found.same_winner.estimate.value == 1.0


def test_a_cell_is_the_mean_of_valid_trials_and_of_completed_ones_for_length():
    real = campaign(
        trial(0, "a", 0.2),
        trial(0, "a", 0.4, repetition=1),
        trial(0, "a", 9.0, repetition=2, outcome=Outcome.INVALID),
        trial(1, "a", 0.5),
        trial(0, "b", 0.8),
        trial(1, "b", 0.1, outcome=Outcome.COLLIDED),
    )
    same = campaign(trial(0, "a", 0.3), trial(1, "a", 0.5), trial(0, "b", 0.8), trial(1, "b", 0.1))
    found = correlation(same, real, "spl")
    assert (found.cells, found.worlds) == (4, 2)
    assert found.pearson.estimate.value == pytest.approx(1.0)
    assert correlation(same, real, "distance_m").cells == 3
    # success: b collides in world 1 in reality only
    assert correlation(same, real, SUCCESS).same_winner.estimate.value == 0.0


def test_other_worlds_are_rejected():
    with pytest.raises(ResultsError, match="world_0000 differs"):
        correlation(campaign(), campaign(hashes="other"), "spl")


def test_worlds_that_only_the_first_campaign_has_are_rejected():
    with pytest.raises(ResultsError, match="world_0002 is missing in the second"):
        correlation(campaign(), campaign(worlds=2), "spl")
