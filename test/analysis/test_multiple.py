"""Cochran's Q and Friedman's test of more than two planners."""

import itertools

import numpy as np
import pytest
from scipy.stats import chi2, friedmanchisquare

from gz_testauto.analysis.comparison import planners_differ


def q_of(rates):
    """Cochran's formula of 1950."""
    planners = rates.shape[1]
    of_planners, of_worlds = rates.sum(axis=0), rates.sum(axis=1)
    spread = planners * (of_planners**2).sum() - of_planners.sum() ** 2
    return (planners - 1) * spread / (planners * of_worlds.sum() - (of_worlds**2).sum())


def test_many_worlds_of_zeros_and_ones_have_cochrans_distribution():
    rates = np.random.default_rng(1).integers(0, 2, size=(400, 4)).astype(float)
    p_value, test = planners_differ(rates)
    assert p_value == pytest.approx(chi2.sf(q_of(rates), 3), abs=1e-12)
    assert test == "Cochran's Q (χ²)"


def test_many_worlds_of_rates_have_friedmans_distribution():
    rates = np.random.default_rng(2).binomial(3, 0.7, size=(500, 3)) / 3.0
    p_value, test = planners_differ(rates)
    assert p_value == pytest.approx(friedmanchisquare(*rates.T).pvalue, abs=1e-12)
    assert test == "Friedman (χ²)"


def test_few_worlds_have_the_p_value_of_all_orders_within_worlds():
    rates = np.array([[1, 0, 0], [1, 0, 0], [1, 1, 0], [1, 0, 0], [1, 1, 1]], dtype=float)
    orders = [sorted(set(itertools.permutations(row))) for row in rates]
    found = q_of(rates)
    expected = np.mean(
        [q_of(np.array(some)) >= found - 1e-9 for some in itertools.product(*orders)]
    )
    p_value, test = planners_differ(rates)
    assert p_value == pytest.approx(expected, abs=4 * np.sqrt(expected / 10_000))
    assert test == "Cochran's Q (shuffled within worlds)"
    assert planners_differ(rates) == (p_value, test)


def test_three_worlds_are_significant_at_most_as_often_as_alpha():
    """χ² calls 11 % of them different where in each world one of three planners fails."""
    rates = [
        np.ones((3, 3)) - np.eye(3)[list(some)] for some in itertools.product(range(3), repeat=3)
    ]
    assert np.mean([planners_differ(some)[0] < 0.05 for some in rates]) <= 0.05


@pytest.mark.parametrize("rates", [np.ones((5, 3)), np.zeros((1, 4)), np.full((3, 3), 1 / 3)])
def test_planners_that_are_equal_in_each_world_do_not_differ(rates):
    assert planners_differ(rates)[0] == 1.0


def test_rates_that_differ_by_floating_point_noise_are_equal():
    rates = np.array([[0.1 + 0.2, 0.3, 0.3]] * 20)
    assert planners_differ(rates)[0] == 1.0


def test_p_value_of_one_world_is_one():
    assert planners_differ(np.array([[0.0, 0.25, 1.0]]))[0] == 1.0
