"""Odds ratios agree with other implementations, and corner cases are refused or stated."""

import math

import numpy as np
import pytest
from explain_data import random_table, table
from scipy.optimize import minimize

from gz_testauto.analysis.logistic import Profile, cluster_covariance, fit_logistic
from gz_testauto.base.errors import ResultsError
from gz_testauto.extras.explain.model import explain
from gz_testauto.extras.explain.tree import failure_tree


def log_likelihood(design, failed, beta):
    return -np.logaddexp(0.0, -(2.0 * failed - 1.0) * (design @ beta)).sum()


def test_coefficients_maximize_the_penalized_likelihood():
    given = random_table(40, (1.0, -0.5))
    design, failed = np.column_stack([given.values, np.ones(40)]), given.failed.astype(float)

    def loss(beta):
        rate = 1.0 / (1.0 + np.exp(-design @ beta))
        information = design.T @ ((rate * (1 - rate))[:, None] * design)
        return -log_likelihood(design, failed, beta) - 0.5 * np.linalg.slogdet(information)[1]

    expected = minimize(loss, np.zeros(3), method="Nelder-Mead", options={"xatol": 1e-7}).x
    fit = fit_logistic(design, failed, np.ones(40))
    assert fit.has_converged
    assert fit.coefficients == pytest.approx(expected, abs=1e-4)
    profile = Profile(design, failed, np.ones(40), True)
    assert profile.has_converged
    assert profile.coefficients == pytest.approx(expected, abs=1e-3)
    assert profile.largest == pytest.approx(-loss(expected), abs=1e-7)


def test_limits_of_the_profile_have_the_deviance_of_the_interval():
    given = random_table(60, (1.0, -0.5))
    design, failed = np.column_stack([given.values, np.ones(60)]), given.failed.astype(float)
    profile = Profile(design, failed, np.ones(60), False)
    largest = -minimize(lambda beta: -log_likelihood(design, failed, beta), np.zeros(3)).fun
    assert profile.largest == pytest.approx(largest, abs=1e-6)
    for limit in profile.limits(0, 0.5, 0.3, 3.84):
        fixed = -minimize(
            lambda rest, limit=limit: -log_likelihood(design, failed, np.array([limit, *rest])),
            np.zeros(2),
        ).fun
        assert 2.0 * (largest - fixed) == pytest.approx(3.84, abs=1e-4)


def test_covariance_is_the_corrected_sandwich_over_clusters():
    random = np.random.default_rng(3)
    design = np.column_stack([random.standard_normal(30), np.ones(30)])
    failed, clusters = (random.random(30) < 0.5).astype(float), np.repeat(np.arange(10), 3)
    fit = fit_logistic(design, failed, np.ones(30))
    rate = 1.0 / (1.0 + np.exp(-design @ fit.coefficients))
    weights = np.diag(rate * (1 - rate))
    bread = np.linalg.inv(design.T @ weights @ design)
    hat = weights @ design @ bread @ design.T
    meat = np.zeros((2, 2))
    for cluster in range(10):
        at = clusters == cluster
        rest = np.linalg.solve(np.eye(3) - hat[np.ix_(at, at)], (failed - rate)[at])
        meat += np.outer(design[at].T @ rest, design[at].T @ rest)
    found = cluster_covariance(fit, design, failed, np.ones(30), clusters)
    assert found == pytest.approx(bread @ meat @ bread, rel=1e-6)


def test_effect_is_the_odds_ratio_of_one_standard_deviation():
    given = random_table(400, (1.0, 0.0))
    found, _ = explain(given)
    scaled, _ = explain(table(given.values * [100.0, 0.01] + 7.0, given.failed))
    first, second = found.effects
    assert first.odds_ratio.low < math.e < first.odds_ratio.high
    assert second.odds_ratio.low < 1.0 < second.odds_ratio.high
    assert (first.trend, second.trend) == ("larger", "")
    assert scaled.effects[0].odds_ratio[:3] == pytest.approx(first.odds_ratio[:3], rel=1e-5)
    assert scaled.effects[0].deviation == pytest.approx(100.0 * first.deviation)


