"""Bets whose capital is known on paper, and that do not win against a true hypothesis."""

import math

import numpy as np
import pytest

from gz_testauto.analysis import anytime
from gz_testauto.analysis.anytime import BETS, DIFFERENCE, RATE


def capital(bets):
    """Return the logarithm of the capital after all values."""
    return anytime.capital_over_time(bets)[-1]


def test_one_world_multiplies_the_capital_by_one_plus_the_bet():
    # a bet of c on a mean above 0 of a number in [-1, 1] that is 1, 0 or -1
    for value, gain in ((1.0, 1 + BETS), (0.0, 1 + 0 * BETS), (-1.0, 1 - BETS)):
        found = np.exp(anytime.above(np.array([value]), 0.0, DIFFERENCE)[0])
        assert found == pytest.approx(gain)


def test_worlds_without_a_difference_change_nothing_and_the_test_is_that_of_the_discordant_ones():
    values = np.array([1.0, 0.0, 0.0, 1.0, -1.0, 0.0, 1.0])
    discordant = values[values != 0]
    assert anytime.p_value(values, 0.0, DIFFERENCE) == pytest.approx(
        anytime.p_value(discordant, 0.0, DIFFERENCE)
    )


def test_the_mixture_is_the_beta_binomial_one_with_jeffreys_prior():
    # 2^n B(k + 1/2, n - k + 1/2) / B(1/2, 1/2): Robbins' mixture test of a fair coin
    wins, losses = 14, 4
    values = np.array([1.0] * wins + [-1.0] * losses)
    paper = (
        (wins + losses) * math.log(2.0)
        + math.lgamma(wins + 0.5)
        + math.lgamma(losses + 0.5)
        - math.lgamma(wins + losses + 1.0)
        - math.log(math.pi)
    )
    sides = (capital(side(values, 0.0, DIFFERENCE)) for side in (anytime.above, anytime.below))
    assert np.logaddexp(*sides) - math.log(2.0) == pytest.approx(paper, abs=0.02)


def test_the_capital_does_not_depend_on_the_order():
    values = np.random.default_rng(0).choice([-1.0, 0.0, 1.0], size=60)
    there = capital(anytime.above(values, -0.1, DIFFERENCE))
    back = capital(anytime.above(values[::-1], -0.1, DIFFERENCE))
    assert there == pytest.approx(back)


def test_a_fair_bet_is_expected_to_leave_the_capital_as_it_is():
    # over all 3^4 outcomes of four worlds, weighted by their probabilities
    chances = {1.0: 0.3, 0.0: 0.6, -1.0: 0.1}
    mean = 0.2
    for side in (anytime.above, anytime.below):
        total = 0.0
        for ways in np.ndindex(3, 3, 3, 3):
            values = np.array([list(chances)[way] for way in ways])
            weight = math.prod(chances[value] for value in values)
            total += weight * math.exp(capital(side(values, mean, DIFFERENCE)))
        assert total == pytest.approx(1.0)


def test_the_interval_contains_the_means_that_were_never_rejected():
    values = np.random.default_rng(1).choice([-1.0, 0.0, 1.0], p=[0.1, 0.6, 0.3], size=150)
    interval = anytime.interval(values, DIFFERENCE)
    assert interval.low < interval.value < interval.high
    for inside in (interval.low + 1e-3, interval.high - 1e-3):
        assert anytime.p_value(values, inside, DIFFERENCE) > 0.05
    for outside in (interval.low - 1e-3, interval.high + 1e-3):
        assert anytime.p_value(values, outside, DIFFERENCE) < 0.05


def test_a_mean_that_was_rejected_once_remains_rejected():
    """Otherwise the p-value, which is that of the largest capital, contradicts the interval."""
    values = np.array([1.0] * 12 + [-1.0, 1.0] * 40)
    early, late = (anytime.interval(values[:count], DIFFERENCE) for count in (12, len(values)))
    assert 0.0 < early.low <= late.low
    assert anytime.p_value(values, 0.0, DIFFERENCE) <= 0.05
    assert capital(anytime.above(values, 0.0, DIFFERENCE)) < math.log(20.0)
    assert anytime.first_rejected(anytime.above(values, 0.0, DIFFERENCE), 0.05) <= 12


def test_worlds_that_contradict_each_other_leave_no_interval():
    values = np.array([1.0] * 30 + [-1.0] * 90)
    interval = anytime.interval(values, DIFFERENCE)
    assert not interval.has_interval
    assert interval.method == anytime.CONTRADICTION


@pytest.mark.parametrize("alpha", [0.05, 0.0167])
def test_test_and_interval_agree_in_simulated_campaigns(alpha):
    generator = np.random.default_rng(2)
    for _ in range(25):
        chances = generator.dirichlet([1.0, 3.0, 1.0])
        values = generator.choice([-1.0, 0.0, 1.0], p=chances, size=generator.integers(1, 90))
        interval = anytime.interval(values, DIFFERENCE, alpha)
        excluded = not interval.has_interval or not interval.low <= 0.0 <= interval.high
        assert excluded == (anytime.p_value(values, 0.0, DIFFERENCE) <= alpha)


def test_no_world_gives_no_bounds_and_one_world_wide_ones():
    assert math.isnan(anytime.interval(np.array([]), DIFFERENCE).value)
    one = anytime.interval(np.array([1.0]), RATE)
    assert one.low < 0.05
    assert one.high == 1.0


def test_worlds_needed_is_the_number_at_which_the_capital_reaches_the_limit():
    needed = anytime.worlds_needed(anytime.above(np.zeros(7), -0.05, DIFFERENCE), 0.05)
    assert capital(anytime.above(np.zeros(needed), -0.05, DIFFERENCE)) >= math.log(20)
    assert capital(anytime.above(np.zeros(needed - 1), -0.05, DIFFERENCE)) < math.log(20)
    assert anytime.worlds_needed(anytime.above(np.zeros(7), 0.05, DIFFERENCE), 0.05) is None
    assert anytime.worlds_needed(anytime.above(np.zeros(0), 0.05, DIFFERENCE), 0.05) is None


def test_no_difference_is_no_evidence_and_no_value_has_no_mean():
    assert anytime.p_value(np.empty(0), 0.0, DIFFERENCE) == 1.0
    assert math.isnan(anytime.interval(np.empty(0), anytime.RATE).value)
    assert anytime.worlds_needed(np.empty((0, 64)), 0.05) is None


def test_bounds_of_a_mean_are_mirrored_with_the_values():
    values = np.random.default_rng(3).choice([-1.0, 0.0, 1.0], p=[0.1, 0.5, 0.4], size=60)
    low, high = anytime.one_sided_bounds(values, (0.05, 0.05), anytime.DIFFERENCE)
    assert -1.0 < low < values.mean() < high < 1.0
    mirrored = anytime.one_sided_bounds(-values, (0.05, 0.05), anytime.DIFFERENCE)
    assert mirrored == pytest.approx((-high, -low), abs=1e-9)
    both = anytime.interval(values, anytime.DIFFERENCE)
    assert both.low < low and high < both.high


def test_as_many_worlds_are_needed_as_reach_the_limit_at_the_present_rate():
    bets = anytime.above(np.ones(4), 0.5, anytime.RATE)
    needed = anytime.worlds_needed(bets, 0.05)
    capitals = [capital(anytime.above(np.ones(n), 0.5, anytime.RATE)) for n in range(1, 30)]
    assert needed == 1 + next(n for n, one in enumerate(capitals) if one >= math.log(20.0))
    assert anytime.worlds_needed(anytime.above(np.zeros(4), 0.5, anytime.RATE), 0.05) is None
