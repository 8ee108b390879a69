"""Gaffke's bound against its definition, and against exact methods that it contains."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, binomtest

from gz_testauto.analysis.bounded_mean import (
    DIFFERENCE,
    HALF,
    RATE,
    WHOLE,
    mean_interval,
    mean_p_value,
)

SHARES = st.lists(st.sampled_from([-1.0, -2 / 3, -1 / 3, 0.0, 1 / 3, 2 / 3, 1.0]), min_size=2)


@pytest.mark.parametrize("worlds", [2, 3, 10, 50, 500])
@pytest.mark.parametrize("share", [0.0, 0.5, 0.9, 1.0])
def test_the_interval_of_zeros_and_ones_is_clopper_and_pearsons(worlds, share):
    successes = round(share * worlds)
    values = np.repeat([1.0, 0.0], [successes, worlds - successes])
    exact = binomtest(successes, worlds).proportion_ci(0.95, "exact")
    found = mean_interval(values, RATE, WHOLE)
    assert found[:3] == pytest.approx((successes / worlds, exact.low, exact.high), abs=1e-9)


@pytest.mark.parametrize(("successes", "worlds"), [(0, 20), (7, 20), (20, 20), (1, 2)])
def test_half_a_world_more_gives_quantiles_of_a_beta_distribution(successes, worlds):
    values = np.repeat([1.0, 0.0], [successes, worlds - successes])
    low = beta.ppf(0.025, successes, worlds - successes + 0.5) if successes else 0.0
    high = beta.ppf(0.975, successes + 0.5, worlds - successes) if successes < worlds else 1.0
    assert mean_interval(values, RATE, HALF)[1:3] == pytest.approx((low, high), abs=1e-9)


@pytest.mark.parametrize(
    ("first", "second", "worlds"), [(1, 7, 21), (5, 0, 41), (0, 0, 9), (3, 3, 6)]
)
def test_the_p_value_of_no_difference_is_that_of_the_exact_mcnemar_test(first, second, worlds):
    values = np.repeat([1.0, -1.0, 0.0], [first, second, worlds - first - second])
    expected = binomtest(first, first + second).pvalue if first + second else 1.0
    assert mean_p_value(values, 0.0, DIFFERENCE, WHOLE) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("weight", [HALF, WHOLE])
@pytest.mark.parametrize("worlds", [2, 7, 40])
def test_limits_are_the_quantiles_of_the_weighted_mean_that_defines_them(worlds, weight):
    generator = np.random.default_rng(worlds)
    values = generator.integers(-3, 4, size=worlds) / 3.0
    found = mean_interval(values, DIFFERENCE, weight)
    draws = 400_000 // worlds
    gammas = generator.exponential(size=(draws, worlds))
    end = generator.gamma(weight, size=draws)
    total = gammas.sum(axis=1) + end
    share_below = np.mean((gammas @ values - end) / total <= found.low)
    share_above = np.mean((gammas @ values + end) / total >= found.high)
    error = 4.0 * math.sqrt(0.025 * 0.975 / draws)
    assert (share_below, share_above) == pytest.approx((0.025, 0.025), abs=error)


@pytest.mark.slow
@settings(max_examples=25)
@given(SHARES, st.sampled_from([HALF, WHOLE]), st.floats(-0.99, 0.99))
def test_the_test_and_the_interval_never_contradict_each_other(values, weight, mean):
    found = mean_interval(np.array(values), DIFFERENCE, weight)
    p_value = mean_p_value(np.array(values), mean, DIFFERENCE, weight)
    if abs(mean - found.low) > 1e-6 and abs(mean - found.high) > 1e-6:
        assert (found.low < mean < found.high) == (p_value > 0.05)
    assert found.low <= found.value <= found.high
    assert found.low < found.high


@settings(max_examples=15)
@given(SHARES)
def test_swapping_the_planners_mirrors_interval_and_test(values):
    there = mean_interval(np.array(values), DIFFERENCE, HALF)
    back = mean_interval(-np.array(values), DIFFERENCE, HALF)
    assert (back.value, back.low, back.high) == pytest.approx(
        (-there.value, -there.high, -there.low), abs=1e-9
    )
    assert mean_p_value(np.array(values), 0.0, DIFFERENCE, HALF) == pytest.approx(
        mean_p_value(-np.array(values), 0.0, DIFFERENCE, HALF), abs=1e-9
    )


@pytest.mark.parametrize("worlds", [2, 20])
def test_equal_outcomes_in_all_worlds_do_not_make_a_difference_certain(worlds):
    found = mean_interval(np.zeros(worlds), DIFFERENCE, HALF)
    assert found.value == 0.0
    assert -found.low == found.high == pytest.approx(beta.ppf(0.975, 0.5, worlds))
    assert mean_p_value(np.zeros(worlds), 0.0, DIFFERENCE, HALF) == 1.0


def test_one_world_has_a_value_and_the_reason_why_it_has_no_interval():
    found = mean_interval(np.array([0.85]), RATE, WHOLE)
    assert found.value == 0.85
    assert not found.has_interval
    assert "one world" in found.method
    assert mean_p_value(np.array([0.85]), 0.0, RATE, WHOLE) == 1.0


def test_no_world_gives_an_unknown_interval():
    assert math.isnan(mean_interval(np.array([]), RATE, WHOLE).value)


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
        found = mean_interval(generator.binomial(repetitions, of_worlds) / repetitions, RATE, WHOLE)
        held += found.low <= rate <= found.high
    assert held >= 0.93 * 100