def test_identical_repetitions_do_not_narrow_the_interval():
    given = random_table(80)
    repeated = table(
        np.repeat(given.values, 20, axis=0),
        np.repeat(given.failed, 20),
        [name for name in given.worlds for _ in range(20)],
    )
    once, often = explain(given)[0].effects[0], explain(repeated)[0].effects[0]
    width = np.log(once.odds_ratio.high / once.odds_ratio.low)
    assert np.log(often.odds_ratio.high / often.odds_ratio.low) > 0.9 * width


def test_p_values_are_adjusted_over_all_features():
    # the interval of one feature is not adjusted, so it can exclude 1 although p is at least 0.05
    found, used = explain(random_table(120, (0.5, 0.0), seed=4))
    first, second = found.effects
    assert first.odds_ratio.low > 1.0
    assert 0.05 < first.p < 0.1
    assert first.trend == ""
    alone = explain(used.columns([0]))[0].effects[0]
    assert first.p > 1.5 * alone.p
    assert alone.p < 0.05 < second.p


def test_constant_and_repeated_features_are_left_out_with_a_note():
    given = random_table(120, (1.0,))
    values = np.column_stack([given.values, np.full(120, 3.0), 2.0 * given.values - 1.0])
    found, used = explain(table(values, given.failed))
    assert [one.name for one in used.features] == ["f0"]
    assert found.effects[0].odds_ratio == explain(given)[0].effects[0].odds_ratio
    assert any("f1 is 3 in all trials" in note for note in found.notes)
    assert any("f2 is determined by f0" in note for note in found.notes)


def test_missing_and_infinite_values_are_left_out_and_counted():
    given = random_table(120, (1.0,))
    values = given.values.copy()
    values[:3, 0] = (math.nan, math.inf, -math.inf)
    found, used = explain(table(values, given.failed))
    assert (found.trials, len(used.failed)) == (117, 117)
    failed = int(given.failed[:3].sum())
    assert any(f"3 trials without a finite value of f0 ({failed} failed" in n for n in found.notes)


def test_separated_failures_have_no_upper_limit():
    values = np.arange(40.0)[:, None]
    found, _ = explain(table(values, values[:, 0] >= 20.0))
    ratio = found.effects[0].odds_ratio
    assert (ratio.high, found.effects[0].trend) == (math.inf, "larger")
    assert 1.0 < ratio.low < ratio.value < math.inf
    assert any("separate" in note for note in found.notes)
    tied, _ = explain(table(values >= 20.0, values[:, 0] >= 20.0))
    assert tied.effects[0].odds_ratio.high == math.inf
    reverse, _ = explain(table(values, values[:, 0] < 20.0))
    assert reverse.effects[0].odds_ratio.low == 0.0
    mixed, _ = explain(random_table(40, (1.0,)))
    assert not any("separate" in note for note in mixed.notes)


def test_tied_values_have_a_finite_interval():
    values = np.repeat([0.0, 1.0], 40)[:, None]
    failed = np.tile([True, False, False, False], 20)
    failed[40:60] = True
    ratio = explain(table(values, failed))[0].effects[0].odds_ratio
    assert 1.0 < ratio.low < ratio.value < ratio.high < math.inf


@pytest.mark.parametrize("is_first", [True, False])
def test_planner_without_failures_is_left_out_with_a_note(is_first):
    given = random_table(60)
    parts = (["dwa"] * 60, [False] * 60), (["fgm"] * 60, list(given.failed))
    (planners, failed), (others, others_failed) = parts if is_first else reversed(parts)
    both = table(
        np.tile(given.values, (2, 1)),
        failed + others_failed,
        given.worlds * 2,
        planners + others,
    )
    found, _ = explain(both)
    assert found.planners == ("fgm",)
    assert found.effects[0].odds_ratio == explain(given)[0].effects[0].odds_ratio
    assert any("dwa never failed" in note for note in found.notes)


