"""Gaffke's bound against its definition, and against exact methods that it contains."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, binomtest

from gz_testauto.analysis import bounded_mean
from gz_testauto.analysis.bounded_mean import (
    DIFFERENCE,
    RATE,
    mean_interval,
    mean_p_value,
    one_sided_bounds,
    one_sided_p_values,
)

SHARES = st.lists(st.sampled_from([-1.0, -2 / 3, -1 / 3, 0.0, 1 / 3, 2 / 3, 1.0]), min_size=2)


@pytest.mark.parametrize("worlds", [2, 3, 10, 50, 500, 2000])
@pytest.mark.parametrize("share", [0.0, 0.5, 0.9, 1.0])
def test_the_interval_of_zeros_and_ones_is_clopper_and_pearsons(worlds, share):
    successes = round(share * worlds)
    values = np.repeat([1.0, 0.0], [successes, worlds - successes])
    exact = binomtest(successes, worlds).proportion_ci(0.95, "exact")
    found = mean_interval(values, RATE)
    assert found[:3] == pytest.approx((successes / worlds, exact.low, exact.high), abs=1e-9)


@pytest.mark.parametrize(
    ("first", "second", "worlds"), [(1, 7, 21), (5, 0, 41), (0, 0, 9), (3, 3, 6)]
)
def test_the_p_value_of_no_difference_is_that_of_the_exact_mcnemar_test(first, second, worlds):
    values = np.repeat([1.0, -1.0, 0.0], [first, second, worlds - first - second])
    expected = binomtest(first, first + second).pvalue if first + second else 1.0
    assert mean_p_value(values, 0.0, DIFFERENCE) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("worlds", [2, 7, 40])
def test_limits_are_the_quantiles_of_the_weighted_mean_that_defines_them(worlds):
    generator = np.random.default_rng(worlds)
    values = generator.integers(-3, 4, size=worlds) / 3.0
    found = mean_interval(values, DIFFERENCE)
    draws = 400_000 // worlds
    gammas = generator.exponential(size=(draws, worlds))
    end = generator.exponential(size=draws)
    total = gammas.sum(axis=1) + end
    share_below = np.mean((gammas @ values - end) / total <= found.low)
    share_above = np.mean((gammas @ values + end) / total >= found.high)
    error = 4.0 * math.sqrt(0.025 * 0.975 / draws)
    assert (share_below, share_above) == pytest.approx((0.025, 0.025), abs=error)


@pytest.mark.parametrize("worlds", [65, 400])
@pytest.mark.parametrize("scale", [1.0, 1e-4])
def test_many_different_values_have_the_interval_and_test_of_the_complete_sums(
    worlds, scale, monkeypatch
):
    generator = np.random.default_rng(worlds)
    values = scale * generator.uniform(-0.5, 0.5, worlds)
    values[:10] = -1.0  # the scale of the sums, far from the other values
    limit = float(values.mean()) + 0.05
    by_series = mean_interval(values, DIFFERENCE), one_sided_p_values(values, limit, DIFFERENCE)
    monkeypatch.setattr(bounded_mean, "_FEW", worlds + 1)
    complete = mean_interval(values, DIFFERENCE), one_sided_p_values(values, limit, DIFFERENCE)
    assert by_series[0][:3] == pytest.approx(complete[0][:3], rel=0.0, abs=2e-15)
    assert by_series[1] == pytest.approx(complete[1], rel=0.0, abs=2e-15)


@pytest.mark.slow
@settings(max_examples=25)
@given(SHARES, st.floats(-0.99, 0.99))
def test_the_test_and_the_interval_never_contradict_each_other(values, mean):
    found = mean_interval(np.array(values), DIFFERENCE)
    p_value = mean_p_value(np.array(values), mean, DIFFERENCE)
    if abs(mean - found.low) > 1e-6 and abs(mean - found.high) > 1e-6:
        assert (found.low < mean < found.high) == (p_value > 0.05)
    assert found.low <= found.value <= found.high
    assert found.low < found.high


@pytest.mark.slow
@settings(max_examples=15)
@given(SHARES)
def test_swapping_the_planners_mirrors_interval_and_test(values):
    there = mean_interval(np.array(values), DIFFERENCE)
    back = mean_interval(-np.array(values), DIFFERENCE)
    assert (back.value, back.low, back.high) == pytest.approx(
        (-there.value, -there.high, -there.low), abs=1e-9
    )
    assert mean_p_value(np.array(values), 0.0, DIFFERENCE) == pytest.approx(
        mean_p_value(-np.array(values), 0.0, DIFFERENCE), abs=1e-9
    )


@pytest.mark.parametrize("worlds", [2, 20])
def test_equal_outcomes_in_all_worlds_do_not_make_a_difference_certain(worlds):
    found = mean_interval(np.zeros(worlds), DIFFERENCE)
    assert found.value == 0.0
    assert -found.low == found.high == pytest.approx(beta.ppf(0.975, 1.0, worlds))
    assert mean_p_value(np.zeros(worlds), 0.0, DIFFERENCE) == 1.0


def test_one_world_has_a_value_and_the_reason_why_it_has_no_interval():
    found = mean_interval(np.array([0.85]), RATE)
    assert found.value == 0.85
    assert not found.has_interval
    assert "one world" in found.method
    assert mean_p_value(np.array([0.85]), 0.0, RATE) == 1.0


def test_no_world_gives_an_unknown_interval():
    assert math.isnan(mean_interval(np.array([]), RATE).value)


@pytest.mark.parametrize(
    ("rate", "correlation", "worlds", "repetitions"), [(0.95, 0.4, 5, 3), (0.99, 0.4, 20, 3)]
)
def test_few_worlds_with_repetitions_are_covered_as_often_as_stated(
    rate, correlation, worlds, repetitions
):
    """A percentile bootstrap over worlds covers 39 and 34 % here."""
    generator = np.random.default_rng(7)
    size = 1.0 / correlation - 1.0
    held = 0
    for _ in range(100):
        of_worlds = generator.beta(rate * size, (1.0 - rate) * size, size=worlds)
        found = mean_interval(generator.binomial(repetitions, of_worlds) / repetitions, RATE)
        held += found.low <= rate <= found.high
    assert held >= 0.93 * 100


@pytest.mark.parametrize("bounds", [(-1.0, 1.0), (-60.0, 60.0)])
def test_one_sided_bounds_are_the_means_with_the_stated_p_values(bounds):
    values = np.random.default_rng(4).uniform(-0.4, 0.6, size=30) * bounds[1]
    low, high = one_sided_bounds(values, (0.05, 0.01), bounds)
    assert one_sided_p_values(values, low, bounds)[0] == pytest.approx(0.05, abs=1e-6)
    assert one_sided_p_values(values, high, bounds)[1] == pytest.approx(0.01, abs=1e-6)


def test_repetitions_with_the_same_outcomes_do_not_change_test_and_interval():
    """Otherwise a file that is read twice would be more significant than the same file."""
    once = np.repeat([1.0, 0.0], [5, 5])
    assert mean_p_value(once, 0.0, DIFFERENCE) == pytest.approx(2 / 2**5)


@pytest.mark.parametrize(
    ("worlds", "repetitions", "share"), [(5, 3, 0.5), (9, 3, 0.25), (27, 10, 0.25)]
)
def test_skewed_differences_of_equal_planners_are_covered(worlds, repetitions, share):
    """One planner fails completely in a share of the worlds, the other once in each other world."""
    generator = np.random.default_rng(worlds)
    loss = 1.0 / repetitions
    mean = -share + (1.0 - share) * loss
    alarms = 0
    for _ in range(400):
        values = np.where(generator.uniform(size=worlds) < share, -1.0, loss)
        alarms += mean_p_value(values, mean, DIFFERENCE) < 0.05
    assert alarms <= 0.055 * 400
