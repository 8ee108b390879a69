"""The sign test and its interval against enumerations, published numbers, and skewed data."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from gz_testauto.analysis.paired_median import median_difference, sign_test

STEPS = st.lists(st.integers(-4, 4).map(lambda steps: steps / 2.0), min_size=1, max_size=60)
# Hollander and Wolfe (1973), table 3.1: Hamilton depression scale, after minus before.
DEPRESSION = [-0.952, 0.147, -1.022, -0.430, -0.620, -0.590, -0.490, 0.080, -0.010]


def test_the_depression_scale_has_the_published_test_and_interval():
    # Hollander and Wolfe: B = 2, median -0.49, and an interval from rank 2 to rank 8 (96.1 %).
    assert sign_test(DEPRESSION) == pytest.approx(binomtest(2, 9).pvalue)
    assert median_difference(DEPRESSION)[:3] == pytest.approx((-0.49, -0.952, 0.080))


@pytest.mark.parametrize("worlds", [3, 6, 11])
def test_the_p_value_is_the_share_of_sign_flips_that_are_as_uneven(worlds):
    values = np.random.default_rng(worlds).normal(0.6, 1.0, size=worlds)
    flips = np.array(list(itertools.product((-1, 1), repeat=worlds)))
    uneven = abs(np.sign(values).sum())
    assert sign_test(values) == pytest.approx(np.mean(abs(flips.sum(axis=1)) >= uneven))


@given(STEPS)
def test_the_p_value_is_below_the_level_exactly_if_the_interval_excludes_zero(differences):
    estimate = median_difference(differences)
    if estimate.has_interval:
        assert (estimate.low <= 0.0 <= estimate.high) == (sign_test(differences) >= 0.05)
        assert estimate.low <= estimate.value <= estimate.high


@given(STEPS)
def test_swapping_the_planners_mirrors_interval_and_test(differences):
    there, back = median_difference(differences), median_difference(np.negative(differences))
    assert (back.value, back.low, back.high) == pytest.approx(
        (-there.value, -there.high, -there.low), nan_ok=True
    )
    assert sign_test(differences) == sign_test(np.negative(differences))


@pytest.mark.parametrize("worlds", [2, 3, 5])
def test_fewer_than_six_worlds_bound_nothing(worlds):
    estimate = median_difference(np.arange(1.0, 1.0 + worlds))
    assert (estimate.low, estimate.high) == (-math.inf, math.inf)
    assert sign_test(np.arange(1.0, 1.0 + worlds)) >= 0.05


@pytest.mark.parametrize(
    ("differences", "reason"),
    [
        ([1.5], "one world"),
        ([0.0] * 8, "equal in 8 of 8 worlds"),
        ([2.0] * 8, "the same difference in 8 of 8 worlds"),
        ([2.0] * 3, "the same difference in 3 of 3 worlds"),
        ([0.0] * 40 + [1.0] * 8, "equal in 40 of 48 worlds"),
    ],
)
def test_an_interval_without_width_is_replaced_by_a_reason(differences, reason):
    estimate = median_difference(differences)
    assert not estimate.has_interval
    assert reason in estimate.method
    assert estimate.value == pytest.approx(np.median(differences))


def test_no_difference_has_no_median_and_is_no_evidence():
    assert math.isnan(median_difference([]).value)
    assert sign_test([]) == sign_test([0.0, 0.0]) == 1.0


@pytest.mark.parametrize("worlds", [6, 20, 100])
def test_skewed_differences_with_median_zero_are_rarely_significant(worlds):
    """The signed-rank test rejects their symmetry in most campaigns of 100 worlds."""
    generator = np.random.default_rng(worlds)
    alarms = sum(
        sign_test(np.exp(2.0 * generator.normal(size=worlds)) - 1.0) < 0.05 for _ in range(400)
    )
    assert alarms <= 0.055 * 400