def test_opposite_effects_of_planners_are_stated():
    first, second = random_table(150, (1.0, 0.5)), random_table(150, (-1.0, 0.5))
    both = table(
        np.concatenate([first.values, second.values]),
        np.concatenate([first.failed, second.failed]),
        first.worlds * 2,
        ["fgm"] * 150 + ["dwa"] * 150,
    )
    (note,) = explain(both)[0].notes
    assert "The effect of f0 differs between the planners (p < 0.001)" in note
    signs = both.values[:, [0]] > 0.0  # its square is no new column
    (note,) = explain(table(signs, both.failed, both.worlds, both.planners))[0].notes
    assert "The effect of f0 differs" in note


def test_effect_that_rises_and_falls_is_stated():
    values = np.random.default_rng(2).standard_normal((150, 2))
    rate = 1.0 / (1.0 + np.exp(-2.5 * (np.abs(values[:, 0]) - 1.0)))
    found, _ = explain(table(values, np.random.default_rng(3).random(150) < rate))
    (note,) = found.notes
    assert "The odds of failure do not change steadily with f0 (p" in note


@pytest.mark.slow
def test_steady_and_equal_effects_have_no_note():
    noted = 0
    for seed in range(20):
        first, second = (random_table(60, (1.0, 0.0), seed=2 * seed + one) for one in range(2))
        values, failed = (
            np.concatenate([getattr(one, name) for one in (first, second)])
            for name in ("values", "failed")
        )
        both = table(values, failed, first.worlds * 2, ["fgm"] * 60 + ["dwa"] * 60)
        noted += bool(explain(both)[0].notes)
    assert noted <= 3  # 5 % by chance


@pytest.mark.parametrize(
    ("failures", "words"),
    [(0, "never failed"), (60, "always failed"), (9, "9 worlds with a failure"), (51, "success")],
)
def test_too_few_failures_or_successes_are_refused(failures, words):
    values = np.random.default_rng(0).standard_normal((60, 1))
    with pytest.raises(ResultsError, match=words):
        explain(table(values, np.arange(60) < failures))


def test_repetitions_in_one_world_are_refused():
    values = np.random.default_rng(0).standard_normal((200, 1))
    failed = np.arange(200) % 2 == 0
    with pytest.raises(ResultsError, match="1 world with a failure is too few"):
        explain(table(values, failed, ["w0"] * 200))


def test_message_states_how_many_features_are_possible():
    given = random_table(60, (0.0,) * 4)
    with pytest.raises(ResultsError, match=r"at least 40 are necessary.*at most 2 of them"):
        explain(given)


def test_tree_finds_the_split_and_reports_rates_of_the_other_half():
    values = np.random.default_rng(2).random((200, 2))
    given = table(values, values[:, 1] > 0.6)
    leaves = failure_tree(given)
    assert all("f1" in leaf.conditions[0] for leaf in leaves)
    assert sum(leaf.worlds for leaf in leaves) == 100
    assert sum(leaf.trials for leaf in leaves) == 100
    assert leaves[0].rate < 0.1 < 0.9 < leaves[-1].rate
    assert all(leaf.low is not None for leaf in leaves)


def test_split_does_not_depend_on_the_half_of_the_rates():
    values = np.random.default_rng(2).random((200, 2))
    failed = values[:, 1] > 0.6
    whole = failure_tree(table(values, failed))
    for at in range(20):
        changed = failed.copy()
        changed[at] = not changed[at]
        found = failure_tree(table(values, changed))
        if sum(one.failures for one in found) != sum(one.failures for one in whole):
            assert [one.conditions for one in found] == [one.conditions for one in whole]
