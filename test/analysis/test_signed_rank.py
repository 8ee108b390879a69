"""Wilcoxon's test and the Hodges–Lehmann interval against scipy, and against all sign flips."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata, wilcoxon

from gz_testauto.analysis.signed_rank import shift, signed_rank

STEPS = st.lists(st.integers(-4, 4).map(lambda steps: steps / 2.0), min_size=1, max_size=10)


def p_over_all_signs(differences):
    values = np.array([value for value in differences if value])
    if not len(values):
        return 1.0
    ranks = rankdata(np.abs(values))
    found = ranks[values > 0].sum()
    signs = np.array(list(itertools.product((0.0, 1.0), repeat=len(ranks))))
    sums = signs @ ranks
    return min(1.0, 2.0 * min(np.mean(sums <= found + 1e-9), np.mean(sums >= found - 1e-9)))


@given(STEPS)
def test_the_p_value_is_exact_with_ties_and_zeros(differences):
    assert signed_rank(differences) == pytest.approx(p_over_all_signs(differences), abs=1e-12)


@pytest.mark.parametrize("worlds", [5, 12, 50])
def test_the_p_value_without_ties_is_scipys(worlds):
    differences = np.random.default_rng(worlds).normal(0.3, 1.0, size=worlds)
    expected = wilcoxon(differences, mode="exact").pvalue
    assert signed_rank(differences) == pytest.approx(expected, abs=1e-12)


def test_the_p_value_of_many_ties_is_scipys_approximation():
    differences = np.round(np.random.default_rng(2).normal(0.2, 1.0, size=200), 1)
    expected = wilcoxon(differences, correction=True, mode="approx").pvalue
    assert signed_rank(differences) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("grid", [None, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("worlds", [6, 20, 60])
def test_test_and_interval_do_not_contradict_each_other(worlds, grid):
    """An end of exactly 0, open where p < 0.05, is the only case in which they touch."""
    generator = np.random.default_rng(worlds)
    for _ in range(30):
        values = generator.normal(0.4, 1.0, size=worlds)
        values = values if grid is None else np.round(values / grid) * grid
        p_value, found = signed_rank(values), shift(values)
        if not found.has_interval:
            continue
        if p_value < 0.05:
            assert not found.low < 0.0 < found.high
        else:
            assert found.low <= 0.0 <= found.high


@pytest.mark.parametrize("worlds", [2, 3, 5])
def test_fewer_than_six_worlds_bound_nothing(worlds):
    found = shift(np.arange(1.0, 1.0 + worlds))
    assert (found.low, found.high) == (-math.inf, math.inf)


@pytest.mark.parametrize(
    ("differences", "said"),
    [
        ([1.5], "one world"),
        ([0.0] * 8, "equal in 8 of 8 worlds"),
        ([2.0] * 8, "the same difference in 8 of 8 worlds"),
        ([0.0] * 40 + [1.0] * 8, "equal in 40 of 48 worlds"),
    ],
)
def test_an_interval_without_width_is_replaced_by_a_reason(differences, said):
    found = shift(differences)
    assert not found.has_interval
    assert said in found.method
    assert found.value == pytest.approx(np.median(differences))


def test_no_difference_has_no_shift():
    assert math.isnan(shift([]).value)


@pytest.mark.parametrize(("count", "rank"), [(51, 454), (60, 649)])
def test_the_interval_of_many_differences_ends_at_the_exact_rank(count, rank):
    # the largest k with P(W <= k - 1) <= 0.025, by the exact distribution of the rank sum
    values = 2.0 ** np.linspace(0.0, 9.0, count)
    rows, columns = np.triu_indices(count)
    walsh = np.sort((values[rows] + values[columns]) / 2.0)
    found = shift(values)
    assert (found.low, found.high) == pytest.approx((walsh[rank - 1], walsh[-rank]))
    assert found.value == pytest.approx(float(np.median(walsh)))
