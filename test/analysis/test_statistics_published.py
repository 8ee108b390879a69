"""Statistics against numbers that others have published."""

import math

import numpy as np
import pytest
from scipy.stats import f_oneway

from gz_testauto.analysis.comparison import PairedCounts, holm, mcnemar
from gz_testauto.analysis.intervals import success_rate
from gz_testauto.analysis.summary import clustered_rate, design_effect, intraclass_correlation


def test_exact_interval_of_newcombes_examples():
    # Newcombe, Statistics in Medicine 17 (1998) 857, method 5: 81 of 263, and 0 of 20.
    rate = success_rate(81, 263)
    assert (rate.value, rate.low, rate.high) == pytest.approx((0.3080, 0.2527, 0.3676), abs=5e-5)
    nobody, everybody = success_rate(0, 20), success_rate(20, 20)
    assert (nobody.low, nobody.high) == pytest.approx((0.0, 0.1684), abs=5e-5)
    assert (everybody.low, everybody.high) == pytest.approx((0.8316, 1.0), abs=5e-5)


def test_no_trials_have_no_rate():
    assert math.isnan(success_rate(0, 0).value)


def test_exact_mcnemar_of_the_same_patients():
    # Two-sided binomial test of 1 against 7.
    assert mcnemar(PairedCounts(1, 1, 7, 12)) == pytest.approx(0.0703, abs=5e-5)
    assert mcnemar(PairedCounts(5, 0, 0, 5)) == 1.0


def test_holm_on_the_example_of_r():
    # R: p.adjust(c(0.01, 0.02, 0.03, 0.04), "holm")
    assert holm([0.01, 0.02, 0.03, 0.04]) == pytest.approx([0.04, 0.06, 0.06, 0.06])
    adjusted = holm([0.04, math.nan, 0.01])
    assert adjusted[0] == pytest.approx(0.04)
    assert adjusted[2] == pytest.approx(0.02)
    assert math.isnan(adjusted[1])


def test_repetitions_that_resemble_each_other_widen_the_interval():
    generator = np.random.default_rng(1)
    rates = generator.beta(1.0, 0.2, size=50)
    successes = generator.binomial(10, rates)
    over_worlds = clustered_rate(successes, [10] * 50)
    over_trials = success_rate(int(successes.sum()), 500)
    assert over_worlds.value == pytest.approx(over_trials.value)
    assert over_worlds.high - over_worlds.low > 1.5 * (over_trials.high - over_trials.low)


def test_one_trial_per_world_gives_the_exact_interval():
    assert clustered_rate([1, 0, 1], [1, 1, 1]) == success_rate(2, 3)


def test_repetitions_with_equal_outcomes_count_as_their_worlds():
    always = clustered_rate([3, 3, 3, 3], [3, 3, 3, 3])
    assert always.value == 1.0
    assert always.low == pytest.approx(success_rate(4, 4).low)


def test_intraclass_correlation_is_one_when_worlds_decide_and_low_when_they_do_not():
    assert intraclass_correlation([5, 0, 5, 0], [5, 5, 5, 5]) == pytest.approx(1.0)
    assert intraclass_correlation([2, 2, 2, 2], [4, 4, 4, 4]) == 0.0  # estimated as -1/3
    assert design_effect([2, 2, 2, 2], [4, 4, 4, 4]) == 1.0
    assert math.isnan(intraclass_correlation([1, 0], [1, 1]))


@pytest.mark.parametrize("trials", [[5] * 12, [1, 2, 3, 4, 5, 6, 2, 3, 4, 5, 6, 1]])
def test_intraclass_correlation_is_that_of_an_analysis_of_variance(trials):
    """From scipy's F: ICC = (F − 1) / (F − 1 + n0)."""
    generator = np.random.default_rng(3)
    ended = [generator.uniform(size=count) < generator.beta(1, 1) for count in trials]
    f = f_oneway(*(world.astype(float) for world in ended)).statistic
    total = sum(trials)
    size = (total - sum(count**2 for count in trials) / total) / (len(trials) - 1)
    found = intraclass_correlation([int(world.sum()) for world in ended], trials)
    assert found == pytest.approx((f - 1) / (f - 1 + size))
    assert found > 0.0
